import { PLAN_LIMITS } from '../../core/accounts/plans.ts';
import type { ServiceSla } from '../../core/statistics/service-hours.ts';
import {
  ServiceCalendar,
  measureService,
  serviceFigures,
  type ServiceFigures,
} from '../../core/statistics/service-sla.ts';
import { measureSteps, measureWindows, noSeconds, type StateHistory } from '../../core/statistics/sla.ts';
import { DAY_MS, HOUR_MS } from '../../core/time.ts';
import { nameAgents } from '../../models/agents/agents.ts';
import type { Database } from '../../models/database.ts';
import { listIncidentSpans, readStateHistories } from '../../models/incidents/state-history.ts';
import {
  excludedTimes,
  readMaintenanceTimes,
  type MaintenanceTime,
} from '../../models/maintenance/maintenance-times.ts';
import { findMeasuredMonitor } from '../../models/monitors/monitors.ts';
import { runOn } from '../../models/sql.ts';
import { readStatistics } from '../../models/statistics/monitor-statistics.ts';
import { listOverloadGaps } from '../../models/statistics/overload.ts';
import { rolledUntilMs } from '../../models/statistics/rollups.ts';
import { listServiceGaps } from '../../models/statistics/service-gaps.ts';
import type { SeriesPoint } from '../../models/statistics/statistics.ts';
import { notFound } from '../api-error.ts';
import type { Handler, Parts } from '../handler.ts';
import { requireWholeNumbers } from '../pagination.ts';
import { callerOf, idOf } from '../request-context.ts';
import {
  presentMaintenance,
  presentPoint,
  presentServiceGap,
  presentSla,
  presentSources,
  presentTotals,
  presentUptimeDay,
} from './presenter.ts';
import { STEP_MS, edgesOf, readStatsWindow } from './stats-window.ts';

const DEFAULT_DAYS = 90;

/** `GET /monitors/{id}/stats` */
export function getMonitorStatsHandler({ database, now }: Parts<'database' | 'now'>): Handler<'getMonitorStats'> {
  return async (request, response) => {
    const caller = callerOf(response);
    // One after the other these would take longer than all that is read afterwards.
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
    });
    const span = { fromMs: window.from * 1000, toMs: window.to * 1000, nowMs };
    // Burn rates look back a day from the window's end, also of a shorter one; without a target there are none.
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
      readHistory(database, monitor, judged),
      listOverloadGaps(runOn(database.pool), { ...span, tenantId: caller.tenantId, monitorId: monitor.id }),
    ]);
    const edges = edgesOf(window).map((edge) => edge * 1000);
    const [seconds = noSeconds(), hour = seconds, day = seconds, ...steps] = measureWindows(history, [
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
      totals: presentTotals(total, seconds, { sla, serviceHours: judgeServiceHours(monitor.sla, history, span) }),
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
      maintenance: history.allMaintenance
        .filter(({ startMs, endMs }) => endMs > span.fromMs && startMs < span.toMs)
        .map(presentMaintenance),
    });
  };
}

/** What a window was within the service hours of a monitor; null where it has none. */
function judgeServiceHours(
  sla: ServiceSla | null,
  history: StateHistory,
  span: { fromMs: number; toMs: number },
): ServiceFigures | null {
  return sla && serviceFigures(sla, measureService(new ServiceCalendar(span), sla, history));
}

function isYes(requested: string | undefined): boolean {
  return requested === '1' || requested === 'true';
}

/** `GET /monitors/{id}/uptime` */
export function getMonitorUptimeHandler({ database, now }: Parts<'database' | 'now'>): Handler<'getMonitorUptime'> {
  return async (request, response) => {
    const monitor = await findMeasuredMonitor(database, { tenantId: callerOf(response).tenantId, id: idOf(request) });
    if (monitor === null) throw notFound('monitor', idOf(request));
    requireWholeNumbers(request, ['days']);
    const days = request.query.days ?? DEFAULT_DAYS;
    const nowMs = now();
    const today = Math.floor(nowMs / DAY_MS);
    const edges = [...Array.from({ length: days }, (_, index) => (today - days + 1 + index) * DAY_MS), nowMs];
    const span = { fromMs: edges[0] ?? 0, toMs: nowMs, nowMs };
    const [history, incidents] = await Promise.all([
      readHistory(database, monitor, span),
      listIncidentSpans(database, { monitorId: monitor.id, ...span }),
    ]);
    const steps = measureSteps(history, edges);
    const open = edges
      .slice(0, -1)
      .map(
        (dayMs) =>
          incidents.filter(
            ({ startMs, endMs }) => startMs < dayMs + DAY_MS && (endMs === null || endMs > dayMs || startMs === dayMs),
          ).length,
      );
    response.json({
      monitor_id: monitor.id,
      days: steps.map((seconds, index) =>
        presentUptimeDay({ dayMs: edges[index] ?? 0, seconds, incidents: open[index] ?? 0 }),
      ),
    });
  };
}

type History = Omit<StateHistory, 'gaps'> & {
  gaps: Awaited<ReturnType<typeof listServiceGaps>>;
  /** Also what is not excluded. */
  allMaintenance: readonly MaintenanceTime[];
};

async function readHistory(
  database: Database,
  monitor: { no: number; id: string; createdAt: number },
  span: { fromMs: number; toMs: number; nowMs: number },
): Promise<History> {
  const [histories, gaps, maintenance] = await Promise.all([
    readStateHistories(database, { ...span, monitorIds: [monitor.id] }),
    listServiceGaps(runOn(database.pool), span),
    readMaintenanceTimes(database, { ...span, monitorNos: [monitor.no] }),
  ]);
  return {
    transitions: histories.get(monitor.id) ?? [],
    createdAtMs: monitor.createdAt * 1000,
    gaps,
    maintenance: excludedTimes(maintenance, monitor.no),
    allMaintenance: maintenance.get(monitor.no) ?? [],
  };
}
