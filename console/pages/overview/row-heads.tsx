import { SORTS, type SortName } from './selection.ts';

/** A column's orders: the one of a first click, and the one of the next. */
const COLUMNS: readonly { label: string; place: string; sorts?: readonly [SortName, SortName] }[] = [
  { label: 'Monitor', place: 'row-name', sorts: ['name', 'name-desc'] },
  { label: '90 days', place: 'row-strip' },
  { label: 'Uptime (90 d)', place: 'row-uptime text-right', sorts: ['uptime', 'uptime-desc'] },
  { label: 'Response time (24 h)', place: 'row-spark widest-row' },
  { label: 'p50', place: 'row-latency text-right', sorts: ['slowest', 'fastest'] },
  { label: 'Last check', place: 'row-checked widest-row text-right', sorts: ['checked', 'checked-asc'] },
];

/** The headings of the columns, which sort. */
export function RowHeads({ sort, onSort }: { sort: string; onSort: (sort: SortName) => void }) {
  return (
    <div class="row-grid row-start wide-row pr-3 pt-1.5 text-2xs text-soft" role="group" aria-label="Sort by">
      {COLUMNS.map(({ label, place, sorts }) => (
        <span key={label} class={`clipped ${place}`}>
          {sorts === undefined ? label : <SortButton label={label} sorts={sorts} sort={sort} onSort={onSort} />}
        </span>
      ))}
    </div>
  );
}

function SortButton({
  label,
  sorts: [first, second],
  sort,
  onSort,
}: {
  label: string;
  sorts: readonly [SortName, SortName];
  sort: string;
  onSort: (sort: SortName) => void;
}) {
  const isOn = sort === first || sort === second;
  return (
    <button
      type="button"
      aria-pressed={isOn}
      aria-label={`${label}: ${SORTS[isOn ? (sort as SortName) : first].label}`}
      onClick={() => onSort(sort === first ? second : first)}
      class={`rounded hover:text-ink focus-visible:-outline-offset-2 ${isOn ? 'font-medium text-ink' : ''}`}
    >
      {label}
      <span aria-hidden="true">{sort === first ? ' ↓' : sort === second ? ' ↑' : ''}</span>
    </button>
  );
}
