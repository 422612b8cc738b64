import type { ComponentChildren } from 'preact';
import type { Schemas } from '../../client/shapes.ts';
import { count } from '../../parts/figures.ts';
import { Icon } from '../../parts/icon.tsx';
import { StatusMark } from '../../parts/status.tsx';
import type { Status } from '../../parts/statuses.ts';
import { formatDateTime, formatDuration, formatExact } from '../../parts/time.tsx';

type Transition = Schemas['IncidentTransition'];
type Statement = Schemas['SourceStatement'];

/** Labels of the states of a monitor; unknown has the mark of pending. */
const STATES: Record<Schemas['TransitionState'], { label: string; status: Status }> = {
  up: { label: 'Recovered', status: 'up' },
  degraded: { label: 'Degraded', status: 'degraded' },
  down: { label: 'Down', status: 'down' },
  unknown: { label: 'Unknown', status: 'pending' },
  paused: { label: 'Paused', status: 'paused' },
  pending: { label: 'Waiting for first check', status: 'pending' },
};

const VERDICTS: Record<NonNullable<Statement['verdict']>, string> = { up: 'up', degraded: 'degraded', down: 'down' };
/** Why the vote of a location did not count. */
const SOURCE_STATUSES: Record<Statement['standing'], string | null> = {
  votes: null,
  offline: 'agent offline',
  silent: 'no recent result',
  undecided: 'undecided',
  unable: 'cannot run this check',
};

type Step = { key: string; at: number; mark: ComponentChildren; body: ComponentChildren };

/** The transitions of an incident, the oldest first, with each location's vote, and the acknowledgement. */
export function Timeline({ incident }: { incident: Schemas['IncidentDetail'] }) {
  const steps: Step[] = incident.timeline.map((transition) => ({
    key: String(transition.sequence),
    at: transition.at,
    mark: <StatusMark status={STATES[transition.to].status} silent class="size-3.5" />,
    body: <Change transition={transition} />,
  }));
  if (incident.acknowledged_at !== null) {
    steps.push({
      key: 'acknowledged',
      at: incident.acknowledged_at,
      mark: <Icon name="person" class="size-4 text-accent" />,
      body: <p class="text-sm font-medium">Acknowledged by {incident.acknowledged_by ?? 'a member'}</p>,
    });
  }
  if (steps.length === 0) return <p class="text-sm text-soft">No timeline stored.</p>;
  return (
    <ol>
      {steps
        .toSorted((a, b) => a.at - b.at)
        .map(({ key, at, mark, body }) => (
          <li key={key} class="group relative flex gap-3 pb-5 last:pb-0">
            <span class="absolute bottom-0 left-2.5 top-6 w-px bg-line group-last:hidden" aria-hidden="true" />
            <span class="grid size-5 shrink-0 place-items-center">{mark}</span>
            <div class="min-w-0 flex-1">
              {body}
              <time
                class="mt-0.5 block text-xs text-soft"
                dateTime={new Date(at * 1000).toISOString()}
                title={formatDateTime(at)}
              >
                {formatExact(at)}
              </time>
            </div>
          </li>
        ))}
    </ol>
  );
}

function Change({ transition }: { transition: Transition }) {
  const { to, at, detected_at: detectedAt, reason, sources } = transition;
  return (
    <>
      <p class="break-words text-sm">
        <span class="font-medium">{STATES[to].label}</span>
        {reason !== null && <span class="text-soft"> · {reason}</span>}
        {to === 'up' && <StillDown sources={sources} />}
        {detectedAt > at && <span class="text-soft"> · confirmed after {formatDuration(detectedAt - at)}</span>}
      </p>
      {sources.length > 0 && (
        <ul class="mt-1 flex flex-wrap gap-1.5" aria-label="Results by location">
          {sources.map((source) => (
            <SaidBy key={source.name} source={source} />
          ))}
        </ul>
      )}
    </>
  );
}

/** Why a monitor is up although a location still sees it down. */
function StillDown({ sources }: { sources: readonly Statement[] }) {
  const voting = sources.filter(({ standing: voteStatus }) => voteStatus === 'votes');
  const down = voting.filter(({ verdict }) => verdict === 'down').length;
  if (down === 0) return null;
  return (
    <span class="text-soft">{` · ${down} of ${count(voting.length, 'location')} still down: too few to agree`}</span>
  );
}

function SaidBy({ source: { name, verdict, standing: voteStatus, reason } }: { source: Statement }) {
  const status = verdict ?? 'pending';
  const said = SOURCE_STATUSES[voteStatus] ?? (verdict === null ? 'undecided' : VERDICTS[verdict]);
  return (
    <li
      class="inline-flex max-w-full items-center gap-1.5 rounded border border-line bg-surface px-1.5 text-xs leading-5"
      title={reason ?? undefined}
    >
      <StatusMark status={status} silent class={`size-2.5 ${voteStatus === 'votes' ? '' : 'opacity-50'}`} />
      <span class="clipped">
        {name} <span class="text-soft">{said}</span>
      </span>
    </li>
  );
}
