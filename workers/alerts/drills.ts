import { DRILL_ENDS_ANYWAY_MS, DRILL_FAILS_AFTER_MS, type DrillAnswer } from '../../core/alerts/drill.ts';
import { listCheckRegions } from '../../models/agents/shared-agents.ts';
import { listLateDrills, lockOpenDrill, updateDrill, type Drill } from '../../models/alerts/drills.ts';
import { inTransaction } from '../../models/sql.ts';
import { enqueueCommitted, enqueueDeliveries, firstAttempt } from '../../queues/enqueue-committed.ts';
import type { DrillJob, ResultPayload } from '../../queues/payloads.ts';
import type { Runtime } from '../runtime.ts';
import { applyAnswers } from './drill-steps.ts';

/** What drills are made with. */
export type DrillParts = Pick<Runtime, 'database' | 'queues' | 'log' | 'now' | 'newId' | 'publicUrl'>;

/** Drills that a round of the chore takes on, and how late they must be, in milliseconds. */
const LATE_PER_ROUND = 500;
const LATE_MS = 5000;

/**
 * Takes what locations answered in drills, which came with the results of checks. Never rejects: the results beside
 * them are evaluated, and what failed here the chore asks for again.
 */
export async function evaluateDrills(
  parts: DrillParts,
  results: readonly Pick<ResultPayload, 'drillId' | 'agentNo' | 'verdict' | 'finishedAtMs'>[],
): Promise<void> {
  const byDrill = Map.groupBy(results, ({ drillId }) => drillId);
  for (const [drillId, ofDrill] of byDrill) {
    if (drillId === undefined) continue;
    const answers = ofDrill.flatMap(({ agentNo, verdict, finishedAtMs: atMs }) =>
      verdict === 'down' || verdict === 'up' ? [{ agentNo, verdict, atMs }] : [],
    );
    try {
      await stepDrill(parts, drillId, () => answers);
    } catch (error) {
      parts.log.error({ err: error, drill_id: drillId }, 'drill.not_evaluated');
    }
  }
}

/**
 * Helps on drills that stopped on their way. Answers that are missing are enqueued again, a drill that no quorum
 * answered in time has failed, and one that does not end by itself is ended.
 */
export async function mendDrills(parts: DrillParts): Promise<{ late: number; ended: number }> {
  const { database, now, log } = parts;
  const late = await listLateDrills(database, { lateMs: LATE_MS, nowMs: now(), limit: LATE_PER_ROUND });
  let ended = 0;
  for (const drill of late) {
    try {
      if (await mendDrill(parts, drill)) ended += 1;
    } catch (error) {
      log.error({ err: error, drill_id: drill.id }, 'drill.not_mended');
    }
  }
  return { late: late.length, ended };
}

/** Returns whether the drill is over. */
async function mendDrill(parts: DrillParts, drill: Drill): Promise<boolean> {
  const nowMs = parts.now();
  if (drill.status === 'failing') {
    if (nowMs - drill.startedAtMs < DRILL_FAILS_AFTER_MS) {
      await askForAnswers(parts, drill, 'down');
      return false;
    }
    return await failDrill(parts, drill.id);
  }
  if (nowMs - (drill.endsAtMs ?? 0) < DRILL_ENDS_ANYWAY_MS) {
    await askForAnswers(parts, drill, 'up');
    return false;
  }
  const all = (current: Drill): DrillAnswer[] =>
    missingOf(current, 'up').map((agentNo) => ({ agentNo, verdict: 'up', atMs: nowMs }));
  return (await stepDrill(parts, drill.id, all)) === 'ended';
}

/** Enqueues the answers of a drill that are missing. Never rejects for want of the queue. */
export async function askForAnswers(parts: DrillParts, drill: Drill, verdict: DrillAnswer['verdict']): Promise<void> {
  await enqueueAnswers(
    parts,
    missingOf(drill, verdict).map((agentNo) => ({ drillId: drill.id, agentNo, verdict })),
  );
}

function missingOf({ monitor, answers }: Drill, verdict: DrillAnswer['verdict']): number[] {
  const answered = new Set(answers.filter((answer) => answer.verdict === verdict).map(({ agentNo }) => agentNo));
  return monitor.sources.map(({ agentNo }) => agentNo).filter((agentNo) => !answered.has(agentNo));
}

async function failDrill({ database, now, log }: DrillParts, id: string): Promise<boolean> {
  const failed = await inTransaction(database, async (run) => {
    const drill = await lockOpenDrill(run, id);
    if (drill === null || drill.status !== 'failing') return false;
    await updateDrill(run, { ...drill, status: 'failed', endedAtMs: now() });
    return true;
  });
  if (failed) log.warn({ drill_id: id }, 'drill.failed');
  return failed;
}

/**
 * Adds answers to a drill, in one transaction with the deliveries of what they decide, and then enqueues what follows.
 * Returns the drill's status; null where it was over.
 */
async function stepDrill(
  parts: DrillParts,
  id: string,
  answersOf: (drill: Drill) => readonly DrillAnswer[],
): Promise<Drill['status'] | null> {
  const { database, queues, log } = parts;
  const step = await inTransaction(database, async (run) => {
    const drill = await lockOpenDrill(run, id);
    return drill && (await applyAnswers(run, { drill, answers: answersOf(drill) }, { ...parts, nowMs: parts.now() }));
  });
  if (step === null) return null;
  const { drill, deliveries } = step;
  await enqueueDeliveries(queues, log, deliveries.map(firstAttempt));
  if (deliveries.length > 0 || drill.status === 'ended')
    log.info({ drill_id: id, monitor_id: drill.monitor.id, status: drill.status }, 'drill.changed');
  if (drill.status === 'alerted') await enqueueEnd(parts, drill);
  return drill.status;
}

async function enqueueEnd(parts: DrillParts, drill: Drill): Promise<void> {
  const answers = missingOf(drill, 'up').map((agentNo) => ({ drillId: drill.id, agentNo, verdict: 'up' as const }));
  await enqueueAnswers(parts, answers, drill.endsAtMs ?? 0);
}

async function enqueueAnswers(
  { database, queues, log }: DrillParts,
  answers: readonly DrillJob[],
  atMs?: number,
): Promise<void> {
  await enqueueCommitted(async () => queues.enqueueDrill(answers, await listCheckRegions(database), atMs), {
    log,
    line: 'drill.not_queued',
    fields: { drill_id: answers[0]?.drillId },
  });
}
