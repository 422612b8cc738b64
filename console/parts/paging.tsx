import { useLayoutEffect, useRef } from 'preact/hooks';
import { DAY_SECONDS } from '../../core/time.ts';
import { setQuery } from '../shell/router.ts';
import { Button } from './button.tsx';

/** How many rows of a long list are shown at first, and at most; after that one goes back in time. */
export const FIRST_COUNT = 50;
export const MOST = 800;

/**
 * Where a list stands, in the address: how many rows, and the cursor of the row after which it begins; empty = at the
 * newest.
 */
export type Paging = { count: number; cursor: string };

/** The part of an address's query that begins a list anew. */
export const FROM_THE_NEWEST = { count: '', cursor: '' } as const;

/** Reads where a list stands out of an address. */
export function readPaging(query: Readonly<Record<string, string>>): Paging {
  const count = Number(query['count'] ?? FIRST_COUNT);
  return {
    count: Number.isInteger(count) ? Math.min(MOST, Math.max(1, count)) : FIRST_COUNT,
    cursor: query['cursor'] ?? '',
  };
}

/** Back to the newest rows, where a list begins further back; what begins elsewhere is looked at from its beginning. */
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
 * More rows or, where as many are shown as one page holds, those before them. `next` is the cursor of what is older;
 * null = nothing is.
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

/** The periods that one can look back, with their seconds. */
export const PERIODS: Readonly<Record<string, { label: string; seconds: number }>> = {
  '1d': { label: 'Last 24 hours', seconds: DAY_SECONDS },
  '7d': { label: 'Last 7 days', seconds: 7 * DAY_SECONDS },
  '30d': { label: 'Last 30 days', seconds: 30 * DAY_SECONDS },
  '90d': { label: 'Last 90 days', seconds: 90 * DAY_SECONDS },
};

/** The same as choices of a field. */
export const PERIOD_CHOICES = [
  { value: '', label: 'Any time' },
  ...Object.entries(PERIODS).map(([value, { label }]) => ({ value, label })),
];
