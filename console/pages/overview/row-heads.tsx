import { Icon } from '../../parts/icon.tsx';
import { STATUSES } from '../../parts/monitors.ts';
import { StatusMark } from '../../parts/status.tsx';
import type { FolderLine } from './folders.ts';
import { AllBox, FolderBox, indentOf, useRowFocus } from './row.tsx';
import { SORTS, STATUS_FILTERS, type SortName, type StatusFilter } from './selection.ts';

/** Columns with their orders: that of a first click, and that of the next. */
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
  /** Monitors that the checkbox selects: all that match; null if nothing can be selected. */
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

type FolderRowProps = { line: FolderLine; isAtCursor: boolean; isSelectable: boolean };

/** A folder, which opens and closes: its name, the worst status inside, and the number of monitors with each status. */
export function FolderRow({ line, isAtCursor, isSelectable }: FolderRowProps) {
  const { name, path, isOpen, worst, counts, ids } = line.folder;
  const button = useRowFocus<HTMLButtonElement>(isAtCursor);
  const parent = path.slice(0, Math.max(0, path.length - name.length - 1));
  return (
    <>
      {isSelectable && <FolderBox ids={ids} name={path === '' ? name : path} />}
      <button
        ref={button}
        type="button"
        aria-expanded={isOpen}
        style={indentOf(line.depth)}
        class="
        row-start flex h-full w-full scroll-mb-28 flex-wrap content-center items-center gap-x-2 border-b border-line
        bg-sunken/50 pr-4 text-left text-ink hover:bg-hover focus-visible:-outline-offset-2 md:pr-3
      "
      >
        <Icon name={isOpen ? 'down' : 'chevron'} class="size-4 text-soft" />
        <FilterMark filter={worst} />
        <span class="clipped max-w-full flex-1 basis-32 text-sm font-medium">
          {parent !== '' && <span class="sr-only">{`${parent}/`}</span>}
          {name}
        </span>
        <span class="flex flex-wrap items-center gap-x-3 text-xs text-soft">
          {STATUS_FILTERS.map(
            (filter) =>
              counts[filter] > 0 && (
                <span key={filter} class="flex items-center gap-1">
                  <FilterMark filter={filter} class="size-3" />
                  {counts[filter]}
                  <span class="sr-only"> {labelOf(filter).toLowerCase()}</span>
                </span>
              ),
          )}
        </span>
      </button>
    </>
  );
}

/** The mark of a status filter, which a label or number beside it explains. */
export function FilterMark({ filter, class: size = 'size-3.5' }: { filter: StatusFilter; class?: string }) {
  return filter === 'overdue' ? (
    <Icon name="warning" class={`${size} text-degraded`} />
  ) : (
    <StatusMark status={filter} silent class={size} />
  );
}

export function labelOf(filter: StatusFilter): string {
  return filter === 'overdue' ? 'Overdue' : STATUSES[filter].label;
}
