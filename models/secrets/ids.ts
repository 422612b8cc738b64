import { randomFillSync } from 'node:crypto';
import { monotonicFactory } from 'ulid';
import { traceOf, type TraceIds, type TracedCheck } from '../../core/checks/trace-context.ts';
import { fingerprintOf } from './secret-box.ts';

/** Prefixes of ids that customers and operators see. */
export type IdPrefix =
  | 'ten'
  | 'usr'
  | 'ses'
  | 'inv'
  | 'tok'
  | 'agt'
  | 'mon'
  | 'nch'
  | 'inc'
  | 'dlv'
  | 'rep'
  | 'req'
  | 'note'
  | 'aud'
  | 'blk'
  | 'mnt'
  | 'drl'
  | 'pky'
  | 'idn';

/**
 * Makes ids: a prefix and a ULID in lower case. They sort by time of creation, strictly within one process, so that
 * lists by creation and id are in order of creation.
 */
export function createIdSource(): (prefix: IdPrefix) => string {
  const next = monotonicFactory(createRandomSource());
  return (prefix) => `${prefix}_${next().toLowerCase()}`;
}

/**
 * Size of a random pool, in bytes. An id takes 16, and fetching them separately took a tenth of the cost of a small
 * request.
 */
const POOL_BYTES = 4096;

/** Makes a source of numbers from 0 up to 1 in steps of 1/256; each character of an id uses 1/32. */
function createRandomSource(): () => number {
  const pool = new Uint8Array(POOL_BYTES);
  let at = pool.length;
  return () => {
    if (at === pool.length) {
      randomFillSync(pool);
      at = 0;
    }
    const byte = pool[at] ?? 0;
    at += 1;
    return byte / 256;
  };
}

/** Returns the trace ids of a check, which are derived from it (D-607). */
export function traceIdsOf(check: TracedCheck): TraceIds {
  return traceOf(check, (text) => fingerprintOf(text).toString('hex'));
}
