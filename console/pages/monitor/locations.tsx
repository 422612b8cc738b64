import type { Schemas } from '../../client/shapes.ts';
import { Section } from '../../parts/page.tsx';
import { Badge, VerdictMark } from '../../parts/status.tsx';
import { Table, type Column } from '../../parts/table.tsx';
import { Moment } from '../../parts/time.tsx';
import { formatMs } from '../../plots/time-labels.ts';
import { setQuery } from '../../shell/router.ts';
import { sentence } from './status-words.ts';

type Check = Schemas['Check'];
type Source = Schemas['SourceStats'];
type Row = {
  id: string;
  name: string;
  region: string | null;
  newest: Check | null;
  stats: Source | null;
  unable: string | null;
};

const UNABLE: Readonly<Record<string, string>> = {
  capability: 'This agent cannot run this type of check',
  no_key: 'This agent shows no key to seal the secrets to',
  other_key: 'This agent shows another key than at first',
};

type LocationsProps = {
  detail: Schemas['MonitorDetail'];
  agents: readonly Schemas['Agent'][] | null;
  checks: readonly Check[];
  sources: readonly Source[];
  words: string;
};

/** The newest result of each location, and its statistics in the range. */
export function Locations({ detail, agents, checks, sources, words }: LocationsProps) {
  const rows = detail.agent_sources.map((id): Row => {
    const agent = agents?.find((each) => each.id === id);
    const newest = checks.find(({ source }) => source.id === id) ?? null;
    const reason = detail.agent_sources_unable?.find((each) => each.id === id)?.reason;
    return {
      id,
      // A blank until names are loaded.
      name: agent?.name ?? newest?.source.name ?? (agents === null ? '\u00A0' : id),
      region: agent?.region ?? null,
      newest,
      stats: sources.find((source) => source.id === id) ?? null,
      unable: reason === undefined ? null : (UNABLE[reason] ?? null),
    };
  });
  if (rows.length === 0) return null;
  const needed = Math.min(detail.down_min_sources, rows.length);
  const lead =
    rows.length === 1
      ? 'One place checks it.'
      : `It is down when ${needed === rows.length ? `all ${needed}` : `${needed} of these ${rows.length}`} see a ` +
        `failure. Response times: ${words}.`;
  return (
    <Section title="Locations" lead={lead}>
      <Table caption="What each location sees" columns={COLUMNS} rows={rows} keyOf={({ id }) => id} />
    </Section>
  );
}

const COLUMNS: readonly Column<Row>[] = [
  { head: 'Location', cell: Name, class: 'w-1/4' },
  { head: 'Now', cell: Now },
  { head: 'Median', align: 'right', cell: ({ stats }) => latency(stats?.response_ms.p50) },
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
        title={`Show what ${name} measured`}
        onClick={() => setQuery({ source: id, view: '' })}
      >
        {name}
      </button>
      {region !== null && region !== name && <span class="block text-xs text-soft">{region}</span>}
    </>
  );
}

function Now({ newest, unable }: Row) {
  if (unable !== null) return <Badge tone="warning">{unable}</Badge>;
  if (newest === null) return <span class="text-soft">Nothing yet</span>;
  return (
    <span class="flex gap-2">
      <VerdictMark verdict={newest.verdict} />
      <span>
        {newest.reason === null
          ? newest.latency_ms === null
            ? 'Up'
            : formatMs(newest.latency_ms)
          : sentence(newest.reason)}{' '}
        <span class="block text-xs text-soft md:inline">
          <Moment at={Math.floor(newest.at)} />
        </span>
      </span>
    </span>
  );
}

function latency(ms: number | null | undefined): string {
  return ms === null || ms === undefined ? '–' : formatMs(ms);
}

function failed({ checks: { up, degraded, down } }: Source): string {
  return `${down.toLocaleString()} of ${(up + degraded + down).toLocaleString()}`;
}
