import { setTimeout as delay } from 'node:timers/promises';
import type { ResultPayload } from '../../../queues/payloads.ts';
import { ApiError } from '../../api-error.ts';

/**
 * The first results of a batch wait this long for those of other agents, in milliseconds. On PostgreSQL a job costs as
 * much as twenty results.
 */
const GATHER_MS = 50;

/** The most results of a job, unless one agent sent more. */
const MOST_A_BATCH = 1000;

/** Results in memory while the queue is slow; beyond it agents are asked to come back. */
const MOST_WAITING = 20_000;

type Waiting = { results: ResultPayload[]; resolve: () => void; reject: (error: unknown) => void };

/**
 * Makes the way of agents' results into the queue: those of many agents in one job, one job after the other. The
 * returned function resolves once its results are in the queue; it rejects where the queue refused them, or cannot keep
 * up (503).
 */
export function createResultBatches(
  submit: (results: ResultPayload[]) => Promise<void>,
): (results: ResultPayload[]) => Promise<void> {
  const waiting: Waiting[] = [];
  let isWorking = false;

  const work = async () => {
    isWorking = true;
    await delay(GATHER_MS);
    while (waiting.length > 0) await submitOne(takeBatch(waiting), submit);
    isWorking = false;
  };

  return (results) => {
    if (countResults(waiting) >= MOST_WAITING)
      return Promise.reject(
        new ApiError(503, 'too many results are waiting for the queue: send these again later', { 'Retry-After': '5' }),
      );
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    waiting.push({ results, resolve, reject });
    if (!isWorking) void work();
    return promise;
  };
}

function takeBatch(waiting: Waiting[]): Waiting[] {
  let size = 0;
  const beyond = waiting.findIndex(({ results }, index) => {
    size += results.length;
    return index > 0 && size > MOST_A_BATCH;
  });
  return waiting.splice(0, beyond === -1 ? waiting.length : beyond);
}

function countResults(waiting: readonly Waiting[]): number {
  return waiting.reduce((sum, { results }) => sum + results.length, 0);
}

/** Never rejects: each agent gets its own outcome. */
async function submitOne(
  batch: readonly Waiting[],
  submit: (results: ResultPayload[]) => Promise<void>,
): Promise<void> {
  try {
    await submit(batch.flatMap(({ results }) => results));
    for (const { resolve } of batch) resolve();
  } catch (error) {
    for (const { reject } of batch) reject(error);
  }
}
