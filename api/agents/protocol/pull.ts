import { createHash } from 'node:crypto';
import { pipeline } from 'node:stream/promises';
import { setImmediate } from 'node:timers/promises';
import type { RequestHandler, Response } from 'express';
import { Counter } from 'prom-client';
import { readPull, type CheckIn } from '../../../core/agents/requests.ts';
import { findInability, type PullAnswer, type Withholding, type WorkItem } from '../../../core/agents/wire.ts';
import { besideSecrets, workItemOf, workSecretsOf } from '../../../core/agents/work-item.ts';
import type { MonitorSecrets } from '../../../core/monitors/monitor.ts';
import {
  checkInAgent,
  isUsableKey,
  listAssignedWork,
  listMeasuredSettings,
  openWorkSecrets,
  sealTo,
  updateGivenVersions,
  type AssignedWork,
  type GivenVersion,
  type MeasuredSettings,
  type TokenAgent,
} from '../../../models/agents/protocol.ts';
import type { Database } from '../../../models/database.ts';
import { accept, badRequest } from '../../api-error.ts';
import type { Parts } from '../../handler.ts';
import { MAX_WORK_MONITORS } from '../../rate-limits.ts';
import { agentOf, invalidAgentToken } from './authentication.ts';

/** Monitors whose settings are read at a time, each of up to 128 KiB: bounds the memory of a response. */
const PAGE_MONITORS = 20;

/** Minimum size of a piece except the last, in characters: many small monitors are sent together. */
const PIECE_CHARACTERS = 65_536;

/** Maximum size of a response sent at once, in characters: a thousand monitors usually take half of it. */
const WHOLE_CHARACTERS = 1_048_576;

/** Maximum size of the work in a response, in bytes: agents read 64 MiB, and proxies may allow less. */
const MAX_WORK_BYTES = 50_331_648;

/**
 * Time limit for an agent to read a large response, in milliseconds; Spotcheck's own agent gives up after ten seconds.
 */
const READ_WITHIN_MS = 60_000;

/**
 * `POST /agent/v1/pull`: the agent's check-in, answered with all of its work. Detects unchanged work without reading
 * the monitors' settings, and generates a large response while it is read (D-662).
 */
export function pullHandler({
  database,
  logger,
  metrics,
  now,
  rateLimits,
  takeAnswerSlot,
}: Parts<'database' | 'logger' | 'metrics' | 'now' | 'rateLimits' | 'takeAnswerSlot'>): RequestHandler {
  const count = new Counter({
    name: 'spotcheck_agent_pulls_total',
    help: 'Check-ins of private agents, by outcome',
    labelNames: ['outcome'],
    registers: [metrics],
  });
  const keyTags = keyTagsOf(database);
  return async (request, response) => {
    const agent = agentOf(response);
    const checkIn = accept(readPull(request.body));
    await requireUsableKey(checkIn, agent);
    const checkedIn = await checkInAgent(database, { agent, checkIn, nowMs: now() });
    // The agent was deleted, revoked or given a new token since the request was admitted: its body may arrive much
    // later.
    if (checkedIn === null) throw invalidAgentToken();

    const { capabilities } = checkIn;
    const recipient: Recipient = { agentId: agent.id, publicKey: checkedIn.publicKey, withheld: checkedIn.withheld };
    const assigned = (await listAssignedWork(database, agent.no)).filter((work) => isAble(work, checkIn));
    const tag = tagOf({
      capabilities,
      recipient,
      work: assigned.map(({ monitorId, checksVersion, intervalSeconds, askedAt, secretsKeyId }) => [
        monitorId,
        checksVersion,
        intervalSeconds,
        askedAt,
        secretsKeyId && (keyTags.get(secretsKeyId) ?? null),
      ]),
    });
    // The response is for this agent only, which revalidates it each time. A proxy may replace `Date` (D-775).
    response.set({ 'Cache-Control': 'private, no-cache', 'Spotcheck-Time': String(Math.floor(now() / 1000)) });
    if (namesTag(request.headers['if-none-match'], tag) && assigned.every(isGiven)) {
      count.inc({ outcome: 'unchanged' });
      response.set('ETag', tag).status(304).end();
      return;
    }
    await rateLimits.take('work', agent.id, Math.min(Math.max(1, assigned.length), MAX_WORK_MONITORS));
    const answer = new WorkAnswer({
      head: { agentId: agent.id, agentKind: 'tenant', capabilities },
      assigned,
      readSettings: (monitorNos) => listMeasuredSettings(database, agent, monitorNos),
      itemOf: (work) => makeItem(work, recipient, (sealed) => openWorkSecrets(database, sealed)),
      recordGiven: async (given) => {
        if (given.length > 0) await updateGivenVersions(database, { agentNo: agent.no, given, nowMs: now() });
      },
      onLeftOut: (monitorId) => logger.warn({ monitor_id: monitorId, agent_id: agent.id }, 'agent.work_left_out'),
      onTooLarge: (monitors) => logger.warn({ monitors, agent_id: agent.id }, 'agent.work_too_large'),
    });
    const pieces = answer.pieces();
    const start = await readStart(pieces);
    const giveBack = start.isWhole ? null : takeAnswerSlot(agent.tenantId);
    const hasAll = recipient.withheld !== null || assigned.every((work) => isOpenable(work, keyTags));
    // An incomplete response has no tag, so that the omitted monitors are offered again later.
    if (hasAll && !answer.isIncomplete) response.set('ETag', tag);
    count.inc({ outcome: 'answered' });
    // json() would add a tag over sealed boxes, which differ each time.
    response.type('application/json');
    if (giveBack === null) response.end(start.text);
    else await sendWhileRead(response, start.text, pieces).finally(giveBack);
  };
}

