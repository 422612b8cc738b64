import { spend } from '../steady-rate.ts';
import { HOUR_MS } from '../time.ts';
import { takePing, type Heartbeat, type Ping, type StoredPing } from './deadlines.ts';

/** Stored part of a ping's body, in bytes (D-29). */
export const MAX_PING_BODY_BYTES = 10_000;

/**
 * Returns patterns of credentials: whole ones, ones cut at the end of a line, and ones with line breaks. `length` is
 * that of the random part, which longer ones may exceed unless broken. File names rarely have a capital letter.
 */
const patternsOf = ({ start, broken, cell = '' }: Record<string, string>, length: number): RegExp[] => [
  new RegExp(String.raw`(?<=${start})[\w-]{${length},}`, 'g'),
  new RegExp(String.raw`(?<=${start})(?=[\w-]{16,${length}}$)(?!${LOWER_CASE_NAME}$)[\w-]+`, 'gm'),
  new RegExp(String.raw`(${broken})${cell}(?=[\w\n-]{0,${length}}[A-Z])(?:[\w-]\n?){${length - 1}}[\w-](?![\w-])`, 'g'),
];

/** Text that may be a file's name: words and numbers, joined with `_` or `-`. */
const LOWER_CASE_NAME = String.raw`(?:[a-z]+\d*|\d+)(?:[_-](?:[a-z]+\d*|\d+))*`;

/**
 * Tokens of pings (24 random characters), and of agents, the API and wallboards, and ping keys (43, also after a cell).
 * A terminal may break one into two lines anywhere. The text before one may end with a letter or digit, as in `%20`.
 */
const CREDENTIALS = [
  ...patternsOf(
    {
      start: String.raw`mon_[0-9a-hjkmnp-tv-z]{26}\.`,
      broken: String.raw`m\n?o\n?n\n?_\n?(?:[0-9a-hjkmnp-tv-z]\n?){26}\.\n?`,
    },
    24,
  ),
  ...patternsOf(
    {
      start: 'sp[akpw]_',
      broken: String.raw`s\n?p\n?[akpw]\n?_\n?`,
      cell: String.raw`(?:[a-z]\n?(?:[a-z0-9]\n?){0,15}_\n?)??`,
    },
    43,
  ),
];

/**
 * Replaces the credentials in what a job sent, because more people may read it than may ping (D-17). Each pattern is
 * searched for in the whole text, because what precedes a credential may seem to be one together with its start.
 */
export function hideCredentials(text: string): string {
  const ranges = CREDENTIALS.flatMap((pattern) =>
    [...text.matchAll(pattern)]
      // Short lines may have that length together.
      .filter(({ 0: found }) => found.indexOf('\n') === found.lastIndexOf('\n'))
      .map(({ 0: found, 1: start = '', index }) => ({ from: index + start.length, to: index + found.length })),
  ).toSorted((a, b) => a.from - b.from);
  let [hidden, end] = ['', 0];
  for (const { from, to } of ranges) {
    if (from >= end) hidden += `${text.slice(end, from)}[redacted]`;
    end = Math.max(end, to);
  }
  return hidden + text.slice(end);
}

/** A color, for example. Its last letter is not the first one of a credential. */
const TERMINAL_SEQUENCE = new RegExp(String.raw`\u001B\[[0-?]*[ -/]*(?!mon_|sp[akpw]_)[@-~]`, 'g');

/**
 * Makes a body fit to store: keeps line feeds and tabs, removes colors and other control characters (PostgreSQL rejects
 * NUL) and hides credentials. Null if nothing remains.
 */
export function cleanPingBody(text: string): string | null {
  const cleaned = text
    .toWellFormed()
    .replaceAll(TERMINAL_SEQUENCE, '')
    .replaceAll(/[^\P{Cc}\n\t]/gu, '')
    .trim();
  return cleaned === '' ? null : hideCredentials(cleaned);
}

/** Returns the first line of a cleaned body, for the sentence of an alert; null without a body. */
export function firstLineOf(body: string | null): string | null {
  return body?.split('\n', 1)[0]?.trim() ?? null;
}

/** A ping to store, its body shortened if there is no room for all of it. */
export type PingRow = StoredPing & { ping: Ping; mayChangeState: boolean };

/** A pinged heartbeat, and the observations of its account that wait for a decision. */
export type PingedHeartbeat = {
  monitorNo: number;
  heartbeat: Heartbeat;
  marks: PingMarks;
  waiting: WaitingObservations;
};

/**
 * Outcome of a ping. `refused`: a failure that this heartbeat does not accept. `limited`: it would change the state but
 * exceeds the rate limit, and only moves the deadline. `crowded`: the same, because too many observations of its
 * account wait for a decision. `row` is null if it is not stored.
 */
export type AdmittedPing =
  | { outcome: 'refused' }
  | { outcome: 'taken' | 'limited' | 'crowded'; heartbeat: Heartbeat; marks: PingMarks; row: PingRow | null };

/** Stored part of a body without room, in characters. */
const SHORT_BODY = 200;

/** Admits a ping that arrived at `nowMs` (Unix milliseconds), as far as there is room. */
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
    // The ping still moves the deadline: too many pings must not cause a missed one.
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

/** Until when (Unix milliseconds) stored pings use up a heartbeat's rates; null = not at all. */
export type PingMarks = { rowsUsedUpMs: number | null; bytesUsedUpMs: number | null };

/** Parts of a ping that may be stored: a row, and its whole body; and the marks after it. */
type PingRoom = { hasRow: boolean; hasBody: boolean; marks: PingMarks };

/**
 * Burst of rows. After it there are four per interval, for two starts and two ends, but at most two a second. There are
 * at least four a minute, because a job that runs each minute may have a long interval: on workdays, for example.
 */
const BURST_ROWS = 60;
const ROWS_PER_INTERVAL = 4;
const LONGEST_MS = 15_000;
const SHORTEST_MS = 500;

/** A burst of 64 KiB of bodies, and as much again per hour. */
const BODY_BYTES = { burst: 65_536, everyMs: HOUR_MS / 65_536 };

/** Observations of an account that wait for a decision: how many, and of which monitors. */
export type WaitingObservations = { count: number; monitorNos: Set<number> };

/** Three for each heartbeat of the largest plan. */
const MAX_WAITING = 3000;

/**
 * Reports whether one more observation of a monitor may wait (D-661). The first one always may: a thousand jobs that
 * fail or recover together are no flood.
 */
function mayWait({ count, monitorNos }: WaitingObservations, monitorNo: number): boolean {
  return count < MAX_WAITING || !monitorNos.has(monitorNo);
}

/** Finds room for a ping and its body (D-318); parts that are not stored leave their marks unchanged. */
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
