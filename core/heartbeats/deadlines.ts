import type { Verdict } from '../checks/verdict.ts';
import type { RunSchedule } from './schedule.ts';

/** Kinds of a job's reports: it succeeded, started, failed, or ended with an exit status (D-29). */
export const PING_KINDS = ['success', 'start', 'fail', 'exit'] as const;
export type PingKind = (typeof PING_KINDS)[number];

/**
 * One report of a job. `exitStatus` is 0 to 255 for `exit` and null for the others; `body` is the job's output, null =
 * none.
 */
export type Ping = { kind: PingKind; exitStatus: number | null; body: string | null };

/**
 * A heartbeat's settings. A run may take `maxDurationSeconds` (null = no limit). With a schedule, pings are expected at
 * its runs instead of one interval apart.
 */
export type HeartbeatSettings = {
  intervalSeconds: number;
  schedule: RunSchedule | null;
  graceSeconds: number;
  maxDurationSeconds: number | null;
  failEnabled: boolean;
};

/** State of a heartbeat. Times are Unix milliseconds. */
export type Heartbeat = HeartbeatSettings & {
  isPaused: boolean;
  /** Its last verdict; null = none since it was created or resumed. */
  verdict: Extract<Verdict, 'up' | 'down'> | null;
  /** When its newest event was received, a missed deadline included: the next one always gets a later time. */
  receivedAtMs: number;
  /** The newest ping as one word, to detect repeats; null = there is none that the next could repeat. */
  lastSignal: string | null;
  /** The next ping is missed after this; null while paused, and after a missed ping was reported. */
  dueAtMs: number | null;
  /**
   * The oldest unfinished run must end by this. Null = no run is under way, it has no time limit, or that was reported.
   */
  overrunAtMs: number | null;
  /** When the newest unfinished run began; null = none is under way. */
  runStartedAtMs: number | null;
};

/** A ping as stored. `durationMs` is the duration of the run that it ended, null if none was under way. */
export type StoredPing = { atMs: number; durationMs: number | null };

/**
 * Outcome of a ping: refused, if it reports a failure to a heartbeat that does not accept those; or taken, with the
 * heartbeat after it. `stored` is null for a mere repeat, `mayChangeState` whether it can change the monitor's state.
 */
type TakenPing =
  | { outcome: 'refused' }
  | { outcome: 'taken'; heartbeat: Heartbeat; stored: StoredPing | null; mayChangeState: boolean };

/** An identical ping sooner than this, in milliseconds, is not stored: a job in a loop must not fill the table. */
const REPEAT_MS = 200;

/** Returns false for a ping that changes no state whenever it arrives, after any other pings that change none. */
export function mayChangeState({ verdict }: Heartbeat, ping: Ping): boolean {
  return ping.kind !== 'start' && (reportsFailure(ping) || verdict !== 'up');
}

function reportsFailure({ kind, exitStatus }: Ping): boolean {
  return kind === 'fail' || (kind === 'exit' && exitStatus !== 0);
}

/** Applies a ping that arrived at `nowMs` (Unix milliseconds). A paused heartbeat stores it and stays paused. */
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
  // Clocks of several processes differ, and two pings may arrive in one millisecond: they are ordered as processed.
  const atMs = Math.max(nowMs, heartbeat.receivedAtMs + 1);
  const received = { ...heartbeat, receivedAtMs: atMs, lastSignal };
  if (heartbeat.isPaused)
    return { outcome: 'taken', heartbeat: received, stored: { atMs, durationMs: null }, mayChangeState: false };
  const dueAtMs = deadlineAfter(heartbeat, atMs);
  if (ping.kind === 'start') {
    const { overrunAtMs, maxDurationSeconds } = heartbeat;
    // A later start does not excuse an earlier run that never ended.
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
 * Returns the heartbeat after its monitor was created (`current` null), changed, paused or resumed at `nowMs`. A new or
 * resumed one must ping within interval and grace, or by its next run. New settings count from the newest ping, but
 * bring a deadline no nearer than after a ping now: shortening an interval must not cause a missed ping.
 */
export function arrangeHeartbeat(
  current: Heartbeat | null,
  wanted: { settings: HeartbeatSettings; enabled: boolean },
  nowMs: number,
): Heartbeat {
  const { settings, enabled } = wanted;
  if (current === null || current.isPaused || !enabled) {
    const receivedAtMs = Math.max(nowMs, current?.receivedAtMs ?? 0);
    // A new heartbeat can have had no early ping; a resumed one can.
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
 * Returns when a heartbeat's next ping is expected, in Unix milliseconds. Null = at no particular time: it is paused,
 * or has no schedule and missed a ping.
 */
export function nextExpectedAt(heartbeat: Heartbeat, nowMs: number): number | null {
  if (heartbeat.isPaused) return null;
  if (heartbeat.dueAtMs !== null) return heartbeat.dueAtMs - heartbeat.graceSeconds * 1000;
  return heartbeat.schedule?.runAfter(nowMs) ?? null;
}

/**
 * Returns the deadline of the ping that follows the one at `pingAtMs` (Unix milliseconds). By a schedule it is the
 * grace after the next run for which this ping was not early enough (D-553).
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
