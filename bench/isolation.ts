import { setTimeout as delay } from 'node:timers/promises';
import { FLEET } from '../config/processes.ts';
import { startProgram } from '../test/helpers/program.ts';
import type { BenchContext } from './benchmark.ts';
import { median, percentile } from './figures.ts';
import { openOutbox, type Inserted } from './harness/deliveries.ts';
import { BACKENDS, startInstallation, type Backend } from './harness/installation.ts';
import { startSink } from './harness/sink.ts';
import { readable } from './report.ts';

const CHANNELS = 50;
const MONITORS = 20;

/** Interval at which one monitor is sent to all channels, in milliseconds: 200 deliveries a second. */
const EVERY_MS = 250;

/** Most that a hanging receiver may add to the delay of other deliveries (p99), in milliseconds. */
const ADDED_MS = 100;

/** Measures how much one receiver that takes 8 s per response delays the deliveries of fifty channels. */
export async function isolation(context: BenchContext): Promise<void> {
  for (const backend of BACKENDS) await isolationOn(context, backend);
}

async function isolationOn({ isQuick, report, withHarness }: BenchContext, backend: Backend): Promise<void> {
  await withHarness(async (harness) => {
    const installation = await startInstallation(harness, backend);
    const sink = await startSink(harness);
    const outbox = openOutbox(harness, installation);
    const well: string[] = [];
    for (let channel = 0; channel < CHANNELS; channel += 1)
      well.push(await outbox.addChannel(sink.url(`well/${channel}`)));
    const hanging = [await outbox.addChannel(sink.url('hang')), ...well.slice(1)];
    startProgram(harness, FLEET.deliver, { ...installation.env, NODE_EXTRA_CA_CERTS: sink.caFile });
    await measure(well);

    const rounds = isQuick ? 1 : 3;
    const p99s = { 'all are well': [] as number[], 'one hangs': [] as number[] };
    // In turns, so that other load of the machine affects both.
    for (let round = 0; round < rounds; round += 1) {
      p99s['all are well'].push(await measure(well));
      p99s['one hangs'].push(await measure(hanging));
    }
    const [calm, disturbed] = [median(p99s['all are well']), median(p99s['one hangs'])];
    for (const [name, rest] of Object.entries(p99s))
      report.figure(
        `${backend}: p99 of the way to a receiver that is well, where ${name}: ${rest.map(readable).join(', ')} ms`,
      );
    report.bound({
      name: `what a receiver that hangs adds to it on ${backend}`,
      value: Math.max(0, disturbed - calm),
      unit: ' ms',
      atMost: ADDED_MS,
    });

    /**
     * Returns the 99th percentile of the delay to healthy receivers, in milliseconds; a delivery that did not arrive
     * counts as infinite.
     */
    async function measure(channelIds: readonly string[]): Promise<number> {
      const inserted: Inserted[] = [];
      const until = performance.now() + (isQuick ? 5000 : 15_000);
      for (let count = 0; performance.now() < until; count += 1) {
        inserted.push(...(await outbox.insert(channelIds, [count % MONITORS])));
        await delay(EVERY_MS);
      }
      await delay(2000);
      const arrivals = new Map((await sink.read()).arrivals.map(({ id, atMs }) => [id, atMs]));
      const ways = inserted
        .filter(({ channelId }) => well.includes(channelId))
        .map(({ id, atMs }) => (arrivals.get(id) ?? Infinity) - atMs);
      const missing = ways.filter((way) => way === Infinity).length;
      if (missing > 0) report.figure(`${backend}: ${missing} of ${ways.length} had not arrived after two seconds`);
      return percentile(ways, 0.99);
    }
  });
}
