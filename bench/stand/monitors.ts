import { phaseCount } from '../../core/phases.ts';
import { stepSource } from '../../core/source-state.ts';
import { runWith } from '../../models/sql.ts';
import type { Installation } from './installation.ts';

export type Fleet = {
  count: number;
  intervalSeconds: number;
  /** The monitors take these in turn, each with its own path below. */
  targets: readonly string[];
  downAfterFailures: number;
};

/** The region of the one shared agent, as `npm start` has it where nobody names another. */
export const REGION = 'local';

/**
 * Fills an installation with http monitors that have been up for an hour, evenly over the phases of one shared agent, the last result of
 * each a moment old. Written in bulk: how fast monitors are created is a benchmark of its own.
 */
export async function addMonitors({ database, tenantId }: Installation, fleet: Fleet): Promise<void> {
  const run = runWith(database);
  const nowMs = Date.now();
  const lastDueMs = nowMs - 30_000;
  await run(`INSERT INTO agents (id, kind, name, region, created_at) VALUES ('agt_bench', 'first_party', $1, $1, 0) ON CONFLICT DO NOTHING`, [REGION]);
  await run(
    `INSERT INTO monitors (id, tenant_id, name, type, target, interval_seconds, timeout_ms, method, expected_status, follow_redirects,
                           down_after_failures, up_after_successes, down_min_sources, state, state_since, sequence, created_at, updated_at)
     SELECT 'mon_' || lpad(i::text, 26, '0'), $1, 'Monitor ' || i, 'http', ($2::text[])[1 + i % cardinality($2::text[])] || i, $3::int, 5000, 'GET', '2xx', true,
            $4::int, 1, 1, 'up', $5::bigint, 1, $5::bigint / 1000, $5::bigint / 1000
     FROM generate_series(1, $6::int) AS i`,
    [tenantId, fleet.targets, fleet.intervalSeconds, fleet.downAfterFailures, nowMs - 3_600_000, fleet.count],
  );
  await run(
    `INSERT INTO monitor_sources (monitor_no, agent_no, interval_seconds, phase, state)
     SELECT m.no, a.no, $1::int, (row_number() OVER (ORDER BY m.no) - 1) % $2::int, $3::jsonb FROM monitors m, agents a WHERE a.region = $4`,
    [fleet.intervalSeconds, phaseCount(fleet.intervalSeconds), JSON.stringify(steadyState(lastDueMs, fleet.downAfterFailures)), REGION],
  );
  await run('INSERT INTO schedule_phases (agent_no, interval_seconds, phase, monitors) SELECT agent_no, interval_seconds, phase, count(*) FROM monitor_sources GROUP BY 1, 2, 3');
  await run(
    `INSERT INTO check_results (due_at, monitor_no, agent_no, latency_ms, http_status, verdict) SELECT $1::bigint, monitor_no, agent_no, 1, 200, 1 FROM monitor_sources`,
    [lastDueMs],
  );
  await run('ANALYZE');
}

/** A source that has said "up" for so long that another "up" is nothing new. */
function steadyState(dueAtMs: number, downAfterFailures: number) {
  return stepSource(null, { dueAtMs, checksVersion: 1, verdict: 'up', cause: null, reason: null, httpStatus: 200, latencyMs: 1, phases: null, answer: null }, { downAfterFailures, upAfterSuccesses: 1 });
}
