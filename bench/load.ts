import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { cpuSecondsOf, memoryMbOf } from '../test/helpers/process-tree.ts';
import type { BenchContext } from './benchmark.ts';
import { BACKENDS, startInstallation, type Backend } from './harness/installation.ts';
import { addMonitors } from './harness/monitors.ts';
import { startService } from './harness/running-service.ts';
import { histogramPercentile } from './harness/scrape.ts';
import { startTarget } from './harness/target.ts';
import { countTicks } from './harness/ticks.ts';
import { readable } from './report.ts';

const MONITORS = 100_000;
const INTERVAL_SECONDS = 60;
const SAMPLE_MS = 10_000;

/** Time after the window within which its last results are stored, in milliseconds. */
const STORED_WITHIN_MS = 5000;

/** Interval at which the idle bench process wakes up, in milliseconds. */
const WITNESS_MS = 10;

/** Bound of the 99th percentile of start lateness, in milliseconds. */
const LATENESS_MS = 25;

/** Runs 100,000 monitors at 60 s for two minutes: every tick is stored, every check is on time, memory stays flat. */
export async function load(context: BenchContext): Promise<void> {
  for (const backend of BACKENDS) await loadOn(context, backend);
}

async function loadOn({ isQuick, report, withHarness }: BenchContext, backend: Backend): Promise<void> {
  await withHarness(async (harness) => {
    const installation = await startInstallation(harness, backend);
    const { urls } = await startTarget(harness);
    await addMonitors(installation, {
      count: MONITORS,
      intervalSeconds: INTERVAL_SECONDS,
      targets: urls,
      downAfterFailures: 2,
    });
    const service = await startService(harness, installation.env);
    const ours = [service.program.pid];
    const everything = [...ours, ...installation.serverPids];
    await delay(isQuick ? 15_000 : 30_000);

    const windowMs = isQuick ? 30_000 : 120_000;
    const startMs = Date.now();
    const [scrape, cpu, ownCpu] = [await service.scrape(), await cpuSecondsOf(everything), await cpuSecondsOf(ours)];
    const memory: number[] = [await memoryMbOf(ours)];
    const witness = monitorEventLoopDelay({ resolution: WITNESS_MS });
    witness.enable();
    while (Date.now() < startMs + windowMs) {
      await delay(Math.min(SAMPLE_MS, startMs + windowMs - Date.now()));
      memory.push(await memoryMbOf(ours));
    }
    witness.disable();
    const scrapes = [scrape, await service.scrape()] as const;
    const cores = ((await cpuSecondsOf(everything)) - cpu) / (windowMs / 1000);
    const ownCores = ((await cpuSecondsOf(ours)) - ownCpu) / (windowMs / 1000);
    await delay(STORED_WITHIN_MS);

    // Due times repeat every interval, so that a window of whole intervals contains each monitor equally often.
    const { due, missed } = await countTicks(installation.database, {
      monitors: MONITORS,
      intervalSeconds: INTERVAL_SECONDS,
      fromMs: startMs,
      toMs: startMs + windowMs,
    });
    const lateness = (share: number) => histogramPercentile('spotcheck_check_lateness_seconds', share, scrapes) * 1000;
    report.figure(
      `${backend}: ${readable(cores)} cores (ours ${readable(ownCores)}), memory of ours in MB every 10 s: ` +
        `${memory.map((size) => Math.round(size)).join(' ')}`,
    );
    report.figure(
      `${backend}: start lateness p50 ${readable(lateness(0.5))} ms, p99 ${readable(lateness(0.99))} ms, the ` +
        `latest under ${readable(lateness(1))} ms`,
    );
    const witnessed = (nanoseconds: number) => `${readable(Math.max(0, nanoseconds / 1e6 - WITNESS_MS))} ms`;
    report.figure(
      `meanwhile an idle process woke up late by ${witnessed(witness.percentile(99))} (p99), ` +
        `${witnessed(witness.max)} at the most: what else the machine did`,
    );
    report.figure(
      `${backend}: the event loop stood still (or waited 100 ms to be looked at) for at most ` +
        `${readable((scrapes[1].get('nodejs_eventloop_lag_max_seconds') ?? Number.NaN) * 1000)} ms`,
    );
    report.figure(
      `${backend}: ${readable(due - missed)} ticks stored of ${readable(due)} ` +
        `due${isQuick ? ', give or take a slot' : ''}`,
    );
    if (!isQuick) report.bound({ name: `ticks missed on ${backend}`, value: missed, unit: '', atMost: 0 });
    report.bound({ name: `start lateness p99 on ${backend}`, value: lateness(0.99), unit: ' ms', atMost: LATENESS_MS });
  });
}
