import { spend } from '../steady-rate.ts';
import { HOUR_MS } from '../time.ts';
import { takePing, type Heartbeat, type Ping, type StoredPing } from './deadlines.ts';

/** What is stored of a ping's body, in bytes (D-29). */
export const MAX_PING_BODY_BYTES = 10_000;

/**
 * A body made fit to be stored: lines and tabs stay, other control characters go (PostgreSQL takes no NUL). Null where
 * nothing is left.
 */
export function cleanPingBody(text: string): string | null {
  const cleaned = text
    .toWellFormed()
    .replaceAll(/[^\P{Cc}\n\t]/gu, '')
    .trim();
  return cleaned === '' ? null : cleaned;
}

/** The first line of a cleaned body, for the sentence of an alert; null = there is no body. */
export function firstLineOf(body: string | null): string | null {
  return body?.split('\n', 1)[0]?.trim() ?? null;
}

/** A ping to store, its body shortened where there is no room for the whole of it. */
export type PingRow = StoredPing & { ping: Ping; mayChangeState: boolean };

/** A heartbeat that a ping came for, and what waits to be decided of its account. */
export type PingedHeartbeat = {
  monitorNo: number;
  heartbeat: Heartbeat;
  marks: PingMarks;
  waiting: WaitingObservations;
};

/**
 * The outcome of a ping. `refused`: a failure that this heartbeat does not accept. `limited`: it would change something
 * but exceeds the rate limit, and only moves the deadline. `crowded`: the same, because too much of its account waits
 * to be decided. `row` is null where nothing of it is stored.
 */
export type AdmittedPing =
  | { outcome: 'refused' }
  | { outcome: 'taken' | 'limited' | 'crowded'; heartbeat: Heartbeat; marks: PingMarks; row: PingRow | null };

/** How much is kept of a body that has no room, in characters. */
const SHORT_BODY = 200;

/** Admits a ping that came at `nowMs` (Unix milliseconds), as far as there is room for it. */
export function admitPing(
  { monitorNo, heartbeat, marks, waiting }: PingedHeartbeat,
  ping: Ping,
  nowMs: number,
): AdmittedPing {
  const taken = takePing(heartbeat, ping, nowMs);
  if (taken.outcome === 'refused') return taken;
  const { stored, mayChangeState } = taken;
  const unstored = { heartbeat: taken.heartbeat, marks, row: null };
  if (stored === null) return { outcome: 'taken', ...unstored };
  const bytes = new TextEncoder().encode(ping.body ?? '').length;
  const room = findRoom(marks, { intervalSeconds: heartbeat.intervalSeconds, bytes }, nowMs);
  if (mayChangeState && !(room.hasRow && mayWait(waiting, monitorNo))) {
    // It still counts as a sign of life: too many pings must not look like a missed one.
    const moved = { ...heartbeat, dueAtMs: taken.heartbeat.dueAtMs };
    return { outcome: room.hasRow ? 'crowded' : 'limited', heartbeat: moved, marks, row: null };
  }
  if (!room.hasRow) return { outcome: 'taken', ...unstored };
  const kept = room.hasBody ? ping : { ...ping, body: firstLineOf(ping.body)?.slice(0, SHORT_BODY) ?? null };
  return {
    outcome: 'taken',
    heartbeat: taken.heartbeat,
    marks: room.marks,
    row: { ...stored, ping: kept, mayChangeState },
  };
}

/** Until when (Unix milliseconds) the pings of a heartbeat use up what is stored of them; null = nothing does. */
export type PingMarks = { rowsUsedUpMs: number | null; bytesUsedUpMs: number | null };

/** What may be stored of a ping: a row, and its whole body; and the marks after it. */
type PingRoom = { hasRow: boolean; hasBody: boolean; marks: PingMarks };

/**
 * Rows at once. After those there are four for each interval, which is twice a start and an end, but at least one a
 * minute and at most two a second.
 */
const BURST_ROWS = 60;
const ROWS_PER_INTERVAL = 4;
const LONGEST_MS = 60_000;
const SHORTEST_MS = 500;

/** 64 KiB of bodies at once, and as much again in an hour. */
const BODY_BYTES = { burst: 65_536, everyMs: HOUR_MS / 65_536 };

/** The observations of an account that wait to be decided: how many, and of which monitors. */
export type WaitingObservations = { count: number; monitorNos: Set<number> };

/** Three of each heartbeat of the largest plan. */
const MAX_WAITING = 3000;

/**
 * Whether one more observation of a monitor may wait (D-661). The first one always may: a thousand jobs that fail or
 * recover together are no flood.
 */
function mayWait({ count, monitorNos }: WaitingObservations, monitorNo: number): boolean {
  return count < MAX_WAITING || !monitorNos.has(monitorNo);
}

/** Finds room for a ping and its body (D-318); what is not stored leaves the marks as they are. */
function findRoom(
  { rowsUsedUpMs, bytesUsedUpMs }: PingMarks,
  { intervalSeconds, bytes }: { intervalSeconds: number; bytes: number },
  nowMs: number,
): PingRoom {
  const everyMs = Math.min(LONGEST_MS, Math.max(SHORTEST_MS, (intervalSeconds * 1000) / ROWS_PER_INTERVAL));
  const rows = spend({ burst: BURST_ROWS, everyMs }, { usedUpMs: rowsUsedUpMs, units: 1, nowMs });
  if (rows.waitMs > 0) return { hasRow: false, hasBody: false, marks: { rowsUsedUpMs, bytesUsedUpMs } };
  const body = spend(BODY_BYTES, { usedUpMs: bytesUsedUpMs, units: bytes, nowMs });
  const hasBody = body.waitMs === 0;
  return {
    hasRow: true,
    hasBody,
    marks: {
      rowsUsedUpMs: Math.ceil(rows.usedUpMs),
      bytesUsedUpMs: hasBody ? Math.ceil(body.usedUpMs) : bytesUsedUpMs,
    },
  };
}
