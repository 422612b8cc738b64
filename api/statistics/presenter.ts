import { mergeHistograms, quantileOf, type Histogram } from '../../core/statistics/latency-histogram.ts';
import type { ServiceFigures } from '../../core/statistics/service-sla.ts';
import { burnRate, judgeSla, worstStateOf, type StateSeconds } from '../../core/statistics/sla.ts';
import type { NamedAgent } from '../../models/agents/agents.ts';
import type { MaintenanceTime } from '../../models/maintenance/maintenance-times.ts';
import type { ServiceGap } from '../../models/statistics/service-gaps.ts';
import { meanTimings, type SeriesPoint, type Tally } from '../../models/statistics/statistics.ts';
import { presentTimings } from '../checks/checks.ts';
import type { components } from '../schema.generated.ts';

type Schemas = components['schemas'];
type Counted = Pick<Tally, 'up' | 'degraded' | 'down' | 'none' | 'latency'>;

/** What the seconds of a window and of the last hour and day before its end say of a target. */
export function presentSla(
  slaTarget: number | null,
  { window, hour, day }: { window: StateSeconds; hour: StateSeconds; day: StateSeconds },
): Schemas['Sla'] {
  const { slaMet, budget } = judgeSla(window, slaTarget);
  return {
    target: slaTarget,
    met: slaMet,
    budget: budget && {
      total_seconds: budget.totalSeconds,
      used_seconds: budget.usedSeconds,
      left_seconds: budget.leftSeconds,
    },
    burn_rate: { hour: thousandths(burnRate(hour, slaTarget)), day: thousandths(burnRate(day, slaTarget)) },
  };
}

/** The whole window. */
export function presentTotals(
  tally: Tally,
  seconds: StateSeconds,
  { sla, serviceHours }: { sla: Schemas['Sla']; serviceHours: ServiceFigures | null },
): Schemas['MonitorStats']['totals'] {
  return {
    uptime_percent: judgeSla(seconds, null).uptimePercent,
    sla,
    service_hours: serviceHours,
    seconds,
    ...presentCounted(tally),
    phases: presentTimings(tally.timings),
  };
}

/** What each source measured, all of its points together, in the order of their names. */
export function presentSources(
  points: readonly SeriesPoint[],
  agents: ReadonlyMap<number, NamedAgent>,
  { withTimings }: { withTimings: boolean },
): Schemas['SourceStats'][] {
  return [...Map.groupBy(points, ({ agentNo }) => agentNo)]
    .map(([agentNo, ofSource]) => ({
      id: agents.get(agentNo)?.id ?? null,
      name: agents.get(agentNo)?.name ?? null,
      ...presentCounted(addUp(ofSource)),
      ...(withTimings && timingsOf(ofSource)),
    }))
    .toSorted((a, b) => (a.name ?? '').localeCompare(b.name ?? ''));
}

/** One step: what all sources measured in it, and for how much of it the monitor was up. */
export function presentPoint(step: {
  at: number;
  points: readonly SeriesPoint[];
  seconds: StateSeconds;
  withTimings: boolean;
}): Schemas['StatsPoint'] {
  return {
    at: step.at,
    uptime_percent: judgeSla(step.seconds, null).uptimePercent,
    ...presentCounted(addUp(step.points)),
    ...(step.withTimings && timingsOf(step.points)),
  };
}

/** A stretch in which the service stood still, in whole seconds as the SLA takes it. */
export function presentServiceGap({ kind, startMs, endMs }: ServiceGap): Schemas['ServiceGap'] {
  return { kind, from: Math.floor(startMs / 1000), to: Math.floor(endMs / 1000) };
}

/** Maintenance of a monitor, in whole seconds as the SLA takes it. */
export function presentMaintenance(time: MaintenanceTime): Schemas['MonitorStats']['maintenance'][number] {
  return {
    window_id: time.windowId,
    name: time.windowName,
    from: Math.floor(time.startMs / 1000),
    to: Math.floor(time.endMs / 1000),
    excluded: time.isExcluded,
  };
}

/** One day; `dayMs` is its first moment. */
export function presentUptimeDay({
  dayMs,
  seconds,
  incidents,
}: {
  dayMs: number;
  seconds: StateSeconds;
  incidents: number;
}): Schemas['UptimeDay'] {
  return {
    date: new Date(dayMs).toISOString().slice(0, 10),
    uptime_percent: judgeSla(seconds, null).uptimePercent,
    seconds,
    incidents,
    worst_state: worstStateOf(seconds),
  };
}

function presentCounted({ up, degraded, down, none, latency }: Counted): {
  checks: Schemas['CheckCounts'];
  response_ms: Schemas['ResponseMs'];
} {
  return { checks: { up, degraded, down, none }, response_ms: presentResponse(latency) };
}

function presentResponse(latency: Histogram): Schemas['ResponseMs'] {
  return { p50: quantileOf(latency, 0.5), p95: quantileOf(latency, 0.95), p99: quantileOf(latency, 0.99) };
}

function addUp(points: readonly SeriesPoint[]): Counted {
  const sum = (name: 'up' | 'degraded' | 'down' | 'none') =>
    points.reduce((total, { tally }) => total + tally[name], 0);
  const [only] = points;
  const latency =
    points.length === 1 && only !== undefined
      ? only.tally.latency
      : mergeHistograms(points.map(({ tally }) => tally.latency));
  return { up: sum('up'), degraded: sum('degraded'), down: sum('down'), none: sum('none'), latency };
}

function timingsOf(points: readonly SeriesPoint[]): { phases: Schemas['PhasesMs'] } {
  return { phases: presentTimings(meanTimings(points.map(({ tally }) => tally))) };
}

function thousandths(rate: number | null): number | null {
  return rate === null ? null : Math.round(rate * 1000) / 1000;
}
