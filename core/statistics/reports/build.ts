import type { MonitorType } from '../../monitors/monitor.ts';
import { toUnixSeconds } from '../../time.ts';
import { mergeHistograms, quantileOf, type Histogram } from '../latency-histogram.ts';
import type { ServiceSla } from '../service-hours.ts';
import { measureService, ServiceCalendar, serviceFigures } from '../service-sla.ts';
import {
  judgeSla,
  measureSteps,
  type StateChange,
  type StateSeconds,
  type Stretch,
  sumSeconds,
  worstStateOf,
} from '../sla.ts';
import type {
  ReportContent,
  ReportDay,
  ReportDetails,
  ReportGap,
  ReportIncident,
  ReportMonitor,
  ReportSummary,
  ResponseMs,
} from './content.ts';
import { dateOf, dayEdges, type ReportWindow } from './periods.ts';

/**
 * Counts of a monitor's incidents that touch a period, as of its end. The longest has its seconds inside the period;
 * `resolved` are those that ended in it, with their whole length.
 */
export type IncidentFigures = { count: number; longestSeconds: number; resolved: number; resolvedSeconds: number };

/** Figures of a monitor without incidents. */
export const NO_INCIDENTS: IncidentFigures = { count: 0, longestSeconds: 0, resolved: 0, resolvedSeconds: 0 };

/**
 * Input data of one monitor. `maintenance` is excluded from its SLA, `retroactive` is the part of that entered after
 * the fact; `days` are the period's, each with the number and latencies of its checks.
 */
export type MonitorFacts = {
  monitor: {
    id: string;
    name: string;
    type: MonitorType;
    slaTarget: number | null;
    sla: ServiceSla | null;
    createdAtMs: number;
  };
  transitions: readonly StateChange[];
  maintenance: readonly Stretch[];
  retroactive: readonly Stretch[];
  days: readonly { checks: number; latency: Histogram }[];
  incidents: IncidentFigures;
};

/** A report's line of one monitor, with the details that only the single read shows. */
export type MonitorReport = {
  line: ReportMonitor;
  seconds: StateSeconds;
  /** The same without any maintenance. */
  secondsWithMaintenance: StateSeconds;
  days: ReportDay[];
};

/** Maximum number of monitors named in a summary. */
const MAX_WORST = 5;

/** Maximum number of incidents listed in a report; beyond, the shortest are only counted. */
export const MAX_INCIDENTS = 1000;

/** A period, the service's own gaps in it, and its service hours. */
export type Reported = { window: ReportWindow; gaps: readonly Stretch[]; calendar: ServiceCalendar };

/** Returns the data that all monitors of a report share. */
export function reportedPeriod(window: ReportWindow, gaps: readonly Stretch[]): Reported {
  const calendar = new ServiceCalendar({ fromMs: window.startSeconds * 1000, toMs: window.endSeconds * 1000 });
  return { window, gaps, calendar };
}

/** Computes the report of one monitor, in turns of the event loop. */
export async function reportMonitor(
  { window, gaps, calendar }: Reported,
  { monitor, transitions, maintenance, retroactive, days, incidents }: MonitorFacts,
): Promise<MonitorReport> {
  const edges = dayEdges(window);
  const history = { transitions, createdAtMs: monitor.createdAtMs, gaps, maintenance };
  const steps = await measureSteps(
    history,
    edges.map((seconds) => seconds * 1000),
  );
  const seconds = sumSeconds(steps);
  const span = { fromMs: window.startSeconds * 1000, toMs: window.endSeconds * 1000 };
  const secondsWithMaintenance =
    seconds.maintenance === 0
      ? seconds
      : sumSeconds(await measureSteps({ ...history, maintenance: [] }, [span.fromMs, span.toMs]));
  const ofRetroactive =
    retroactive.length === 0
      ? []
      : await measureSteps({ ...history, maintenance: retroactive }, [span.fromMs, span.toMs]);
  const { uptimePercent, slaMet, budget } = judgeSla(seconds, monitor.slaTarget);
  const { id, name, type, slaTarget, sla } = monitor;
  return {
    line: {
      id,
      name,
      type,
      uptime_percent: uptimePercent,
      sla_target: slaTarget,
      sla_met: slaMet,
      error_budget_seconds: budget?.leftSeconds ?? null,
      down_seconds: seconds.down,
      degraded_seconds: seconds.degraded,
      unknown_seconds: seconds.unknown,
      paused_seconds: seconds.paused,
      incidents: incidents.count,
      longest_incident_seconds: incidents.longestSeconds,
      mttr_seconds: incidents.resolved === 0 ? null : Math.round(incidents.resolvedSeconds / incidents.resolved),
      checks: days.reduce((sum, { checks }) => sum + checks, 0),
      response_ms: percentiles(mergeHistograms(days.map(({ latency }) => latency))),
      maintenance_seconds: seconds.maintenance,
      retroactive_seconds: sumSeconds(ofRetroactive).maintenance,
      uptime_percent_with_maintenance: judgeSla(secondsWithMaintenance, null).uptimePercent,
      service_hours: sla && serviceFigures(sla, await measureService(calendar, sla, history)),
    },
    seconds,
    secondsWithMaintenance,
    days: steps.map((step, day) => ({
      date: dateOf(edges[day] ?? 0, window.timezone),
      uptime_percent: judgeSla(step, null).uptimePercent,
      worst_state: worstStateOf(step),
      response_ms: percentiles(days[day]?.latency ?? null),
    })),
  };
}

