import { useLayoutEffect, useRef } from 'preact/hooks';
import { DAY_SECONDS } from '../../core/time.ts';
import { setQuery } from '../shell/router.ts';
import { Button } from './button.tsx';

/** The number of rows of a long list at first, and at most; older rows are on further pages. */
const FIRST_COUNT = 50;
export const MOST = 800;

/**
 * The position in a list, as the address stores it: the number of rows, and the cursor where it starts (empty = at the
 * newest).
 */
export type Paging = { count: number; cursor: string };

/** The query that returns to the start of a list. */
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
 * A button that shows more rows or, once the page is full, goes to older ones. `next` is their cursor; null if there
 * are none.
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
