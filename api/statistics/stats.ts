import { PLAN_LIMITS } from '../../core/accounts/plans.ts';
import { mergeHistograms, quantileOf, type Histogram } from '../../core/statistics/latency-histogram.ts';
import type { ServiceSla } from '../../core/statistics/service-hours.ts';
import {
  ServiceCalendar,
  measureService,
  serviceFigures,
  type ServiceFigures,
} from '../../core/statistics/service-sla.ts';
import {
  burnRate,
  judgeSla,
  measureSteps,
  measureWindows,
  noSeconds,
  worstStateOf,
  type StateHistory,
  type StateSeconds,
} from '../../core/statistics/sla.ts';
import { DAY_MS, HOUR_MS, toUnixSeconds } from '../../core/time.ts';
import { nameAgents, type NamedAgent } from '../../models/agents/agents.ts';
import type { Database } from '../../models/database.ts';
import { countChanges, listIncidentSpans, readStateHistories } from '../../models/incidents/transitions.ts';
import {
  countMaintenanceTimes,
  readExcludedTimes,
  readMaintenanceTimes,
  type MaintenanceTime,
} from '../../models/maintenance/maintenance-times.ts';
import { findMeasuredMonitor } from '../../models/monitors/monitors.ts';
import { runOn } from '../../models/sql.ts';
import { rolledUntilMs } from '../../models/statistics/rollups.ts';
import { listOverloadGaps, listServiceGaps, type ServiceGap } from '../../models/statistics/service-gaps.ts';
import { meanTimings, readStatistics, type SeriesPoint, type Tally } from '../../models/statistics/statistics.ts';
import { notFound } from '../api-error.ts';
import { presentTimings } from '../checks/checks.ts';
import type { Handler, Parts } from '../handler.ts';
import { requireWholeNumbers } from '../pagination.ts';
import { callerOf, idOf } from '../request-context.ts';
import type { components } from '../schema.generated.ts';
import { STEP_MS, edgesOf, readStatsWindow } from './stats-window.ts';

type Schemas = components['schemas'];
type Counted = Pick<Tally, 'up' | 'degraded' | 'down' | 'none' | 'latency'>;

const DEFAULT_DAYS = 90;

/**
 * Maximum number of changes that a window is measured from; beyond it the newest. A check each minute that always
 * changes reaches it in 200 days.
 */
const MAX_CHANGES = 300_000;

/** Number of changes, or maintenance times, beyond which a window counts toward the account's limit. */
const MANY_CHANGES = 10_000;

/** Maximum number of maintenance times in a response. */
const MAX_LISTED = 10_000;

