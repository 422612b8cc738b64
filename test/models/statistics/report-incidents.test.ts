import test from 'ava';
import type { QueryConfig } from 'pg';
import { periodAround } from '../../../core/statistics/reports/periods.ts';
import { composeReport } from '../../../models/statistics/period-facts.ts';
import { createPartitions } from '../../../models/system/partitions.ts';
import { openTestRuntime, type TestRuntime } from '../../helpers/runtime.ts';

const WEEK = periodAround('week', Date.UTC(2026, 2, 4) / 1000);
const START = WEEK.startSeconds;
const END = WEEK.endSeconds;
const DAY = 86_400;

type Times = { startMs: number; endMs: number | null };

/** Creates the weekly report of one monitor with these incidents. */
async function reportOf(runtime: TestRuntime, incidents: readonly Times[]) {
  const { pool } = runtime.database;
  const { id, no } = await runtime.addMonitor([]);
  await createPartitions(runtime.database, END * 1000);
  await pool.query('UPDATE monitors SET created_at = $2 WHERE no = $1', [no, START - 10 * DAY]);
  await pool.query(
    `INSERT INTO incidents (id, tenant_id, monitor_id, monitor_name, state, reason, sources_down, started_at,
       detected_at, resolved_at, resolution)
     SELECT 'inc_' || i.no, $1, $2, 'Shop', 'down', 'HTTP 503', '{}', i.start, i.start, i.stop,
       CASE WHEN i.stop IS NOT NULL THEN 'recovered' END
     FROM unnest($3::bigint[], $4::bigint[]) WITH ORDINALITY AS i (start, stop, no)`,
    [runtime.tenantId, id, incidents.map(({ startMs }) => startMs), incidents.map(({ endMs }) => endMs)],
  );
  const nowMs = (END + DAY) * 1000;
  const report = await composeReport(runtime.database, { tenantId: runtime.tenantId, window: WEEK, nowMs });
  const line = report?.content.monitors[0];
  if (report === null || line === undefined) throw new Error('There is no report');
  return { line, listed: report.details.incidents };
}

const OVERLAPPING: readonly (readonly [
  string,
  [startSecond: number, endSecond: number | null],
  { incidents: number; longest: number; mttr: number | null },
])[] = [
  ['that ended when the period began', [START - 100, START], { incidents: 0, longest: 0, mttr: null }],
  ['that ended one second into the period', [START - 100, START + 1], { incidents: 1, longest: 1, mttr: 101 }],
  ['of zero length when the period began', [START, START], { incidents: 1, longest: 0, mttr: 0 }],
  ['of zero length when the period ended', [END, END], { incidents: 0, longest: 0, mttr: null }],
  ['that ended when the period ended', [END - 60, END], { incidents: 1, longest: 60, mttr: 60 }],
  ['that ended one second after the period', [END - 60, END + 1], { incidents: 1, longest: 60, mttr: null }],
  ['that is still open', [END - 60, null], { incidents: 1, longest: 60, mttr: null }],
  ['that spans the period', [START - DAY, END + DAY], { incidents: 1, longest: 7 * DAY, mttr: null }],
  ['that began when the period ended', [END, END + 5], { incidents: 0, longest: 0, mttr: null }],
];
for (const [what, [start, end], expected] of OVERLAPPING) {
  test(`an incident ${what} counts as ${JSON.stringify(expected)}`, async (t) => {
    // Only whole seconds count, so milliseconds are added.
    const times = { startMs: start * 1000 + 999, endMs: end === null ? null : end * 1000 + 999 };
    const { line, listed } = await reportOf(await openTestRuntime(t), [times]);
    t.deepEqual(
      { incidents: line.incidents, longest: line.longest_incident_seconds, mttr: line.mttr_seconds },
      expected,
    );
    t.is(listed.length, expected.incidents);
  });
}

test('an incident that ends after the period is open in its report, whenever that is made', async (t) => {
  const startMs = (END - 60) * 1000;
  const early = await reportOf(await openTestRuntime(t), [{ startMs, endMs: null }]);
  const late = await reportOf(await openTestRuntime(t), [{ startMs, endMs: (END + 3600) * 1000 }]);
  t.like(early.listed[0], { id: 'inc_1', resolved_at: null, duration_seconds: null, resolution: null });
  const whole = ({ line, listed }: typeof early) => [
    { ...line, id: '' },
    listed.map((one) => ({ ...one, monitor_id: '' })),
  ];
  t.deepEqual(whole(late), whole(early));
});

test('all of 20,000 incidents are counted, but only the thousand longest leave the database', async (t) => {
  const runtime = await openTestRuntime(t);
  const incidents = Array.from({ length: 20_000 }, (_, index) => {
    const startMs = (START + index * 10) * 1000;
    return { startMs, endMs: startMs + (index % 20 === 0 ? 9000 : 1000) };
  });
  const { pool } = runtime.database;
  let mostRows = 0;
  const counting = Object.assign(Object.create(pool) as typeof pool, {
    query: async (statement: QueryConfig, values?: unknown[]) => {
      const result = await pool.query(statement, values);
      mostRows = Math.max(mostRows, result.rows.length);
      return result;
    },
  });
  const { line, listed } = await reportOf({ ...runtime, database: { ...runtime.database, pool: counting } }, incidents);
  t.is(mostRows, 1000);
  t.like(line, { incidents: 20_000, longest_incident_seconds: 9, mttr_seconds: Math.round(28_000 / 20_000) });
  t.is(listed.length, 1000);
  t.true(listed.every(({ duration_seconds: seconds }) => seconds === 9));
  t.deepEqual(
    listed.map(({ id }) => id),
    incidents.flatMap((_, index) => (index % 20 === 0 ? [`inc_${index + 1}`] : [])),
  );
});
