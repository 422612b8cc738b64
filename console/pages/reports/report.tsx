import type { ComponentChildren } from 'preact';
import { formatPercent } from '../../../core/statistics/reports/content.ts';
import { GAPS, REPORT_TITLES } from '../../../core/statistics/reports/page.ts';
import { api, type Schemas } from '../../client/api.ts';
import { Failure } from '../../client/failure.ts';
import { ButtonLink } from '../../parts/button.tsx';
import { EmptyPage } from '../../parts/empty.tsx';
import { Loaded, useLoad } from '../../parts/load.tsx';
import { Page, Section, Card } from '../../parts/page.tsx';
import { Table, type Column } from '../../parts/table.tsx';
import { formatDateTime, formatDuration } from '../../parts/time.tsx';
import { type PageProps, PATHS } from '../../paths.ts';
import { MonitorParts } from './monitor-parts.tsx';
import { MonitorTable } from './monitor-table.tsx';
import { formatPeriod } from './periods.ts';

type Gap = Schemas['ServiceGap'];

const COLUMNS: readonly Column<Gap>[] = [
  { head: 'What', cell: ({ kind }) => GAPS.names[kind] },
  { head: 'From', cell: ({ from }) => formatDateTime(from) },
  { head: 'To', cell: ({ to }) => formatDateTime(to), wideOnly: true },
  { head: 'Length', cell: ({ from, to }) => formatDuration(to - from), align: 'right' },
];

/** When the service itself stood still. */
function Gaps({ gaps }: { gaps: readonly Gap[] }) {
  if (gaps.length === 0) return <p class="mb-8 text-sm text-soft">{GAPS.none}</p>;
  return (
    <Section title={GAPS.title} lead={GAPS.lead}>
      <Table caption={GAPS.title} columns={COLUMNS} rows={gaps} keyOf={({ kind, from }) => `${kind} ${from}`} />
    </Section>
  );
}

const BACK = { label: 'Reports', href: PATHS.reports };

/** One report: the whole account in numbers, then every monitor with its days. */
export function ReportPage({ params }: PageProps) {
  const id = params['id'] ?? '';
  const load = useLoad((signal) => api.get('/reports/{id}', { path: { id }, signal }), [id]);
  const { value: error } = load.error;
  const { value: report } = load.value;
  if (error instanceof Failure && error.status === 404) return <Missing />;
  if (report === null) {
    return (
      <Page title="Report" back={BACK}>
        <Loaded load={load}>{() => null}</Loaded>
      </Page>
    );
  }
  const address = `/v1/reports/${encodeURIComponent(report.id)}`;
  return (
    <Page
      title={formatPeriod(report)}
      back={BACK}
      lead={`${REPORT_TITLES[report.period]}, all days UTC, made on ${formatDateTime(report.created_at)}.`}
      actions={
        <>
          <ButtonLink icon="reports" href={`${address}?format=html`} target="_blank">
            Page to print
          </ButtonLink>
          <ButtonLink icon="external" href={`${address}?format=csv`} download="">
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

function Missing() {
  return (
    <EmptyPage title="Report" back={BACK} icon="reports" heading="There is no such report">
      It belongs to another account, or its address is not complete.
    </EmptyPage>
  );
}

/** The account in one line of numbers. */
function Summary({ summary }: { summary: Schemas['ReportSummary'] }) {
  const {
    uptime_percent: uptime,
    monitors,
    incidents,
    down_seconds: down,
    sla_met: met = 0,
    sla_missed: missed = 0,
  } = summary;
  return (
    <div class="mb-8">
      <Card>
        <dl class="grid grid-cols-2 gap-x-6 gap-y-4 md:flex md:justify-between md:pr-8">
          <Figure label="Uptime of all monitors">{formatPercent(uptime, '–')}</Figure>
          <Figure label="Monitors">{monitors.toLocaleString()}</Figure>
          <Figure label="Incidents">{incidents.toLocaleString()}</Figure>
          {down !== undefined && <Figure label="Down in all">{formatDuration(down)}</Figure>}
          {met + missed > 0 && (
            <Figure label="Targets met" tone={missed > 0 ? 'text-down' : 'text-up'}>
              {met} of {met + missed}
            </Figure>
          )}
        </dl>
      </Card>
    </div>
  );
}

function Figure({ label, tone = '', children }: { label: string; tone?: string; children: ComponentChildren }) {
  return (
    <div>
      <dt class="text-xs text-soft">{label}</dt>
      <dd class={`heading text-xl ${tone}`}>{children}</dd>
    </div>
  );
}