/** Builds the whole report; `monitors` in the order in which it lists them, `incidents` the longest of all of them. */
export function buildReport(
  window: ReportWindow,
  monitors: readonly MonitorReport[],
  {
    incidents,
    gaps,
  }: { incidents: readonly ReportIncident[]; gaps: readonly (Stretch & { kind: ReportGap['kind'] })[] },
): { content: ReportContent; details: ReportDetails } {
  return {
    content: { summary: summarise(monitors), monitors: monitors.map(({ line }) => line) },
    details: {
      days: Object.fromEntries(monitors.map(({ line, days }) => [line.id, days])),
      incidents: incidents.toSorted(byStart),
      service_gaps: gaps.flatMap(({ kind, startMs, endMs }) => {
        const [from, to] = [
          Math.max(toUnixSeconds(startMs), window.startSeconds),
          Math.min(toUnixSeconds(endMs), window.endSeconds),
        ];
        return from < to ? [{ kind, from, to }] : [];
      }),
    },
  };
}

function summarise(monitors: readonly MonitorReport[]): ReportSummary {
  const seconds = sumSeconds(monitors.map((monitor) => monitor.seconds));
  const lines = monitors.map(({ line }) => line);
  const verdicts = lines.map(meetsTargets);
  return {
    monitors: lines.length,
    incidents: lines.reduce((sum, { incidents }) => sum + incidents, 0),
    uptime_percent: judgeSla(seconds, null).uptimePercent,
    down_seconds: seconds.down,
    maintenance_seconds: seconds.maintenance,
    retroactive_seconds: lines.reduce((sum, line) => sum + (line.retroactive_seconds ?? 0), 0),
    uptime_percent_with_maintenance: judgeSla(
      sumSeconds(monitors.map((monitor) => monitor.secondsWithMaintenance)),
      null,
    ).uptimePercent,
    sla_met: verdicts.filter((isMet) => isMet === true).length,
    sla_missed: verdicts.filter((isMet) => isMet === false).length,
    worst_monitors: lines
      .filter((line) => line.down_seconds > 0 || line.incidents > 0)
      .toSorted(
        (a, b) =>
          (a.uptime_percent ?? 100) - (b.uptime_percent ?? 100) ||
          b.down_seconds - a.down_seconds ||
          b.incidents - a.incidents,
      )
      .slice(0, MAX_WORST)
      .map(({ id, name, uptime_percent, down_seconds, incidents }) => ({
        id,
        name,
        uptime_percent,
        down_seconds,
        incidents,
      })),
  };
}

/** Reports whether a monitor met both its targets, or its only one (D-501); null if it has none. */
function meetsTargets({ sla_met: isMet, service_hours: service }: ReportMonitor): boolean | null {
  const verdicts = [isMet, service?.met ?? null].filter((verdict) => verdict !== null);
  return verdicts.length === 0 ? null : verdicts.every(Boolean);
}

/** Returns the incidents that a report lists: the longest by their length until the end of the period. */
export function longestIncidents(incidents: readonly ReportIncident[], { endSeconds }: ReportWindow): ReportIncident[] {
  const lengthOf = ({ started_at: start, resolved_at: end }: ReportIncident) => (end ?? endSeconds) - start;
  return incidents.toSorted((a, b) => lengthOf(b) - lengthOf(a) || byStart(a, b)).slice(0, MAX_INCIDENTS);
}

function byStart(a: ReportIncident, b: ReportIncident): number {
  return a.started_at - b.started_at || (a.id < b.id ? -1 : 1);
}

function percentiles(latency: Histogram | null): ResponseMs {
  const at = (q: number) => (latency === null ? null : quantileOf(latency, q));
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99) };
}
