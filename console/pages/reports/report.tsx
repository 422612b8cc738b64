import { useSignal } from '@preact/signals';
import { formatPercent, formatUptime } from '../../../core/statistics/reports/content.ts';
import { GAPS, REPORT_TITLES } from '../../../core/statistics/reports/page.ts';
import { api, type Schemas } from '../../client/api.ts';
import { Button, ButtonLink } from '../../parts/button.tsx';
import { formatBudget, formatNumber } from '../../parts/figures.ts';
import { useLoad } from '../../parts/load.tsx';
import { Figure, ObjectPage } from '../../parts/object-page.tsx';
import { Card, Page, Section } from '../../parts/page.tsx';
import { LongText, Table, type Column } from '../../parts/table.tsx';
import { formatDateTime, formatDuration, formatLatency, formatShort } from '../../parts/time.tsx';
import { PATHS, type PageProps } from '../../paths.ts';
import { formatPeriod } from '../reports.tsx';
import { MonitorParts } from './monitor-parts.tsx';

type Gap = Schemas['ServiceGap'];

const GAP_COLUMNS: readonly Column<Gap>[] = [
  { head: 'What', cell: ({ kind }) => GAPS.names[kind] },
  { head: 'From (UTC)', cell: ({ from }) => formatShort(from, 'UTC') },
  { head: 'To (UTC)', cell: ({ to }) => formatShort(to, 'UTC'), wideOnly: true },
  { head: 'Duration', cell: ({ from, to }) => formatDuration(to - from), align: 'right' },
];

/** The service's own outages in the period. */
function Gaps({ gaps }: { gaps: readonly Gap[] }) {
  if (gaps.length === 0) return <p class="mb-8 text-sm text-soft">{GAPS.none}</p>;
  return (
    <Section title={GAPS.title} lead={GAPS.lead}>
      <Table caption={GAPS.title} columns={GAP_COLUMNS} rows={gaps} keyOf={({ kind, from }) => `${kind} ${from}`} />
    </Section>
  );
}

const BACK = { label: 'Reports', href: PATHS.reports };

/** The page of one report: the account in numbers, then every monitor with its days. */
export function ReportPage({ params }: PageProps) {
  const id = params['id'] ?? '';
  const load = useLoad((signal) => api.get('/reports/{id}', { path: { id }, signal }), [id]);
  return (
    <ObjectPage load={load} title="Report" icon="reports" back={BACK} missing="It was not found in this account.">
      {(report) => <Shown report={report} />}
    </ObjectPage>
  );
}

function Shown({ report }: { report: Schemas['Report'] }) {
  const address = `/v1/reports/${encodeURIComponent(report.id)}`;
  return (
    <Page
      title={formatPeriod(report)}
      back={BACK}
      lead={`${REPORT_TITLES[report.period]}. All times in UTC. Created ${formatDateTime(report.created_at, 'UTC')}.`}
      actions={
        <>
          <ButtonLink icon="print" href={`${address}?format=html`} target="_blank">
            Print / PDF
          </ButtonLink>
          <ButtonLink icon="download" href={`${address}?format=csv`} download="">
            CSV
          </ButtonLink>
        </>
      }
    >
      <Summary summary={report.summary} />
      {report.service_gaps !== undefined && <Gaps gaps={report.service_gaps} />}
      <MonitorTable monitors={report.monitors} name={formatPeriod(report)} />
      <MonitorParts monitors={report.monitors} incidents={report.incidents ?? []} />
    </Page>
  );
}

