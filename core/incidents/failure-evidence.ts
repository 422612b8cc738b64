import type { Observation } from '../checks/observation.ts';
import type { Timings, Vote } from '../checks/verdict.ts';

/**
 * The answer that made a check fail, as far as it may be stored. For http: its status, its headers by lower-case name
 * (few, cut, none that carries credentials) and the first kilobyte of its body as text. For tcp and udp: the first
 * kilobyte, with a null status and no headers. A null `body` was not read, unless `bodyWithheld` says why it is not
 * shown: the check carries secrets, which servers echo, or the body is not text.
 */
export type AnswerEvidence = {
  status: number | null;
  headers: Record<string, string>;
  body: string | null;
  bodyWithheld?: 'secrets' | 'not_text';
};

/**
 * What one failing check saw beyond its verdict. Timings in whole milliseconds; each part is null where there was none.
 */
export type FailureEvidence = { phases: Timings | null; answer: AnswerEvidence | null };

/** Successes store their timings once per this time, in milliseconds. */
const SAMPLED_EVERY_MS = 600_000;

/** The timings in the order in which they follow one another. */
export const TIMING_NAMES = [
  'dnsMs',
  'connectMs',
  'tlsMs',
  'firstByteMs',
  'downloadMs',
] as const satisfies readonly (keyof Timings)[];

/** Collects what a failing result saw; null where that is nothing. */
export function toFailureEvidence({ phases, answer }: FailureEvidence): FailureEvidence | null {
  return phases === null && answer === null ? null : { phases, answer };
}

/** The timings of an observation in whole milliseconds; null where it has none. */
export function timingsOf(observation: Observation | null): Timings | null {
  switch (observation?.type) {
    case 'http':
    case 'tcp':
      return roundTimings(observation.timings);
    case 'udp':
      return roundTimings({ dnsMs: observation.dnsMs });
    default:
      return null;
  }
}

/**
 * Rounds timings to whole milliseconds. What is missing, is not a time or is longer than `mostMs` becomes null; the
 * whole is null where none is left.
 */
export function roundTimings(measured: Readonly<Record<string, unknown>>, mostMs = MAX_TIMING_MS): Timings | null {
  const [dnsMs = null, connectMs = null, tlsMs = null, firstByteMs = null, downloadMs = null] = TIMING_NAMES.map(
    (name) => wholeMs(measured[name], mostMs),
  );
  const timings = { dnsMs, connectMs, tlsMs, firstByteMs, downloadMs };
  return TIMING_NAMES.every((name) => timings[name] === null) ? null : timings;
}

/**
 * Timings as they are stored with a result, which has next to no room. They are whole milliseconds in their order, `-`
 * for a step that did not happen, such as `4 11 - 22 2`.
 */
export function writeTimings(timings: Timings): string {
  return TIMING_NAMES.map((name) => timings[name] ?? '-').join(' ');
}

/** Reads timings as `writeTimings` wrote them. */
export function readTimings(written: string): Timings {
  const [dnsMs = null, connectMs = null, tlsMs = null, firstByteMs = null, downloadMs = null] = written
    .split(' ')
    .map((ms) => (ms === '-' ? null : Number(ms)));
  return { dnsMs, connectMs, tlsMs, firstByteMs, downloadMs };
}

/**
 * True where a result stores its timings. A bad one always does, a good one when it is its source's first due time in a
 * ten-minute window, so that a source stores about one each ten minutes whatever its interval; all do at intervals of
 * ten minutes and more.
 */
export function storesTimings(
  { verdict, dueAtMs }: { verdict: Vote; dueAtMs: number },
  intervalSeconds: number,
): boolean {
  return verdict !== 'up' || dueAtMs % SAMPLED_EVERY_MS < intervalSeconds * 1000;
}

/** The longest time that is believed, in milliseconds: more than any deadline. */
const MAX_TIMING_MS = 600_000;

function wholeMs(value: unknown, mostMs: number): number | null {
  return typeof value === 'number' && value >= 0 ? Math.min(Math.round(value), mostMs) : null;
}