/**
 * Returns the tags of the keys that secrets are sealed with, by key id. If the key of an id is replaced, monitors that
 * could not be opened are offered again.
 */
function keyTagsOf({ secrets }: Database): ReadonlyMap<string, string> {
  const tags = secrets.derive('agents.work');
  return new Map(secrets.keyIds.map((id, index) => [id, tags[index] ?? '']));
}

/**
 * Reports whether the agent has the monitor in its current version, or is not to be offered this version again (D-662).
 */
function isGiven({ givenVersion, checksVersion }: AssignedWork): boolean {
  return givenVersion !== null && givenVersion >= checksVersion;
}

function isOpenable({ secretsKeyId }: AssignedWork, keyTags: ReadonlyMap<string, string>): boolean {
  return secretsKeyId === null || keyTags.has(secretsKeyId);
}

type WorkAnswerParts = {
  head: Omit<PullAnswer, 'work'>;
  assigned: readonly AssignedWork[];
  readSettings: (monitorNos: readonly number[]) => Promise<ReadonlyMap<number, MeasuredSettings>>;
  /** Resolves with null if the monitor's secrets cannot be opened. */
  itemOf: (work: WholeWork) => Promise<WorkItem | null>;
  /** Called before the last piece: until then the agent cannot use any of the response. */
  recordGiven: (given: readonly GivenVersion[]) => Promise<void>;
  onLeftOut: (monitorId: string) => void;
  /** Called with the number of monitors, the newest ones, that do not fit into the response. */
  onTooLarge: (monitors: number) => void;
};

/** An assigned monitor with its settings, which may be newer than the listing. */
type WholeWork = AssignedWork & MeasuredSettings;

/**
 * An agent's work as JSON in pieces, each of many small monitors or one large one. Yields to the event loop between
 * them.
 */
class WorkAnswer {
  readonly #parts: WorkAnswerParts;
  readonly #given: GivenVersion[] = [];
  #isIncomplete = false;

  constructor(parts: WorkAnswerParts) {
    this.#parts = parts;
  }

  /**
   * Whether a monitor is missing from the pieces so far: its secrets cannot be opened, or it is no longer the agent's.
   */
  get isIncomplete(): boolean {
    return this.#isIncomplete;
  }

  async *pieces(): AsyncGenerator<string, void> {
    const { head, recordGiven } = this.#parts;
    let piece = `${JSON.stringify(head).slice(0, -1)},"work":[`;
    let separator = '';
    for await (const item of this.#items()) {
      piece += separator + item;
      separator = ',';
      if (piece.length < PIECE_CHARACTERS) continue;
      yield piece;
      piece = '';
      await setImmediate();
    }
    await recordGiven(this.#given);
    yield `${piece}]}`;
  }

  async *#items(): AsyncGenerator<string, void> {
    const { assigned, readSettings, itemOf, onLeftOut, onTooLarge } = this.#parts;
    let bytes = 0;
    for (let start = 0; start < assigned.length; start += PAGE_MONITORS) {
      const page = assigned.slice(start, start + PAGE_MONITORS);
      const settings = await readSettings(page.map(({ monitorNo }) => monitorNo));
      for (const [index, listed] of page.entries()) {
        const measured = settings.get(listed.monitorNo);
        const work = measured && { ...listed, ...measured };
        const item = work && (await itemOf(work));
        if (work === undefined || !item) {
          this.#isIncomplete = true;
          if (work !== undefined) onLeftOut(listed.monitorId);
          continue;
        }
        const text = JSON.stringify(item);
        bytes += Buffer.byteLength(text);
        if (bytes > MAX_WORK_BYTES) {
          const left = assigned.slice(start + index);
          onTooLarge(left.length);
          // Monitors that do not fit count as given: they would be left out again at every check-in.
          this.#give(left);
          return;
        }
        this.#give([work]);
        yield text;
      }
    }
  }

