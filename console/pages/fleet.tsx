import { useSignal } from '@preact/signals';
import { api, type Schemas } from '../client/api.ts';
import { usePoll } from '../client/live.ts';
import { signedIn } from '../client/session-state.ts';
import { Button, ButtonLink } from '../parts/button.tsx';
import { formatNumber } from '../parts/figures.ts';
import { Loaded, useLoad } from '../parts/load.tsx';
import { Figure } from '../parts/object-page.tsx';
import { Card, Empty, Page, Section } from '../parts/page.tsx';
import { Badge } from '../parts/status.tsx';
import { LongText, Table, type Column } from '../parts/table.tsx';
import { Moment, Since, formatDuration, formatLatency } from '../parts/time.tsx';
import { Retire } from './fleet/retire.tsx';

type Fleet = Schemas['Fleet'];
type Process = Fleet['processes'][number];
type Agent = Fleet['agents'][number];
type Queue = NonNullable<Fleet['queues']>[number];

/** Interval of reloads in milliseconds: processes update their rows about as often. */
const POLL_MS = 10_000;

const PROCESSES: readonly Column<Process>[] = [
  { head: 'Process', cell: ({ kind }) => <LongText text={kind} class="font-medium" /> },
  {
    head: 'Host',
    cell: ({ host, pid }) => <LongText text={`${host}, ${pid}`} />,
    wideOnly: true,
    class: 'text-soft',
  },
  { head: 'Version', cell: ({ version }) => version, wideOnly: true, class: 'text-soft' },
  { head: 'Uptime', cell: ({ started_at: at }) => <Since at={at} />, class: 'whitespace-nowrap', wideOnly: true },
  {
    head: 'Lateness',
    cell: ({ lateness }) => <SpreadCell spread={lateness} kind="lateness" />,
    align: 'right',
    class: 'whitespace-nowrap',
  },
  {
    head: 'Evaluation lag',
    cell: ({ evaluation_lag: lag }) => <SpreadCell spread={lag} kind="lag" />,
    align: 'right',
    class: 'whitespace-nowrap',
  },
  {
    head: 'Last seen',
    cell: ({ seen_at: at }) => <Moment at={at} />,
    align: 'right',
    wideOnly: true,
    class: 'whitespace-nowrap text-soft',
  },
];

const columnsOfAgents = (retire: (region: string) => void): readonly Column<Agent>[] => [
  { head: 'Agent', cell: ({ name }) => <LongText text={name} class="font-medium" /> },
  { head: 'Status', cell: (agent) => <AgentState agent={agent} /> },
  { head: 'Region', cell: ({ region }) => <LongText text={region} />, wideOnly: true },
  {
    head: 'Version',
    cell: ({ version }) => <LongText text={version ?? 'not reported'} />,
    wideOnly: true,
    class: 'text-soft',
  },
  { head: 'Monitors', cell: ({ monitors }) => formatNumber(monitors), align: 'right' },
  {
    head: 'Last seen',
    cell: ({ last_seen_at: at }) => (at === null ? 'never' : <Moment at={at} />),
    align: 'right',
    wideOnly: true,
    class: 'whitespace-nowrap text-soft',
  },
  {
    head: 'Action',
    cell: ({ region, retired_at: retiredAt, monitors }) =>
      (retiredAt === null || monitors > 0) && (
        <Button
          size="small"
          tone="danger"
          aria-label={`Retire ${region}`}
          onClick={() => retire(region)}
          class="-my-1.5"
        >
          Retire
        </Button>
      ),
    isAction: true,
  },
];

const QUEUES: readonly Column<Queue>[] = [
  { head: 'Queue', cell: ({ name }) => <LongText text={name} class="font-medium" /> },
  { head: 'Waiting', cell: ({ waiting }) => <Depth jobs={waiting} />, align: 'right' },
  { head: 'Active', cell: ({ active }) => <Depth jobs={active} />, align: 'right' },
  { head: 'Delayed', cell: ({ delayed }) => <Depth jobs={delayed} />, align: 'right', wideOnly: true },
  {
    head: 'Failed',
    cell: ({ failed }) => (
      <span class={failed > 0 ? 'text-down' : ''}>
        <Depth jobs={failed} />
      </span>
    ),
    align: 'right',
  },
];

/** The page that shows operators the state of the installation. */
export function FleetPage() {
  if (!signedIn().user.is_operator)
    return (
      <Page title="System">
        <Empty icon="fleet" title="Operators only">
          Ask your administrator for access.
        </Empty>
      </Page>
    );
  return (
    <Page
      title="System"
      lead="Health of this installation."
      actions={
        <ButtonLink icon="queues" href="/queues">
          Queues
        </ButtonLink>
      }
    >
      <Shown />
    </Page>
  );
}

