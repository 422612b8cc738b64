import type { RequestHandler } from 'express';
import { SharedCalls } from '../../core/shared-calls.ts';
import { answerCanary, describeAnswer } from '../../core/system/canary.ts';
import { findCanary } from '../../models/system/canary.ts';
import type { Parts } from '../dependencies.ts';

/** How long an answer holds, in milliseconds: whoever asks more often costs no query. */
const HOLDS_MS = 500;

/**
 * `GET /canary`: the target of the canary, which says what state it is to have. It holds nothing secret, and needs no
 * token.
 */
export function getCanaryHandler({ database }: Parts<'database'>): RequestHandler {
  let found: { response: ReturnType<typeof describeAnswer>; atMs: number } | null = null;
  const read = new SharedCalls(async () => {
    const canary = await findCanary(database);
    found = { response: describeAnswer(canary && answerCanary(canary)), atMs: performance.now() };
    return found.response;
  });
  return async (_request, response) => {
    const isFresh = found !== null && performance.now() - found.atMs < HOLDS_MS;
    const { status, body } = found !== null && isFresh ? found.response : await read.run();
    response.status(status).set('Cache-Control', 'no-store').type('text/plain').send(body);
  };
}
