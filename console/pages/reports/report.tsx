import { api } from '../../client/api.ts';
import { Failure } from '../../client/failure.ts';
import type { PageProps } from '../../page-props.ts';
import { ButtonLink } from '../../parts/button.tsx';
import { EmptyPage } from '../../parts/empty-page.tsx';
import { Loaded, useLoad } from '../../parts/load.tsx';
import { Page } from '../../parts/page.tsx';
import { formatDateTime } from '../../parts/time.tsx';
import { PATHS } from '../../paths.ts';
import { Gaps } from './gaps.tsx';
import { MonitorParts } from './monitor-parts.tsx';
import { MonitorTable } from './monitor-table.tsx';
import { PERIODS, formatPeriod } from './periods.ts';
import { Summary } from './summary.tsx';

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
      lead={`${PERIODS[report.period].title}, all days UTC, made on ${formatDateTime(report.created_at)}.`}
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
