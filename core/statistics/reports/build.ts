import type { MonitorType } from '../../monitors/monitor.ts';
import { mergeHistograms, quantileOf, type Histogram } from '../latency-histogram.ts';
import type { ServiceSla } from '../service-hours.ts';
import { measureService, ServiceCalendar, serviceFigures } from '../service-sla.ts';
import {
  judgeSla,
  measureStates,
  measureSteps,
  secondsWithin,
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

/** Maintenance of a monitor that is excluded from its SLA; `retroactive` is what of it was past when it was entered. */
export type ExcludedMaintenance = Stretch & { retroactive: readonly Stretch[] };

/**
 * What is known of a monitor. `days` are the period's, each with its checks and what they took; `incidents` those that
 * may touch it.
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
  maintenance: readonly ExcludedMaintenance[];
  days: readonly { checks: number; latency: Histogram }[];
  incidents: readonly ReportIncident[];
};

/** A report's line of one monitor, with what only the single read shows. */
export type MonitorReport = {
  line: ReportMonitor;
  seconds: StateSeconds;
  /** The same as if there were no maintenance. */
  secondsWithMaintenance: StateSeconds;
  days: ReportDay[];
  incidents: ReportIncident[];
};

/** Monitors that a summary names. */
const MAX_WORST = 5;

/** Incidents that a report lists; beyond, the shortest are only counted. */
const MAX_INCIDENTS = 1000;

/** A period, what the service itself missed of it, and its service hours. */
export type Reported = { window: ReportWindow; gaps: readonly Stretch[]; calendar: ServiceCalendar };

/** What all monitors of a report have in common. */
export function reportedPeriod(window: ReportWindow, gaps: readonly Stretch[]): Reported {
  const calendar = new ServiceCalendar({ fromMs: window.startSeconds * 1000, toMs: window.endSeconds * 1000 });
  return { window, gaps, calendar };
}

/** What the period was for one monitor. */
export function reportMonitor(
  { window, gaps, calendar }: Reported,
  { monitor, transitions, maintenance, days, incidents: found }: MonitorFacts,
): MonitorReport {
  const edges = dayEdges(window);
  const history = { transitions, createdAtMs: monitor.createdAtMs, gaps, maintenance };
  const steps = measureSteps(
    history,
    edges.map((seconds) => seconds * 1000),
  );
  const seconds = sumSeconds(steps);
  const span = { fromMs: window.startSeconds * 1000, toMs: window.endSeconds * 1000 };
  const secondsWithMaintenance =
    seconds.maintenance === 0 ? seconds : measureStates({ ...history, maintenance: [], ...span });
  const { uptimePercent, slaMet, budget } = judgeSla(seconds, monitor.slaTarget);
  const incidents = found.filter((incident) => overlaps(incident, window)).map((incident) => asOfEnd(incident, window));
  const figures = countIncidents(incidents, window);
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
      incidents: figures.incidents,
      longest_incident_seconds: figures.longestSeconds,
      mttr_seconds: figures.mttrSeconds,
      checks: days.reduce((sum, { checks }) => sum + checks, 0),
      response_ms: percentiles(mergeHistograms(days.map(({ latency }) => latency))),
      maintenance_seconds: seconds.maintenance,
      retroactive_seconds: retroactiveSeconds(maintenance, span),
      uptime_percent_with_maintenance: judgeSla(secondsWithMaintenance, null).uptimePercent,
      service_hours: sla && serviceFigures(sla, measureService(calendar, sla, history)),
    },
    seconds,
    secondsWithMaintenance,
    days: steps.map((step, day) => ({
      date: dateOf(edges[day] ?? 0, window.timezone),
      uptime_percent: judgeSla(step, null).uptimePercent,
      worst_state: worstStateOf(step),
      response_ms: percentiles(days[day]?.latency ?? null),
    })),
    incidents,
  };
}

