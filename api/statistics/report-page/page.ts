import { createHash } from 'node:crypto';
import { escapeHtml } from '../../../core/foreign-text.ts';
import {
  formatPercent,
  formatUptime,
  type ReportContent,
  type ReportDetails,
  type ReportGap,
  type ReportIncident,
  type ReportMonitor,
} from '../../../core/statistics/reports/content.ts';
import { DAYS, GAPS, REPORT_TITLES } from '../../../core/statistics/reports/page.ts';
import { formatPeriod, type ReportPeriod } from '../../../core/statistics/reports/periods.ts';
import type { ServiceFigures } from '../../../core/statistics/service-sla.ts';
import { DAY_SECONDS } from '../../../core/time.ts';
import { drawKey, drawLatency, drawStrip } from './plot.ts';

/** The data of the page. Without `details` it has no plots and no incidents. */
type ReportPage = {
  report: {
    period: ReportPeriod;
    periodStart: number;
    periodEnd: number;
    createdAt: number;
    content: ReportContent;
    details: ReportDetails | null;
  };
  tenantName: string;
};

/** Maximum number of incidents shown for a monitor: its section must fit on a page. */
const MAX_INCIDENTS = 12;

const LEGEND = [
  ['up', DAYS.up.meaning],
  ['degraded', DAYS.degraded.meaning],
  ['down', DAYS.down.meaning],
  ['unknown', `${DAYS.unknown.meaning}, pending, paused or maintenance`],
  ['absent', DAYS.absent.meaning],
] as const;

/**
 * Renders a report as a complete page to read and print: well-formed, without scripts, loading nothing. All foreign
 * text is escaped.
 */
