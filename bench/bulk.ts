import { setTimeout as delay } from 'node:timers/promises';
import type { BenchContext } from './benchmark.ts';
import { startFleet } from './harness/fleet.ts';
import { BACKENDS, startInstallation, type Backend, type Installation } from './harness/installation.ts';
import { addMonitors } from './harness/monitors.ts';
import { startTarget } from './harness/target.ts';
import { countTicks } from './harness/ticks.ts';
import { readable } from './report.ts';

const MONITORS = 5000;
const INTERVAL_SECONDS = 10;
const WARM_UP_SECONDS = 15;

/** Seconds within which the monitors are changed: whole intervals. */
const WINDOW_SECONDS = 30;

/** Time that results may take to reach the database, in milliseconds. */
const STORED_MS = 5000;
const POLL_MS = 50;

/** Longest wait for a job to finish, in milliseconds. */
const PATIENCE_MS = 120_000;

/** Most seconds that a job may take for all monitors. */
const CHANGED_SECONDS = 10;

/** Changes 5,000 monitors with one request while they are checked every 10 s, with a whole fleet on each backend. */
export async function bulk(context: BenchContext): Promise<void> {
  for (const backend of BACKENDS) await bulkOn(context, backend);
}

async function bulkOn({ report, withHarness }: BenchContext, backend: Backend): Promise<void> {
  await withHarness(async (harness) => {
    const installation = await startInstallation(harness, backend);
    const target = await startTarget(harness);
    const fleet = { count: MONITORS, intervalSeconds: INTERVAL_SECONDS, targets: target.urls, downAfterFailures: 2 };
    await addMonitors(installation, fleet);
    const { web } = await startFleet(harness, installation);
    await delay(WARM_UP_SECONDS * 1000);
    const fromMs = Date.now();
    const toMs = fromMs + WINDOW_SECONDS * 1000;
    const { seconds, failed } = await changeAll(web.url, installation);
    await delay(Math.max(0, toMs - Date.now()) + STORED_MS);
    const window = { monitors: MONITORS, intervalSeconds: INTERVAL_SECONDS, fromMs, toMs };
    const { due, missed } = await countTicks(installation.database, window);
    report.figure(`${backend}: ${readable(MONITORS / seconds)} monitors changed a second, ${readable(due)} checks due`);
    report.bound({
      name: `${readable(MONITORS)} monitors changed on ${backend}`,
      value: seconds,
      unit: ' s',
      atMost: CHANGED_SECONDS,
    });
    report.bound({ name: `monitors that could not be changed on ${backend}`, value: failed, unit: '', atMost: 0 });
    report.bound({ name: `checks missed meanwhile on ${backend}`, value: missed, unit: '', atMost: 0 });
  });
}

async function changeAll(url: string, { token }: Installation): Promise<{ seconds: number; failed: number }> {
  const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };
  const startedAt = performance.now();
  const body = { select: { all: true }, action: 'patch', patch: { down_after_failures: 3, sla_target: 99.9 } };
  const requested = await fetch(`${url}/v1/monitors/bulk`, { method: 'POST', headers, body: JSON.stringify(body) });
  if (requested.status !== 202) throw new Error(await requested.text());
  const { id } = (await requested.json()) as { id: string };
  for (;;) {
    const answer = await fetch(`${url}/v1/monitors/bulk/${id}?limit=1`, { headers });
    const job = (await answer.json()) as { status: string; failed: number };
    if (job.status === 'done') return { seconds: (performance.now() - startedAt) / 1000, failed: job.failed };
    if (performance.now() - startedAt > PATIENCE_MS) return { seconds: Number.POSITIVE_INFINITY, failed: 0 };
    await delay(POLL_MS);
  }
}
