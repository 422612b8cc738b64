import type { Verdict } from '../checks/verdict.ts';
import type { RunSchedule } from './schedule.ts';

/** How a job reports: it ran, it begins, it failed, or it ended with an exit status (D-29). */
export const PING_KINDS = ['success', 'start', 'fail', 'exit'] as const;
export type PingKind = (typeof PING_KINDS)[number];

/**
 * One report of a job. `exitStatus` is 0 to 255 for `exit` and null for the others; `body` is what the job wrote, null
 * = nothing.
 */
export type Ping = { kind: PingKind; exitStatus: number | null; body: string | null };

/**
 * What the owner of a heartbeat set. A run may take `maxDurationSeconds` (null = as long as it likes). Where there is a
 * schedule, pings are expected at its runs, and not an interval after each other.
 */
export type HeartbeatSettings = {
  intervalSeconds: number;
  schedule: RunSchedule | null;
  graceSeconds: number;
  maxDurationSeconds: number | null;
  failEnabled: boolean;
};

/** Where a heartbeat stands. Times are Unix milliseconds. */
export type Heartbeat = HeartbeatSettings & {
  isPaused: boolean;
  /** What was last said of it; null = nothing since it was made or resumed. */
  verdict: Extract<Verdict, 'up' | 'down'> | null;
  /** When the newest thing of it was received, a missed deadline included: whatever comes next gets a later time. */
  receivedAtMs: number;
  /** The newest ping as one word, so that a repeated one is known; null = there is none that the next could repeat. */
  lastSignal: string | null;
  /** The next ping is missed after this; null while paused, and once that was reported. */
  dueAtMs: number | null;
  /**
   * The oldest run without an end must have ended by this. Null = no run is under way, it may take as long as it likes,
   * or that was reported.
   */
  overrunAtMs: number | null;
  /** When the newest run without an end began; null = none is under way. */
  runStartedAtMs: number | null;
};

/** A ping as it is stored. `durationMs` is how long the run took that it ended, null where none was under way. */
export type StoredPing = { atMs: number; durationMs: number | null };

/**
 * What becomes of a ping: refused, because it reports a failure to a heartbeat that takes none; or taken, with the
 * heartbeat after it. `stored` is null for a mere repeat, `mayChangeState` says whether it can change the monitor's
 * state.
 */
export type TakenPing =
  | { outcome: 'refused' }
  | { outcome: 'taken'; heartbeat: Heartbeat; stored: StoredPing | null; mayChangeState: boolean };

/** The same ping again sooner than this, in milliseconds, leaves no row of its own: a job in a loop fills no table. */
const REPEAT_MS = 200;

/** False where a ping changes no state whenever it comes, after whatever other pings that change none. */
export function mayChangeState({ verdict }: Heartbeat, ping: Ping): boolean {
  return ping.kind !== 'start' && (reportsFailure(ping) || verdict !== 'up');
}

function reportsFailure({ kind, exitStatus }: Ping): boolean {
  return kind === 'fail' || (kind === 'exit' && exitStatus !== 0);
}

/** Applies a ping that came at `nowMs` (Unix milliseconds). What is paused keeps it and stays as it is. */
export function takePing(heartbeat: Heartbeat, ping: Ping, nowMs: number): TakenPing {
  const isBad = reportsFailure(ping);
  if (isBad && !heartbeat.failEnabled) return { outcome: 'refused' };
  const lastSignal = signalOf(ping);
  if (lastSignal === heartbeat.lastSignal && nowMs - heartbeat.receivedAtMs < REPEAT_MS) {
    return {
      outcome: 'taken',
      heartbeat: heartbeat.isPaused ? heartbeat : { ...heartbeat, dueAtMs: deadlineAfter(heartbeat, nowMs) },
      stored: null,
      mayChangeState: false,
    };
  }
  // Clocks of several processes differ, and two pings may come in one millisecond: their order is that in which they
  // are taken.
  const atMs = Math.max(nowMs, heartbeat.receivedAtMs + 1);
  const received = { ...heartbeat, receivedAtMs: atMs, lastSignal };
  if (heartbeat.isPaused)
    return { outcome: 'taken', heartbeat: received, stored: { atMs, durationMs: null }, mayChangeState: false };
  const dueAtMs = deadlineAfter(heartbeat, atMs);
  if (ping.kind === 'start') {
    const { overrunAtMs, maxDurationSeconds } = heartbeat;
    // A later start does not excuse the run before it that never ended.
    const mustEndAtMs = overrunAtMs ?? (maxDurationSeconds === null ? null : atMs + maxDurationSeconds * 1000);
    return {
      outcome: 'taken',
      heartbeat: { ...received, dueAtMs, overrunAtMs: mustEndAtMs, runStartedAtMs: atMs },
      stored: { atMs, durationMs: null },
      mayChangeState: false,
    };
  }
  const verdict = isBad ? 'down' : 'up';
  const durationMs = heartbeat.runStartedAtMs === null ? null : atMs - heartbeat.runStartedAtMs;
  return {
    outcome: 'taken',
    heartbeat: { ...received, verdict, dueAtMs, overrunAtMs: null, runStartedAtMs: null },
    stored: { atMs, durationMs },
    mayChangeState: isBad || heartbeat.verdict !== verdict,
  };
}