  #give(given: readonly AssignedWork[]): void {
    const newer = given.filter((work) => !isGiven(work));
    this.#given.push(...newer.map(({ monitorNo, checksVersion }) => ({ monitorNo, checksVersion })));
  }
}

/** Reads pieces until the response is complete, or too large to be sent at once. */
async function readStart(pieces: AsyncGenerator<string, void>): Promise<{ text: string; isWhole: boolean }> {
  let text = '';
  while (text.length <= WHOLE_CHARACTERS) {
    const { value, done } = await pieces.next();
    if (done === true) return { text, isWhole: true };
    text += value;
  }
  return { text, isWhole: false };
}

/** Sends pieces as fast as they are read; stops if the reader closes its connection or takes too long. */
async function sendWhileRead(response: Response, start: string, pieces: AsyncGenerator<string, void>): Promise<void> {
  const all = async function* () {
    yield start;
    yield* pieces;
  };
  try {
    await pipeline(all, response, { signal: AbortSignal.timeout(READ_WITHIN_MS) });
  } catch (error) {
    if (!isReaderGone(error)) throw error;
  }
}

/** Reports whether the response was cut off by its reader, which is not an error of the service. */
function isReaderGone(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : null;
  return code === 'ERR_STREAM_PREMATURE_CLOSE' || code === 'ABORT_ERR' || code === 'ECONNRESET' || code === 'EPIPE';
}

/** Refuses a public key that nothing can be sealed to, so that it is not pinned. */
async function requireUsableKey({ publicKey }: CheckIn, agent: TokenAgent): Promise<void> {
  if (publicKey === null || agent.publicKey !== null) return;
  if (!(await isUsableKey(publicKey)))
    throw badRequest('publicKey must be a valid X25519 public key, got 32 bytes that nothing can be encrypted for');
}

/** Reports whether an agent can run an item. Withheld secrets do not exclude an item: the agent gets it, marked. */
function isAble({ type }: AssignedWork, { capabilities }: CheckIn): boolean {
  return findInability({ capabilities, secretsWithheld: null }, { type, hasSecrets: false }) === null;
}

/** Returns a strong entity tag of a value's JSON. */
function tagOf(content: unknown): string {
  return `"${createHash('sha256').update(JSON.stringify(content)).digest('base64url')}"`;
}

/**
 * Reports whether `If-None-Match` names the tag: a list, including weak tags (compressing proxies weaken them), or `*`
 * (RFC 9110, section 13.1.2).
 */
function namesTag(ifNoneMatch: string | undefined, tag: string): boolean {
  return (
    ifNoneMatch !== undefined &&
    (ifNoneMatch.trim() === '*' || [...ifNoneMatch.matchAll(/"[^"]*"/g)].some(([named]) => named === tag))
  );
}

/** The agent that gets the work: the key to seal its secrets to, or why they are withheld. */
type Recipient = { agentId: string; publicKey: string | null; withheld: Withholding | null };

/** Opens a monitor's secrets; null if that fails. */
type Open = (sealed: { monitorId: string; sealedSecrets: string }) => MonitorSecrets | null;

async function makeItem(
  work: WholeWork,
  { agentId, publicKey, withheld }: Recipient,
  open: Open,
): Promise<WorkItem | null> {
  const { monitorId, sealedSecrets, settings } = work;
  const item = workItemOf(work, agentId);
  if (item === null || sealedSecrets === null) return item;
  if (withheld !== null || publicKey === null) return { ...withoutAuth(item), secretsWithheld: withheld ?? 'no_key' };
  const opened = open({ monitorId, sealedSecrets });
  const secrets = opened && workSecretsOf(opened, settings.checkSpec.transport);
  if (secrets === null) return null;
  // Sealing hundreds of items takes a while, so each yields to the event loop.
  await setImmediate();
  return {
    ...besideSecrets(item, secrets, settings.checkSpec.transport),
    sealedSecrets: await sealTo(publicKey, JSON.stringify(secrets)),
  };
}

/** Returns the item without `auth`, for an agent that gets no secrets: it might send an empty one otherwise (D-69). */
function withoutAuth({ checkSpec: { request, ...checkSpec }, ...item }: WorkItem): WorkItem {
  const { auth: _auth, ...rest } = request ?? {};
  return { ...item, checkSpec: { ...checkSpec, ...(request && { request: rest }) } };
}
