import { createHash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import type { RequestHandler } from 'express';
import { Counter } from 'prom-client';
import { readPull, type CheckIn } from '../../../core/agents/requests.ts';
import { findInability, type PullAnswer, type Withholding, type WorkItem } from '../../../core/agents/wire.ts';
import { besideSecrets, workItemOf, workSecretsOf } from '../../../core/agents/work-item.ts';
import type { MonitorSecrets } from '../../../core/monitors/monitor.ts';
import {
  checkInAgent,
  isUsableKey,
  listAssignedWork,
  openWorkSecrets,
  sealTo,
  updateGivenVersions,
  type AssignedWork,
  type TokenAgent,
} from '../../../models/agents/protocol.ts';
import { accept, badRequest } from '../../api-error.ts';
import type { Parts } from '../../handler.ts';
import { agentOf, invalidAgentToken } from './authentication.ts';

/** `POST /agent/v1/pull`: the agent's check-in, answered with all of its work. */
export function pullHandler({
  database,
  logger,
  metrics,
  now,
}: Parts<'database' | 'logger' | 'metrics' | 'now'>): RequestHandler {
  const count = new Counter({
    name: 'spotcheck_agent_pulls_total',
    help: 'Check-ins of private agents, by outcome',
    labelNames: ['outcome'],
    registers: [metrics],
  });
  return async (request, response) => {
    const agent = agentOf(response);
    const checkIn = accept(readPull(request.body));
    await requireUsableKey(checkIn, agent);
    const checkedIn = await checkInAgent(database, { agentNo: agent.no, checkIn, nowMs: now() });
    // Deleted or revoked since the request was admitted.
    if (checkedIn === null) throw invalidAgentToken();

    const { capabilities } = checkIn;
    const recipient: Recipient = { agentId: agent.id, publicKey: checkedIn.publicKey, withheld: checkedIn.withheld };
    const assigned = (await listAssignedWork(database, agent.no)).filter((work) => isAble(work, checkIn));
    const changed = assigned.filter(({ givenVersion, checksVersion }) => givenVersion !== checksVersion);
    if (changed.length > 0) await updateGivenVersions(database, { agentNo: agent.no, given: changed, nowMs: now() });

    const tag = tagOf({
      capabilities,
      recipient,
      work: assigned.map(({ monitorId, intervalSeconds, settings, sealedSecrets, askedAt }) => [
        monitorId,
        intervalSeconds,
        settings,
        sealedSecrets,
        ...(askedAt === null ? [] : [askedAt]),
      ]),
    });
    // For the agent alone, which asks again each time.
    response.set('Cache-Control', 'private, no-cache');
    if (namesTag(request.headers['if-none-match'], tag)) {
      count.inc({ outcome: 'unchanged' });
      response.set('ETag', tag).status(304).end();
      return;
    }
    const { items, leftOut } = await makeItems(assigned, recipient, (sealed) => openWorkSecrets(database, sealed));
    for (const monitorId of leftOut) logger.warn({ monitor_id: monitorId, agent_id: agent.id }, 'agent.work_left_out');
    // Without a tag where something was left out, so that it is offered again once it can be.
    if (leftOut.length === 0) response.set('ETag', tag);
    count.inc({ outcome: 'answered' });
    const answer: PullAnswer = { agentId: agent.id, agentKind: 'tenant', capabilities, work: items };
    // Not by json(), which would make a tag of its own over boxes that differ each time.
    response.type('application/json').end(JSON.stringify(answer));
  };
}

/** Refuses a public key that nothing can be sealed to: it must not be pinned. */
async function requireUsableKey({ publicKey }: CheckIn, agent: TokenAgent): Promise<void> {
  if (publicKey === null || agent.publicKey !== null) return;
  if (!(await isUsableKey(publicKey)))
    throw badRequest('publicKey must be a valid X25519 public key, got 32 bytes that nothing can be encrypted for');
}

/** Whether an agent can run an item. Withheld secrets do not keep an item back: the agent gets it, marked. */
function isAble({ settings: { type } }: AssignedWork, { capabilities }: CheckIn): boolean {
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

/**
 * Builds the work items that an agent receives. Also returns the ids of the monitors that are left out because their
 * secrets cannot be decrypted.
 */
async function makeItems(
  assigned: readonly AssignedWork[],
  recipient: Recipient,
  open: Open,
): Promise<{ items: WorkItem[]; leftOut: string[] }> {
  const items: WorkItem[] = [];
  const leftOut: string[] = [];
  for (const work of assigned) {
    const item = await makeItem(work, recipient, open);
    if (item === null) leftOut.push(work.monitorId);
    else items.push(item);
  }
  return { items, leftOut };
}

async function makeItem(
  work: AssignedWork,
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
