import { AllBox } from './pick-boxes.tsx';
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

type RowHeadsProps = {
  sort: string;
  onSort: (sort: SortName) => void;
  /** What a checkbox selects: all monitors that match; null where nothing can be selected. */
  ids: readonly string[] | null;
};

/** The headings of the columns, which sort, and a checkbox for all rows. */
export function RowHeads({ sort, onSort, ids }: RowHeadsProps) {
  return (
    <div class="wide-row relative mt-1.5">
      {ids !== null && ids.length > 0 && <AllBox ids={ids} />}
      <div class="row-grid row-start pr-3 text-2xs text-soft" role="group" aria-label="Sort by">
        {COLUMNS.map(({ label, place, sorts }) => (
          <span key={label} class={`clipped ${place}`}>
            {sorts === undefined ? label : <SortButton label={label} sorts={sorts} sort={sort} onSort={onSort} />}
          </span>
        ))}
      </div>
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