/** The key figures of the account. */
function Summary({ summary }: { summary: Schemas['ReportSummary'] }) {
  const {
    uptime_percent: uptime,
    monitors,
    incidents,
    down_seconds: down,
    sla_met: met = 0,
    sla_missed: missed = 0,
    maintenance_seconds: maintenance = 0,
    retroactive_seconds: retroactive = 0,
    uptime_percent_with_maintenance: uptimeWith = null,
  } = summary;
  return (
    <div class="mb-8">
      <Card>
        <dl class="grid grid-cols-2 gap-x-6 gap-y-4 md:flex md:justify-between md:pr-8">
          <Figure label="Overall uptime">{formatUptime(uptime, '–')}</Figure>
          <Figure label="Monitors">{formatNumber(monitors)}</Figure>
          <Figure label="Incidents">{formatNumber(incidents)}</Figure>
          {down !== undefined && <Figure label="Total downtime">{formatDuration(down)}</Figure>}
          {maintenance > 0 && (
            <Figure
              label="Maintenance"
              note={
                `${formatUptime(uptimeWith, '–')} uptime with it counted` +
                (retroactive > 0 ? `, ${formatDuration(retroactive)} entered afterwards` : '')
              }
            >
              {formatDuration(maintenance)}
            </Figure>
          )}
          {met + missed > 0 && (
            <Figure label="SLOs met" tone={missed > 0 ? 'text-down' : 'text-up'}>
              {met} of {met + missed}
            </Figure>
          )}
        </dl>
      </Card>
    </div>
  );
}

type Monitor = Schemas['ReportMonitor'];

/** Number of monitors that are shown at first. */
const SHOWN = 100;

const MONITOR_COLUMNS: readonly Column<Monitor>[] = [
  { head: 'Monitor', cell: ({ name }) => <LongText text={name} /> },
  {
    head: 'Uptime',
    cell: ({ uptime_percent: percent, sla_met: met }) => (
      <span class={met === false ? 'text-down' : ''}>{formatUptime(percent, '–')}</span>
    ),
    align: 'right',
    class: 'whitespace-nowrap',
  },
  {
    head: 'SLO',
    cell: ({ sla_target: target, sla_met: met }) => (
      <span class={met === false ? 'text-down' : 'text-soft'}>{formatPercent(target, '–')}</span>
    ),
    align: 'right',
    wideOnly: true,
    class: 'whitespace-nowrap',
  },
  {
    head: 'Error budget left',
    cell: ({ error_budget_seconds: left }) => (
      <span class={left !== null && left < 0 ? 'text-down' : ''}>{formatBudget(left)}</span>
    ),
    align: 'right',
    wideOnly: true,
    class: 'whitespace-nowrap',
  },
  {
    head: 'Down',
    cell: ({ down_seconds: seconds }) => formatLength(seconds),
    align: 'right',
    class: 'whitespace-nowrap',
  },
  {
    head: 'Degraded',
    cell: ({ degraded_seconds: seconds }) => formatLength(seconds),
    align: 'right',
    wideOnly: true,
    class: 'whitespace-nowrap',
  },
  {
    head: 'Incidents',
    cell: ({ incidents }) => (incidents === 0 ? '–' : formatNumber(incidents)),
    align: 'right',
    wideOnly: true,
  },
  {
    head: 'MTTR',
    cell: ({ mttr_seconds: seconds }) => formatLength(seconds),
    align: 'right',
    wideOnly: true,
    class: 'whitespace-nowrap',
  },
  {
    head: 'p50',
    cell: ({ response_ms: { p50 } }) => formatMs(p50),
    align: 'right',
    wideOnly: true,
    class: 'whitespace-nowrap',
  },
  {
    head: 'p95',
    cell: ({ response_ms: { p95 } }) => formatMs(p95),
    align: 'right',
    wideOnly: true,
    class: 'whitespace-nowrap',
  },
];

/** A table of all monitors of the report. */
function MonitorTable({ monitors, name }: { monitors: readonly Monitor[]; name: string }) {
  const isWhole = useSignal(false);
  const shown = isWhole.value ? monitors : monitors.slice(0, SHOWN);
  return (
    <Section title="All monitors">
      <Table
        caption={`All monitors, ${name}`}
        columns={MONITOR_COLUMNS}
        rows={shown}
        keyOf={({ id }) => id}
        hrefOf={({ id }) => `/monitors/${id}`}
      />
      {shown.length < monitors.length && (
        <div class="mt-3 text-center">
          <Button onClick={() => (isWhole.value = true)}>Show all {formatNumber(monitors.length)}</Button>
        </div>
      )}
    </Section>
  );
}

function formatLength(seconds: number | null): string {
  return seconds === null || seconds === 0 ? '–' : formatDuration(seconds);
}

function formatMs(ms: number | null): string {
  return ms === null ? '–' : formatLatency(ms);
}
