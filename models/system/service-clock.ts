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

/**
 * The clock that was set: that of the machine (or process), or PostgreSQL's; or the service's time itself, as a result.
 */
export const CLOCKS = ['machine', 'database', 'service'] as const;
export type ClockName = (typeof CLOCKS)[number];

type ClockEvents = {
  /** Called for a clock that was set, with the change in milliseconds; positive is ahead. */
  onStep: (clock: ClockName, byMs: number) => void;
  /** Called if PostgreSQL could not be queried; the next reading makes up for it. */
  onFailure: (error: unknown) => void;
};

/** Interval of comparing the process's own clock with the monotonic one, in milliseconds. */
const WATCH_EVERY_MS = 1000;

/** Duration above which a reading is too uncertain, in milliseconds; it is repeated with the next comparison. */
const SLOW_READING_MS = 1000;

/**
 * Maximum duration of the reading that a process starts with, in milliseconds; otherwise it takes the best of a few.
 */
const GOOD_READING_MS = 20;
const MAX_FIRST_READINGS = 5;

/**
 * Lead over the service's time below which a process's written times need no correction, in milliseconds: they are soon
 * past.
 */
const MENDED_STEP_MS = 10_000;

/** Maximum correction of drift per reading, in milliseconds, so that time continues evenly. */
const MAX_DRIFT_MS = 20;

const systemNow = Date.now.bind(Date);

/** Lead of the service's time over the monotonic clock, in milliseconds. */
let aheadMs = systemNow() - performance.now();

/** False after PostgreSQL's clock was set until the service's time is set. */
let isSettled = true;

/**
 * Makes `Date.now` of this process return the service's time, by a monotonic clock; until PostgreSQL is queried it is
 * the machine's. A clock object would not reach BullMQ and other packages, which use only `Date.now`. Entry files call
 * it before everything else.
 */
export function installServiceClock(): void {
  Date.now = () => Math.floor(performance.now() + aheadMs);
}

/** Returns false for the minute after PostgreSQL's clock was set, in which the service's time continues unchanged. */
export function isTimeSettled(): boolean {
  return isSettled;
}

/**
 * Returns the lead of the machine's clock over the service's time, in milliseconds: OpenSSL checks certificates by that
 * clock.
 */
export function machineAheadMs(): number {
  return systemNow() - performance.now() - aheadMs;
}

/** Options of the clock; `settles` is for the processes that also repair the effects of setting the time. */
type ServiceClockOptions = ClockEvents & { settles: boolean };

/**
 * Reads the service's time from PostgreSQL, and maintains it until stopped: checks the process's clock each second,
 * PostgreSQL's every two.
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
 * Takes the first reading in full: this process has no time of its own yet, and drift is corrected slowly. If the marks
 * are of a later time, the clock was set back while no process ran.
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

/** Compares the time once; null if the reading was too uncertain. */
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
    // Times that this process wrote meanwhile are in the future, so that newer results would seem older: `reconcile`
    // deletes them.
    if (offMs < -MENDED_STEP_MS) {
      const wasMs = Math.round(held.serviceMs);
      await recordSetting(runOn(database.pool), { nowMs: Math.round(wasMs + offMs), wasMs });
    }
    aheadMs += offMs;
    // The process that set the time has reported it; otherwise only this process's clock stopped or jumped.
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

/** Returns the most precise of a few readings: a starting process is blocked at times while the result waits. */
async function readFirst(database: Pick<Database, 'pool'>): Promise<TimedReading> {
  let best = await readTimed(database);
  for (let more = 1; more < MAX_FIRST_READINGS && best.uncertainMs > GOOD_READING_MS / 2; more += 1) {
    const next = await readTimed(database);
    if (next.uncertainMs < best.uncertainMs) best = next;
  }
  return best;
}

type TimedReading = { reading: TimeReading; atMs: number; uncertainMs: number };

/** Takes a reading, with the time of this process at which PostgreSQL made it, plus or minus `uncertainMs`. */
async function readTimed(database: Pick<Database, 'pool'>): Promise<TimedReading> {
  const startedAt = performance.now();
  const reading = await readTime(database);
  const uncertainMs = (performance.now() - startedAt) / 2;
  return { reading, atMs: startedAt + uncertainMs, uncertainMs };
}

/** Time limit for connecting and for the statement below, in milliseconds. */
const ENDING_MS = 5000;

/**
 * Ends this installation's sessions that have waited for a lock since before PostgreSQL's own clock was set back, and
 * returns their number. PostgreSQL compares its timeouts with that clock: until it has caught up, it neither resolves
 * their deadlocks nor cancels their statements, not even once their clients are gone. After a step of less than a
 * minute the timeouts end them soon. Uses a connection of its own, since they may hold all others.
 */
export async function endStrandedSessions({ Client }: Pick<Database, 'Client'>): Promise<number> {
  const client = new Client({ connectionTimeoutMillis: ENDING_MS, query_timeout: ENDING_MS });
  client.on('error', () => undefined);
  try {
    await client.connect();
    // Migrations wait for their turn without a timeout.
    const { rows } = await client.query<{ ended: number }>(
      `SELECT count(*) FILTER (WHERE pg_terminate_backend(pid)) AS ended FROM pg_stat_activity
       WHERE datname = current_database() AND usename = current_user AND application_name LIKE 'spotcheck%'
         AND application_name <> 'spotcheck migrate' AND state = 'active' AND wait_event_type = 'Lock'
         AND query_start > clock_timestamp() + interval '1 minute'`,
    );
    return rows[0]?.ended ?? 0;
  } finally {
    await client.end().catch(() => undefined);
  }
}
