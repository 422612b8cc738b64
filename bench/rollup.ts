import { HOUR_MS } from '../core/time.ts';
import { runOn } from '../models/sql.ts';
import { beginRollups, rollNextHour } from '../models/statistics/rollups.ts';
import { createPartitions, createRollupPartitions, indexNewTimes } from '../models/system/partitions.ts';
import { cpuSecondsOf } from '../test/helpers/process-tree.ts';
import type { BenchContext } from './benchmark.ts';
import { startInstallation } from './harness/installation.ts';
import { fillWithResults } from './harness/results.ts';
import { readable } from './report.ts';

const MONITORS = 100_000;
const RESULTS_A_MONITOR = 60;

/** Longest roll-up of an hour, in seconds. */
const HOUR_SECONDS = 60;

/** Bytes of a stored result with all its indexes. */
const BYTES_A_RESULT = 100;

/**
 * Measures the roll-up of an hour of 100,000 monitors at 60 s, and the space that results take. The same partition also
 * contains the previous hour.
 */
export async function rollup({ isQuick, report, withHarness }: BenchContext): Promise<void> {
  await withHarness(async (harness) => {
    const { database, postgresPid } = await startInstallation(harness, 'postgres');
    const monitors = isQuick ? MONITORS / 10 : MONITORS;
    // The last hour of a day, because its roll-up creates that of the day as well.
    const hourMs = Math.floor(Date.now() / (24 * HOUR_MS)) * 24 * HOUR_MS - HOUR_MS;
    await createPartitions(database, hourMs);
    await createRollupPartitions(database, hourMs);
    for (const atMs of [hourMs - HOUR_MS, hourMs])
      await fillWithResults(database, {
        monitors,
        perMonitor: RESULTS_A_MONITOR,
        fromMs: atMs,
        everyMs: HOUR_MS / RESULTS_A_MONITOR,
      });
    const run = runOn(database.pool);
    const [stored] = await run<{ bytes: number; results: number }>(
      `SELECT (SELECT sum(pg_total_relation_size(inhrelid)) FROM pg_inherits
       WHERE inhparent = 'check_results'::regclass)::bigint AS bytes, count(*) AS results FROM check_results`,
    );
    report.figure(
      `${readable(stored?.results ?? 0)} stored results take ${readable((stored?.bytes ?? 0) / 2 ** 20)} MB`,
    );
    report.bound({
      name: 'a check on disk, indexes included',
      value: (stored?.bytes ?? 0) / (stored?.results ?? 1),
      unit: ' bytes',
      atMost: BYTES_A_RESULT,
    });

    await run('ANALYZE check_results');
    await beginRollups(run, hourMs - HOUR_MS);
    for (const name of ['an hour', 'an hour and its day']) {
      const cpu = await cpuSecondsOf([postgresPid]);
      const startedAt = performance.now();
      await indexNewTimes(database, hourMs);
      const rolled = await rollNextHour(database, Date.now());
      const seconds = (performance.now() - startedAt) / 1000;
      if (rolled.outcome !== 'rolled') throw new Error(`The roll-up was ${rolled.outcome}`);
      report.figure(
        `${name}: ${readable(rolled.rows)} roll-ups, ${readable((await cpuSecondsOf([postgresPid])) - cpu)} s of ` +
          `PostgreSQL's CPU`,
      );
      report.bound({
        name: `${name}, ${readable(monitors * RESULTS_A_MONITOR)} results`,
        value: seconds,
        unit: ' s',
        atMost: HOUR_SECONDS,
      });
    }
    const [made] = await run<{ bytes: number; rollups: number }>(
      `SELECT (SELECT sum(pg_total_relation_size(inhrelid)) FROM pg_inherits
       WHERE inhparent = 'hourly_rollups'::regclass)::bigint AS bytes, count(*) AS rollups FROM hourly_rollups`,
    );
    report.figure(
      `a roll-up of an hour takes ${readable((made?.bytes ?? 0) / (made?.rollups ?? 1))} bytes with its indexes`,
    );
  });
}
