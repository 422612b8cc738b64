import { useSignal } from '@preact/signals';
import { formatUptime } from '../../core/statistics/reports/content.ts';
import { api, type Schemas } from '../client/api.ts';
import { Button } from '../parts/button.tsx';
import { Choices } from '../parts/choice-fields.tsx';
import { formatNumber } from '../parts/figures.ts';
import { Loaded, useLoad } from '../parts/load.tsx';
import { Empty, Page } from '../parts/page.tsx';
import { Table, type Column } from '../parts/table.tsx';
import { formatDuration, formatterOf } from '../parts/time.tsx';
import type { PageProps } from '../paths.ts';
import { setQuery } from '../shell/router.ts';

type Report = Schemas['Report'];

/** Number of further reports that each click shows. */
const STEP = 13;

const CHOICES = [
  { value: '', label: 'All' },
  { value: 'week', label: 'Weekly' },
  { value: 'month', label: 'Monthly' },
] as const;

const COLUMNS: readonly Column<Report>[] = [
  { head: 'Period', cell: (report) => formatPeriod(report) },
  { head: 'Kind', cell: ({ period }) => KINDS[period], wideOnly: true, class: 'text-soft' },
  {
    head: 'Uptime',
    cell: ({ summary }) => formatUptime(summary.uptime_percent, '–'),
    align: 'right',
    class: 'whitespace-nowrap',
  },
  { head: 'Incidents', cell: ({ summary }) => formatNumber(summary.incidents), align: 'right' },
  {
    head: 'Total downtime',
    cell: ({ summary }) => formatDuration(summary.down_seconds ?? 0),
    align: 'right',
    wideOnly: true,
    class: 'whitespace-nowrap',
  },
  { head: 'SLOs met', cell: ({ summary }) => <TargetsMet summary={summary} />, align: 'right', wideOnly: true },
  { head: 'Monitors', cell: ({ summary }) => formatNumber(summary.monitors), align: 'right', wideOnly: true },
];

/** The page of all reports, newest first. */
export function ReportsPage({ query }: PageProps) {
  const wanted = useSignal(STEP);
  const period = isPeriod(query['period']) ? query['period'] : '';
  const load = useLoad(
    (signal) => api.page('/reports', { query: { limit: wanted.value, ...(period !== '' && { period }) }, signal }),
    [period, wanted.value],
  );
  return (
    <Page title="Reports" lead="Created at the end of each week (from Monday) and month, in UTC. Reports are final.">
      <div class="mb-4">
        <Choices
          label="Kind of report"
          choices={CHOICES}
          value={period}
          onValue={(value) => setQuery({ period: value })}
        />
      </div>
      <Loaded load={load}>
        {({ answer: { reports }, next }) =>
          reports.length === 0 ? (
            <Empty icon="reports" title="No reports yet">
              The first report is created at the end of the week. Reports can also be sent to a channel.
            </Empty>
          ) : (
            <>
              <Table
                caption="Reports"
                columns={COLUMNS}
                rows={reports}
                keyOf={({ id }) => id}
                hrefOf={({ id }) => `/reports/${id}`}
              />
              {next !== null && (
                <div class="mt-4 text-center">
                  <Button busy={load.isLoading.value} onClick={() => (wanted.value += STEP)}>
                    Load more
                  </Button>
                </div>
              )}
            </>
          )
        }
      </Loaded>
    </Page>
  );
}

function TargetsMet({ summary: { sla_met: met = 0, sla_missed: missed = 0 } }: { summary: Report['summary'] }) {
  if (met + missed === 0) return <span class="text-soft">–</span>;
  return <span class={missed > 0 ? 'text-down' : ''}>{`${met} of ${met + missed}`}</span>;
}

/** The period of a report in Unix seconds, UTC; the end is exclusive. */
type ReportWindow = { period: 'week' | 'month'; period_start: number; period_end: number };

/** Label of each kind. */
const KINDS = { week: 'Week', month: 'Month' } as const;

/** Formats a period, whose days are in UTC: `March 2026`, `Mar 16 – 22, 2026`. */
export function formatPeriod({ period, period_start: start, period_end: end }: ReportWindow): string {
  return period === 'month'
    ? formatterOf('longMonth', 'UTC').format(start * 1000)
    : formatterOf('day', 'UTC').formatRange(start * 1000, (end - 1) * 1000);
}

/** Reports whether a text names a period. */
function isPeriod(text: string | undefined): text is ReportWindow['period'] {
  return text === 'week' || text === 'month';
}
