import { useSignal } from '@preact/signals';
import { formatPercent } from '../../../core/statistics/reports/content.ts';
import type { Schemas } from '../../client/api.ts';
import { Button } from '../../parts/button.tsx';
import { Section } from '../../parts/page.tsx';
import { Table, type Column } from '../../parts/table.tsx';
import { formatDuration, formatLatency } from '../../parts/time.tsx';

type Monitor = Schemas['ReportMonitor'];

/** More than this are shown on request. */
const SHOWN = 100;

const COLUMNS: readonly Column<Monitor>[] = [
  { head: 'Monitor', cell: ({ name }) => <span class="break-words">{name}</span> },
  {
    head: 'Uptime',
    cell: ({ uptime_percent: percent, sla_met: met }) => (
      <span class={met === false ? 'text-down' : ''}>{formatPercent(percent, '–')}</span>
    ),
    align: 'right',
    class: 'whitespace-nowrap',
  },
  {
    head: 'Target',
    cell: ({ sla_target: target, sla_met: met }) => (
      <span class={met === false ? 'text-down' : 'text-soft'}>{formatPercent(target, '–')}</span>
    ),
    align: 'right',
    wideOnly: true,
    class: 'whitespace-nowrap',
  },
  {
    head: 'Budget left',
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
    cell: ({ incidents }) => (incidents === 0 ? '–' : incidents.toLocaleString()),
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

/** All monitors of the report, line by line. */
export function MonitorTable({ monitors, name }: { monitors: readonly Monitor[]; name: string }) {
  const isWhole = useSignal(false);
  const shown = isWhole.value ? monitors : monitors.slice(0, SHOWN);
  return (
    <Section title="All monitors">
      <Table
        caption={`All monitors, ${name}`}
        columns={COLUMNS}
        rows={shown}
        keyOf={({ id }) => id}
        hrefOf={({ id }) => `/monitors/${id}`}
      />
      {shown.length < monitors.length && (
        <div class="mt-3 text-center">
          <Button onClick={() => (isWhole.value = true)}>Show all {monitors.length.toLocaleString()}</Button>
        </div>
      )}
    </Section>
  );
}

function formatLength(seconds: number | null): string {
  return seconds === null || seconds === 0 ? '–' : formatDuration(seconds);
}

function formatBudget(seconds: number | null): string {
  if (seconds === null) return '–';
  return seconds < 0 ? `− ${formatDuration(-seconds)}` : formatDuration(seconds);
}

function formatMs(ms: number | null): string {
  return ms === null ? '–' : formatLatency(ms);
}