function Shown() {
  const load = useLoad((signal) => api.get('/fleet', { signal }), []);
  usePoll(load, true, POLL_MS);
  const retired = useSignal<string | null>(null);
  return (
    <Loaded load={load}>
      {(fleet) => (
        <>
          <FleetFigures fleet={fleet} />
          <Section title="Processes" lead="Lateness of checks and evaluation lag of results: p50 · p99.">
            <Table
              caption="Processes"
              columns={PROCESSES}
              rows={fleet.processes.toSorted(byLateness)}
              keyOf={({ host, pid, started_at: at }) => `${host} ${pid} ${at}`}
            />
          </Section>
          <Section title="Shared agents">
            {fleet.agents.length === 0 ? (
              <p class="text-sm text-soft">No shared agents yet.</p>
            ) : (
              <Table
                caption="Shared agents"
                columns={columnsOfAgents((region) => (retired.value = region))}
                rows={fleet.agents}
                keyOf={({ id }) => id}
              />
            )}
          </Section>
          {retired.value !== null && (
            <Retire
              region={retired.value}
              others={fleet.agents.flatMap(({ region, retired_at: retiredAt }) =>
                retiredAt === null && region !== retired.value ? [region] : [],
              )}
              onDone={() => void load.reload()}
              onClose={() => (retired.value = null)}
            />
          )}
          <Section title="Queues">
            {fleet.queues === null ? (
              <p role="alert" class="rounded-md bg-down-tint px-3 py-2 text-sm text-down">
                Can’t reach Redis: checks and alerts are paused until it is back.
              </p>
            ) : (
              <Table caption="Queues" columns={QUEUES} rows={fleet.queues} keyOf={({ name }) => name} />
            )}
          </Section>
        </>
      )}
    </Loaded>
  );
}

/** Sorts late processes first, then by name. */
function byLateness(a: Process, b: Process): number {
  return (
    Number(isLate(b.lateness, 'lateness') || isLate(b.evaluation_lag, 'lag')) -
      Number(isLate(a.lateness, 'lateness') || isLate(a.evaluation_lag, 'lag')) ||
    a.kind.localeCompare(b.kind) ||
    a.host.localeCompare(b.host) ||
    a.pid - b.pid
  );
}

function AgentState({
  agent: { offline_since: since, last_seen_at: lastSeenAt, retired_at: retiredAt },
}: {
  agent: Agent;
}) {
  if (retiredAt !== null) return <Badge>Retired</Badge>;
  if (since !== null)
    return (
      <span class="inline-flex flex-wrap items-center gap-x-2">
        <Badge tone="bad">Offline</Badge>{' '}
        <span class="text-xs text-soft">
          for <Since at={since} />
        </span>
      </span>
    );
  return lastSeenAt === null ? <Badge tone="warning">Never seen</Badge> : <Badge tone="good">Online</Badge>;
}

function Depth({ jobs }: { jobs: number }) {
  return jobs === 0 ? <span class="text-soft">0</span> : <>{formatNumber(jobs)}</>;
}

/** The age of the oldest waiting result that counts as bad, in seconds. */
const OLD_RESULTS_SECONDS = 10;

/** The worst figures of the installation, at the top of the page. */
function FleetFigures({ fleet }: { fleet: Fleet }) {
  const { processes, agents, customers_agents: theirs, queues, oldest_results_seconds: oldest } = fleet;
  const lateness = worstOf(processes.map((each) => each.lateness));
  const lag = worstOf(processes.map((each) => each.evaluation_lag));
  const offline = agents.filter(({ offline_since: since }) => since !== null).length;
  const waiting = queues?.reduce((sum, queue) => sum + queue.waiting, 0) ?? null;
  return (
    <div class="mb-8">
      <Card>
        <dl class="grid grid-cols-2 gap-x-6 gap-y-4 md:grid-cols-3 lg:grid-cols-6">
          <Worst label="Lateness, p99" spread={lateness} kind="lateness" />
          <Worst label="Evaluation lag, p99" spread={lag} kind="lag" />
          <Figure label="Oldest pending result" tone={toneOf(oldest !== null && oldest > OLD_RESULTS_SECONDS)}>
            {oldest === null ? 'none' : formatDuration(oldest)}
          </Figure>
          <Figure label="Waiting jobs" tone={toneOf(waiting === null)}>
            {waiting === null ? 'unknown' : formatNumber(waiting)}
          </Figure>
          <Figure label="Shared agents online" tone={toneOf(offline > 0)}>
            {agents.length - offline} of {agents.length}
          </Figure>
          <Figure label="Private agents online">
            {theirs.total === 0 ? 'none' : `${theirs.total - theirs.offline} of ${theirs.total}`}
          </Figure>
        </dl>
      </Card>
    </div>
  );
}

function Worst({ label, spread, kind }: { label: string; spread: Schemas['Spread'] | null; kind: SpreadKind }) {
  return (
    <Figure label={label} tone={toneOf(isLate(spread, kind))}>
      {spread === null ? '–' : formatLatency(spread.p99_ms)}
    </Figure>
  );
}

function toneOf(isBad: boolean): string {
  return isBad ? 'text-down' : '';
}

function worstOf(spreads: readonly (Schemas['Spread'] | null)[]): Schemas['Spread'] | null {
  return spreads.reduce(
    (worst, spread) => (spread !== null && (worst === null || spread.p99_ms > worst.p99_ms) ? spread : worst),
    null,
  );
}

type Spread = Schemas['Spread'] | null;

/** The alarm thresholds of the 99th percentile, in milliseconds (docs/operations.md). */
const ALLOWED_MS = { lateness: 1000, lag: 15_000 } as const;
type SpreadKind = keyof typeof ALLOWED_MS;

/** Reports whether a figure is above its alarm threshold. */
function isLate(spread: Spread, kind: SpreadKind): boolean {
  return spread !== null && spread.p99_ms > ALLOWED_MS[kind];
}

/** The median and 99th percentile of the last seconds; a dash if there is no data. */
function SpreadCell({ spread, kind }: { spread: Spread; kind: SpreadKind }) {
  if (spread === null) return <span class="text-soft">–</span>;
  return (
    <span
      title={`${formatNumber(spread.count)} recent samples`}
      class={isLate(spread, kind) ? 'font-medium text-down' : ''}
    >
      {formatLatency(spread.p50_ms)} · {formatLatency(spread.p99_ms)}
    </span>
  );
}
