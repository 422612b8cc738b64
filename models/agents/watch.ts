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
 * Result of polling the agents: the last recorded ping availability, whether a decision is due, and whether any
 * customer has an agent.
 */
type AgentPoll = { availability: CheckInAvailability; isDue: boolean; hasOwn: boolean };

/**
 * An agent whose status changed. `atMs` is the time (Unix milliseconds), `lastSeenAt` its newest check-in (Unix
 * seconds); `tenantId` is null for shared agents.
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
 * Time after which offline agents no longer count as recent, in milliseconds; silence is reported within half of it.
 */
const LATELY_MS = 300_000;

/**
 * Reports whether any agent's silence is due, no longer held back, or over; null if no web process has ever listened.
 * Availability recorded by a web process with a fast clock counts only up to `nowMs`. The statement is prepared,
 * because it runs all the time and mostly finds nothing. It reads a whole small table: an index on the newest check-in
 * would have to be updated at every check-in.
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

/** Lists all agents that are online, and those that recently went offline or are back. */
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
 * Marks agents as offline that did not check in meanwhile, and returns those changed by this call: of two processes
 * only one gets each. Their sources are marked as not counted, so that the sweep evaluates their monitors again however
 * soon they return. Run it in a transaction; it locks sources first, like the deletion of an agent.
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

/** Marks agents as online that have checked in since their silence began, and returns those changed by this call. */
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

/** Updates the time until which the silence of agents is held back; returns their number. */
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

/** An agent that its owner deleted or revoked. */
type EndedAgent = { id: string; nowMs: number; end: 'deleted' | 'revoked' };

const REASONS = {
  deleted: 'The agent was deleted',
  revoked: 'The token of the agent was revoked',
} as const satisfies Record<EndedAgent['end'], string>;

/**
 * Resolves the alert of an offline agent at receivers that keep it open until then (D-573), if it was sent or is about
 * to be. Run it before the agent is changed, in the same transaction. The search for overdue deliveries finds the new
 * ones as due.
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
