import { useSignal } from '@preact/signals';
import type { RefObject, VNode } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import { usePrinting } from './page.tsx';

type VirtualListProps<T> = {
  label: string;
  rows: readonly T[];
  /** Height of every row in pixels. */
  rowHeight: number;
  keyOf: (row: T) => string;
  render: (row: T) => VNode;
  /** Values that `render` uses beside the row; a change renders all rows again. */
  drawnWith: readonly unknown[];
  /** Called with the range of rendered rows; the end is exclusive. */
  onShown?: (from: number, to: number) => void;
  /** The key of the selected row, which is scrolled into view when it changes; null = none. */
  current?: string | null;
  /** Elements that may stick to the top and to the bottom of the scrollable element, over the rows. */
  sticky?: { top: RefObject<HTMLElement | null>; bottom: RefObject<HTMLElement | null> };
};

/** Number of rows rendered beyond the edges, so that scrolling finds them there. */
const OVERSCAN = 4;

/** Most new visible rows with which those beyond the edges do not wait for a pause; its length in milliseconds. */
const MAX_FRESH = 8;
const PAUSE_MS = 100;

/** Most rows on paper: some forty pages. */
const MAX_PRINTED = 1000;

/** Number of rendered rows that are cached. */
const MAX_DRAWN = 200;

/**
 * A list of any length in the closest scrollable element. Only visible rows are in the page, all of them on paper, and
 * screen readers announce the total. The element of each row has its key as `data-key`.
 */
export function VirtualList<T>({
  label,
  rows,
  rowHeight,
  keyOf,
  render,
  drawnWith,
  onShown,
  current = null,
  sticky,
}: VirtualListProps<T>) {
  const box = useRef<HTMLUListElement>(null);
  const range = useSignal({ from: 0, to: 0 });
  useRange(box, { count: rows.length, rowHeight, onRange: (from, to) => (range.value = { from, to }) });
  const shown = usePrinting() ? { from: 0, to: MAX_PRINTED } : range.value;
  const { from, to } = { from: Math.min(shown.from, rows.length), to: Math.min(shown.to, rows.length) };
  useEffect(() => onShown?.(from, to), [from, to, rows]);
  useLayoutEffect(() => {
    const index = current === null ? -1 : rows.findIndex((row) => keyOf(row) === current);
    // A row that moves under a pressed button loses its click.
    if (index < 0 || box.current?.matches(':active') === true) return;
    const covered = { top: coverOf(sticky?.top, 'top'), bottom: coverOf(sticky?.bottom, 'bottom') };
    scrollToRow(box.current, { top: index * rowHeight, height: rowHeight, covered });
    // Does not depend on the rows: the user may be reading elsewhere when they move.
  }, [current]);
  const draw = useDrawn(render, drawnWith);
  return (
    <ul ref={box} aria-label={label} class="relative print:!h-auto" style={{ height: `${rows.length * rowHeight}px` }}>
      {rows.slice(from, to).map((row, offset) => (
        <li
          key={keyOf(row)}
          data-key={keyOf(row)}
          aria-setsize={rows.length}
          aria-posinset={from + offset + 1}
          class="absolute inset-x-0 contain-strict print:static print:break-inside-avoid"
          style={{ height: `${rowHeight}px`, top: `${(from + offset) * rowHeight}px` }}
        >
          {draw(row)}
        </li>
      ))}
    </ul>
  );
}

/** Caches rendered rows, so that an unchanged row costs nothing wherever it moves. */
function useDrawn<T>(draw: (row: T) => VNode, drawnWith: readonly unknown[]): (row: T) => VNode {
  const drawn = useMemo(() => new Map<T, VNode>(), drawnWith);
  return (row) => {
    const before = drawn.get(row);
    if (before !== undefined) return before;
    if (drawn.size > MAX_DRAWN) drawn.clear();
    const made = draw(row);
    drawn.set(row, made);
    return made;
  };
}

function useRange(
  box: RefObject<HTMLElement | null>,
  { count, rowHeight, onRange }: { count: number; rowHeight: number; onRange: (from: number, to: number) => void },
): void {
  // After a paint: the page around the list and its first rows would be one long frame (D-627).
  useEffect(() => {
    const list = box.current;
    const scroller = list === null ? null : scrollerOf(list);
    if (list === null || scroller === null) return;
    const current = { from: -1, to: -1 };
    let pause: ReturnType<typeof setTimeout> | undefined;
    const measure = () => {
      clearTimeout(pause);
      const top = scroller.getBoundingClientRect().top - list.getBoundingClientRect().top;
      const first = Math.max(0, Math.floor(top / rowHeight));
      const end = Math.max(0, Math.min(count, Math.ceil((top + scroller.clientHeight) / rowHeight)));
      const fresh = end - first - Math.max(0, Math.min(end, current.to) - Math.max(first, current.from));
      const isJump = fresh > MAX_FRESH;
      // In a fast scroll rows beyond the edges are gone before they become visible.
      if (isJump) pause = setTimeout(measure, PAUSE_MS);
      const beyond = isJump ? 0 : OVERSCAN;
      const [from, to] = [Math.max(0, first - beyond), Math.min(count, end + beyond)];
      if (from === current.from && to === current.to) return;
      Object.assign(current, { from, to });
      onRange(from, to);
    };
    const observer = new ResizeObserver(measure);
    observer.observe(scroller);
    scroller.addEventListener('scroll', measure, { passive: true });
    measure();
    return () => {
      clearTimeout(pause);
      observer.disconnect();
      scroller.removeEventListener('scroll', measure);
    };
  }, [count, rowHeight]);
}

/** Returns the height in pixels that a sticky element covers at an edge; a short screen may unstick it. */
function coverOf(part: RefObject<HTMLElement | null> | undefined, edge: 'top' | 'bottom'): number {
  const element = part?.current ?? null;
  if (element === null) return 0;
  const style = getComputedStyle(element);
  if (style.position !== 'sticky') return 0;
  // Heights have fractions, and browsers place sticky elements on whole pixels.
  return Math.ceil(element.getBoundingClientRect().height + (Number.parseFloat(style[edge]) || 0));
}

/** Scrolls until a row and the next one in that direction are clear of the elements that cover the edges. */
function scrollToRow(
  list: HTMLElement | null,
  { top, height, covered }: { top: number; height: number; covered: { top: number; bottom: number } },
): void {
  const scroller = list === null ? null : scrollerOf(list);
  if (list === null || scroller === null) return;
  const offset = list.getBoundingClientRect().top - scroller.getBoundingClientRect().top + top;
  const end = scroller.clientHeight - covered.bottom;
  if (offset < covered.top) scroller.scrollBy(0, offset - height - covered.top);
  else if (offset + height > end) scroller.scrollBy(0, offset + 2 * height - end);
}

function scrollerOf(element: HTMLElement): HTMLElement | null {
  return element.closest('main');
}
