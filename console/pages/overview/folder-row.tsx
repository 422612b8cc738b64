import { Icon } from '../../parts/icon.tsx';
import { StatusMark } from '../../parts/status.tsx';
import { STATUSES } from '../../parts/statuses.ts';
import type { FolderLine } from './folders.ts';
import { FolderBox } from './pick-boxes.tsx';
import { indentOf, useRowFocus } from './row.tsx';
import { STATUS_FILTERS, type StatusFilter } from './selection.ts';

type FolderRowProps = { line: FolderLine; isAtCursor: boolean; isSelectable: boolean };

/** A folder, which opens and closes: its name, the worst status inside, and how many monitors have each. */
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

/** The mark of a status filter, which its label or a number with it explains. */
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
