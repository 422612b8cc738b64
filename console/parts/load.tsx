import { useSignal, type ReadonlySignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useCallback, useEffect, useMemo, useRef } from 'preact/hooks';
import { sentenceOf } from '../client/answer.ts';
import { Button } from './button.tsx';
import { Icon } from './icon.tsx';
import { Empty } from './page.tsx';

/**
 * Data from the API. `value` is the last response, and stays during reloads and after failed ones. With new keys it is
 * that of the old ones until they are answered (`isLoading`); a failure for new keys clears it. `isBusy`: a request is
 * in progress.
 */
export type Load<T> = {
  value: ReadonlySignal<T | null>;
  error: ReadonlySignal<unknown>;
  isBusy: ReadonlySignal<boolean>;
  isLoading: ReadonlySignal<boolean>;
  reload: () => Promise<void>;
};

/** Loads data on mount and when one of `keys` changes; discards a response that a later one has overtaken. */
export function useLoad<T>(ask: (signal: AbortSignal) => Promise<T>, keys: readonly unknown[]): Load<T> {
  const value = useSignal<T | null>(null);
  const error = useSignal<unknown>(null);
  const isBusy = useSignal(true);
  const isLoading = useSignal(true);
  // Counts the requests for these keys, and stores the number of the last one answered.
  const generation = useMemo(() => ({ requests: 0, answered: 0, ending: new AbortController() }), keys);
  const valued = useRef(generation);
  const reload = useCallback(async () => {
    const { signal } = generation.ending;
    generation.requests += 1;
    const number = generation.requests;
    const isStale = () => signal.aborted || number < generation.answered;
    isBusy.value = true;
    try {
      const answer = await ask(signal);
      if (isStale()) return;
      value.value = answer;
      valued.current = generation;
      error.value = null;
    } catch (failure) {
      if (isStale()) return;
      error.value = failure;
      if (valued.current !== generation) value.value = null;
    }
    generation.answered = number;
    isBusy.value = number < generation.requests;
    isLoading.value = false;
  }, [generation]);
  useEffect(() => {
    isLoading.value = true;
    void reload();
    return () => generation.ending.abort();
  }, [generation]);
  return { value, error, isBusy, isLoading, reload };
}

/** Shows loaded data; until then a skeleton of the same height, or the error with a retry button. */
export function Loaded<T>({
  load,
  children,
  height = 'h-64',
}: {
  load: Load<T>;
  children: (value: T) => ComponentChildren;
  height?: string;
}) {
  const { value, error, reload } = load;
  if (value.value !== null) return <>{children(value.value)}</>;
  if (error.value !== null) return <FailedLoad error={error.value} onRetry={() => void reload()} />;
  return <Placeholder class={height} />;
}

/** The error of a load, with a retry button. `of` names the data that did not load. */
export function FailedLoad({ error, onRetry, of = 'this' }: { error: unknown; onRetry: () => void; of?: string }) {
  return (
    <Empty
      icon="warning"
      title={`Couldn’t load ${of}`}
      action={
        <Button icon="retry" onClick={onRetry}>
          Try again
        </Button>
      }
    >
      {sentenceOf(error)}
    </Empty>
  );
}

/** Widths of a skeleton's lines, chosen to resemble text. */
const LINES = ['w-2/3', 'w-full', 'w-5/6', 'w-full', 'w-3/4', 'w-11/12', 'w-4/5', 'w-full'] as const;

/** A skeleton of the same height as the content, which appears after a moment. */
export function Placeholder({ class: className = 'h-64' }: { class?: string }) {
  return (
    <div class={`late overflow-hidden ${className}`} role="status" aria-label="Loading">
      <Bones />
    </div>
  );
}

function Bones() {
  return (
    <div class="pulsing flex flex-col gap-4 py-2" aria-hidden="true">
      {LINES.map((width, index) => (
        <div key={index} class={`h-4 shrink-0 rounded bg-nothing ${width}`} />
      ))}
    </div>
  );
}

/** A skeleton of a whole page: title, a card and rows, in the places of the page's own. */
export function PageSkeleton() {
  return (
    <div class="late w-full max-w-5xl px-4 pt-5 md:px-8 md:pt-8" role="status" aria-label="Loading">
      <div class="pulsing" aria-hidden="true">
        <div class="h-7 w-48 max-w-full rounded bg-nothing md:h-8" />
        <div class="mt-2 h-4 w-72 max-w-full rounded bg-nothing" />
        <div class="mt-6 h-40 rounded-xl bg-nothing" />
      </div>
      <div class="mt-6">
        <Bones />
      </div>
    </div>
  );
}

type Reloaded = Pick<Load<unknown>, 'value' | 'error' | 'isBusy' | 'reload'>;

/**
 * A warning that the shown data could not be reloaded; nothing after a success or before the first data. For several
 * loads it shows the first error, and retries all that failed.
 */
export function Outdated({ load }: { load: Reloaded | readonly Reloaded[] }) {
  const failed = [load].flat().filter(({ value, error }) => error.value !== null && value.value !== null);
  const [first] = failed;
  if (first === undefined) return null;
  return (
    <div
      role="alert"
      class="
        mb-4 flex flex-wrap items-center gap-x-3 gap-y-2 rounded-md bg-degraded-tint px-3 py-2 text-sm text-degraded
      "
    >
      <span class="flex min-w-0 flex-1 basis-60 gap-2">
        <Icon name="warning" class="mt-0.5 size-4" />
        <span>This may be out of date. {sentenceOf(first.error.value)}.</span>
      </span>
      <Button
        size="small"
        icon="retry"
        busy={failed.some(({ isBusy }) => isBusy.value)}
        onClick={() => failed.forEach(({ reload }) => void reload())}
      >
        Try again
      </Button>
    </div>
  );
}

/** Pause after the last change before a preview is requested, in milliseconds. */
const PAUSE_MS = 400;

/** A preview of the current input; both are null until the first response. */
type Preview<T> = { answer: ReadonlySignal<T | null>; problem: ReadonlySignal<string | null> };

/**
 * Requests a preview of a form once it has not changed for a moment. `body` is null while the form is incomplete. The
 * last response stays while the next one is on its way.
 */
export function usePreview<Body, T>(
  body: Body | null,
  ask: (request: { body: Body; signal: AbortSignal }) => Promise<T>,
): Preview<T> {
  const answer = useSignal<T | null>(null);
  const problem = useSignal<string | null>(null);
  useEffect(() => {
    if (body === null) return undefined;
    const abort = new AbortController();
    const load = async () => {
      try {
        const answered = await ask({ body, signal: abort.signal });
        if (abort.signal.aborted) return;
        answer.value = answered;
        problem.value = null;
      } catch (failure) {
        if (!abort.signal.aborted) problem.value = sentenceOf(failure);
      }
    };
    const timer = setTimeout(() => void load(), PAUSE_MS);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [JSON.stringify(body)]);
  return { answer, problem };
}
