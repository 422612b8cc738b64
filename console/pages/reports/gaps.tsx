import type { Schemas } from '../../client/api.ts';
import { Section } from '../../parts/page.tsx';
import { Table, type Column } from '../../parts/table.tsx';
import { formatDateTime, formatDuration } from '../../parts/time.tsx';

type Gap = Schemas['ServiceGap'];

const WHAT: Record<Gap['kind'], string> = {
  clock: 'The clock',
  checks: 'Checks',
  evaluation: 'Evaluation',
  overload: 'Overload',
};

const COLUMNS: readonly Column<Gap>[] = [
  { head: 'What', cell: ({ kind }) => WHAT[kind] },
  { head: 'From', cell: ({ from }) => formatDateTime(from) },
  { head: 'To', cell: ({ to }) => formatDateTime(to), wideOnly: true },
  { head: 'Length', cell: ({ from, to }) => formatDuration(to - from), align: 'right' },
];

/** When the service itself stood still. */
export function Gaps({ gaps }: { gaps: readonly Gap[] }) {
  if (gaps.length === 0) return <p class="mb-8 text-sm text-soft">The service itself was at work all the time.</p>;
  return (
    <Section
      title="When the service itself stood still"
      lead={
        'This time counts as unknown: neither for nor against any monitor. Overload is when there were more checks ' +
        'than we could run: it counts for the monitors alone that were not checked in time.'
      }
    >
      <Table
        caption="When the service itself stood still"
        columns={COLUMNS}
        rows={gaps}
        keyOf={({ kind, from }) => `${kind} ${from}`}
      />
    </Section>
  );
}
