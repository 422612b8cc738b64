import type { FormState } from '../../forms/form-state.ts';
import { countLocations } from '../../forms/monitor-defaults.ts';
import { AGENT_CHECKED } from '../../forms/monitor-draft.ts';
import { describeDown, latestNotice, sayDuration } from '../../forms/sentences.ts';

/** What comes of what is filled in: when it counts as down, and how soon that is known. */
export function Meaning({ form: { draft, surroundings } }: { form: FormState }) {
  const down =
    draft.type === 'heartbeat'
      ? 'Down when a ping is missed, or at once when the job says it failed.'
      : draft.type === 'domain'
        ? 'Degraded once the days of warning begin, down when it has expired.'
        : describeDown(draft, surroundings);
  const seconds = latestNotice(draft, surroundings);
  const locations = AGENT_CHECKED.includes(draft.type) ? countLocations(draft, surroundings.sharedLocations) : 1;
  return (
    <div aria-live="polite" class="rounded-xl border border-line bg-surface p-4 text-sm">
      <h2 class="heading text-sm">What this means</h2>
      <p class="mt-1.5 text-soft">{down ?? 'That many locations do not check it.'}</p>
      {seconds !== null && (
        <p class="mt-1.5 text-soft">
          {draft.type === 'heartbeat' ? 'A job that does not run is known ' : 'An outage is known '}
          <span class="font-medium text-ink">
            {draft.type === 'heartbeat'
              ? `${sayDuration(seconds)} after its last ping`
              : `after ${sayDuration(seconds)} at the latest`}
          </span>
          .
        </p>
      )}
      {locations === 0 && (
        <p class="mt-1.5 text-degraded">
          No place checks it yet: there is no shared agent, and none of yours is ticked.
        </p>
      )}
    </div>
  );
}