/** `GET /monitors/{id}/stats` */
export function getMonitorStatsHandler({
  database,
  now,
  rateLimits,
}: Parts<'database' | 'now' | 'rateLimits'>): Handler<'getMonitorStats'> {
  return async (request, response) => {
    const caller = callerOf(response);
    // Sequentially these queries would take longer than all later ones.
    const [monitor, rolledMs, agents] = await Promise.all([
      findMeasuredMonitor(database, { tenantId: caller.tenantId, id: idOf(request) }),
      rolledUntilMs(runOn(database.pool)),
      nameAgents(database, caller.tenantId),
    ]);
    if (monitor === null) throw notFound('monitor', idOf(request));
    requireWholeNumbers(request, ['from', 'to']);
    const { from, to, resolution, by_source: bySource, by_phase: byTiming } = request.query;
    const withTimings = isYes(byTiming);
    const nowMs = now();
    const requested = {
      ...(from !== undefined && { from }),
      ...(to !== undefined && { to }),
      ...(resolution !== undefined && { resolution }),
    };
    const { countedFrom, countedTo, ...window } = readStatsWindow(requested, {
      nowMs,
      resultDays: PLAN_LIMITS[caller.plan].resultDays,
      results: { since: monitor.createdAt, perSecond: monitor.sources / monitor.intervalSeconds },
    });
    const span = { fromMs: window.from * 1000, toMs: window.to * 1000, nowMs };
    const ofAccount = { database, rateLimits, tenantId: caller.tenantId };
    // Burn rates cover the day before the window's end, even if the window is shorter; without a target there are none.
    const hasTarget = monitor.slaTarget !== null;
    const judged = hasTarget ? { ...span, fromMs: Math.min(span.fromMs, span.toMs - DAY_MS) } : span;
    const [{ total, points }, history, overload] = await Promise.all([
      readStatistics(database, {
        monitorNo: monitor.no,
        fromMs: countedFrom * 1000,
        toMs: countedTo * 1000,
        rolledMs,
        nowMs,
        stepMs: STEP_MS[window.resolution],
      }),
      readHistory(ofAccount, monitor, judged),
      listOverloadGaps(runOn(database.pool), { ...span, tenantId: caller.tenantId, monitorId: monitor.id }),
    ]);
    const maintenance = await readMaintenanceTimes(database, { ...span, monitorNos: [monitor.no], most: MAX_LISTED });
    const edges = edgesOf(window).map((edge) => edge * 1000);
    const [seconds = noSeconds(), hour = seconds, day = seconds, ...steps] = await measureWindows(history, [
      span,
      { fromMs: Math.max(judged.fromMs, span.toMs - HOUR_MS), toMs: span.toMs },
      { fromMs: Math.max(judged.fromMs, span.toMs - DAY_MS), toMs: span.toMs },
      ...edges.slice(1).map((toMs, index) => ({ fromMs: edges[index] ?? toMs, toMs })),
    ]);
    const sla = presentSla(monitor.slaTarget, { window: seconds, hour, day });
    const stepMs = STEP_MS[window.resolution];
    const byStep = Map.groupBy(points, ({ atMs }) => atMs);
    response.json({
      monitor_id: monitor.id,
      ...window,
      totals: presentTotals(total, seconds, { sla, serviceHours: await judgeServiceHours(monitor.sla, history, span) }),
      sources: presentSources(points, agents, { withTimings }),
      series: steps.map((ofStep, index) => {
        const atMs = Math.floor((edges[index] ?? 0) / stepMs) * stepMs;
        const inStep: readonly SeriesPoint[] = byStep.get(atMs) ?? [];
        const point = presentPoint({ at: atMs / 1000, points: inStep, seconds: ofStep, withTimings });
        return isYes(bySource) ? { ...point, sources: presentSources(inStep, agents, { withTimings }) } : point;
      }),
      service_gaps: [
        ...history.gaps.filter(({ startMs, endMs }) => endMs > span.fromMs && startMs < span.toMs),
        ...overload,
      ]
        .toSorted((a, b) => a.startMs - b.startMs)
        .map(presentServiceGap),
      maintenance: (maintenance.get(monitor.no) ?? []).map(presentMaintenance),
    });
  };
}

/** Returns a window's figures within the service hours of a monitor; null if it has none. */
async function judgeServiceHours(
  sla: ServiceSla | null,
  history: StateHistory,
  span: { fromMs: number; toMs: number },
): Promise<ServiceFigures | null> {
  return sla && serviceFigures(sla, await measureService(new ServiceCalendar(span), sla, history));
}

function isYes(requested: string | undefined): boolean {
  return requested === '1' || requested === 'true';
}

/** `GET /monitors/{id}/uptime` */
export function getMonitorUptimeHandler({
  database,
  now,
  rateLimits,
}: Parts<'database' | 'now' | 'rateLimits'>): Handler<'getMonitorUptime'> {
  return async (request, response) => {
    const { tenantId } = callerOf(response);
    const monitor = await findMeasuredMonitor(database, { tenantId, id: idOf(request) });
    if (monitor === null) throw notFound('monitor', idOf(request));
    requireWholeNumbers(request, ['days']);
    const days = request.query.days ?? DEFAULT_DAYS;
    const nowMs = now();
    const today = Math.floor(nowMs / DAY_MS);
    const edges = [...Array.from({ length: days }, (_, index) => (today - days + 1 + index) * DAY_MS), nowMs];
    const span = { fromMs: edges[0] ?? 0, toMs: nowMs, nowMs };
    const [history, incidents] = await Promise.all([
      readHistory({ database, rateLimits, tenantId }, monitor, span),
      listIncidentSpans(database, { monitorId: monitor.id, ...span }),
    ]);
    const steps = await measureSteps(history, edges);
    const open = countByDay(incidents, { firstMs: span.fromMs, days });
    response.json({
      monitor_id: monitor.id,
      days: steps.map((seconds, index) =>
        presentUptimeDay({ dayMs: edges[index] ?? 0, seconds, incidents: open[index] ?? 0 }),
      ),
    });
  };
}

