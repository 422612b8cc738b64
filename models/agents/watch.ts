import type { AgentMessage } from '../../core/agents/message.ts';
import {
  HOLD_MS,
  OFFLINE_AFTER_MS,
  type CheckInAvailability,
  type SilenceDecision,
  type WatchedAgent,
} from '../../core/agents/silence.ts';
import { STATEFUL_PRESETS } from '../../core/alerts/webhook.ts';
import { toUnixSeconds } from '../../core/time.ts';
import { insertDeliveries } from '../alerts/deliveries.ts';
import type { Database } from '../database.ts';
import { PING_AVAILABILITY } from '../heartbeats/watch.ts';
import { createIdSource } from '../secrets/ids.ts';
import type { Run } from '../sql.ts';

/**
 * What a poll of the agents found: the last recorded ping availability, whether anything is to be decided, and whether
 * any customer has an agent.
 */
export type AgentPoll = { availability: CheckInAvailability; isDue: boolean; hasOwn: boolean };

/**
 * An agent whose status changed. `atMs` is when (Unix milliseconds), `lastSeenAt` its newest check-in (Unix seconds);
 * `tenantId` is null for shared agents.
 */
export type ChangedAgent = {
  id: string;
  tenantId: string | null;
  name: string;
  region: string | null;
  lastSeenAt: number;
  atMs: number;
};

/**
 * Agents that went offline longer ago than this are no part of what happens now, in milliseconds: silence is reported
 * by half of it.
 */
const LATELY_MS = 300_000;

/**
 * Whether any agent's silence is due, held back no longer, or over; null where no web process has ever listened.
 * Availability held by a web process whose clock is ahead counts up to `nowMs` only. One prepared statement, because it
 * is asked all the time and the answer is mostly no. It reads the whole of a small table: an index on the newest
 * check-in would have to be written with every check-in.
 */
export async function pollAgents(database: Database, nowMs: number): Promise<AgentPoll | null> {
  const { rows } = await database.pool.query<CheckInAvailability & Omit<AgentPoll, 'availability'>>({
    name: 'poll-agents',
    text: `SELECT w.at AS "atMs", w.resumed_at AS "availableSinceMs",
                  coalesce(bool_or(a.kind = 'tenant'), false) AS "hasOwn",
                  coalesce(bool_or(CASE
                    WHEN a.offline_at IS NOT NULL THEN a.last_seen_ms > a.offline_at - ${OFFLINE_AFTER_MS}
                    ELSE silent_since <= w.at - ${OFFLINE_AFTER_MS}
                      AND (a.held_until IS DISTINCT FROM silent_since + ${OFFLINE_AFTER_MS + HOLD_MS}
                        OR a.held_until <= w.at) END), false) AS "isDue"
           FROM (SELECT least(at, $2::bigint) AS at, resumed_at FROM service_marks WHERE name = $1) w
             LEFT JOIN watched_agents a ON true,
             LATERAL (SELECT greatest(a.last_seen_ms, w.resumed_at) AS silent_since) AS silence
           GROUP BY w.at, w.resumed_at`,
    values: [PING_AVAILABILITY, nowMs],
  });
  const [row] = rows;
  if (row === undefined) return null;
  const { isDue, hasOwn, ...availability } = row;
  return { availability, isDue, hasOwn };
}

/** All agents that are online, and those that went offline lately or are back. */
export async function listWatchedAgents(run: Run, nowMs: number): Promise<WatchedAgent[]> {
  return await run<WatchedAgent>(
    `SELECT no, tenant_id AS "tenantId", last_seen_ms AS "lastSeenAtMs", offline_at AS "offlineAtMs",
            held_until AS "heldUntilMs"
     FROM watched_agents
     WHERE offline_at IS NULL OR offline_at >= $1 OR last_seen_ms > offline_at - ${OFFLINE_AFTER_MS}`,
    [nowMs - LATELY_MS],
  );
}

/**
 * Updates agents to offline that did not check in meanwhile, and returns those that this made offline: of two processes
 * one gets each. Their sources are updated to not counted, so that the sweep decides their monitors anew however soon
 * they are back. Run it in a transaction; sources come first, as in the deletion of an agent.
 */