/** How much of a period's maintenance was entered after the fact. */
function retroactiveSeconds(
  maintenance: readonly ExcludedMaintenance[],
  span: { fromMs: number; toMs: number },
): number {
  const stretches = maintenance.flatMap(({ startMs, endMs, retroactive }) =>
    retroactive.map((late) => ({ startMs: Math.max(startMs, late.startMs), endMs: Math.min(endMs, late.endMs) })),
  );
  return secondsWithin(stretches, span);
}

/** The whole report; `monitors` in the order in which it lists them. */
export function buildReport(
  window: ReportWindow,
  monitors: readonly MonitorReport[],
  gaps: readonly (Stretch & { kind: ReportGap['kind'] })[],
): { content: ReportContent; details: ReportDetails } {
  return {
    content: { summary: summarise(monitors), monitors: monitors.map(({ line }) => line) },
    details: {
      days: Object.fromEntries(monitors.map(({ line, days }) => [line.id, days])),
      incidents: chooseIncidents(
        monitors.flatMap(({ incidents }) => incidents),
        window,
      ),
      service_gaps: gaps.flatMap(({ kind, startMs, endMs }) => {
        const [from, to] = [
          Math.max(Math.floor(startMs / 1000), window.startSeconds),
          Math.min(Math.floor(endMs / 1000), window.endSeconds),
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

/** Whether a monitor met both its targets, or the one it has (D-501); null where it has none. */
function meetsTargets({ sla_met: isMet, service_hours: service }: ReportMonitor): boolean | null {
  const verdicts = [isMet, service?.met ?? null].filter((verdict) => verdict !== null);
  return verdicts.length === 0 ? null : verdicts.every(Boolean);
}

/** In the order in which they began. */
function chooseIncidents(incidents: readonly ReportIncident[], { endSeconds }: ReportWindow): ReportIncident[] {
  const lengthOf = ({ started_at: start, resolved_at: end }: ReportIncident) => (end ?? endSeconds) - start;
  const chosen =
    incidents.length <= MAX_INCIDENTS
      ? [...incidents]
      : incidents.toSorted((a, b) => lengthOf(b) - lengthOf(a)).slice(0, MAX_INCIDENTS);
  return chosen.sort((a, b) => a.started_at - b.started_at || (a.id < b.id ? -1 : 1));
}

function percentiles(latency: Histogram | null): ResponseMs {
  const at = (q: number) => (latency === null ? null : quantileOf(latency, q));
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99) };
}

/** What a report says of a monitor's incidents. */
type IncidentFigures = { incidents: number; longestSeconds: number; mttrSeconds: number | null };

/** Whether an incident belongs to a period: a second of it does, or it began there and was over within that second. */
function overlaps(
  { started_at: start, resolved_at: end }: Pick<ReportIncident, 'started_at' | 'resolved_at'>,
  { startSeconds, endSeconds }: ReportWindow,
): boolean {
  return start < endSeconds && (end === null || end > startSeconds || start >= startSeconds);
}

/** An incident as it was known when the period ended: what ended later was going on. */
function asOfEnd(incident: ReportIncident, { endSeconds }: ReportWindow): ReportIncident {
  const isOver = incident.resolved_at !== null && incident.resolved_at <= endSeconds;
  return isOver ? incident : { ...incident, resolved_at: null, duration_seconds: null, resolution: null };
}

/**
 * Counts the incidents of one monitor that touch the period, all of them as of its end. The longest counts with its
 * seconds inside the period, the mean time to recovery is that of the whole length of those that were resolved in it,
 * rounded to seconds; null where none was.
 */
function countIncidents(incidents: readonly ReportIncident[], window: ReportWindow): IncidentFigures {
  const inside = incidents.map(
    ({ started_at: start, resolved_at: end }) =>
      Math.min(end ?? window.endSeconds, window.endSeconds) - Math.max(start, window.startSeconds),
  );
  const lengths = incidents.flatMap(({ duration_seconds: seconds }) => (seconds === null ? [] : [seconds]));
  return {
    incidents: incidents.length,
    longestSeconds: inside.reduce((longest, seconds) => Math.max(longest, seconds), 0),
    mttrSeconds:
      lengths.length === 0 ? null : Math.round(lengths.reduce((sum, seconds) => sum + seconds, 0) / lengths.length),
  };
}
