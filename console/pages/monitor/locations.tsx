import { describeQuorum } from '../../../core/incidents/quorum.ts';
import type { Schemas } from '../../client/api.ts';
import { formatNumber } from '../../parts/figures.ts';
import { FailedLoad, type Load } from '../../parts/load.tsx';
import { Section } from '../../parts/page.tsx';
import { Badge, VerdictMark } from '../../parts/status.tsx';
import { LongText, Table, type Column } from '../../parts/table.tsx';
import { Moment, formatMs, formatShort } from '../../parts/time.tsx';
import { setQuery } from '../../shell/router.ts';
import { sentence } from './status-words.ts';

type Check = Schemas['Check'];
type Source = Schemas['SourceStats'];
type Location = Schemas['MonitorLocations']['locations'][number];
type Row = Location & { newest: Check | null; stats: Source | null; unable: string | null };

const UNABLE: Readonly<Record<string, string>> = {
  capability: 'This agent cannot run this type of check',
  no_key: 'This agent has sent no encryption key for secrets',
  other_key: 'This agent sends a different key than its first one',
};

type LocationsProps = {
  detail: Schemas['MonitorDetail'];
  /** Present state of the locations. */
  load: Load<Schemas['MonitorLocations']>;
  checks: readonly Check[];
  sources: readonly Source[];
  words: string;
};

/** The status and the newest result of each location, and its statistics in the range. */
export function Locations({ detail, load, checks, sources, words }: LocationsProps) {
  const { value: locations } = load.value;
  if (locations === null) {
    if (load.error.value === null) return null;
    return (
      <Section title="Locations">
        <FailedLoad error={load.error.value} onRetry={() => void load.reload()} />
      </Section>
    );
  }
  if (locations.locations.length === 0) return null;
  const rows = locations.locations.map((location): Row => {
    const reason = detail.agent_sources_unable?.find(({ id }) => id === location.id)?.reason;
    return {
      ...location,
      newest: checks.find(({ source }) => source.id === location.id) ?? null,
      stats: sources.find(({ id }) => id === location.id) ?? null,
      unable: reason === undefined ? null : (UNABLE[reason] ?? null),
    };
  });
  const votes = rows.filter(({ status }) => status === 'counted').length;
  const isUndecided = detail.status === 'pending' && rows.every(({ status }) => status !== 'offline');
  const tally = { sources: rows.length, votes: isUndecided ? rows.length : votes };
  return (
    <Section
      title="Locations"
      lead={
        detail.status === 'paused'
          ? `Response times: ${words}.`
          : `${describeQuorum(tally, locations.down_min_sources)}. Response times: ${words}.`
      }
    >
      <Table caption="Status by location" columns={COLUMNS} rows={rows} keyOf={({ id }) => id} />
    </Section>
  );
}

const COLUMNS: readonly Column<Row>[] = [
  { head: 'Location', cell: Name, class: 'w-1/4' },
  { head: 'Now', cell: Now },
  { head: 'p50', align: 'right', cell: ({ stats }) => latency(stats?.response_ms.p50) },
  { head: 'p95', align: 'right', wideOnly: true, cell: ({ stats }) => latency(stats?.response_ms.p95) },
  { head: 'p99', align: 'right', wideOnly: true, cell: ({ stats }) => latency(stats?.response_ms.p99) },
  { head: 'Failed', align: 'right', wideOnly: true, cell: ({ stats }) => (stats === null ? '–' : failed(stats)) },
];

function Name({ id, name, region }: Row) {
  return (
    <>
      <button
        type="button"
        class="text-left font-medium underline-offset-2 hover:underline"
        title={`Show response times from ${name}`}
        onClick={() => setQuery({ source: id, view: '' })}
      >
        <LongText text={name} />
      </button>
      {region !== null && region !== name && <LongText text={region} class="text-xs text-soft" />}
    </>
  );
}

function Now({ status, newest, unable, last_seen_at: seen }: Row) {
  if (unable !== null) return <Badge tone="warning">{unable}</Badge>;
  if (status === 'offline')
    return (
      <>
        <Badge tone="warning">Offline</Badge>{' '}
        <span class="text-xs text-soft">
          {seen !== null && `since ${formatShort(seen)}, `}
          not counted
        </span>
      </>
    );
  if (newest === null) return <span class="text-soft">No recent result</span>;
  return (
    <span class="flex gap-2">
      <VerdictMark verdict={newest.verdict} />
      <span>
        <LongText text={resultOf(newest)} />
        <span class="block text-xs text-soft">
          <Moment at={Math.floor(newest.at)} />
        </span>
      </span>
    </span>
  );
}

function resultOf({ reason, latency_ms: ms }: Check): string {
  if (reason !== null) return sentence(reason);
  return ms === null ? 'Up' : formatMs(ms);
}

function latency(ms: number | null | undefined): string {
  return ms === null || ms === undefined ? '–' : formatMs(ms);
}

function failed({ checks: { up, degraded, down } }: Source): string {
  return `${formatNumber(down)} of ${formatNumber(up + degraded + down)}`;
}