export async function updateToOffline(run: Run, silent: SilenceDecision['offline']): Promise<ChangedAgent[]> {
  await run(
    `WITH sources AS (
       SELECT s.monitor_no, s.agent_no FROM monitor_sources s WHERE s.agent_no = ANY($1::int[]) AND s.phase IS NOT NULL
         AND NOT s.was_unheard
       ORDER BY s.monitor_no, s.agent_no FOR NO KEY UPDATE
     )
     UPDATE monitor_sources s SET was_unheard = true FROM sources k WHERE s.monitor_no = k.monitor_no
       AND s.agent_no = k.agent_no`,
    [silent.map(({ no }) => no)],
  );
  return await run<ChangedAgent>(
    `WITH silent AS (
       SELECT a.no, k.offline_at
       FROM unnest($1::int[], $2::bigint[]) AS k (no, offline_at) JOIN watched_agents a ON a.no = k.no
       WHERE a.offline_at IS NULL AND a.last_seen_ms <= k.offline_at - ${OFFLINE_AFTER_MS}
       ORDER BY a.no FOR NO KEY UPDATE OF a
     )
     UPDATE agents a SET offline_at = s.offline_at FROM silent s WHERE a.no = s.no
     RETURNING a.id, a.tenant_id AS "tenantId", a.name, a.region, a.last_seen_at AS "lastSeenAt",
       s.offline_at AS "atMs"`,
    [silent.map(({ no }) => no), silent.map(({ offlineAtMs }) => offlineAtMs)],
  );
}

/** Updates agents to online that have checked in since their silence began, and returns those that this made online. */
export async function updateToOnline(run: Run, nos: readonly number[]): Promise<ChangedAgent[]> {
  return await run<ChangedAgent>(
    `WITH back AS (
       SELECT no, greatest(last_seen_at * 1000, offline_at) AS at FROM watched_agents
       WHERE no = ANY($1::int[]) AND last_seen_ms > offline_at - ${OFFLINE_AFTER_MS} ORDER BY no FOR NO KEY UPDATE
     )
     UPDATE agents a SET offline_at = NULL FROM back b WHERE a.no = b.no
     RETURNING a.id, a.tenant_id AS "tenantId", a.name, a.region, a.last_seen_at AS "lastSeenAt", b.at AS "atMs"`,
    [nos],
  );
}

/** Updates until when the silence of agents is held back; returns how many. */
export async function updateHeldUntil(run: Run, held: SilenceDecision['held']): Promise<number> {
  const rows = await run<{ no: number }>(
    `WITH held AS (
       SELECT a.no, k.held_until
       FROM unnest($1::int[], $2::bigint[]) AS k (no, held_until) JOIN watched_agents a ON a.no = k.no
       WHERE a.offline_at IS NULL AND a.held_until IS DISTINCT FROM k.held_until
       ORDER BY a.no FOR NO KEY UPDATE OF a
     )
     UPDATE agents a SET held_until = h.held_until FROM held h WHERE a.no = h.no RETURNING a.no`,
    [held.map(({ no }) => no), held.map(({ heldUntilMs }) => heldUntilMs)],
  );
  return rows.length;
}

/** An agent whose owner ended it. */
type EndedAgent = { id: string; nowMs: number; end: 'deleted' | 'revoked' };

const REASONS = {
  deleted: 'The agent was deleted',
  revoked: 'The token of the agent was revoked',
} as const satisfies Record<EndedAgent['end'], string>;

/**
 * Resolves the alert of an offline agent at receivers that keep it open until then (D-573). They must have been sent
 * it, or be about to be. Run it before the agent is changed, in the same transaction. The deliveries are found as due
 * by whoever looks for overdue ones.
 */
export async function insertAgentResolves(run: Run, { id, nowMs, end }: EndedAgent): Promise<void> {
  const open = await run<{ tenantId: string; channelId: string; message: AgentMessage }>(
    `SELECT n.* FROM agents a, LATERAL (
       SELECT DISTINCT ON (d.channel_id) d.tenant_id AS "tenantId", d.channel_id AS "channelId", d.message
       FROM deliveries d JOIN channels c ON c.id = d.channel_id
       WHERE d.monitor_id = a.id AND c.format ->> 'preset' = ANY ($2::text[])
         AND (d.attempts > 0 OR d.outcome = 'pending')
       ORDER BY d.channel_id, d.no DESC) n JOIN channels c ON c.id = n."channelId"
     WHERE a.id = $1 AND a.offline_at IS NOT NULL AND a.revoked_at IS NULL AND n.message ->> 'event' = 'agent.offline'
     ORDER BY c.id FOR KEY SHARE OF c`,
    [id, STATEFUL_PRESETS],
  );
  const newId = createIdSource();
  await insertDeliveries(
    run,
    open.map(({ tenantId, channelId, message }) => ({
      id: newId('dlv'),
      tenantId,
      channelId,
      monitorId: id,
      message: {
        ...message,
        event: 'agent.online',
        event_at: toUnixSeconds(nowMs),
        state: 'online',
        reason: REASONS[end],
      },
      createdAtMs: nowMs,
    })),
  );
}