/**
 * The heartbeat after its monitor was created (`current` null), changed, paused or resumed at `nowMs`. One that begins
 * to be watched must ping within interval and grace, or by its next run. New settings count from the newest ping, but a
 * deadline comes no nearer than it would lie if that ping came now: to shorten an interval is not to miss a ping.
 */
export function arrangeHeartbeat(
  current: Heartbeat | null,
  wanted: { settings: HeartbeatSettings; enabled: boolean },
  nowMs: number,
): Heartbeat {
  const { settings, enabled } = wanted;
  if (current === null || current.isPaused || !enabled) {
    const receivedAtMs = Math.max(nowMs, current?.receivedAtMs ?? 0);
    // Before it was made no ping can have come early; before it was resumed one can.
    const earlySeconds = current === null ? 0 : (settings.schedule?.earlySeconds ?? 0);
    const dueAtMs = enabled ? deadlineOf(settings, receivedAtMs, earlySeconds) : null;
    return {
      ...settings,
      isPaused: !enabled,
      verdict: null,
      receivedAtMs,
      lastSignal: null,
      dueAtMs,
      overrunAtMs: null,
      runStartedAtMs: null,
    };
  }
  return {
    ...current,
    ...settings,
    dueAtMs: movedDue(current, settings, nowMs),
    overrunAtMs: movedOverrun(current, settings, nowMs),
  };
}

/**
 * When a heartbeat's next ping is expected, in Unix milliseconds. Null = at no time in particular: it is paused, or has
 * no schedule and missed a ping.
 */
export function nextExpectedAt(heartbeat: Heartbeat, nowMs: number): number | null {
  if (heartbeat.isPaused) return null;
  if (heartbeat.dueAtMs !== null) return heartbeat.dueAtMs - heartbeat.graceSeconds * 1000;
  return heartbeat.schedule?.runAfter(nowMs) ?? null;
}

/**
 * When a heartbeat misses a ping that comes after no other one than that of `pingAtMs` (Unix milliseconds). By a
 * schedule it is the grace after the next run that this ping was not early enough for (D-553).
 */
export function deadlineAfter(settings: HeartbeatSettings, pingAtMs: number): number {
  return deadlineOf(settings, pingAtMs, settings.schedule?.earlySeconds ?? 0);
}

function deadlineOf(settings: HeartbeatSettings, pingAtMs: number, earlySeconds: number): number {
  const { schedule, intervalSeconds, graceSeconds } = settings;
  const run = schedule?.runAfter(pingAtMs + earlySeconds * 1000);
  return (run ?? pingAtMs + intervalSeconds * 1000) + graceSeconds * 1000;
}

function movedDue(current: Heartbeat, settings: HeartbeatSettings, nowMs: number): number | null {
  if (current.dueAtMs === null || isTimedAlike(current, settings)) return current.dueAtMs;
  const pingAtMs =
    current.schedule === null
      ? current.dueAtMs - (current.intervalSeconds + current.graceSeconds) * 1000
      : current.receivedAtMs;
  return Math.max(deadlineAfter(settings, pingAtMs), Math.min(current.dueAtMs, deadlineAfter(settings, nowMs)));
}

function isTimedAlike(a: HeartbeatSettings, b: HeartbeatSettings): boolean {
  const timing = ({ intervalSeconds, graceSeconds, schedule }: HeartbeatSettings) =>
    String([intervalSeconds, graceSeconds, schedule?.cron, schedule?.timezone, schedule?.earlySeconds]);
  return timing(a) === timing(b);
}

function movedOverrun(current: Heartbeat, { maxDurationSeconds }: HeartbeatSettings, nowMs: number): number | null {
  if (maxDurationSeconds === current.maxDurationSeconds) return current.overrunAtMs;
  if (maxDurationSeconds === null || current.runStartedAtMs === null) return null;
  const startedAtMs =
    current.overrunAtMs === null || current.maxDurationSeconds === null
      ? current.runStartedAtMs
      : current.overrunAtMs - current.maxDurationSeconds * 1000;
  return Math.max(nowMs, startedAtMs + maxDurationSeconds * 1000);
}

function signalOf({ kind, exitStatus }: Ping): string {
  return exitStatus === null ? kind : `${kind} ${exitStatus}`;
}
