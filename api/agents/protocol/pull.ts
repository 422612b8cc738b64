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

/** Monitors whose settings are read at a time: what an answer has in memory, of 128 KiB each at the most. */
const PAGE_MONITORS = 20;

/** The least of a piece but the last one, in characters: many small monitors are sent together. */
const PIECE_CHARACTERS = 65_536;

/** An answer of at most so many characters is sent at once: a thousand monitors mostly take half of it. */
const WHOLE_CHARACTERS = 1_048_576;

/** The most work of an answer, in bytes: agents read 64 MiB, and proxies may allow less. */
const MAX_WORK_BYTES = 50_331_648;

/** How long an agent may take to read a large answer, in milliseconds: ours gives up after ten seconds. */
const READ_WITHIN_MS = 60_000;

/**
 * `POST /agent/v1/pull`: the agent's check-in, answered with all of its work. What is unchanged is known without the
 * monitors' settings, and a large answer is made while it is read (D-662).
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
    // Deleted, revoked or given a new token since the request was admitted: its body may have come much later.
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
    // For the agent alone, which asks again each time.
    response.set('Cache-Control', 'private, no-cache');
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
    // Without a tag where something was left out, so that it is offered again once it can be.
    if (hasAll && !answer.isIncomplete) response.set('ETag', tag);
    count.inc({ outcome: 'answered' });
    // Not by json(), which would make a tag of its own over boxes that differ each time.
    response.type('application/json');
    if (giveBack === null) response.end(start.text);
    else await sendWhileRead(response, start.text, pieces).finally(giveBack);
  };
}

/**
 * The tags of the keys that secrets are sealed with, by their ids. What could not be opened with another key of that id
 * is offered again with the right one.
 */
function keyTagsOf({ secrets }: Database): ReadonlyMap<string, string> {
  const tags = secrets.derive('agents.work');
  return new Map(secrets.keyIds.map((id, index) => [id, tags[index] ?? '']));
}

/** Whether the agent has the monitor as it is now, or is not to be offered it again as it is (D-662). */
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
  /** Null where its secrets cannot be opened. */
  itemOf: (work: WholeWork) => Promise<WorkItem | null>;
  /** Called before the last piece: until then the agent can use nothing of the answer. */
  recordGiven: (given: readonly GivenVersion[]) => Promise<void>;
  onLeftOut: (monitorId: string) => void;
  /** Called with how many monitors, the newest ones, do not fit into the answer. */
  onTooLarge: (monitors: number) => void;
};

/** A monitor with what it measures, which may be newer than when it was listed. */
type WholeWork = AssignedWork & MeasuredSettings;

/** An agent's work as JSON in pieces, each of many small monitors or one large one; others have a turn in between. */
class WorkAnswer {
  readonly #parts: WorkAnswerParts;
  readonly #given: GivenVersion[] = [];
  #isIncomplete = false;

  constructor(parts: WorkAnswerParts) {
    this.#parts = parts;
  }

  /** Whether a monitor is not in the pieces so far: its secrets cannot be opened, or it is no longer the agent's. */
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
          // As if given: they would be left out again, however often the agent asks.
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

/** Reads pieces until an answer is too large to be sent at once, or whole. */
async function readStart(pieces: AsyncGenerator<string, void>): Promise<{ text: string; isWhole: boolean }> {
  let text = '';
  while (text.length <= WHOLE_CHARACTERS) {
    const { value, done } = await pieces.next();
    if (done === true) return { text, isWhole: true };
    text += value;
  }
  return { text, isWhole: false };
}

/** Sends pieces as fast as they are read, and gives up on a reader that closes its connection or takes too long. */
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

/** Whether the answer broke off because of its reader, which is no fault of ours. */
function isReaderGone(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : null;
  return code === 'ERR_STREAM_PREMATURE_CLOSE' || code === 'ABORT_ERR' || code === 'ECONNRESET' || code === 'EPIPE';
}

/** Refuses a public key that nothing can be sealed to: it must not be pinned. */
async function requireUsableKey({ publicKey }: CheckIn, agent: TokenAgent): Promise<void> {
  if (publicKey === null || agent.publicKey !== null) return;
  if (!(await isUsableKey(publicKey)))
    throw badRequest('publicKey must be a valid X25519 public key, got 32 bytes that nothing can be encrypted for');
}

/** Whether an agent can run an item. Withheld secrets do not keep an item back: the agent gets it, marked. */
function isAble({ type }: AssignedWork, { capabilities }: CheckIn): boolean {
  return findInability({ capabilities, secretsWithheld: null }, { type, hasSecrets: false }) === null;
}

/** Makes a strong entity tag of what has this JSON. */
function tagOf(content: unknown): string {
  return `"${createHash('sha256').update(JSON.stringify(content)).digest('base64url')}"`;
}

/**
 * True when `If-None-Match` names the tag: a list, weak ones too (proxies that compress weaken them), or `*` (RFC 9110,
 * section 13.1.2).
 */
function namesTag(ifNoneMatch: string | undefined, tag: string): boolean {
  return (
    ifNoneMatch !== undefined &&
    (ifNoneMatch.trim() === '*' || [...ifNoneMatch.matchAll(/"[^"]*"/g)].some(([named]) => named === tag))
  );
}

/** The agent that work is given to: the key that its secrets are sealed to, or why they are withheld. */
type Recipient = { agentId: string; publicKey: string | null; withheld: Withholding | null };

/** Opens a monitor's secrets; null where they cannot be. */
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
  // Sealing hundreds takes a while, and others are waiting.
  await setImmediate();
  return {
    ...besideSecrets(item, secrets, settings.checkSpec.transport),
    sealedSecrets: await sealTo(publicKey, JSON.stringify(secrets)),
  };
}

/** The item of an agent that gets no secrets: one that knew of an `auth` might send an empty one (D-69). */
function withoutAuth({ checkSpec: { request, ...checkSpec }, ...item }: WorkItem): WorkItem {
  const { auth: _auth, ...rest } = request ?? {};
  return { ...item, checkSpec: { ...checkSpec, ...(request && { request: rest }) } };
}
