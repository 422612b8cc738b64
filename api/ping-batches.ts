import { setTimeout as delay } from 'node:timers/promises';
import type { PingOutcome, TokenPing } from '../models/heartbeats.ts';
import { ApiError } from './api-error.ts';

/**
 * The first ping of a batch waits this long for company, in milliseconds; while one is being committed the next
 * gathers.
 */
const GATHER_MS = 10;

/** Pings of one transaction. */
const MOST_A_BATCH = 500;

/** Pings in memory while PostgreSQL is slow; beyond it callers are asked to come back. */
const MOST_WAITING = 5000;

type Waiting = { ping: TokenPing; resolve: (outcome: PingOutcome) => void; reject: (error: unknown) => void };

/**
 * Makes the way of pings into the database: many in one transaction, one transaction after the other, so that the pings
 * of a job keep their order. The returned function resolves once its ping is committed, and rejects where the database
 * is away or cannot keep up (503).
 */
export function createPingBatches(
  take: (pings: readonly TokenPing[]) => Promise<PingOutcome[]>,
): (ping: TokenPing) => Promise<PingOutcome> {
  const waiting: Waiting[] = [];
  let isWorking = false;

  const work = async () => {
    isWorking = true;
    await delay(GATHER_MS);
    while (waiting.length > 0) await takeOne(waiting.splice(0, MOST_A_BATCH), take);
    isWorking = false;
  };

  return (ping) => {
    if (waiting.length >= MOST_WAITING)
      return Promise.reject(new ApiError(503, 'too many pings are waiting for the database', { 'Retry-After': '5' }));
    const { promise, resolve, reject } = Promise.withResolvers<PingOutcome>();
    waiting.push({ ping, resolve, reject });
    if (!isWorking) void work();
    return promise;
  };
}

/** Never rejects: each ping gets its own outcome. */
async function takeOne(
  batch: readonly Waiting[],
  take: (pings: readonly TokenPing[]) => Promise<PingOutcome[]>,
): Promise<void> {
  try {
    const outcomes = await take(batch.map(({ ping }) => ping));
    for (const [index, { resolve }] of batch.entries()) resolve(outcomes[index] ?? 'unknown');
  } catch (error) {
    for (const { reject } of batch) reject(error);
  }
}