export function renderReportPage({ report, tenantName }: ReportPage): string {
  const { period, periodStart, periodEnd, createdAt, content, details } = report;
  const dates = formatPeriod({ period, startSeconds: periodStart, endSeconds: periodEnd });
  const title = `${REPORT_TITLES[period]}: ${dates}`;
  const span = `${formatMoment(periodStart)} to ${formatMoment(periodEnd)}. All times in UTC.`;
  const incidents = Map.groupBy(details?.incidents ?? [], (incident) => incident.monitor_id);
  const monitors = content.monitors.map((monitor) =>
    renderMonitor(monitor, details?.days[monitor.id] ?? [], incidents.get(monitor.id) ?? []),
  );
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8"/>
<meta name="viewport" content="width=device-width, initial-scale=1"/>
<title>${escapeHtml(`${title} · ${tenantName}`)}</title>
<style>${REPORT_STYLE}</style>
</head>
<body>
<header>
<p class="soft">${isolated(tenantName)}</p>
<h1>${escapeHtml(title)}</h1>
<p class="soft small">${span} Created ${formatMoment(createdAt)} by Spotcheck.</p>
${renderSummary(content)}
</header>
<main>
${details === null ? '' : renderGaps(details.service_gaps)}
<h2>All monitors</h2>
${renderTable(content.monitors)}
<h2>By monitor</h2>
${details === null ? '' : renderLegend()}
${monitors.join('\n')}
</main>
</body>
</html>
`;
}

function renderSummary({ summary }: ReportContent): string {
  const withTarget = summary.sla_met + summary.sla_missed;
  const figures = [
    ['Uptime', formatUptime(summary.uptime_percent, 'no data')],
    ['Monitors', String(summary.monitors)],
    ['Incidents', String(summary.incidents)],
    ['Total downtime', formatLength(summary.down_seconds)],
    ...maintenanceFigures(summary),
    ...(withTarget === 0 ? [] : [['SLOs met', `${summary.sla_met} of ${withTarget}`]]),
  ];
  const items = figures.map(([label = '', value = '']) => `<div><dt>${label}</dt><dd>${value}</dd></div>`);
  return `<dl class="figures">${items.join('')}</dl>`;
}

/** Returns the maintenance excluded from the uptime, if any. */
function maintenanceFigures(summary: ReportContent['summary']): string[][] {
  const { maintenance_seconds: seconds = 0, retroactive_seconds: late = 0 } = summary;
  if (seconds === 0) return [];
  const uptime = formatUptime(summary.uptime_percent_with_maintenance ?? null, 'no data');
  return [
    ['Maintenance, summed', formatLength(seconds)],
    ['Uptime with maintenance counted', uptime],
    ...(late === 0 ? [] : [['Maintenance entered afterwards', formatLength(late)]]),
  ];
}

function renderGaps(gaps: readonly ReportGap[]): string {
  if (gaps.length === 0) return `<p class="soft small">${GAPS.none}</p>`;
  const rows = gaps.map(
    ({ kind, from: start, to: end }) =>
      `<tr><td>${GAPS.names[kind]}</td><td class="when">${formatMoment(start)}</td><td ` +
      `class="when">${formatMoment(end)}</td><td class="number">${formatLength(end - start)}</td></tr>`,
  );
  const head = '<tr><th>What</th><th>From</th><th>To</th><th class="number">Duration</th></tr>';
  return `<section class="gaps"><h2>${GAPS.title}</h2>
<p class="soft small">${GAPS.lead}</p>
<table><thead>${head}</thead><tbody>${rows.join('')}</tbody></table></section>`;
}

function renderTable(monitors: readonly ReportMonitor[]): string {
  const head = [
    'Uptime',
    'SLO',
    'Budget left',
    'Down',
    'Degraded',
    'Unknown',
    'Maintenance',
    'Incidents',
    'Longest',
    'MTTR',
    'p50, ms',
    'p95, ms',
    'p99, ms',
  ].map((label) => `<th class="number">${label}</th>`);
  const rows = monitors.map((monitor) => {
    const missed = monitor.sla_met === false ? ' missed' : '';
    const cells = [
      formatUptime(monitor.uptime_percent, '–'),
      formatPercent(monitor.sla_target, '–'),
      formatBudget(monitor.error_budget_seconds),
      formatLength(monitor.down_seconds),
      formatLength(monitor.degraded_seconds),
      formatLength(monitor.unknown_seconds),
      formatLength(monitor.maintenance_seconds ?? 0),
      String(monitor.incidents),
      formatLength(monitor.longest_incident_seconds),
      monitor.mttr_seconds === null ? '–' : formatLength(monitor.mttr_seconds),
      ...[monitor.response_ms.p50, monitor.response_ms.p95, monitor.response_ms.p99].map((ms) =>
        ms === null ? '–' : String(ms < 10 ? ms : Math.round(ms)),
      ),
    ];
    const name = `<td class="name">${isolated(monitor.name)} <span class="soft">${monitor.type}</span></td>`;
    const figures = cells.map((cell, column) => `<td class="number${column < 3 ? missed : ''}">${cell}</td>`);
    return `<tr>${name}${figures.join('')}</tr>`;
  });
  return (
    '<div class="wide"><table class="monitors">' +
    `<thead><tr><th>Monitor</th>${head.join('')}</tr></thead><tbody>${rows.join('\n')}</tbody></table></div>`
  );
}

function renderLegend(): string {
  const items = LEGEND.map(([state, label]) => `<li>${drawKey(state)}${label}</li>`);
  return `<ul class="legend small soft">${items.join('')}</ul>`;
}

function renderMonitor(
  monitor: ReportMonitor,
  days: ReportDetails['days'][string],
  incidents: readonly ReportIncident[],
): string {
  const uptime = formatUptime(monitor.uptime_percent, 'no data');
  const verdict = monitor.sla_met === null ? '' : monitor.sla_met ? ', SLO met' : ', SLO missed';
  const checks = monitor.checks === 0 ? 'no checks' : `${monitor.checks} check${monitor.checks === 1 ? '' : 's'}`;
  return `<section class="monitor">
<h3>${isolated(monitor.name)}</h3>
<p class="soft small">${monitor.type}, ${uptime}${verdict}, ${checks}</p>
${renderServiceHours(monitor.service_hours ?? null)}
${days.length === 0 ? '' : `${drawStrip(days)}${drawLatency(days)}`}
${renderIncidents(incidents)}
</section>`;
}

/** Renders the figures for a monitor's service hours, if it has any. */
function renderServiceHours(service: ServiceFigures | null): string {
  if (service === null) return '';
  const { hours, timezone, target, met, uptime_percent: percent, budget } = service;
  const verdict = met === null ? '' : `, target ${formatPercent(target, '')} ${met ? 'met' : 'missed'}`;
  const left = budget === null ? '' : `, budget left ${formatBudget(budget.left_seconds)}`;
  const uptime = formatUptime(percent, 'no data');
  return `<p class="soft small">Service hours ${escapeHtml(`${hours}, ${timezone}`)}: ${uptime}${verdict}${left}</p>`;
}

function renderIncidents(incidents: readonly ReportIncident[]): string {
  if (incidents.length === 0) return '';
  // At most one incident of a monitor is still open.
  const lengthOf = ({ duration_seconds: seconds }: ReportIncident) => seconds ?? Number.POSITIVE_INFINITY;
  const shown =
    incidents.length <= MAX_INCIDENTS
      ? incidents
      : incidents
          .toSorted((a, b) => lengthOf(b) - lengthOf(a))
          .slice(0, MAX_INCIDENTS)
          .sort((a, b) => a.started_at - b.started_at);
  const rows = shown.map(
    ({ started_at: start, duration_seconds: seconds, state, reason }) =>
      `<tr><td class="when">${formatMoment(start)}</td><td ` +
      `class="number">${seconds === null ? 'ongoing' : formatLength(seconds)}</td><td>${state}</td><td ` +
      `class="name">${isolated(reason)}</td></tr>`,
  );
  const rest = incidents.length - shown.length;
  const head = '<tr><th>Incident</th><th class="number">Duration</th><th>State</th><th>Reason</th></tr>';
  const note = rest > 0 ? `<p class="soft small">and ${rest} shorter incidents</p>` : '';
  return `<table class="incidents"><thead>${head}</thead><tbody>${rows.join('')}</tbody></table>${note}`;
}

/** Isolates a foreign text, so that it cannot rearrange the line around it. */
function isolated(text: string): string {
  return `<bdi>${escapeHtml(text)}</bdi>`;
}

function formatBudget(seconds: number | null): string {
  if (seconds === null) return '–';
  return seconds < 0 ? `−${formatLength(-seconds)}` : formatLength(seconds);
}

/** Formats a duration in its two largest units, rounded down: `2 d 3 h`, `5 min 20 s`, `0 s`. */
function formatLength(seconds: number): string {
  const units = [
    ['d', DAY_SECONDS],
    ['h', 3600],
    ['min', 60],
    ['s', 1],
  ] as const;
  const first = units.findIndex(([, size]) => seconds >= size);
  if (first === -1) return '0 s';
  let left = seconds;
  const parts = units.slice(first, first + 2).map(([unit, size]) => {
    const count = Math.floor(left / size);
    left -= count * size;
    return count === 0 ? '' : `${count} ${unit}`;
  });
  return parts.filter((part) => part !== '').join(' ');
}

function formatMoment(atSeconds: number): string {
  const text = new Date(atSeconds * 1000).toISOString();
  return `<time datetime="${text}">${text.slice(0, 10)} ${text.slice(11, atSeconds % 60 === 0 ? 16 : 19)}</time>`;
}

/**
 * The style sheet of a report's page. Colours differ in lightness too, and states have a sign, so that they are
 * distinguishable in grey. On paper everything is black on white, and a monitor stays on one page.
 */
const REPORT_STYLE = `
:root{
color-scheme:light dark;--ink:#1b1f24;--soft:#57606a;--line:#d0d7de;--paper:#fff;
--up:#5cb877;--degraded:#f2c14e;--down:#b3202a;--unknown:#a9b1ba;--none:#eceff2;--on-down:#fff;--on-other:#1b1f24
}
@media (prefers-color-scheme:dark){:root{
--ink:#e6edf3;--soft:#9aa4af;--line:#3a424c;--paper:#12161b;
--up:#3f9d5a;--degraded:#d9a62e;--down:#e5484d;--unknown:#6b7580;--none:#232a32;--on-down:#fff;--on-other:#0b0e11
}}
*{box-sizing:border-box}
body{
margin:0 auto;max-width:76rem;padding:2rem 1.5rem;background:var(--paper);color:var(--ink);
font:1rem/1.5 system-ui,sans-serif;font-variant-numeric:tabular-nums
}
h1{font-size:1.75rem;line-height:1.2;margin:0}
h2{font-size:1.25rem;margin:2.5rem 0 .75rem}
h3{font-size:1.05rem;margin:0;overflow-wrap:anywhere}
p{margin:.35rem 0}
.soft{color:var(--soft)}
.small{font-size:.85rem}
.figures{display:flex;flex-wrap:wrap;gap:.75rem 2.5rem;margin:1.5rem 0 0;padding:0}
.figures div{min-width:6rem}
.figures dt{color:var(--soft);font-size:.85rem}
.figures dd{margin:0;font-size:1.35rem;font-weight:600}
.wide{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-size:.85rem}
th,td{text-align:left;vertical-align:top;padding:.3rem .6rem .3rem 0;border-bottom:1px solid var(--line)}
th{font-weight:600;color:var(--soft)}
td.name{overflow-wrap:anywhere;min-width:9rem}
.number{text-align:right;white-space:nowrap}
.when{white-space:nowrap}
.missed{font-weight:700}
.monitor{border-top:1px solid var(--line);padding:1rem 0 1.25rem;break-inside:avoid}
.monitors{font-size:.8rem}
.monitor table{margin-top:.5rem}
svg{display:block;width:100%;height:auto;max-width:45rem;margin-top:.5rem}
svg text{fill:var(--soft);font:10px system-ui,sans-serif}
.legend{display:flex;flex-wrap:wrap;gap:.25rem 1.25rem;list-style:none;margin:.5rem 0;padding:0}
.legend li{display:flex;align-items:center;gap:.4rem}
.legend svg{width:1rem;margin:0}
.up{fill:var(--up)}.degraded{fill:var(--degraded)}.down{fill:var(--down)}
.unknown,.pending,.paused,.maintenance{fill:var(--none)}
.hatch{stroke:var(--unknown);stroke-width:1.5}.absent{fill:var(--none)}
svg .sign{fill:var(--on-other);font-weight:700;text-anchor:middle}
svg .sign-down{fill:var(--on-down)}
.axis{stroke:var(--line);fill:none}
.p50,.p95,.p99{fill:none;stroke:var(--ink);stroke-width:1.5;stroke-linejoin:round}
.p95{stroke-dasharray:6 3}.p99{stroke-dasharray:1.5 2.5}
.dot{stroke-dasharray:none;fill:var(--ink);stroke:none}
.end{text-anchor:end}.middle{text-anchor:middle}
@page{size:A4;margin:16mm 14mm;@bottom-right{content:counter(page) " / " counter(pages);font:8pt system-ui,sans-serif}}
@media print{
:root{
color-scheme:light;--ink:#000;--soft:#000;--line:#999;--paper:#fff;
--up:#8fcfa1;--degraded:#f2c14e;--down:#9b1c1c;--unknown:#c4c4c4;--none:#f0f0f0;--on-down:#fff;--on-other:#000
}
body{max-width:none;padding:0;font-size:10pt}
h1{font-size:18pt}h2{font-size:13pt;break-after:avoid}h3{font-size:11pt;break-after:avoid}
table,.monitors{font-size:8pt}thead{display:table-header-group}
tr,.figures,.legend{break-inside:avoid}.legend{break-after:avoid}
.wide{overflow:visible}
a{color:inherit;text-decoration:none}
}`;

/** The page loads, runs, frames and sends nothing; its one style is allowed by its hash. */
export const REPORT_PAGE_POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(REPORT_STYLE).digest('base64')}'`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');
