import type { ComponentChildren, RefObject } from 'preact';
import { useShortcut } from '../shell/keys.tsx';

export type Column<T> = {
  head: string;
  cell: (row: T) => ComponentChildren;
  /** Numbers are right-aligned. */
  align?: 'left' | 'right';
  /** Hidden on narrow screens. */
  wideOnly?: boolean;
  class?: string;
};

type TableProps<T> = {
  caption: string;
  columns: readonly Column<T>[];
  rows: readonly T[];
  keyOf: (row: T) => string;
  hrefOf?: (row: T) => string | null;
  /** On a phone the cells of a row stand below one another: for rows with fields or buttons. */
  isStacked?: boolean;
};

/**
 * A table of up to some hundreds of rows; only screen readers announce the caption. With `hrefOf` the whole row is a
 * link.
 */
export function Table<T>({ caption, columns, rows, keyOf, hrefOf, isStacked = false }: TableProps<T>) {
  return (
    <div class="overflow-x-auto rounded-xl border border-line bg-surface">
      <table class="w-full border-collapse text-left text-sm">
        <caption class="sr-only">{caption}</caption>
        <thead class={isStacked ? 'max-sm:sr-only' : ''}>
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
              class={
                'relative border-b border-line last:border-0 hover:bg-hover focus-within:bg-hover ' +
                (isStacked ? 'max-sm:flex max-sm:flex-wrap max-sm:items-center max-sm:gap-x-3 max-sm:py-2' : '')
              }
            >
              {columns.map((column, index) => (
                <td
                  key={column.head}
                  class={
                    `px-3 py-2.5 align-top first:pl-4 last:pr-4 ${alignmentOf(column)} ${column.class ?? ''} ` +
                    (isStacked ? 'max-sm:px-4 max-sm:py-1.5 max-sm:first:basis-full' : '')
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
    <a href={href} class="font-medium text-ink after:absolute after:inset-0">
      {children}
    </a>
  );
}

function alignmentOf({ align, wideOnly = false }: { align?: 'left' | 'right'; wideOnly?: boolean }): string {
  return `${align === 'right' ? 'text-right' : ''} ${wideOnly ? 'hidden md:table-cell' : ''}`;
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
