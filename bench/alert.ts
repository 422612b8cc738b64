import { setTimeout as delay } from 'node:timers/promises';
import type { BenchContext } from './benchmark.ts';
import { percentile } from './figures.ts';
import { BACKENDS, startInstallation, type Backend } from './harness/installation.ts';
import { addMonitors } from './harness/monitors.ts';
import { addChannel, startReceiver } from './harness/receiver.ts';
import { startService } from './harness/running-service.ts';
import { startTarget } from './harness/target.ts';
import { readable } from './report.ts';

const PER_SECOND = 300;
const INTERVAL_SECONDS = 60;

/** One monitor in this many fails: four alerts a second while the first round of failures lasts. */
const FAIL_EVERY = 75;

/**
 * Duration of failing, nearly a round of checks: in a third of a round by chance none of the failing monitors are
 * checked.
 */
const FAILING_MS = 55_000;

/** Bound of the 99th percentile from failure to webhook, in milliseconds. */
const ALERT_MS = 100;

/**
 * Measures the time from a failing response, which decides at once, to the webhook's arrival, during 300 checks a
 * second.
 */
export async function alert(context: BenchContext): Promise<void> {
  for (const backend of BACKENDS) await alertOn(context, backend);
}

async function alertOn({ report, withHarness }: BenchContext, backend: Backend): Promise<void> {
  await withHarness(async (harness) => {
    const installation = await startInstallation(harness, backend);
    const target = await startTarget(harness);
    const receiver = await startReceiver(harness);
    await addMonitors(installation, {
      count: PER_SECOND * INTERVAL_SECONDS,
      intervalSeconds: INTERVAL_SECONDS,
      targets: target.urls,
      downAfterFailures: 1,
    });
    const service = await startService(harness, { ...installation.env, NODE_EXTRA_CA_CERTS: receiver.caFile });
    await addChannel(installation, service, receiver.url('hook'));

    await delay(20_000);
    await target.child.ask({ failEvery: FAIL_EVERY });
    await delay(FAILING_MS);
    await target.child.ask({ failEvery: 0 });
    await delay(2000);
    const failures = await target.child.ask<[string, number][]>({ read: 'failures' });
    const arrivals = new Map((await receiver.arrivals()).map(({ target: name, atMs }) => [name, atMs]));
    const ways = failures.flatMap(([name, failedAtMs]) => {
      const arrivedAtMs = arrivals.get(name);
      return arrivedAtMs === undefined ? [] : [arrivedAtMs - failedAtMs];
    });
    const p99 = percentile(ways, 0.99);
    report.figure(
      `${backend}: ${ways.length} alerts of ${failures.length} failures; p50 ${readable(percentile(ways, 0.5))} ` +
        `ms, p99 ${readable(p99)} ms, slowest ${readable(percentile(ways, 1))} ms`,
    );
    report.bound({
      name: `from the failing answer to the webhook on ${backend}, p99`,
      value: p99,
      unit: ' ms',
      atMost: ALERT_MS,
    });
    report.bound({ name: `alerts lost on ${backend}`, value: failures.length - ways.length, unit: '', atMost: 0 });
  });
}
