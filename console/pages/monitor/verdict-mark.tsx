import type { Schemas } from '../../client/api.ts';
import { StatusMark } from '../../parts/status.tsx';

type Verdict = Schemas['Vote'];

/** What a check says, in words. */
export const VERDICTS: Record<Verdict, string> = { up: 'Up', degraded: 'Degraded', down: 'Down', none: 'No vote' };

/** The sign of a verdict; a check that said nothing has that of what is not known. */
export function VerdictMark({ verdict, class: className = 'mt-1 size-3' }: { verdict: Verdict; class?: string }) {
  return (
    <span class="inline-flex" title={VERDICTS[verdict]}>
      <span class="sr-only">{VERDICTS[verdict]}</span>
      <StatusMark status={verdict === 'none' ? 'pending' : verdict} silent class={className} />
    </span>
  );
}
