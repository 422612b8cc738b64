import { randomFillSync } from 'node:crypto';
import { monotonicFactory } from 'ulid';
import { traceOf, type TraceIds, type TracedCheck } from '../../core/checks/trace-context.ts';
import { fingerprintOf } from './secret-box.ts';

/** The prefixes of ids that customers and operators meet. */
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
 * Makes ids: a prefix and a ULID in lower case. They sort by the moment of creation, within one process strictly, so
 * that lists by creation and id come in the order in which things were made.
 */
export function createIdSource(): (prefix: IdPrefix) => string {
  const next = monotonicFactory(createRandomSource());
  return (prefix) => `${prefix}_${next().toLowerCase()}`;
}

/**
 * How much randomness is fetched at a time, in bytes. An id takes 16, and fetching each for itself was a tenth of what
 * a small request costs.
 */
const POOL_BYTES = 4096;

/** Numbers from 0 up to 1 in steps of a 256th, of which an id's characters take a 32nd each. */
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

/** The ids of the trace of one check, which follow from the check (D-607). */
export function traceIdsOf(check: TracedCheck): TraceIds {
  return traceOf(check, (text) => fingerprintOf(text).toString('hex'));
}
