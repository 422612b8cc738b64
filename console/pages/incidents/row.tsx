import { Badge, StatusMark } from '../../parts/status.tsx';
import { STATUSES } from '../../parts/statuses.ts';
import { formatDateTime, formatDuration, formatShort, Since } from '../../parts/time.tsx';
import type { Incident } from './questions.ts';

const TINTS: Record<Incident['state'], string> = { down: 'bg-down-tint', degraded: 'bg-degraded-tint' };

/** Of those that are over the day stands above them. */
const TIME = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' });

/** An incident in a list: of what, why, from where it was seen, and how long. */
export function IncidentRow({ incident }: { incident: Incident }) {
  const { status, state } = incident;
  const isOpen = status === 'open';
  return (
    <a
      href={`/incidents/${incident.id}`}
      data-row
      class={
        'grid grid-cols-[1.5rem_minmax(0,1fr)_auto] items-start gap-x-1 px-3 py-2.5 text-ink hover:bg-hover ' +
        `focus-visible:-outline-offset-2 md:gap-x-2 md:px-4 ${isOpen ? TINTS[state] : ''}`
      }
    >
      <StatusMark status={state} class={`mt-1 size-3.5 ${isOpen ? '' : 'opacity-60'}`} />
      <span class="min-w-0">
        <span class="flex min-w-0 items-center gap-2">
          <span class="clipped text-sm font-medium">{incident.monitor_name}</span>
          {isOpen && incident.acknowledged_at !== null && <Badge tone="good">Acknowledged</Badge>}
        </span>
        <span class="clipped block text-xs text-soft">
          {incident.reason}
          {incident.sources_down.length > 0 && ` · ${formatLocations(incident.sources_down)}`}
        </span>
      </span>
      <span class="whitespace-nowrap text-right text-xs">
        <span class={`block text-[0.8125rem] leading-[1.4] ${isOpen ? `font-medium ${STATUSES[state].text}` : ''}`}>
          <span class={isOpen ? 'hidden sm:inline' : 'sr-only'}>{`${STATUSES[state].label} for `}</span>
          {isOpen ? <Since at={incident.started_at} /> : formatDuration(incident.duration_seconds)}
        </span>
        <time
          class="text-soft"
          dateTime={new Date(incident.started_at * 1000).toISOString()}
          title={formatDateTime(incident.started_at)}
        >
          {isOpen ? formatShort(incident.started_at) : TIME.format(incident.started_at * 1000)}
        </time>
      </span>
    </a>
  );
}

/** Names of locations while they are few, otherwise how many. */
function formatLocations(names: readonly string[]): string {
  return names.length <= 3 ? names.join(', ') : `${names.length} locations`;
}
