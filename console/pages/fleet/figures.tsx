import type { Schemas } from '../../client/shapes.ts';
import { Figure } from '../../parts/facts.tsx';
import { formatNumber } from '../../parts/figures.ts';
import { Card } from '../../parts/page.tsx';
import { formatDuration, formatLatency } from '../../parts/time.tsx';

type Fleet = Schemas['Fleet'];

/** The age of the oldest waiting result that counts as bad, in seconds. */
const OLD_RESULTS_SECONDS = 10;

/** The worst figures of the installation, at the top of the page. */
export function FleetFigures({ fleet }: { fleet: Fleet }) {
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

/** Whether a figure is above its alarm threshold. */
export function isLate(spread: Spread, kind: SpreadKind): boolean {
  return spread !== null && spread.p99_ms > ALLOWED_MS[kind];
}

/** The median and 99th percentile of the last seconds; a dash if there is no data. */
export function SpreadCell({ spread, kind }: { spread: Spread; kind: SpreadKind }) {
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
