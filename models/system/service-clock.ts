import {
  correctionAfterStep,
  judgeReading,
  READ_EVERY_MS,
  TIME_TOLERANCE_MS,
  type HeldTime,
  type TimeReading,
} from '../../core/system/service-clock.ts';
import type { Database } from '../database.ts';
import { runOn } from '../sql.ts';
import {
  correctTime,
  readTime,
  recordAgreement,
  recordClockStep,
  recordSetting,
  settleAfterRest,
  settleTime,
  type TimeSetting,
} from '../statistics/service-time.ts';

/** Which clock was set: that of the machine (or process), or PostgreSQL's; or the service's time itself, after that. */
export const CLOCKS = ['machine', 'database', 'service'] as const;
export type ClockName = (typeof CLOCKS)[number];

export type ClockEvents = {
  /** Called for a clock that was set, by how many milliseconds; ahead is more than 0. */
  onStep: (clock: ClockName, byMs: number) => void;
  /** Called where PostgreSQL could not be queried; the next reading makes up for it. */
  onFailure: (error: unknown) => void;
};

/** How often the process's own clock is compared with the monotonic one, in milliseconds. */
const WATCH_EVERY_MS = 1000;

/** A reading that took longer says little, in milliseconds, and is repeated with the next comparison. */
const SLOW_READING_MS = 1000;

/** A process starts by the first reading that took no longer than this, in milliseconds, or by the best of a few. */
const GOOD_READING_MS = 20;
const MAX_FIRST_READINGS = 5;

/** What a process wrote ahead of the service's time by less than this, in milliseconds, is soon the past. */
const MENDED_STEP_MS = 10_000;

/** Drift is corrected by at most this much per reading, in milliseconds, so that time goes on evenly. */
const MAX_DRIFT_MS = 20;

const systemNow = Date.now.bind(Date);

/** What the service's time is ahead of the monotonic clock, in milliseconds. */
let aheadMs = systemNow() - performance.now();

/** False from when PostgreSQL's clock was set until the service's time is. */
let isSettled = true;

/**
 * Makes `Date.now` of this process return the service's time, by a monotonic clock; until PostgreSQL was asked it is
 * the machine's. BullMQ and other packages ask nothing else for the time, so that a clock object that is handed on
 * would not reach them. Entry files call it, before all else.
 */
export function installServiceClock(): void {
  Date.now = () => Math.floor(performance.now() + aheadMs);
}

/** False for the minute after PostgreSQL's clock was set, in which the service's time goes on as it did. */
export function isTimeSettled(): boolean {
  return isSettled;
}

/**
 * What the machine's clock is ahead of the service's time, in milliseconds: OpenSSL judges certificates by that clock.
 */
export function machineAheadMs(): number {
  return systemNow() - performance.now() - aheadMs;
}

/** What follows a reading: `settles` is for the processes that also mend what a setting leaves behind. */
export type ServiceClockOptions = ClockEvents & { settles: boolean };

/**
 * Learns the service's time from PostgreSQL, and keeps it until it is stopped: the process's clock is watched each
 * second, PostgreSQL's asked every two.
 */
export async function runServiceClock(
  database: Pick<Database, 'pool'>,
  options: ServiceClockOptions,
): Promise<{ stop: () => Promise<void> }> {
  let known: TimeReading = await begin(database, options);
  isSettled = known.correctionMs === 0;
  let comparing = Promise.resolve();
  let isIdle = true;
  let readAt = performance.now();
  let machineAt = machineAheadOfTimer();
  const compare = async () => {
    readAt = performance.now();
    known = (await compareOnce(database, known, options)) ?? known;
    isSettled = known.correctionMs === 0;
  };
  const timer = setInterval(() => {
    const movedMs = machineAheadOfTimer() - machineAt;
    machineAt += movedMs;
    const isStepped = Math.abs(movedMs) > TIME_TOLERANCE_MS;
    if (isStepped) {
      options.onStep('machine', Math.round(movedMs));
      recordClockStep(database, Date.now()).catch(options.onFailure);
    }
    if (!isIdle || (!isStepped && performance.now() - readAt < READ_EVERY_MS - WATCH_EVERY_MS / 2)) return;
    isIdle = false;
    comparing = compare()
      .catch(options.onFailure)
      .finally(() => (isIdle = true));
  }, WATCH_EVERY_MS);
  timer.unref();
  return {
    async stop() {
      clearInterval(timer);
      await comparing;
    },
  };
}

