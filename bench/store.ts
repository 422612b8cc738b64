import { HOUR_MS } from '../core/time.ts';
import type { MeasuredResult } from '../models/checks/check-results.ts';
import { beginPackingAt, packNextHour } from '../models/checks/packed-results.ts';
import { createIdSource } from '../models/secrets/ids.ts';
import { runOn, type Run } from '../models/sql.ts';
import { createPartitions } from '../models/system/partitions.ts';
import { cpuSecondsOf } from '../test/helpers/process-tree.ts';
import { createEvaluator } from '../workers/incidents/evaluate.ts';
import type { BenchContext } from './benchmark.ts';
import { startInstallation } from './harness/installation.ts';
import { addMonitors } from './harness/monitors.ts';
import { readable } from './report.ts';

const INTERVAL_MS = 60_000;
const TICKS = HOUR_MS / INTERVAL_MS;
const BATCH = 500;

/** One success in this many stores its timings: one in ten minutes. */
const SAMPLED_ONE_IN = 10;
const TIMINGS = { dnsMs: 4, connectMs: 11, tlsMs: 23, firstByteMs: 22, downloadMs: 2 };

/** Bounds of a steady check: bytes on disk with its index, and bytes of PostgreSQL's log until it is packed. */
const BYTES_STORED = 12;
const BYTES_LOGGED = 15;

/** Measures the cost of an hour of steady results of monitors at 60 s, from the evaluator until it is packed. */
export async function store({ isQuick, report, withHarness }: BenchContext): Promise<void> {
  await withHarness(async (harness) => {
    const installation = await startInstallation(harness, 'postgres');
    const { database, postgresPid } = installation;
    const run = runOn(database.pool);
    const monitors = isQuick ? 5000 : 20_000;
    await addMonitors(installation, {
      count: monitors,
      intervalSeconds: INTERVAL_MS / 1000,
      targets: ['http://127.0.0.1/m/'],
      downAfterFailures: 1,
    });
    const hourMs = Math.floor(Date.now() / HOUR_MS) * HOUR_MS;
    await createPartitions(database, hourMs);
    await beginPackingAt(run, hourMs);
    const sources = await run<{ monitorNo: number; agentNo: number }>(
      'SELECT monitor_no AS "monitorNo", agent_no AS "agentNo" FROM monitor_sources ORDER BY phase, monitor_no',
    );
    const evaluate = createEvaluator({
      database,
      now: Date.now,
      newId: createIdSource(),
      publicUrl: 'http://localhost:3000',
    });
    const evaluateTick = async (tick: number) => {
      const results = sources.map((source, index): MeasuredResult => {
        const dueAtMs = hourMs + tick * INTERVAL_MS + Math.floor((index / sources.length) * INTERVAL_MS);
        const phases = source.monitorNo % SAMPLED_ONE_IN === tick % SAMPLED_ONE_IN ? TIMINGS : null;
        return { ...source, ...STEADY, dueAtMs, phases, latencyMs: latencyOf(source.monitorNo, tick) };
      });
      for (let start = 0; start < results.length; start += BATCH) await evaluate(results.slice(start, start + BATCH));
    };
    // A monitor's first result is inserted with the monitor, and the first batches update the sources: both are left
    // out.
    await evaluateTick(0);
    const results = monitors * (TICKS - 1);
    const stored = await measure(run, postgresPid, async () => {
      for (let tick = 1; tick < TICKS; tick += 1) await evaluateTick(tick);
    });
    const packed = await measure(run, postgresPid, async () => {
      if (!(await packNextHour(database, hourMs + 2.5 * HOUR_MS))) throw new Error('The hour was not packed');
    });
    const [table] = await run<{ bytes: number }>(
      `SELECT sum(pg_total_relation_size(inhrelid))::bigint AS bytes FROM pg_inherits
       WHERE inhparent IN ('packed_results'::regclass, 'result_batches'::regclass)`,
    );
    const each = ({ logged, cpuUs }: Cost) =>
      `${readable(logged / results)} bytes of log, ${readable(cpuUs / results)} us of PostgreSQL's CPU`;
    report.figure(`storing a result: ${each(stored)}`);
    report.figure(`packing it: ${each(packed)}`);
    report.bound({
      name: 'a steady check on disk, index included',
      value: (table?.bytes ?? Number.NaN) / results,
      unit: ' bytes',
      atMost: BYTES_STORED,
    });
    report.bound({
      name: 'a steady check in the log of PostgreSQL',
      value: (stored.logged + packed.logged) / results,
      unit: ' bytes',
      atMost: BYTES_LOGGED,
    });
  });
}

const STEADY = {
  checksVersion: 1,
  verdict: 'up',
  cause: null,
  reason: null,
  httpStatus: 200,
  answer: null,
} as const;

/** Returns a latency that varies as a website's does, the same in each run. */
function latencyOf(monitorNo: number, tick: number): number {
  return 20 + (monitorNo % 100) + ((monitorNo * 31 + tick * 17) % 60) + (tick % 13 === 0 ? 180 : 0);
}

type Cost = { logged: number; cpuUs: number };

/**
 * Measures after a checkpoint, so that the full-page writes that follow one are counted where the pages are changed.
 */
async function measure(run: Run, postgresPid: number, work: () => Promise<void>): Promise<Cost> {
  await run('CHECKPOINT');
  const [before] = await run<{ lsn: string }>('SELECT pg_current_wal_lsn() AS lsn');
  const cpu = await cpuSecondsOf([postgresPid]);
  await work();
  const cpuUs = ((await cpuSecondsOf([postgresPid])) - cpu) * 1e6;
  const [row] = await run<{ logged: number }>('SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), $1)::bigint AS logged', [
    before?.lsn,
  ]);
  return { logged: row?.logged ?? Number.NaN, cpuUs };
}
