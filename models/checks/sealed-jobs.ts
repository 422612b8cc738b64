import type { PreviewOutcome } from '../../core/checks/preview.ts';
import type { AnswerEvidence } from '../../core/incidents/evidence.ts';
import type { CheckTarget } from '../../core/monitors/monitor.ts';
import type { Database } from '../database.ts';

type Secrets = Pick<Database, 'secrets'>;

/** A result of a check: which one it is, and what it saw of an answer. */
type AnsweredResult = { monitorNo: number; agentNo: number; dueAtMs: number; answer: AnswerEvidence | null };

/** The same on its way to the evaluator, which alone opens the evidence. */
export type Sealed<Result extends AnsweredResult> = Omit<Result, 'answer'> & { answer: null; sealedAnswer?: string };

/**
 * Seals what results saw of answers for their way through the queue (D-17), as previews do. What a server answers
 * belongs to the monitor's owner alone. Bound to its result, so that it opens as no other's. Most results saw nothing.
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
 * The results of `sealAnswers`, and of an older version, which sealed none. An answer that cannot be opened is reported
 * and left out: what was measured counts all the same.
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
 * The target of a preview, sealed whole for its way through the queue (D-17): the draft's secrets are in it. Bound to
 * the preview, so that it opens as nothing else.
 */
export function sealPreviewTarget({ secrets }: Secrets, previewId: string, target: CheckTarget): string {
  return secrets.seal(JSON.stringify(target), `trial:${previewId}:target`);
}

/** The target of `sealPreviewTarget`; throws where it is another preview's, or its key is not in the ring. */
export function openPreviewTarget({ secrets }: Secrets, previewId: string, sealed: string): CheckTarget {
  return JSON.parse(secrets.open(sealed, `trial:${previewId}:target`));
}

/** The outcome of a preview, sealed for the way back: what other servers answer is for the caller alone. */
export function sealPreviewOutcome({ secrets }: Secrets, previewId: string, outcome: PreviewOutcome): string {
  return secrets.seal(JSON.stringify(outcome), `trial:${previewId}:outcome`);
}

/** The outcome of `sealPreviewOutcome`; throws likewise. */
export function openPreviewOutcome({ secrets }: Secrets, previewId: string, sealed: string): PreviewOutcome {
  return JSON.parse(secrets.open(sealed, `trial:${previewId}:outcome`));
}
