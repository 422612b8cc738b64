import { mergeHistograms, quantileOf, type Histogram } from '../../core/statistics/latency-histogram.ts';
import { cutWindow } from '../../core/statistics/rollup-spans.ts';
import { HOUR_MS } from '../../core/time.ts';
import type { Database } from '../database.ts';
import { runOn } from '../sql.ts';
import { rolledUntilMs } from '../statistics/rollups.ts';
import { tallySql, type TallyRow } from '../statistics/statistics.ts';
import type { LISTED, ListedMonitor } from './monitor-rows.ts';
import type { MeasuredMonitor } from './monitors.ts';

type ValuesOf<Names extends readonly (keyof ListedMonitor)[]> = {
  -readonly [Index in keyof Names]: ListedMonitor[Names[Index]];
};

/**
 * All monitors of a tenant by creation, then id. For thousands at once: as arrays, which takes two thirds of the time
 * of objects.
 */
export async function listAllMonitors({ pool }: Pick<Database, 'pool'>, tenantId: string): Promise<ListedMonitor[]> {
  const { rows } = await pool.query<ValuesOf<typeof LISTED>>({
    text: `SELECT id, name, type, target, interval_seconds, timeout_ms, method, expected_status, body_match,
        follow_redirects, down_after_failures, up_after_successes,
                  down_min_sources, heartbeat_grace_seconds, sla_target, state, enabled, state_since, created_at,
                    updated_at
           FROM monitors WHERE tenant_id = $1 ORDER BY created_at, id`,
    values: [tenantId],
    rowMode: 'array',
  });
  return rows.map(monitorOf);
}

function monitorOf([
  id,
  name,
  type,
  target,
  intervalSeconds,
  timeoutMs,
  method,
  expectedStatus,
  bodyMatch,
  followRedirects,
  downAfterFailures,
  upAfterSuccesses,
  downMinSources,
  heartbeatGraceSeconds,
  slaTarget,
  state,
  enabled,
  stateSinceMs,
  createdAt,
  updatedAt,
]: ValuesOf<typeof LISTED>): ListedMonitor {
  return {
    id,
    name,
    type,
    target,
    intervalSeconds,
    timeoutMs,
    method,
    expectedStatus,
    bodyMatch,
    followRedirects,
    downAfterFailures,
    upAfterSuccesses,
    downMinSources,
    heartbeatGraceSeconds,
    slaTarget,
    state,
    enabled,
    stateSinceMs,
    createdAt,
    updatedAt,
  };
}

/** Those of `ids` that are monitors of the tenant, as far as statistics need them. */
export async function listMeasuredMonitors(
  database: Pick<Database, 'pool'>,
  tenantId: string,
  ids: readonly string[],
): Promise<MeasuredMonitor[]> {
  return await runOn(database.pool)(
    'SELECT no, id, type, sla_target AS "slaTarget", created_at AS "createdAt" FROM monitors WHERE id = ' +
      'ANY($1::text[]) AND tenant_id = $2',
    [ids, tenantId],
  );
}

type HourRow = { monitor_no: number; at: number } & Pick<TallyRow, 'buckets' | 'counts'>;

/**
 * The median response times of the last `hours` whole hours, that of `nowMs` included, the oldest first, by the
 * monitors' numbers. In milliseconds, all sources together; null where nothing was measured. What is not rolled up yet
 * is read from single results.
 */
export async function readHourlyLatencies(
  database: Pick<Database, 'pool'>,
  { monitorNos, hours, nowMs }: { monitorNos: readonly number[]; hours: number; nowMs: number },
): Promise<Map<number, (number | null)[]>> {
  const run = runOn(database.pool);
  const fromMs = (Math.floor(nowMs / HOUR_MS) + 1 - hours) * HOUR_MS;
  const spans = cutWindow(
    { fromMs, toMs: fromMs + hours * HOUR_MS },
    { rolledUntilMs: await rolledUntilMs(run), coarsest: 'hour' },
  );
  const { sql, bind } = tallySql(
    { raw: spans.raw, hours: [], days: [] },
    { monitorNos, keys: { monitor_no: 'monitor_no', at: `at / ${HOUR_MS}::bigint * ${HOUR_MS}::bigint` } },
  );
  const [rolled, single] = await Promise.all([
    Promise.all(
      spans.hours.map((span) =>
        run<HourRow>(
          'SELECT monitor_no, at, buckets, counts FROM hourly_rollups WHERE monitor_no = ANY($1::int[]) AND at ' +
            '>= $2 AND at < $3',
          [monitorNos, span.fromMs, span.toMs],
        ),
      ),
    ),
    sql === null ? [] : run<HourRow>(sql, bind),
  ]);
  const byMonitor = Map.groupBy([...rolled.flat(), ...single], (row) => row.monitor_no);
  return new Map(
    monitorNos.map((no) => {
      const byHour = Map.groupBy(byMonitor.get(no) ?? [], ({ at }) => (at - fromMs) / HOUR_MS);
      return [
        no,
        Array.from({ length: hours }, (_, hour) =>
          quantileOf(mergeHistograms((byHour.get(hour) ?? []).flatMap(histogramsOf)), 0.5),
        ),
      ];
    }),
  );
}

function histogramsOf({ buckets, counts }: HourRow): Histogram[] {
  return buckets === null || counts === null ? [] : [{ buckets, counts }];
}
