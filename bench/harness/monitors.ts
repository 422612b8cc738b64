import { chooseSlot } from '../../core/checks/slots.ts';
import { stepSource } from '../../core/incidents/source-state.ts';
import type { MeasuredResult } from '../../models/checks/check-results.ts';
import { inTransaction, runOn, type Run } from '../../models/sql.ts';
import type { Installation } from './installation.ts';

export type MonitorBatch = {
  count: number;
  /** Number of the first monitor, if others exist; default 1. */
  first?: number;
  intervalSeconds: number;
  /** Targets, assigned in turn; each monitor has its own path. */
  targets: readonly string[];
  downAfterFailures: number;
};

/** Region of the one shared agent, the default of `npm start`. */
export const REGION = 'local';

/** Returns the id of the nth monitor, which sorts before all ids that the API creates later. */
export function monitorId(number: number): string {
  return `mon_${String(number).padStart(26, '0')}`;
}

/**
 * Inserts http monitors that have been up for an hour, spread evenly over the slots of one shared agent, with results
 * as of the call. All appear at once, since a running service would call monitors without results silent. Creation
 * itself is measured by another benchmark.
 */
export async function addMonitors({ database, tenantId }: Installation, fleet: MonitorBatch): Promise<void> {
  await inTransaction(database, (run) => insertMonitors(run, tenantId, fleet));
  await runOn(database.pool)('ANALYZE');
}

async function insertMonitors(run: Run, tenantId: string, fleet: MonitorBatch): Promise<void> {
  const nowMs = Date.now();
  const first = fleet.first ?? 1;
  const ids = [monitorId(first), monitorId(first + fleet.count - 1)];
  await run(
    `INSERT INTO agents (id, kind, name, region, created_at) VALUES ('agt_bench', 'first_party', $1, $1, 0)
     ON CONFLICT DO NOTHING`,
    [REGION],
  );
  await run(
    `INSERT INTO monitors (id, tenant_id, name, type, target, interval_seconds, timeout_ms, method, expected_status,
     follow_redirects,
                           down_after_failures, up_after_successes, down_min_sources, state, state_since, sequence,
                             created_at, updated_at)
     SELECT 'mon_' || lpad(i::text, 26, '0'), $1, 'Monitor ' || i, 'http',
       ($2::text[])[1 + i % cardinality($2::text[])] || i, $3::int, 5000, 'GET', '2xx', true,
            $4::int, 1, 1, 'up', $5::bigint, 1, $5::bigint / 1000, $5::bigint / 1000
     FROM generate_series($6::int, $6::int + $7::int - 1) AS i`,
    [tenantId, fleet.targets, fleet.intervalSeconds, fleet.downAfterFailures, nowMs - 3_600_000, first, fleet.count],
  );
  await run(
    `INSERT INTO monitor_sources (monitor_no, agent_no, interval_seconds, phase, state)
     SELECT m.no, a.no, $1::int, ($2::int[])[row_number() OVER (ORDER BY m.no)], $3::jsonb
     FROM monitors m, agents a WHERE a.region = $4 AND m.id BETWEEN $5 AND $6`,
    [fleet.intervalSeconds, chooseSlots(fleet), JSON.stringify(steadyState(nowMs, fleet)), REGION, ...ids],
  );
  await run(
    `INSERT INTO check_results (due_at, monitor_no, agent_no, latency_ms, http_status, verdict)
     SELECT $1::bigint, s.monitor_no, s.agent_no, 1, 200, 1 FROM monitor_sources s JOIN monitors m
       ON m.no = s.monitor_no WHERE m.id BETWEEN $2 AND $3`,
    [nowMs, ...ids],
  );
  // Last, because the API's customers wait for these rows.
  await run(
    `INSERT INTO schedule_phases (agent_no, interval_seconds, phase, monitors)
     SELECT s.agent_no, s.interval_seconds, s.phase, count(*) FROM monitor_sources s JOIN monitors m
       ON m.no = s.monitor_no WHERE m.id BETWEEN $1 AND $2 GROUP BY 1, 2, 3
     ON CONFLICT (agent_no, interval_seconds, phase) DO UPDATE
       SET monitors = schedule_phases.monitors + excluded.monitors`,
    ids,
  );
}

/** Returns the slots that the monitors would have chosen, one after the other. */
export function chooseSlots({ count, intervalSeconds }: Pick<MonitorBatch, 'count' | 'intervalSeconds'>): number[] {
  const occupancy = new Map<number, number>();
  return Array.from({ length: count }, () => {
    const slot = chooseSlot(intervalSeconds, occupancy);
    occupancy.set(slot, (occupancy.get(slot) ?? 0) + 1);
    return slot;
  });
}

/** Returns the state of a source that has been up for so long that another success changes nothing. */
function steadyState(dueAtMs: number, { downAfterFailures, intervalSeconds }: MonitorBatch) {
  return stepSource(
    null,
    {
      dueAtMs,
      checksVersion: 1,
      verdict: 'up',
      cause: null,
      reason: null,
      httpStatus: 200,
      latencyMs: 1,
      phases: null,
      answer: null,
    },
    { downAfterFailures, upAfterSuccesses: 1, intervalSeconds },
  );
}

/** Monitors per statement; pausing them one by one locks as few. */
const UNSCHEDULED_AT_ONCE = 1000;

/**
 * Pauses monitors in bulk; others keep their slots occupied. Locks sources before monitors and both in the order of
 * their numbers, as evaluators do.
 */
export async function unscheduleMonitors(
  { database }: Installation,
  { first, count }: { first: number; count: number },
): Promise<void> {
  for (let from = first; from < first + count; from += UNSCHEDULED_AT_ONCE) {
    await runOn(database.pool)(
      `WITH before AS MATERIALIZED (
         SELECT s.* FROM monitors m JOIN monitor_sources s ON s.monitor_no = m.no WHERE m.id BETWEEN $1 AND $2
           ORDER BY s.monitor_no FOR NO KEY UPDATE OF s
       ),
       chosen AS MATERIALIZED (SELECT m.no FROM monitors m WHERE m.no IN (SELECT monitor_no FROM before) ORDER BY m.no
         FOR NO KEY UPDATE),
       paused AS (UPDATE monitors m SET enabled = false, state = 'paused' FROM chosen c WHERE m.no = c.no),
       left_slots AS (UPDATE monitor_sources s SET phase = NULL FROM before b WHERE s.monitor_no = b.monitor_no
         AND s.agent_no = b.agent_no)
       UPDATE schedule_phases p SET monitors = p.monitors - l.count
       FROM (SELECT agent_no, interval_seconds, phase, count(*) FROM before GROUP BY 1, 2, 3) l
       WHERE (p.agent_no, p.interval_seconds, p.phase) = (l.agent_no, l.interval_seconds, l.phase)`,
      [monitorId(from), monitorId(Math.min(first + count, from + UNSCHEDULED_AT_ONCE) - 1)],
    );
  }
}

/** Returns a plain result of a source, as an evaluator receives it. */
export function resultOf(
  key: { monitorNo: number; agentNo: number; dueAtMs: number },
  isDown: boolean,
): MeasuredResult {
  const answer = isDown
    ? { verdict: 'down' as const, cause: 'status_503', reason: 'HTTP 503 instead of 2xx', httpStatus: 503 }
    : { verdict: 'up' as const, cause: null, reason: null, httpStatus: 200 };
  return { ...key, ...answer, checksVersion: 1, latencyMs: 62, phases: null, answer: null };
}
