import type { Schemas } from '../../client/api.ts';
import { joinWords } from '../../parts/figures.ts';
import { Loaded, type Load } from '../../parts/load.tsx';
import { Section } from '../../parts/page.tsx';
import { Badge, StatusMark } from '../../parts/status.tsx';
import { LongText, Table, type Column } from '../../parts/table.tsx';
import { Moment, Since, formatDuration, formatShort } from '../../parts/time.tsx';
import { hasLocations, withDates, withoutCount } from './status-words.ts';

type Incident = Schemas['Incident'];

/** The most incidents that are shown; a link leads to the others. */
const SHOWN = 8;

/** The newest incidents of the monitor. */
export function Incidents({
  monitor,
  incidents,
}: {
  monitor: Pick<Schemas['Monitor'], 'id' | 'type'>;
  incidents: Load<Incident[]>;
}) {
  const hasMore = (incidents.value.value?.length ?? 0) > SHOWN;
  const all = hasMore && (
    <a
      href={`/incidents?monitor_id=${encodeURIComponent(monitor.id)}`}
      class="text-sm text-soft underline underline-offset-2 hover:text-ink"
    >
      All incidents
    </a>
  );
  return (
    <Section title="Incidents" actions={all}>
      <Loaded load={incidents} height="h-32">
        {(list) =>
          list.length === 0 ? (
            <p class="rounded-xl border border-line bg-surface px-4 py-5 text-sm text-soft">No incidents yet.</p>
          ) : (
            <Table
              caption="Incidents, newest first"
              columns={COLUMNS}
              rows={list.slice(0, SHOWN).map((incident) => shownOf(incident, monitor))}
              keyOf={(incident) => incident.id}
              hrefOf={(incident) => `/incidents/${incident.id}`}
            />
          )
        }
      </Loaded>
    </Section>
  );
}

/** Returns an incident without the service itself as a location, and with dates in the usual format. */
function shownOf(incident: Incident, monitor: Pick<Schemas['Monitor'], 'type'>): Incident {
  if (hasLocations(monitor)) return incident;
  const reason = monitor.type === 'domain' ? withDates(incident.reason) : incident.reason;
  return { ...incident, reason, sources_down: [] };
}

const COLUMNS: readonly Column<Incident>[] = [
  {
    head: 'Started',
    class: 'whitespace-nowrap',
    cell: ({ state, started_at: at }) => (
      <span class="inline-flex items-center gap-2">
        <StatusMark status={state} class="size-3" />
        {formatShort(at)}
      </span>
    ),
  },
  { head: 'Reason', cell: Why },
  {
    head: 'Duration',
    align: 'right',
    class: 'whitespace-nowrap',
    cell: ({ status, started_at: at, duration_seconds: seconds }) =>
      status === 'open' ? <Since at={at} /> : formatDuration(seconds),
  },
  { head: 'Resolved', align: 'right', wideOnly: true, class: 'whitespace-nowrap text-soft', cell: Ended },
];

function Why({ reason, sources_down: locations, acknowledged_at: acknowledged, status }: Incident) {
  return (
    <>
      <LongText text={locations.length > 0 ? withoutCount(reason) : reason} />
      {locations.length > 0 && <LongText text={joinWords(locations)} class="text-xs text-soft" />}
      {status === 'open' && acknowledged !== null && <Badge tone="good">Acknowledged</Badge>}
    </>
  );
}

function Ended({ status, resolved_at: at, resolution }: Incident) {
  if (status === 'open' || at === null) return <Badge tone="bad">Open</Badge>;
  return (
    <>
      {resolution === 'paused' ? 'paused ' : ''}
      <Moment at={at} />
    </>
  );
}