/**
 * Counts the incidents that were open on each of the days from `firstMs` on, in one pass. An incident that ends as a
 * day begins does not count for that day, unless it began then.
 */
function countByDay(
  incidents: readonly { startMs: number; endMs: number | null }[],
  { firstMs, days }: { firstMs: number; days: number },
): number[] {
  const changes = Array.from({ length: days + 1 }, () => 0);
  const add = (day: number, change: number) => (changes[day] = (changes[day] ?? 0) + change);
  for (const { startMs, endMs } of incidents) {
    const began = (startMs - firstMs) / DAY_MS;
    const first = Math.max(0, Math.floor(began));
    const ended = endMs === null ? days - 1 : Math.ceil((endMs - firstMs) / DAY_MS) - 1;
    const last = Math.min(days - 1, Number.isInteger(began) ? Math.max(ended, began) : ended);
    if (last < first) continue;
    add(first, 1);
    add(last + 1, -1);
  }
  let open = 0;
  return changes.slice(0, days).map((change) => (open += change));
}

type History = Omit<StateHistory, 'gaps'> & { gaps: Awaited<ReturnType<typeof listServiceGaps>> };

/**
 * Reads the history that a monitor's uptime is measured from. Throws 429 if many windows with many changes or much
 * maintenance were read within a minute.
 */
async function readHistory(
  { database, rateLimits, tenantId }: { database: Database; tenantId: string } & Parts<'rateLimits'>,
  monitor: { no: number; id: string; createdAt: number },
  span: { fromMs: number; toMs: number; nowMs: number },
): Promise<History> {
  const [[changes = 0], times] = await Promise.all([
    countChanges(database, { ...span, monitorIds: [monitor.id], most: MANY_CHANGES + 1 }),
    countMaintenanceTimes(database, { ...span, monitorNo: monitor.no, most: MANY_CHANGES + 1 }),
  ]);
  if (Math.max(changes, times) > MANY_CHANGES) await rateLimits.take('changes', tenantId);
  const [histories, gaps, maintenance] = await Promise.all([
    readStateHistories(database, { ...span, monitorIds: [monitor.id], most: MAX_CHANGES }),
    listServiceGaps(runOn(database.pool), span),
    readExcludedTimes(database, { ...span, monitorNos: [monitor.no] }),
  ]);
  return {
    transitions: histories.get(monitor.id) ?? [],
    createdAtMs: monitor.createdAt * 1000,
    gaps,
    maintenance: maintenance?.get(monitor.no)?.excluded ?? [],
  };
}

/** Returns the SLA figures for a window, and the burn rates of the last hour and day before its end. */
function presentSla(
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

function presentTotals(
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

/** Returns the totals of each source over all of its points, ordered by name. */
function presentSources(
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

/** Returns one step: the results of all sources, and the monitor's time in each state. */
function presentPoint(step: {
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

/** Returns a gap of the service, in whole seconds as the SLA counts it. */
function presentServiceGap({ kind, startMs, endMs }: ServiceGap): Schemas['ServiceGap'] {
  return { kind, from: toUnixSeconds(startMs), to: toUnixSeconds(endMs) };
}

/** Returns maintenance of a monitor, in whole seconds as the SLA counts it. */
function presentMaintenance(time: MaintenanceTime): Schemas['MonitorStats']['maintenance'][number] {
  return {
    window_id: time.windowId,
    name: time.windowName,
    from: toUnixSeconds(time.startMs),
    to: toUnixSeconds(time.endMs),
    excluded: time.isExcluded,
  };
}

/** Returns one day; `dayMs` is its start. */
function presentUptimeDay({
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
