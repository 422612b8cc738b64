import type { ComponentChildren, RefObject } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { DAY_SECONDS } from '../../core/time.ts';
import { useShortcut } from '../shell/keys.tsx';
import { setQuery } from '../shell/router.ts';
import { Button } from './button.tsx';

export type Column<T> = {
  head: string;
  cell: (row: T) => ComponentChildren;
  /** Numbers are right-aligned. */
  align?: 'left' | 'right';
  /**
   * A button, or the reason why there is none: at the right end, and without its head if the cells of a row are
   * stacked.
   */
  isAction?: boolean;
  /** Hidden if there is little room. */
  wideOnly?: boolean;
  class?: string;
};

type TableProps<T> = {
  caption: string;
  columns: readonly Column<T>[];
  rows: readonly T[];
  keyOf: (row: T) => string;
  hrefOf?: (row: T) => string | null;
};

/**
 * A table of up to some hundreds of rows; only screen readers announce the caption. With `hrefOf` the whole row is a
 * link. In a narrow box the cells of a row are stacked, and numbers have their heads beside them.
 */
export function Table<T>({ caption, columns, rows, keyOf, hrefOf }: TableProps<T>) {
  return (
    <div class="@container overflow-x-auto rounded-xl border border-line bg-surface">
      <table class="w-full border-collapse text-left text-sm">
        <caption class="sr-only">{caption}</caption>
        <thead class="@max-xl:sr-only">
          <tr class="border-b border-line text-xs text-soft">
            {columns.map((column) => (
              <th
                key={column.head}
                scope="col"
                class={`whitespace-nowrap px-3 py-2 font-medium first:pl-4 last:pr-4 ${alignmentOf(column)}`}
              >
                {column.head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr
              key={keyOf(row)}
              class="
                relative border-b border-line last:border-0 focus-within:bg-hover hover:bg-hover @max-xl:flex
                @max-xl:flex-wrap @max-xl:items-center @max-xl:gap-x-4 @max-xl:px-4 @max-xl:py-2
              "
            >
              {columns.map((column, index) => (
                <td
                  key={column.head}
                  data-head={column.head}
                  class={
                    'px-3 py-2.5 align-top first:pl-4 last:pr-4 @max-xl:min-w-0 @max-xl:px-0! @max-xl:py-1 ' +
                    `@max-xl:first:basis-full ${alignmentOf(column)} ${labelOf(column)} ${column.class ?? ''}`
                  }
                >
                  {index === 0 ? <Lead href={hrefOf?.(row) ?? null}>{column.cell(row)}</Lead> : column.cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Lead({ href, children }: { href: string | null; children: ComponentChildren }) {
  if (href === null) return <>{children}</>;
  return (
    <a href={href} class="font-medium text-ink after:absolute after:inset-0 *:relative *:z-1">
      {children}
    </a>
  );
}

type Layout = Pick<Column<unknown>, 'align' | 'isAction' | 'wideOnly'>;

function alignmentOf({ align, isAction = false, wideOnly = false }: Layout): string {
  return `${align === 'right' || isAction ? 'text-right' : ''} ${wideOnly ? 'hidden @3xl:table-cell' : ''}`;
}

function labelOf({ align, isAction = false }: Layout): string {
  if (isAction) return '@max-xl:ml-auto';
  return align === 'right'
    ? '@max-xl:before:mr-1.5 @max-xl:before:text-xs @max-xl:before:text-soft @max-xl:before:content-[attr(data-head)]'
    : '';
}

/** A name or reason of any length: long words are broken, and the tooltip contains the text beyond three lines. */
export function LongText({ text, class: className = '' }: { text: string; class?: string }) {
  return (
    <span class={`line-clamp-3 min-w-28 wrap-anywhere ${className}`} title={text}>
      {text}
    </span>
  );
}

/** Lets `j` and `k` move the focus between elements with `data-row`, which Enter then opens. `what` names a row. */
export function useRowKeys(list: RefObject<HTMLElement | null>, what: string): void {
  const walk = (step: number) => {
    const rows = [...(list.current?.querySelectorAll<HTMLElement>('[data-row]') ?? [])];
    const index = rows.findIndex((row) => row === document.activeElement);
    const next =
      rows[index < 0 ? (step > 0 ? 0 : rows.length - 1) : Math.min(rows.length - 1, Math.max(0, index + step))];
    next?.focus();
    next?.scrollIntoView({ block: 'nearest' });
  };
  useShortcut('j', `Next ${what}`, () => walk(1));
  useShortcut('k', `Previous ${what}`, () => walk(-1));
}

/** Number of rows of a long list at first, and at most; older rows are on further pages. */
const FIRST_COUNT = 50;
export const MOST = 800;

/**
 * Position in a list, as stored in the address: the number of rows, and the cursor where it starts (empty = at the
 * newest).
 */
export type Paging = { count: number; cursor: string };

/** Query that returns to the start of a list. */
export const FROM_THE_NEWEST = { count: '', cursor: '' } as const;

/** Reads the position in a list from an address. */
export function readPaging(query: Readonly<Record<string, string>>): Paging {
  const count = Number(query['count'] ?? FIRST_COUNT);
  return {
    count: Number.isInteger(count) ? Math.min(MOST, Math.max(1, count)) : FIRST_COUNT,
    cursor: query['cursor'] ?? '',
  };
}

/**
 * A button back to the newest rows, for a list that starts further back. It scrolls into view when the start changes.
 */
export function BackToNewest({ cursor }: { cursor: string }) {
  const top = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => top.current?.scrollIntoView({ block: 'center' }), [cursor]);
  if (cursor === '') return null;
  return (
    <div ref={top} class="mb-4">
      <Button size="small" onClick={() => setQuery(FROM_THE_NEWEST)}>
        Back to the newest
      </Button>
    </div>
  );
}

/**
 * A button that shows more rows or, once the page is full, older ones. `next` is their cursor; null if there are none.
 */
export function FurtherBack({ next, count, isLoading }: { next: string | null; count: number; isLoading: boolean }) {
  if (next === null) return null;
  const isFull = count >= MOST;
  return (
    <div class="mt-4 flex justify-center">
      <Button
        busy={isLoading}
        onClick={() =>
          isFull
            ? setQuery({ cursor: next }, { isStep: true })
            : setQuery({ count: String(Math.min(MOST, Math.max(FIRST_COUNT, count) * 2)) })
        }
      >
        {isFull ? 'Go further back' : 'Show more'}
      </Button>
    </div>
  );
}

/** The periods to filter by, in seconds. */
export const PERIODS: Readonly<Record<string, { label: string; seconds: number }>> = {
  '1d': { label: 'Last 24 hours', seconds: DAY_SECONDS },
  '7d': { label: 'Last 7 days', seconds: 7 * DAY_SECONDS },
  '30d': { label: 'Last 30 days', seconds: 30 * DAY_SECONDS },
  '90d': { label: 'Last 90 days', seconds: 90 * DAY_SECONDS },
};

/** The periods as options of a field. */
export const PERIOD_CHOICES = [
  { value: '', label: 'Any time' },
  ...Object.entries(PERIODS).map(([value, { label }]) => ({ value, label })),
];
