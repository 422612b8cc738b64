import { setTimeout as delay } from 'node:timers/promises';
import { cpuSecondsOf, memoryMbOf } from '../test/helpers/process-tree.ts';
import type { BenchContext } from './benchmark.ts';
import { percentile } from './figures.ts';
import { PEERS, type Peer } from './harness/peers.ts';
import { startTarget, type Target } from './harness/target.ts';
import { readable } from './report.ts';

/**
 * Checks per second: one monitor each, checked every second, because one peer staggers its monitors by about a second.
 */
const PER_SECOND = 300;
const QUICK_PER_SECOND = 60;
const INTERVAL_MS = 1000;

/** Longest wait until a peer starts no more checks per second than before, and the interval of polling for that. */
const SETTLED_WITHIN_MS = 400_000;
const LOOK_EVERY_MS = 5000;

/** Most CPU of one of our checks, relative to Gatus, which keeps its results in memory. */
const TO_GATUS = 0.9;

/** Figures of one service while it was watched; `bytesPerCheck` is null where nothing is stored. */
type Figures = { name: string; cpuSeconds: number; perSecond: number; bytesPerCheck: number | null };

/**
 * Compares Spotcheck with other installed monitoring services: the same http targets and as many checks a second,
 * counted by the target. It measures CPU and memory of all processes of each.
 */
export async function peers(context: BenchContext): Promise<void> {
  const { report, isQuick } = context;
  const perSecond = isQuick ? QUICK_PER_SECOND : PER_SECOND;
  const measured: Figures[] = [];
  for (const peer of PEERS) {
    const problem = peer.findProblem();
    if (problem === null) measured.push(await measure(context, peer, perSecond));
    else report.figure(`${peer.name}: left out, ${problem}`);
  }
  const [ours, ...others] = measured;
  if (ours === undefined) return;
  for (const other of others) {
    const value = ours.cpuSeconds / other.cpuSeconds;
    if (other.name === 'Gatus, in memory')
      report.bound({ name: `CPU of a check to ${other.name}`, value, unit: ' times', atMost: TO_GATUS });
    else report.figure(`CPU of a check of ours to ${other.name}: ${readable(value)} times`);
  }
}

async function measure(
  { report, isQuick, withHarness }: BenchContext,
  peer: Peer,
  perSecond: number,
): Promise<Figures> {
  return await withHarness(async (harness) => {
    const target = await startTarget(harness);
    const targets = Array.from({ length: perSecond }, (_, n) => `${target.urls[n % target.urls.length]}${n}`);
    const { pids, storedBytes } = await peer.start(harness, { targets, perSecond });
    await untilSettled(target, perSecond);
    const seconds = isQuick ? 20 : 60;
    const read = async () => ({ cpu: await cpuSecondsOf(pids), bytes: (await storedBytes?.()) ?? null });
    const before = await read();
    await target.child.ask({ watch: true });
    await delay(seconds * 1000);
    const { requests, gapsMs } = await target.child.ask<{ requests: number; gapsMs: number[] }>({ watch: false });
    const after = await read();
    const memory = await memoryMbOf(pids);
    const figures = {
      name: peer.name,
      cpuSeconds: (after.cpu - before.cpu) / requests,
      perSecond: requests / seconds,
      bytesPerCheck: before.bytes === null || after.bytes === null ? null : (after.bytes - before.bytes) / requests,
    };
    const offMs = gapsMs.map((gap) => Math.abs(gap - INTERVAL_MS));
    const { bytesPerCheck } = figures;
    const parts = [
      `${readable(figures.cpuSeconds * 1e6)} us a check`,
      `${readable(figures.perSecond)} of ${perSecond} checks/s`,
      ...(offMs.length === 0 ? [] : [`p99 ${readable(percentile(offMs, 0.99))} ms off the interval`]),
      `${readable(memory)} MB`,
      ...(bytesPerCheck === null ? [] : [`${readable(bytesPerCheck)} bytes stored a check`]),
    ];
    report.figure(`${peer.name}: ${parts.join(', ')}`);
    return figures;
  });
}

/** Waits until all checks run, or no more are started per second than a few polls ago, and a little longer. */
async function untilSettled(target: Target, perSecond: number): Promise<void> {
  const counts: number[] = [];
  for (let waitedMs = 0; waitedMs < SETTLED_WITHIN_MS; waitedMs += LOOK_EVERY_MS) {
    await target.child.ask({ watch: true });
    await delay(LOOK_EVERY_MS);
    counts.push((await target.child.ask<{ requests: number }>({ watch: false })).requests);
    const [before, latest = 0] = [counts.at(-5), counts.at(-1)];
    if (latest >= (perSecond * LOOK_EVERY_MS * 0.98) / 1000) break;
    if (before !== undefined && before > 0 && latest < before * 1.01) break;
  }
  await delay(2 * LOOK_EVERY_MS);
}
