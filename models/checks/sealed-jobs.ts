import type { PreviewOutcome } from '../../core/checks/preview.ts';
import type { AnswerEvidence } from '../../core/incidents/evidence.ts';
import type { CheckTarget } from '../../core/monitors/monitor.ts';
import type { Database } from '../database.ts';

type Secrets = Pick<Database, 'secrets'>;

/** A check result with its key and the recorded answer of the target. */
type AnsweredResult = { monitorNo: number; agentNo: number; dueAtMs: number; answer: AnswerEvidence | null };

/** A result with a sealed answer in the queue; only the evaluator opens it. */
type Sealed<Result extends AnsweredResult> = Omit<Result, 'answer'> & { answer: null; sealedAnswer?: string };

/**
 * Seals the recorded answers of results for the queue (D-17), as previews do: answers are only for the monitor's owner.
 * Each is bound to its result, so that it opens with no other. Most results have none.
 */
export function sealAnswers<Result extends AnsweredResult>(
  { secrets }: Secrets,
  results: readonly Result[],
): Sealed<Result>[] {
  return results.map((result) => {
    const { answer } = result;
    if (answer === null) return { ...result, answer };
    return { ...result, answer: null, sealedAnswer: secrets.seal(JSON.stringify(answer), contextOf(result)) };
  });
}

/**
 * Opens the results of `sealAnswers`, and of an older version, which sealed none. An answer that cannot be opened is
 * reported and left out; the measurement still counts.
 */
export function openAnswers<Result extends AnsweredResult>(
  { secrets }: Secrets,
  results: readonly (Result & { sealedAnswer?: string })[],
  onUnreadable: (error: unknown, result: Result) => void,
): Result[] {
  return results.map((result) => {
    const { sealedAnswer, ...measured } = result;
    if (sealedAnswer === undefined) return result;
    try {
      return { ...measured, answer: JSON.parse(secrets.open(sealedAnswer, contextOf(result))) } as unknown as Result;
    } catch (error) {
      onUnreadable(error, result);
      return result;
    }
  });
}

function contextOf({ monitorNo, agentNo, dueAtMs }: AnsweredResult): string {
  return `result:${monitorNo}:${agentNo}:${dueAtMs}:answer`;
}

/**
 * Seals the whole target of a preview for the queue (D-17), because it contains the draft's secrets. It is bound to the
 * preview, so that it opens with no other.
 */
export function sealPreviewTarget({ secrets }: Secrets, previewId: string, target: CheckTarget): string {
  return secrets.seal(JSON.stringify(target), `trial:${previewId}:target`);
}

/** Opens the target of `sealPreviewTarget`; throws if it belongs to another preview, or its key is not in the ring. */
export function openPreviewTarget({ secrets }: Secrets, previewId: string, sealed: string): CheckTarget {
  return JSON.parse(secrets.open(sealed, `trial:${previewId}:target`));
}

/** Seals the outcome of a preview for the way back, because other servers' answers are only for the caller. */
export function sealPreviewOutcome({ secrets }: Secrets, previewId: string, outcome: PreviewOutcome): string {
  return secrets.seal(JSON.stringify(outcome), `trial:${previewId}:outcome`);
}

/** Opens the outcome of `sealPreviewOutcome`; throws for the same reasons. */
export function openPreviewOutcome({ secrets }: Secrets, previewId: string, sealed: string): PreviewOutcome {
  return JSON.parse(secrets.open(sealed, `trial:${previewId}:outcome`));
}
