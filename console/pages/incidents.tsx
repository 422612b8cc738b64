import type { ComponentChildren } from 'preact';
import { useRef } from 'preact/hooks';
import { DAY_SECONDS } from '../../core/time.ts';
import { serviceSeconds } from '../client/answer.ts';
import { monitors, openIncidents, useReload } from '../client/live.ts';
import { canWrite } from '../client/session-state.ts';
import { Button, ButtonLink } from '../parts/button.tsx';
import { Loaded, Outdated, useLoad } from '../parts/load.tsx';
import { STATUSES } from '../parts/monitors.ts';
import { Empty, Page } from '../parts/page.tsx';
import { Badge, StatusMark } from '../parts/status.tsx';
import { BackToNewest, FurtherBack, useRowKeys } from '../parts/table.tsx';
import { Since, formatDateTime, formatDuration, formatMoment, formatShort } from '../parts/time.tsx';
import { PATHS, type PageProps } from '../paths.ts';
import { navigate } from '../shell/router.ts';
import {
  IncidentFilters,
  findIncidents,
  isNarrow,
  readFilter,
  type Filter,
  type Found,
  type Incident,
} from './incidents/filter.tsx';

/** The page of all incidents: open ones first, then the others by day. */
export function IncidentsPage({ query }: PageProps) {
  const filter = readFilter(query);
  const load = useLoad((signal) => findIncidents(filter, signal), [JSON.stringify(filter)]);
  useReload(load, ['incident']);
  return (
    <Page title="Incidents" lead={countOpen()}>
      <IncidentFilters filter={filter} />
      <Outdated load={load} />
      <Loaded load={load} height="h-96">
        {(found) => <Listing found={found} filter={filter} isLoading={load.isLoading.value} />}
      </Loaded>
    </Page>
  );
}

/** Returns the number of open incidents; a blank line until it is known, so that nothing moves. */
function countOpen(): string {
  if (monitors.value === null) return '\u00a0';
  const { size } = openIncidents.value;
  return size === 0 ? 'No open incidents' : `${size} open`;
}

function Listing({ found, filter, isLoading }: { found: Found; filter: Filter; isLoading: boolean }) {
  const list = useRef<HTMLDivElement>(null);
  useRowKeys(list, 'incident');
  const { open, resolved, next, hasMoreOpen } = found;
  // The search for a page can end before its first match.
  if (open.length + resolved.length === 0 && next === null) return <Nothing isNarrow={isNarrow(filter)} />;
  return (
    <div ref={list} class="flex flex-col gap-6">
      <BackToNewest cursor={filter.cursor} />
      {open.length > 0 && <Group title="Open" incidents={open} />}
      {hasMoreOpen && (
        <p class="text-sm text-soft">
          Showing the newest {open.length} open incidents.{' '}
          <a href="/incidents?status=open" class="underline underline-offset-2 hover:text-ink">
            View all open
          </a>
        </p>
      )}
      {groupByDay(resolved).map(({ day, incidents }) => (
        <Group key={day} title={day} incidents={incidents} />
      ))}
      <FurtherBack next={next} count={filter.count} isLoading={isLoading} />
    </div>
  );
}

function Group({ title, incidents }: { title: string; incidents: readonly Incident[] }) {
  return (
    <section aria-label={title}>
      <h2 class="heading mb-1.5 text-sm text-soft">{title}</h2>
      <ul class="divide-y divide-line overflow-hidden rounded-xl border border-line bg-surface">
        {incidents.map((incident) => (
          <li key={incident.id}>
            <IncidentRow incident={incident} />
          </li>
        ))}
      </ul>
    </section>
  );
}

/** Groups incidents by the day on which they began, in the user's time zone; the order stays. */
function groupByDay(incidents: readonly Incident[]): { day: string; incidents: Incident[] }[] {
  const groups: { day: string; incidents: Incident[] }[] = [];
  const now = serviceSeconds();
  const names = new Map([
    [formatMoment('longDay', now), 'Today'],
    [formatMoment('longDay', now - DAY_SECONDS), 'Yesterday'],
  ]);
  for (const incident of incidents) {
    const date = formatMoment('longDay', incident.started_at);
    const day = names.get(date) ?? date;
    if (groups.at(-1)?.day !== day) groups.push({ day, incidents: [] });
    groups.at(-1)?.incidents.push(incident);
  }
  return groups;
}

function Nothing({ isNarrow: isFiltered }: { isNarrow: boolean }) {
  if (isFiltered) {
    return (
      <Empty
        icon="search"
        title="No incidents match your filters"
        action={<Button onClick={() => navigate(PATHS.incidents)}>Clear filters</Button>}
      >
        Choose another status, monitor or period.
      </Empty>
    );
  }
  const isWatching = (monitors.value ?? []).length > 0;
  return (
    <Empty icon="incidents" title="No incidents yet" {...(!isWatching && { action: <FirstMonitor /> })}>
      When a monitor goes down or degrades, its timeline, evidence and notifications appear here.
      {!isWatching && ' No monitors yet.'}
    </Empty>
  );
}

function FirstMonitor(): ComponentChildren {
  return canWrite() ? (
    <ButtonLink href={PATHS.monitorNew} tone="primary" icon="plus">
      New monitor
    </ButtonLink>
  ) : null;
}

const TINTS: Record<Incident['state'], string> = { down: 'bg-down-tint', degraded: 'bg-degraded-tint' };

/** One incident in a list: monitor, reason, locations and duration. */
function IncidentRow({ incident }: { incident: Incident }) {
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
          {/* The heading above shows the day of a resolved one. */}
          {isOpen ? formatShort(incident.started_at) : formatMoment('minutes', incident.started_at)}
        </time>
      </span>
    </a>
  );
}

/** Names up to three locations, or their number. */
function formatLocations(names: readonly string[]): string {
  return names.length <= 3 ? names.join(', ') : `${names.length} locations`;
}
