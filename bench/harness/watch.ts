import { cpus } from 'node:os';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { cpuSecondsOf, memoryMbOf } from '../../test/helpers/process-tree.ts';
import type { RunningFleet } from './fleet.ts';
import type { Scrape } from './scrape.ts';

/** Interval at which the witness process wakes up, in milliseconds. */
const WITNESS_MS = 10;

/** Watched processes by name, including the fleet, and Redis if the queues use it. */
export type Watched = { processes: Readonly<Record<string, number>>; fleet: RunningFleet; redis: Redis };

/** One sample: memory of each process and of Redis in MB, CPU seconds so far, and counters of check and evaluate. */
export type Sample = {
  atMs: number;
  memoryMb: Readonly<Record<string, number>>;
  cpuSeconds: Readonly<Record<string, number>>;
  /** CPU seconds of all processes of the machine. */
  machineSeconds: number;
  redisMb: number;
  check: Scrape;
  evaluate: Scrape;
};

/** Takes samples for a duration, every `everyMs`; `wokeLateMs` is how late an idle process woke up meanwhile (p99). */
export async function watch(
  watched: Watched,
  { forMs, everyMs }: { forMs: number; everyMs: number },
): Promise<{ samples: Sample[]; wokeLateMs: number }> {
  const untilMs = Date.now() + forMs;
  const witness = monitorEventLoopDelay({ resolution: WITNESS_MS });
  witness.enable();
  const samples = [await takeSample(watched)];
  while (Date.now() < untilMs) {
    await delay(Math.max(0, Math.min(everyMs, untilMs - Date.now())));
    samples.push(await takeSample(watched));
  }
  witness.disable();
  return { samples, wokeLateMs: Math.max(0, witness.percentile(99) / 1e6 - WITNESS_MS) };
}

export async function takeSample({ processes, fleet, redis }: Watched): Promise<Sample> {
  const ofEach = async (read: (pid: number) => Promise<number>) =>
    Object.fromEntries(
      await Promise.all(Object.entries(processes).map(async ([name, pid]) => [name, await read(pid)])),
    );
  const [memoryMb, cpuSeconds, info, check, evaluate] = await Promise.all([
    ofEach((pid) => memoryMbOf([pid])),
    ofEach((pid) => cpuSecondsOf([pid])),
    redis.info('memory'),
    fleet.check.scrape(),
    fleet.evaluate.scrape(),
  ]);
  return {
    atMs: Date.now(),
    memoryMb,
    cpuSeconds,
    machineSeconds: machineSeconds(),
    redisMb: Number(/^used_memory:(\d+)/m.exec(info)?.[1] ?? 0) / 2 ** 20,
    check,
    evaluate,
  };
}

function machineSeconds(): number {
  return cpus().reduce((sum, { times }) => sum + times.user + times.nice + times.sys + times.irq, 0) / 1000;
}
