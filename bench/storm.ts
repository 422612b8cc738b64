import { setTimeout as delay } from 'node:timers/promises';
import type { BenchContext } from './benchmark.ts';
import { percentile } from './figures.ts';
import { BACKENDS, startInstallation, type Backend } from './harness/installation.ts';
import { addMonitors } from './harness/monitors.ts';
import { addChannel, startReceiver } from './harness/receiver.ts';
import { startService } from './harness/running-service.ts';
import { startTarget } from './harness/target.ts';
import { readable } from './report.ts';

const MONITORS = 200;
const INTERVAL_SECONDS = 5;

/** Number of channels whose receiver answers at once; another one hangs. */
const WELL = 6;

/** Bound of the 99th percentile of an alert's delay to a healthy channel during the storm, in milliseconds. */
const STORM_MS = 2000;

/**
 * Fails everything that an account monitors within five seconds, with seven channels of which one hangs, and measures
 * the delay of the others.
 */
export async function storm(context: BenchContext): Promise<void> {
  for (const backend of BACKENDS) await stormOn(context, backend);
}

async function stormOn({ report, withHarness }: BenchContext, backend: Backend): Promise<void> {
  await withHarness(async (harness) => {
    const installation = await startInstallation(harness, backend);
    const target = await startTarget(harness);
    const receiver = await startReceiver(harness);
    await addMonitors(installation, {
      count: MONITORS,
      intervalSeconds: INTERVAL_SECONDS,
      targets: target.urls,
      downAfterFailures: 1,
    });
    const service = await startService(harness, { ...installation.env, NODE_EXTRA_CA_CERTS: receiver.caFile });
    for (let channel = 1; channel <= WELL; channel += 1)
      await addChannel(installation, service, receiver.url(`well/${channel}`));
    await addChannel(installation, service, receiver.url('hang'));

    await delay(2 * INTERVAL_SECONDS * 1000);
    await target.child.ask({ failEvery: 1 });
    await delay(6 * INTERVAL_SECONDS * 1000);
    const failedAt = new Map(await target.child.ask<[string, number][]>({ read: 'failures' }));
    const arrivals = (await receiver.arrivals()).filter(({ path }) => path.startsWith('/well/'));
    const ways = arrivals.map(({ target: name, atMs }) => atMs - (failedAt.get(name) ?? Number.NaN));
    const p99 = percentile(ways, 0.99);
    report.figure(
      `${backend}: ${arrivals.length} alerts of ${MONITORS * WELL}; p50 ${readable(percentile(ways, 0.5))} ms, ` +
        `p99 ${readable(p99)} ms, slowest ${readable(percentile(ways, 1))} ms`,
    );
    report.bound({
      name: `alerts of a storm lost on ${backend}`,
      value: MONITORS * WELL - arrivals.length,
      unit: '',
      atMost: 0,
    });
    report.bound({
      name: `from a failing answer to a channel that is well, in a storm, on ${backend}, p99`,
      value: p99,
      unit: ' ms',
      atMost: STORM_MS,
    });
  });
}
