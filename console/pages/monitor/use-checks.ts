import { useSignal, type ReadonlySignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { api } from '../../client/api.ts';
import type { Schemas } from '../../client/shapes.ts';

type Check = Schemas['Check'];
type Vote = Schemas['Vote'];

/** The filter of the list; empty strings do not filter, and `span` is a picked moment or null. */
export type CheckChoice = { verdict: string; source: string; span: { from: number; to: number } | null };

/** The loaded checks that match, the newest first; null until they are loaded. */
export type CheckList = {
  checks: ReadonlySignal<readonly Check[] | null>;
  error: ReadonlySignal<unknown>;
  /** Whether there may be older ones. */
  hasOlder: ReadonlySignal<boolean>;
  isBusy: ReadonlySignal<boolean>;
  refresh: () => Promise<void>;
  loadOlder: () => Promise<void>;
};

/** The number of checks per request, and the most that the page holds. */
const PAGE = 20;
const MOST = 1000;

/**
 * Loads the checks of a monitor: new ones every `refreshMs`, older ones on request. With a filter of null it loads
 * none.
 */
export function useChecks(id: string, chosen: CheckChoice | null, refreshMs: number): CheckList {
  const { verdict, source, span } = chosen ?? { verdict: '', source: '', span: null };
  const checks = useSignal<readonly Check[] | null>(null);
  const error = useSignal<unknown>(null);
  const hasOlder = useSignal(false);
  const isBusy = useSignal(false);
  const choice = [chosen === null, id, verdict, source, span?.from, span?.to].join();
  const current = useRef(choice);
  const older = useRef<string | null>(null);
  const wentBack = useRef(false);
  const ask = (cursor: string | null) => {
    const query = {
      limit: PAGE,
      ...(verdict !== '' && { verdict: verdict as Vote }),
      ...(source !== '' && { source }),
      ...(span !== null && { since: span.from, until: span.to - 1 }),
      ...(cursor !== null && { cursor }),
    };
    return api.page('/monitors/{id}/checks', { path: { id }, query });
  };
  const run = async (cursor: string | null) => {
    isBusy.value = true;
    try {
      const { answer, next } = await ask(cursor);
      // Drop the response to an earlier choice.
      if (current.current !== choice) return;
      const merged = merge(checks.peek() ?? [], answer.checks);
      if (cursor !== null) wentBack.current = true;
      else if (!isJoined(checks.peek() ?? [], answer.checks) || merged.length > MOST) wentBack.current = false;
      // After "Show older" everything in between is kept; otherwise a page that was open all night keeps only the
      // newest.
      checks.value = wentBack.current || merged.length <= PAGE ? merged : merged.slice(0, PAGE);
      if (cursor !== null || !wentBack.current) {
        older.current = next;
        hasOlder.value = next !== null;
      }
      error.value = null;
    } catch (failure) {
      if (current.current === choice) error.value = failure;
    }
    isBusy.value = false;
  };
  const refresh = () => run(null);
  useEffect(() => {
    current.current = choice;
    wentBack.current = false;
    checks.value = null;
    error.value = null;
    if (chosen === null) return undefined;
    void refresh();
    const timer = setInterval(() => !document.hidden && void refresh(), refreshMs);
    return () => clearInterval(timer);
  }, [choice, refreshMs]);
  return { checks, error, hasOlder, isBusy, refresh, loadOlder: () => run(older.current) };
}

/** The key of a check. */
export function keyOf({ at, source, ping }: Check): string {
  return `${at} ${source.id} ${ping ?? ''}`;
}

/** Whether a page of the newest checks reaches the known ones; otherwise there may be others in between. */
function isJoined(before: readonly Check[], page: readonly Check[]): boolean {
  const known = new Set(before.map(keyOf));
  return page.length < PAGE || page.some((check) => known.has(keyOf(check)));
}

function merge(before: readonly Check[], page: readonly Check[]): readonly Check[] {
  const known = new Map(before.map((check) => [keyOf(check), check]));
  const fresh = page.filter((check) => !known.has(keyOf(check)));
  return fresh.length === 0 ? before : [...before, ...fresh].toSorted((a, b) => b.at - a.at);
}
