import { useSignal, type ReadonlySignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { api, type Schemas } from '../../client/api.ts';
import { ButtonLink, IconButton } from '../../parts/button.tsx';
import { DateField } from '../../parts/field.tsx';
import { timeZone } from '../../parts/time.tsx';
import { fromWallTime, toWallTime } from '../../parts/wall-time.ts';
import { setQuery } from '../../shell/router.ts';

/** Latest moment that the API takes, in Unix seconds; the end of an open span. */
const LATEST = 99_999_999_999;

/** Reads the time filter from the address: `since` and `until` in Unix seconds, both optional; null = all. */
export function readTimes({ since = '', until = '' }: Readonly<Record<string, string>>): CheckChoice['span'] {
  const [from, to] = [readSecond(since), readSecond(until)];
  return from === null && to === null ? null : { from: from ?? 0, to: to ?? LATEST };
}

/** The fields that narrow the list to a time, in the zone of the user; a moment picked in a chart fills them. */
export function TimeFilter({ span }: { span: CheckChoice['span'] }) {
  const from = span === null || span.from === 0 ? null : span.from;
  const to = span === null || span.to === LATEST ? null : span.to;
  const isReversed = from !== null && to !== null && to <= from;
  const change = (times: { from?: number | null; to?: number | null }) => {
    const chosen = { from, to, ...times };
    setQuery({ at: '', since: textOf(chosen.from), until: textOf(chosen.to) });
  };
  return (
    <div class="mb-3 flex flex-wrap items-end gap-2">
      <TimeField label="From" at={from} onAt={(at) => change({ from: at })} />
      <TimeField
        label="To"
        at={to}
        onAt={(at) => change({ to: at })}
        error={isReversed ? 'Must be after From' : null}
      />
      {span !== null && (
        <IconButton icon="close" label="Clear time" onClick={() => setQuery({ at: '', since: '', until: '' })} />
      )}
    </div>
  );
}

type TimeFieldProps = { label: string; at: number | null; onAt: (at: number | null) => void; error?: string | null };

function TimeField({ label, at, onAt, error = null }: TimeFieldProps) {
  const read = (typed: string) => fromWallTime(typed, timeZone.value);
  return (
    <DateField
      label={label}
      error={error}
      type="datetime-local"
      value={at === null ? '' : toWallTime(at, timeZone.value)}
      isDate={(typed) => read(typed) !== null}
      onValue={(typed) => onAt(read(typed))}
      class="min-w-0 grow basis-48 text-xs sm:grow-0"
    />
  );
}

/** A link to the checks that match, as a file for spreadsheets. */
export function CsvLink({ id, choice: { verdict, source, span } }: { id: string; choice: CheckChoice }) {
  const query = new URLSearchParams({
    format: 'csv',
    ...(verdict !== '' && { verdict }),
    ...(source !== '' && { source }),
    ...(span !== null && { since: String(span.from), until: String(span.to - 1) }),
  });
  return (
    <ButtonLink size="small" href={`/v1/monitors/${encodeURIComponent(id)}/checks?${query.toString()}`} download="">
      CSV
    </ButtonLink>
  );
}

function readSecond(text: string): number | null {
  const second = Number(text);
  return text !== '' && Number.isSafeInteger(second) && second > 0 && second <= LATEST ? second : null;
}

function textOf(second: number | null): string {
  return second === null ? '' : String(second);
}

type Check = Schemas['Check'];
type Vote = Schemas['Vote'];

/** Filter of the list; empty strings do not filter, and `span` is a picked moment or null. */
export type CheckChoice = { verdict: string; source: string; span: { from: number; to: number } | null };

/** Loaded checks that match, the newest first; null until they are loaded. */
export type CheckList = {
  checks: ReadonlySignal<readonly Check[] | null>;
  error: ReadonlySignal<unknown>;
  /** Whether there may be older ones. */
  hasOlder: ReadonlySignal<boolean>;
  isBusy: ReadonlySignal<boolean>;
  refresh: () => Promise<void>;
  loadOlder: () => Promise<void>;
};

/** Number of checks per request, and the most that the page holds. */
const PAGE = 20;
const MOST = 1000;

/** How long before the newest ping a poll looks for a missed deadline that is not listed yet. */
const LATE_SECONDS = 60;

/** One poll in this many loads the newest page of pings, for a missed deadline in it that was recorded even later. */
const WHOLE_EVERY = 10;

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
  const polls = useRef(0);
  const ask = (cursor: string | null, since = span?.from) => {
    const query = {
      limit: PAGE,
      ...(verdict !== '' && { verdict: verdict as Vote }),
      ...(source !== '' && { source }),
      ...(since !== undefined && { since }),
      ...(span !== null && { until: span.to - 1 }),
      ...(cursor !== null && { cursor }),
    };
    return api.page('/monitors/{id}/checks', { path: { id }, query });
  };
  // A page of pings has their output, 10 kB each, so a poll asks for the last minute first.
  const hasFresh = async () => {
    polls.current += 1;
    if (polls.current % WHOLE_EVERY === 0) return true;
    const known = checks.peek() ?? [];
    const [newest] = known;
    if (newest?.ping === undefined) return true;
    const { answer } = await ask(null, Math.max(span?.from ?? 0, Math.floor(newest.at) - LATE_SECONDS));
    return merge(known, answer.checks) !== known;
  };
  const run = async (cursor: string | null, isPoll = false) => {
    isBusy.value = true;
    try {
      if (isPoll && !(await hasFresh())) {
        if (current.current === choice) error.value = null;
        isBusy.value = false;
        return;
      }
      const { answer, next } = await ask(cursor);
      // Discards the response to an earlier choice.
      if (current.current !== choice) return;
      const merged = merge(checks.peek() ?? [], answer.checks);
      if (cursor !== null) wentBack.current = true;
      else if (!isJoined(checks.peek() ?? [], answer.checks) || merged.length > MOST) wentBack.current = false;
      // After "Load more" everything in between is kept; otherwise a page that was open all night keeps only the
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
    const timer = setInterval(() => !document.hidden && void run(null, true), refreshMs);
    return () => clearInterval(timer);
  }, [choice, refreshMs]);
  return { checks, error, hasOlder, isBusy, refresh, loadOlder: () => run(older.current) };
}

/** Returns the key of a check. */
export function keyOf({ at, source, ping }: Check): string {
  return `${at} ${source.id} ${ping ?? ''}`;
}

/** Reports whether a page of the newest checks reaches the known ones; otherwise others may be missing in between. */
function isJoined(before: readonly Check[], page: readonly Check[]): boolean {
  const known = new Set(before.map(keyOf));
  return page.length < PAGE || page.some((check) => known.has(keyOf(check)));
}

function merge(before: readonly Check[], page: readonly Check[]): readonly Check[] {
  const known = new Map(before.map((check) => [keyOf(check), check]));
  const fresh = page.filter((check) => !known.has(keyOf(check)));
  return fresh.length === 0 ? before : [...before, ...fresh].toSorted((a, b) => b.at - a.at);
}
