import type { PreviewOutcome } from '../../core/checks/preview.ts';
import type { CheckTarget } from '../../core/monitors/monitor.ts';
import type { Database } from '../database.ts';

type Secrets = Pick<Database, 'secrets'>;

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
