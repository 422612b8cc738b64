import type { RequestHandler } from 'express';
import { Counter } from 'prom-client';
import { findInability } from '../../core/agent/capability.ts';
import { readPull, type CheckIn } from '../../core/agent/read-pull.ts';
import type { PullAnswer } from '../../core/agent/wire.ts';
import {
  checkInAgent,
  listAssignedWork,
  updateGivenVersions,
  openWorkSecrets,
  type AssignedWork,
  type TokenAgent,
} from '../../models/agent-work.ts';
import { isUsableKey } from '../../models/sealed-box.ts';
import { accept, badRequest } from '../api-error.ts';
import type { ApiDependencies } from '../dependencies.ts';
import { agentOf, invalidAgentToken } from './authentication.ts';
import { namesTag, tagOf } from './entity-tag.ts';
import { makeItems, type Recipient } from './work-items.ts';

/** `POST /agent/v1/pull`: the agent's check-in, answered with all of its work. */
export function pullHandler({ database, logger, metrics, now }: ApiDependencies): RequestHandler {
  const count = new Counter({
    name: 'spotcheck_agent_pulls_total',
    help: "Check-ins of customers' agents by outcome",
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
    // For the agent alone, who asks again each time.
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

/** A key that nothing can be sealed to must not be pinned. */
async function requireUsableKey({ publicKey }: CheckIn, agent: TokenAgent): Promise<void> {
  if (publicKey === null || agent.publicKey !== null) return;
  if (!(await isUsableKey(publicKey)))
    throw badRequest('publicKey must be an X25519 public key, got 32 bytes to which nothing can be sealed');
}

/** Withheld secrets do not keep an item back: the agent is notified of it, marked. */
function isAble({ settings: { type } }: AssignedWork, { capabilities }: CheckIn): boolean {
  return findInability({ capabilities, secretsWithheld: null }, { type, hasSecrets: false }) === null;
}
