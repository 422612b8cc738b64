import { setTimeout as delay } from 'node:timers/promises';
import { cpuSecondsOf } from '../test/helpers/process-tree.ts';
import type { BenchContext } from './benchmark.ts';
import { median } from './figures.ts';
import { measureBareLoop } from './harness/bare-loop.ts';
import { BACKENDS, startInstallation, type Backend } from './harness/installation.ts';
import { addMonitors } from './harness/monitors.ts';
import { startService } from './harness/running-service.ts';
import { growth } from './harness/scrape.ts';
import { startTarget } from './harness/target.ts';

const INTERVAL_SECONDS = 60;

/** Checks per second, and the most CPU of a check relative to the bare loop at that rate. */
const RATES = [
  { perSecond: 1000, bound: 3 },
  { perSecond: 300, bound: 7 },
] as const;

/** Most CPU with PostgreSQL alone, relative to PostgreSQL and Redis. */
const POSTGRES_TO_REDIS = 1.3;

/**
 * Compares the CPU of a plain http check over the whole pipeline, schedule to stored decision, with a bare loop at the
 * same rate.
 */
export async function pipeline(context: BenchContext): Promise<void> {
  for (const { perSecond, bound } of RATES) {
    const bare: number[] = [];
    const costs = new Map<Backend, number>();
    for (const backend of BACKENDS) {
      bare.push(
        await measureBareLoop(context.withHarness, {
          perSecond,
          warmUpMs: 5000,
          measureMs: context.isQuick ? 5000 : 20_000,
        }),
      );
      costs.set(backend, await measurePipeline(context, backend, perSecond));
    }
    const limit = median(bare);
    context.report.figure(`${perSecond} checks/s: bare loop ${microseconds(limit)}`);
    for (const [backend, cost] of costs) {
      context.report.bound({
        name: `CPU per check at ${perSecond}/s on ${backend}, to the bare loop`,
        value: cost / limit,
        unit: ' times',
        atMost: bound,
      });
    }
    const ratio = (costs.get('postgres') ?? Number.NaN) / (costs.get('redis') ?? Number.NaN);
    context.report.bound({
      name: `PostgreSQL alone at ${perSecond}/s, to Redis`,
      value: ratio,
      unit: ' times',
      atMost: POSTGRES_TO_REDIS,
    });
  }
}

/** Returns the CPU seconds per check of our process, PostgreSQL and Redis. */
async function measurePipeline(
  { isQuick, report, withHarness }: BenchContext,
  backend: Backend,
  perSecond: number,
): Promise<number> {
  return await withHarness(async (harness) => {
    const installation = await startInstallation(harness, backend);
    const { urls } = await startTarget(harness);
    await addMonitors(installation, {
      count: perSecond * INTERVAL_SECONDS,
      intervalSeconds: INTERVAL_SECONDS,
      targets: urls,
      downAfterFailures: 2,
    });
    const service = await startService(harness, installation.env);
    const pids = [service.program.pid, ...installation.serverPids];
    const read = async () => ({
      scrape: await service.scrape(),
      cpu: await Promise.all(pids.map((pid) => cpuSecondsOf([pid]))),
    });
    await delay(isQuick ? 15_000 : 30_000);
    const before = await read();
    await delay(isQuick ? 15_000 : 60_000);
    const after = await read();
    const stored = growth('spotcheck_results_stored_total', before.scrape, after.scrape);
    const [ours = 0, postgres = 0, redis = 0] = after.cpu.map(
      (seconds, index) => (seconds - (before.cpu[index] ?? 0)) / stored,
    );
    const total = ours + postgres + redis;
    report.figure(
      `${perSecond} checks/s on ${backend}: ${microseconds(total)} (ours ${microseconds(ours)}, PostgreSQL ` +
        `${microseconds(postgres)}, Redis ${microseconds(redis)}), ${stored} results`,
    );
    return total;
  });
}

function microseconds(seconds: number): string {
  return `${Math.round(seconds * 1e6)} us`;
}
