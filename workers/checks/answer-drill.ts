import { DRILL_CAUSE } from '../../core/alerts/drill.ts';
import { findOpenAnswer } from '../../models/alerts/drills.ts';
import type { Database } from '../../models/database.ts';
import type { DrillJob } from '../../queues/payloads.ts';
import type { ConcurrencyLimiter } from './concurrency-limiter.ts';
import type { ResultBatcher } from './result-batcher.ts';

export type AnswerParts = {
  limiter: Pick<ConcurrencyLimiter, 'enter' | 'leave'>;
  batcher: Pick<ResultBatcher, 'add'>;
  database: Pick<Database, 'pool'>;
  now: () => number;
};

/**
 * Answers for a location in a drill: what a failing check would hand on, in the place where a check would be made
 * (D-546). The target is not contacted. Null where the drill is over, or has the answer.
 */
export async function answerDrill(
  { limiter, batcher, database, now }: AnswerParts,
  { drillId, agentNo, verdict }: DrillJob,
): Promise<{ monitors: string[] } | null> {
  const drill = await findOpenAnswer(database, { drillId, agentNo, verdict });
  if (drill === null) return null;
  await limiter.enter(drill.tenantId);
  const atMs = now();
  limiter.leave(drill.tenantId);
  const answer = {
    monitorNo: 0,
    agentNo,
    checksVersion: 0,
    dueAtMs: atMs,
    finishedAtMs: atMs,
    verdict,
    cause: verdict === 'up' ? null : DRILL_CAUSE,
    reason: null,
    latencyMs: null,
    httpStatus: null,
    phases: null,
    answer: null,
    drillId,
  };
  await batcher.add(answer, true);
  return { monitors: [`${drill.name}: drill, ${verdict}`] };
}
