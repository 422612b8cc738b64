import { useLayoutEffect, useRef } from 'preact/hooks';
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
