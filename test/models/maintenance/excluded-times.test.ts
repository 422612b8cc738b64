import test from 'ava';
import { measureStates, type Stretch } from '../../../core/statistics/sla.ts';
import {
  measureWithMaintenance,
  readExcludedTimes,
  readMaintenanceTimes,
} from '../../../models/maintenance/maintenance-times.ts';
import { openTestRuntime, type TestRuntime } from '../../helpers/runtime.ts';
import { seeded } from '../../helpers/seeded.ts';

const FROM_MS = Date.UTC(2026, 2, 1);
const TO_MS = FROM_MS + 1_000_000;
const WINDOW = { fromMs: FROM_MS, toMs: TO_MS };

type Time = Stretch & { monitorNo: number; sla: string; isSkipped: boolean; retroactive: string };

async function storeTimes({ database: { pool }, tenantId }: TestRuntime, times: readonly Time[]): Promise<void> {
  await pool.query(
    `WITH given AS MATERIALIZED (
       SELECT nextval(pg_get_serial_sequence('maintenance_occurrences', 'no')) AS no, g.*
       FROM unnest($2::int[], $3::bigint[], $4::bigint[], $5::text[], $6::boolean[], $7::int8multirange[])
         WITH ORDINALITY AS g (monitor_no, start_ms, end_ms, sla, is_skipped, retroactive, place)
     ), o AS (
       INSERT INTO maintenance_occurrences (no, window_id, tenant_id, window_name, local_start, starts_at, ends_at,
         all_monitors, monitor_ids, tags, alerts, sla, settle_seconds, retroactive, covered_at, is_skipped)
       OVERRIDING SYSTEM VALUE
       SELECT no, 'mwn_' || place, $1, 'x', 'x', start_ms, end_ms, true, '{}', '{}', 'hold', sla, 0, retroactive, 0,
         is_skipped
       FROM given
     )
     INSERT INTO maintenance_times (monitor_no, occurrence_no, started_at, ended_at)
     SELECT monitor_no, no, start_ms, end_ms FROM given`,
    [
      tenantId,
      times.map(({ monitorNo }) => monitorNo),
      times.map(({ startMs }) => startMs),
      times.map(({ endMs }) => endMs),
      times.map(({ sla }) => sla),
      times.map(({ isSkipped }) => isSkipped),
      times.map(({ retroactive }) => retroactive),
    ],
  );
}

test('merged maintenance counts the same seconds as its single windows, even if some are retroactive', async (t) => {
  const runtime = await openTestRuntime(t);
  const random = seeded(715);
  const monitors = [await runtime.addMonitor([]), await runtime.addMonitor([]), await runtime.addMonitor([])];
  const below = (most: number) => Math.floor(random() * most);
  const times = monitors.slice(1).flatMap(({ no: monitorNo }) =>
    Array.from({ length: 200 }, (): Time => {
      const startMs = FROM_MS - 20_000 + below(1_040_000);
      const endMs = startMs + below(5000);
      const lateMs = startMs - 1000 + below(4000);
      return {
        monitorNo,
        startMs,
        endMs,
        sla: below(5) === 0 ? 'count' : 'exclude',
        isSkipped: below(8) === 0,
        retroactive: below(3) === 0 ? `{[${startMs - 1000},${lateMs}),[${lateMs + 500},${endMs + 4700})}` : '{}',
      };
    }),
  );
  // One follows another within a second, and one ends as it begins.
  const [first] = times;
  if (first === undefined) throw new Error('There is no maintenance');
  times.push({ ...first, startMs: first.endMs, endMs: first.endMs + 300 }, { ...first, endMs: first.startMs });
  await storeTimes(runtime, times);
  const monitorNos = monitors.map(({ no }) => no);
  const each = await readMaintenanceTimes(runtime.database, { monitorNos, ...WINDOW, most: 1000 });
  const excludedTimes = (no: number) => (each.get(no) ?? []).filter(({ isExcluded }) => isExcluded);
  const seconds = (maintenance: readonly Stretch[]) =>
    measureStates({
      transitions: [{ atMs: 0, to: 'up' }],
      createdAtMs: 0,
      gaps: [],
      maintenance,
      ...WINDOW,
    });
  const measured = await measureWithMaintenance(runtime.database, { monitors, ...WINDOW }, ({ no }, merged) => ({
    no,
    excluded: seconds(merged.excluded),
    retroactive: seconds(merged.retroactive).maintenance,
  }));
  t.deepEqual(
    measured,
    monitors.map(({ no }) => ({
      no,
      excluded: seconds(excludedTimes(no)),
      retroactive: seconds(
        excludedTimes(no).flatMap(({ startMs, endMs, retroactive }) =>
          retroactive.map((late) => ({ startMs: Math.max(startMs, late.startMs), endMs: Math.min(endMs, late.endMs) })),
        ),
      ).maintenance,
    })),
  );
  t.true(
    measured.every(
      ({ excluded, retroactive }, index) => excluded.maintenance > 100 === index > 0 && retroactive > 10 === index > 0,
    ),
  );
});

test('monitors with very much maintenance are read a few at a time, and each is measured', async (t) => {
  const runtime = await openTestRuntime(t);
  const { pool } = runtime.database;
  const monitors = [await runtime.addMonitor([]), await runtime.addMonitor([]), await runtime.addMonitor([])];
  await pool.query(
    `WITH o AS (
       INSERT INTO maintenance_occurrences (window_id, tenant_id, window_name, local_start, starts_at, ends_at,
         all_monitors, monitor_ids, tags, alerts, sla, settle_seconds, covered_at)
       SELECT 'mwn_1', $1, 'x', 'x' || i, $2::bigint + i * 10, $2::bigint + i * 10 + 5, true, '{}', '{}', 'hold',
         'exclude', 0, 0
       FROM generate_series(0, 50000) AS i RETURNING no, starts_at, ends_at
     )
     INSERT INTO maintenance_times (monitor_no, occurrence_no, started_at, ended_at)
     SELECT m, o.no, o.starts_at, o.ends_at FROM o, unnest($3::int[]) AS m`,
    [runtime.tenantId, FROM_MS, monitors.slice(1).map(({ no }) => no)],
  );
  const nos = monitors.map(({ no }) => no);
  t.is(await readExcludedTimes(runtime.database, { monitorNos: nos, ...WINDOW }), null);
  const counted = await measureWithMaintenance(runtime.database, { monitors, ...WINDOW }, ({ no }, { excluded }) => [
    no,
    excluded.length,
  ]);
  t.deepEqual(
    counted,
    [0, 50_001, 50_001].map((count, index) => [nos[index], count]),
  );
});
