import { correctionAfterStep, judgeTimeLook, LOOK_EVERY_MS, TIME_TOLERANCE_MS, type HeldTime, type TimeLook } from '../core/service-clock.ts';
import type { Database } from './database.ts';
import { correctTime, lookAtTime, noteAgreement, recordClockStep, settleAfterRest, settleTime, type TimeSetting } from './service-time.ts';

/** Which clock was set: that of the machine (or process), or PostgreSQL's; or the service's time itself, after that. */
export const CLOCKS = ['machine', 'database', 'service'] as const;
export type ClockName = (typeof CLOCKS)[number];

export type ClockEvents = {
  /** Told of a clock that was set, by how many milliseconds; ahead is more than 0. */
  onStep: (clock: ClockName, byMs: number) => void;
  /** Told that PostgreSQL could not be asked; the next look makes up for it. */
  onFailure: (error: unknown) => void;
};

/** How often the process's own clock is compared with one that nobody can set, in milliseconds. */
const WATCH_EVERY_MS = 1000;

/** A look that took longer says little, in milliseconds, and is made again at the next turn. */
const SLOW_LOOK_MS = 1000;

/** Drift is made good by so much a look at the most, in milliseconds, so that time goes on evenly. */
const MOST_DRIFT_MS = 20;

const systemNow = Date.now.bind(Date);

/** What the service's time is ahead of the clock that nobody can set, in milliseconds. */
let aheadMs = systemNow() - performance.now();

/** False from when PostgreSQL's clock was set until the service's time is. */
let isSettled = true;

/**
 * Makes `Date.now` of this process tell the service's time, by a clock that nobody can set; until PostgreSQL was asked it is the machine's. BullMQ
 * and other packages ask nobody else for the time, so that a clock object that is handed on would not reach them. Entry files call it, before all else.
 */
export function installServiceClock(): void {
  Date.now = () => Math.floor(performance.now() + aheadMs);
}

/** False for the minute after PostgreSQL's clock was set, in which the service's time goes on as it did. */
export function isTimeSettled(): boolean {
  return isSettled;
}

/** What the machine's clock is ahead of the service's time, in milliseconds: OpenSSL judges certificates by that clock. */
export function machineAheadMs(): number {
  return systemNow() - performance.now() - aheadMs;
}

/** What is done beside the look: `settles` is for the processes that also mend what a setting leaves behind. */
export type KeepOptions = ClockEvents & { settles: boolean };

/** Learns the service's time from PostgreSQL, and keeps it until it is stopped: the process's clock is watched each second, PostgreSQL's asked every two. */
export async function keepServiceClock(database: Pick<Database, 'pool'>, options: KeepOptions): Promise<{ stop: () => Promise<void> }> {
  let known: TimeLook = await begin(database, options);
  isSettled = known.correctionMs === 0;
  let looking = Promise.resolve();
  let isIdle = true;
  let lookedAt = performance.now();
  let machineAt = machineAheadOfTimer();
  const look = async () => {
    lookedAt = performance.now();
    known = (await lookOnce(database, known, options)) ?? known;
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
    if (!isIdle || (!isStepped && performance.now() - lookedAt < LOOK_EVERY_MS - WATCH_EVERY_MS / 2)) return;
    isIdle = false;
    looking = look().catch(options.onFailure).finally(() => (isIdle = true));
  }, WATCH_EVERY_MS);
  timer.unref();
  return {
    async stop() {
      clearInterval(timer);
      await looking;
    },
  };
}

function machineAheadOfTimer(): number {
  return systemNow() - performance.now();
}

/** The first look: this process has no time of its own yet. Where the marks are of a later time, the clock was set back while nobody was there. */
async function begin(database: Pick<Database, 'pool'>, options: KeepOptions): Promise<TimeLook> {
  const { look, atMs } = await lookTimed(database);
  const offMs = look.databaseMs + look.correctionMs - (atMs + aheadMs);
  aheadMs += offMs;
  if (Math.abs(offMs) > TIME_TOLERANCE_MS) options.onStep('machine', Math.round(-offMs));
  if (!options.settles || look.agreedAtMs - look.databaseMs <= TIME_TOLERANCE_MS) return look;
  const setting = await settleAfterRest(database, look);
  if (setting !== null) options.onStep('service', setting.byMs);
  aheadMs -= look.correctionMs;
  return { ...look, correctionMs: 0 };
}

/** Null where the look said nothing. */
async function lookOnce(database: Pick<Database, 'pool'>, known: TimeLook, options: KeepOptions): Promise<TimeLook | null> {
  const { look, atMs, uncertainMs } = await lookTimed(database);
  if (uncertainMs > SLOW_LOOK_MS / 2) return null;
  const held: HeldTime = { serviceMs: atMs + aheadMs, correctionMs: known.correctionMs, uncertainMs };
  const { verdict, offMs } = judgeTimeLook(look, held);
  if (verdict === 'database stepped') {
    const correctionMs = correctionAfterStep(look.correctionMs, offMs);
    if (!(await correctTime(database, { look, correctionMs }))) return null;
    options.onStep('database', Math.round(offMs));
    return { ...look, correctionMs };
  }
  if (verdict === 'follow') {
    aheadMs += offMs;
    // Of what others have set they told themselves; our own measure of time stood still or jumped only here.
    if (look.correctionMs === known.correctionMs) options.onStep('machine', Math.round(-offMs));
    return look;
  }
  aheadMs += Math.sign(offMs) * Math.min(MOST_DRIFT_MS, Math.max(0, Math.abs(offMs) - uncertainMs));
  if (look.databaseMs - look.agreedAtMs >= LOOK_EVERY_MS) await noteAgreement(database, look);
  if (verdict === 'agrees' || !options.settles) return look;
  const setting: TimeSetting | null = await settleTime(database, look);
  if (setting === null) return null;
  aheadMs += setting.byMs;
  options.onStep('service', setting.byMs);
  return { ...look, correctionMs: 0 };
}

/** A look, and the moment of this process's own at which PostgreSQL took it, give or take `uncertainMs`. */
async function lookTimed(database: Pick<Database, 'pool'>): Promise<{ look: TimeLook; atMs: number; uncertainMs: number }> {
  const startedAt = performance.now();
  const look = await lookAtTime(database);
  const uncertainMs = (performance.now() - startedAt) / 2;
  return { look, atMs: startedAt + uncertainMs, uncertainMs };
}