function machineAheadOfTimer(): number {
  return systemNow() - performance.now();
}

/**
 * The first reading: this process has no time of its own yet, and drift is corrected slowly. Where the marks are of a
 * later time, the clock was set back while no process ran.
 */
async function begin(database: Pick<Database, 'pool'>, options: ServiceClockOptions): Promise<TimeReading> {
  const { reading, atMs } = await readFirst(database);
  const offMs = reading.databaseMs + reading.correctionMs - (atMs + aheadMs);
  aheadMs += offMs;
  if (Math.abs(offMs) > TIME_TOLERANCE_MS) options.onStep('machine', Math.round(-offMs));
  if (!options.settles || reading.agreedAtMs - reading.databaseMs <= TIME_TOLERANCE_MS) return reading;
  const setting = await settleAfterRest(database, reading);
  if (setting !== null) options.onStep('service', setting.byMs);
  aheadMs -= reading.correctionMs;
  return { ...reading, correctionMs: 0 };
}

/** Null where the reading said nothing. */
async function compareOnce(
  database: Pick<Database, 'pool'>,
  known: TimeReading,
  options: ServiceClockOptions,
): Promise<TimeReading | null> {
  const { reading, atMs, uncertainMs } = await readTimed(database);
  if (uncertainMs > SLOW_READING_MS / 2) return null;
  const held: HeldTime = { serviceMs: atMs + aheadMs, correctionMs: known.correctionMs, uncertainMs };
  const { verdict, offMs } = judgeReading(reading, held);
  if (verdict === 'database stepped') {
    const correctionMs = correctionAfterStep(reading.correctionMs, offMs);
    if (!(await correctTime(database, { reading, correctionMs }))) return null;
    options.onStep('database', Math.round(offMs));
    return { ...reading, correctionMs };
  }
  if (verdict === 'follow') {
    // What this process wrote meanwhile lies ahead, so that newer results would seem older: `reconcile` takes it away.
    if (offMs < -MENDED_STEP_MS) {
      const wasMs = Math.round(held.serviceMs);
      await recordSetting(runOn(database.pool), { nowMs: Math.round(wasMs + offMs), wasMs });
    }
    aheadMs += offMs;
    // A setting by others was reported by them; our own measure of time stood still or jumped only here.
    if (reading.correctionMs === known.correctionMs) options.onStep('machine', Math.round(-offMs));
    return reading;
  }
  aheadMs += Math.sign(offMs) * Math.min(MAX_DRIFT_MS, Math.max(0, Math.abs(offMs) - uncertainMs));
  if (reading.databaseMs - reading.agreedAtMs >= READ_EVERY_MS) await recordAgreement(database, reading);
  if (verdict === 'agrees' || !options.settles) return reading;
  const setting: TimeSetting | null = await settleTime(database, reading);
  if (setting === null) return null;
  aheadMs += setting.byMs;
  options.onStep('service', setting.byMs);
  return { ...reading, correctionMs: 0 };
}

/** The most certain of a few readings: a process that starts stands still at times, and the answer waits meanwhile. */
async function readFirst(database: Pick<Database, 'pool'>): Promise<TimedReading> {
  let best = await readTimed(database);
  for (let more = 1; more < MAX_FIRST_READINGS && best.uncertainMs > GOOD_READING_MS / 2; more += 1) {
    const next = await readTimed(database);
    if (next.uncertainMs < best.uncertainMs) best = next;
  }
  return best;
}

type TimedReading = { reading: TimeReading; atMs: number; uncertainMs: number };

/** A reading, and the moment of this process's own at which PostgreSQL made it, give or take `uncertainMs`. */
async function readTimed(database: Pick<Database, 'pool'>): Promise<TimedReading> {
  const startedAt = performance.now();
  const reading = await readTime(database);
  const uncertainMs = (performance.now() - startedAt) / 2;
  return { reading, atMs: startedAt + uncertainMs, uncertainMs };
}
