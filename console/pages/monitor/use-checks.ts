import { useSignal, type ReadonlySignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { api, type Schemas } from '../../client/api.ts';

type Check = Schemas['Check'];
type Vote = Schemas['Vote'];

/** Which checks are listed: empty texts choose nothing; `span` is a moment that was picked, null for the newest. */
export type CheckChoice = { verdict: string; source: string; span: { from: number; to: number } | null };

/** The checks of a choice as far as they were asked for, the newest first; null until they are there. */
export type CheckList = {
  checks: ReadonlySignal<readonly Check[] | null>;
  error: ReadonlySignal<unknown>;
  /** Whether there may be older ones. */
  hasOlder: ReadonlySignal<boolean>;
  isBusy: ReadonlySignal<boolean>;
  refresh: () => Promise<void>;
  loadOlder: () => Promise<void>;
};

/** So many are asked for at a time. */
const PAGE = 20;

/** The checks of a monitor: new ones come in on top every `refreshMs`, older ones when they are asked for. Without a choice (null) none is asked for. */
export function useChecks(id: string, chosen: CheckChoice | null, refreshMs: number): CheckList {
  const { verdict, source, span } = chosen ?? { verdict: '', source: '', span: null };
  const checks = useSignal<readonly Check[] | null>(null);
  const error = useSignal<unknown>(null);
  const hasOlder = useSignal(false);
  const isBusy = useSignal(false);
  const choice = [chosen === null, id, verdict, source, span?.from, span?.to].join();
  const current = useRef(choice);
  const wanted = useRef(PAGE);
  const ask = async (until: number | undefined) => {
    const query = {
      limit: PAGE,
      ...(verdict !== '' && { verdict: verdict as Vote }),
      ...(source !== '' && { source }),
      ...(span !== null && { since: span.from, until: span.to - 1 }),
      ...(until !== undefined && { until }),
    };
    return (await api.get('/monitors/{id}/checks', { path: { id }, query })).checks;
  };
  const run = async (until: number | undefined) => {
    isBusy.value = true;
    try {
      const page = await ask(until);
      // What was asked for before another choice was made is nobody's any more.
      if (current.current !== choice) return;
      const before = checks.peek();
      if (until === undefined) {
        // Whoever leaves the page open all night is shown as many as before, not all of the night.
        const merged = mergeNewest(before ?? [], page);
        checks.value = merged.length > wanted.current ? merged.slice(0, wanted.current) : merged;
        if (before === null || merged.length > wanted.current || merged === page) hasOlder.value = page.length === PAGE;
      } else {
        wanted.current += PAGE;
        checks.value = merge(before ?? [], page);
        hasOlder.value = page.length === PAGE;
      }
      error.value = null;
    } catch (failure) {
      if (current.current === choice) error.value = failure;
    }
    isBusy.value = false;
  };
  const refresh = () => run(undefined);
  useEffect(() => {
    current.current = choice;
    wanted.current = PAGE;
    checks.value = null;
    error.value = null;
    if (chosen === null) return undefined;
    void refresh();
    const timer = setInterval(() => !document.hidden && void refresh(), refreshMs);
    return () => clearInterval(timer);
  }, [choice, refreshMs]);
  const oldest = () => checks.peek()?.at(-1);
  return { checks, error, hasOlder, isBusy, refresh, loadOlder: () => run(Math.floor(oldest()?.at ?? Date.now() / 1000)) };
}

/** What a check is known by. */
export function keyOf({ at, source, ping }: Check): string {
  return `${at} ${source.id} ${ping ?? ''}`;
}

/** With a whole page of new ones there may be others between them and what was there: then that begins anew. */
function mergeNewest(before: readonly Check[], page: readonly Check[]): readonly Check[] {
  const known = new Set(before.map(keyOf));
  return page.length === PAGE && !page.some((check) => known.has(keyOf(check))) ? page : merge(before, page);
}

function merge(before: readonly Check[], page: readonly Check[]): readonly Check[] {
  const known = new Map(before.map((check) => [keyOf(check), check]));
  const fresh = page.filter((check) => !known.has(keyOf(check)));
  return fresh.length === 0 ? before : [...before, ...fresh].toSorted((a, b) => b.at - a.at);
}
