import type { CheckTarget } from '../../core/monitor.ts';
import { discountClock, discountStall } from '../../core/own-stall.ts';
import { describePreview, type PreviewOutcome } from '../../core/preview.ts';
import type { Judgement } from '../../core/verdict.ts';
import type { Database } from '../../models/database.ts';
import { openPreviewTarget, sealPreviewOutcome } from '../../models/previews.ts';
import { machineAheadMs } from '../../models/service-clock.ts';
import { holdingBodies } from '../../net/body-budget.ts';
import type { PreviewJob, PreviewReturn } from '../../queues/payloads.ts';
import type { CheckerDependencies } from './run-checks.ts';

export type PreviewDependencies = Pick<CheckerDependencies, 'probe' | 'judge' | 'watchStalls' | 'limiter' | 'now'> & {
  database: Pick<Database, 'secrets'>;
  /** Called when a probe crashed: our bug. */
  onCrash: (error: unknown) => void;
};

const NOT_RUN: Judgement = { verdict: 'none', cause: null, reason: 'The check could not be run here' };

/** Whose computing time and memory previews of an older `web` use, which does not say for whom they are. */
const UNNAMED_ACCOUNT = 'previews';

/**
 * Makes the work of one preview: probes the target of a draft once, as a check would, and seals what was seen for the
 * one who waits. Nothing is stored. Null: nobody waits any more.
 */
export function createPreviewRunner(
  dependencies: PreviewDependencies,
): (job: PreviewJob) => Promise<PreviewReturn | null> {
  const { database, limiter, now } = dependencies;
  return async ({ trialId: previewId, tenantId, sealedTarget, untilMs }) => {
    if (now() >= untilMs) return null;
    const target = openPreviewTarget(database, previewId, sealedTarget);
    const account = tenantId ?? UNNAMED_ACCOUNT;
    const outcome = await limiter.pass(account, () =>
      holdingBodies(account, () => probeOnce({ target, account }, dependencies)),
    );
    return { sealedOutcome: sealPreviewOutcome(database, previewId, outcome) };
  };
}

async function probeOnce(
  { target, account }: { target: CheckTarget; account: string },
  { probe, judge, watchStalls, onCrash }: PreviewDependencies,
): Promise<PreviewOutcome> {
  try {
    const { result: observation, ownTime } = await watchStalls(() => probe(target));
    const { judgement, conditions } = await judge({ target, observation, account, check: null });
    const counted = discountClock(discountStall(judgement, observation, ownTime), machineAheadMs());
    return describePreview({ target, observation, judged: { judgement: counted, conditions } });
  } catch (error) {
    onCrash(error);
    return describePreview({ target, observation: null, judged: { judgement: NOT_RUN, conditions: [] } });
  }
}
