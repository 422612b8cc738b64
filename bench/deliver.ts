import { setTimeout as delay } from 'node:timers/promises';
import { FLEET } from '../config/processes.ts';
import { cpuSecondsOf } from '../test/helpers/process-tree.ts';
import { startProgram } from '../test/helpers/program.ts';
import type { BenchContext } from './benchmark.ts';
import { openOutbox } from './harness/deliveries.ts';
import { BACKENDS, startInstallation, type Backend } from './harness/installation.ts';
import { startSink } from './harness/sink.ts';
import { readable } from './report.ts';

const CHANNELS = 20;
const MONITORS = 50;

/** Least deliveries per second of one deliver process, including its writes. */
const PER_SECOND = 1000;

/**
 * Measures how fast one deliver process sends a stored storm to an https receiver, with a PostgreSQL on disk. It sends
 * once without holds, and once after rules of each channel held the deliveries.
 */
export async function deliver(context: BenchContext): Promise<void> {
  for (const backend of BACKENDS) {
    await deliverOn(context, { backend, isHeld: false });
    await deliverOn(context, { backend, isHeld: true });
  }
}

async function deliverOn(
  { isQuick, report, withHarness }: BenchContext,
  { backend, isHeld }: { backend: Backend; isHeld: boolean },
): Promise<void> {
  const what = isHeld ? `${backend}, held by rules` : backend;
  await withHarness(async (harness) => {
    const installation = await startInstallation(harness, backend);
    const sink = await startSink(harness);
    const outbox = openOutbox(harness, installation);
    const channelIds: string[] = [];
    for (let channel = 0; channel < CHANNELS; channel += 1)
      channelIds.push(await outbox.addChannel(sink.url(`channel/${channel}`)));
    const program = startProgram(harness, FLEET.deliver, {
      ...installation.env,
      LOG_LEVEL: 'info',
      NODE_EXTRA_CA_CERTS: sink.caFile,
    });
    const monitors = Array.from({ length: MONITORS }, (_, index) => index);
    await outbox.addMonitors(monitors);
    // The first thousand deliveries warm up the process for the measured ones.
    await outbox.insert(channelIds, monitors, isHeld);
    await untilSent();

    const deliveries = (isQuick ? 5 : 20) * CHANNELS * MONITORS;
    const roots = [[program.pid], installation.serverPids, [sink.pid]];
    const before = await Promise.all(roots.map(cpuSecondsOf));
    const warm = await sink.read();
    const startedAt = performance.now();
    for (let sent = 0; sent < deliveries; sent += CHANNELS * MONITORS)
      await outbox.insert(channelIds, monitors, isHeld);
    await untilSent();
    const seconds = (performance.now() - startedAt) / 1000;
    const after = await Promise.all(roots.map(cpuSecondsOf));
    const { arrivals, connections } = await sink.read();
    const [own, servers, receiver] = after.map((cpu, index) => ((cpu - (before[index] ?? 0)) / deliveries) * 1e6);
    const lost = deliveries - (arrivals.length - warm.arrivals.length);
    report.figure(
      `${what}: ${readable(deliveries)} deliveries in ${readable(seconds)} s over ${connections} connections; ` +
        `CPU each ${readable(own ?? 0)} us here, ${readable(servers ?? 0)} us in the servers, ` +
        `${readable(receiver ?? 0)} us at the receiver`,
    );
    report.bound({ name: `deliveries lost on ${what}`, value: lost, unit: '', atMost: 0 });
    report.bound({
      name: `deliveries of one process on ${what}`,
      value: deliveries / seconds,
      unit: '/s',
      atLeast: PER_SECOND,
    });

    async function untilSent(): Promise<void> {
      const pending = `SELECT FROM deliveries WHERE outcome = 'pending' LIMIT 1`;
      while ((await installation.database.pool.query(pending)).rowCount !== 0) await delay(100);
    }
  });
}
