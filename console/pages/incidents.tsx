import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useRef } from 'preact/hooks';
import { monitors, openIncidents } from '../client/live.ts';
import { useReload } from '../client/reload.ts';
import { canWrite } from '../client/session-state.ts';
import { Button, ButtonLink, IconButton } from '../parts/button.tsx';
import { Choices } from '../parts/choices.tsx';
import { Empty } from '../parts/empty.tsx';
import { SelectField } from '../parts/field.tsx';
import { BackToNewest, FurtherBack, FROM_THE_NEWEST } from '../parts/further-back.tsx';
import { Loaded, useLoad, Outdated } from '../parts/load.tsx';
import { Page } from '../parts/page.tsx';
import { useRowKeys } from '../parts/table.tsx';
import { type PageProps, PATHS } from '../paths.ts';
import { navigate, setQuery } from '../shell/router.ts';
import { MonitorDialog } from './channels/monitor-choice.tsx';
import {
  findIncidents,
  isNarrow,
  readFilter,
  type Filter,
  type Found,
  type Incident,
  PERIODS,
} from './incidents/questions.ts';
import { IncidentRow } from './incidents/row.tsx';

const STATUSES = [
  { value: '', label: 'All' },
  { value: 'open', label: 'Open' },
  { value: 'resolved', label: 'Resolved' },
];
const ACKNOWLEDGED = [
  { value: '', label: 'Acknowledged?' },
  { value: 'false', label: 'Not acknowledged' },
  { value: 'true', label: 'Acknowledged' },
];
const WHEN = [
  { value: '', label: 'Any time' },
  ...Object.entries(PERIODS).map(([value, { label }]) => ({ value, label })),
];

/** Narrows the list; all of it stands in the address. */
function IncidentFilters({ filter }: { filter: Filter }) {
  const isChoosing = useSignal(false);
  const change = (part: Readonly<Record<string, string>>) => setQuery({ ...FROM_THE_NEWEST, ...part });
  const monitor = (monitors.value ?? []).find(({ id }) => id === filter.monitorId);
  return (
    <div class="mb-4 flex flex-wrap items-center gap-2" role="search" aria-label="Incidents">
      <Choices
        label="Which incidents"
        choices={STATUSES}
        value={filter.status}
        onValue={(status) => change({ status })}
      />
      <span class="inline-flex min-w-0 items-center">
        <Button onClick={() => (isChoosing.value = true)} class="max-w-64 font-normal" aria-haspopup="dialog">
          {filter.monitorId === '' ? 'All monitors' : (monitor?.name ?? 'One monitor')}
        </Button>
        {filter.monitorId !== '' && (
          <IconButton icon="close" label="All monitors" onClick={() => change({ monitor_id: '' })} />
        )}
      </span>
      <SelectField
        label="When"
        hideLabel
        class="min-w-0 grow basis-36 text-sm sm:grow-0 sm:basis-auto"
        options={WHEN}
        value={filter.period}
        onValue={(period) => change({ period })}
      />
      <SelectField
        label="Acknowledged"
        hideLabel
        class="min-w-0 grow basis-36 text-sm sm:grow-0 sm:basis-auto"
        options={ACKNOWLEDGED}
        value={filter.acknowledged}
        onValue={(acknowledged) => change({ acknowledged })}
      />
      {isChoosing.value && (
        <MonitorDialog
          onClose={() => (isChoosing.value = false)}
          onChosen={(id) => {
            isChoosing.value = false;
            change({ monitor_id: id });
          }}
        />
      )}
    </div>
  );
}

/** All incidents: what is open first, then what was, day by day. */
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

/** Whatever is looked for; keeps its place while it is on its way. */
function countOpen(): string {
  if (monitors.value === null) return '\u00a0';
  const { size } = openIncidents.value;
  return size === 0 ? 'Nothing is wrong now.' : `${size} open now.`;
}

function Listing({ found, filter, isLoading }: { found: Found; filter: Filter; isLoading: boolean }) {
  const list = useRef<HTMLDivElement>(null);
  useRowKeys(list, 'incident');
  const { open, resolved, next, hasMoreOpen } = found;
  if (open.length + resolved.length === 0) return <Nothing isNarrow={isNarrow(filter)} />;
  return (
    <div ref={list} class="flex flex-col gap-6">
      <BackToNewest cursor={filter.cursor} />
      {open.length > 0 && <Group title="Open" incidents={open} />}
      {hasMoreOpen && (
        <p class="text-sm text-soft">
          These are the newest {open.length} that are open.{' '}
          <a href="/incidents?status=open" class="underline underline-offset-2 hover:text-ink">
            Go through all of them
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

const DAY = new Intl.DateTimeFormat(undefined, { weekday: 'long', day: 'numeric', month: 'long', year: 'numeric' });

/** By the day, of the reader, on which they began; the order stays. */
function groupByDay(incidents: readonly Incident[]): { day: string; incidents: Incident[] }[] {
  const groups: { day: string; incidents: Incident[] }[] = [];
  const now = Date.now();
  const names = new Map([
    [DAY.format(now), 'Today'],
    [DAY.format(now - 86_400_000), 'Yesterday'],
  ]);
  for (const incident of incidents) {
    const date = DAY.format(incident.started_at * 1000);
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
        title="No incident matches"
        action={<Button onClick={() => navigate(PATHS.incidents)}>Show all</Button>}
      >
        None of the account’s incidents is what you are looking for.
      </Empty>
    );
  }
  const isWatching = (monitors.value ?? []).length > 0;
  return (
    <Empty icon="incidents" title="No incident so far" {...(!isWatching && { action: <FirstMonitor /> })}>
      When a monitor goes down or is degraded, what happened is shown here: since when, from where it was seen, what was
      answered, and who was alerted.
      {!isWatching && ' Nothing is watched yet.'}
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
