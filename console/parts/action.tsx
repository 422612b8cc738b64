import { effect, signal, useSignal, type ReadonlySignal, type Signal } from '@preact/signals';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { problemsByField, sentenceOf, type FieldTexts } from '../client/answer.ts';
import { presentSession } from '../client/session-state.ts';
import { IconButton } from './button.tsx';
import { Icon } from './icon.tsx';

/** An action of a button: whether it is under way, and how to start it. */
type Action = { isBusy: ReadonlySignal<boolean>; run: (work: () => Promise<void>) => Promise<void> };

/** Runs one piece of work at a time. A failure goes to `onFailure`, by default to a toast. */
export function useAction(onFailure: (failure: unknown) => void = showFailure): Action {
  const isBusy = useSignal(false);
  const run = async (work: () => Promise<void>) => {
    if (isBusy.peek()) return;
    isBusy.value = true;
    try {
      await work();
    } catch (failure) {
      onFailure(failure);
    }
    isBusy.value = false;
  };
  return { isBusy, run };
}

/** The submit action of a form; `error` is the failure of the last attempt, null before and while another one runs. */
type FormAction = Action & { error: Signal<unknown> };

/** Runs one submit at a time and keeps its failure, for the form to show. */
export function useFormAction(): FormAction {
  const error = useSignal<unknown>(null);
  const { isBusy, run } = useAction((failure) => (error.value = failure));
  const submit = (work: () => Promise<void>) =>
    run(() => {
      error.value = null;
      return work();
    });
  return { isBusy, error, run: submit };
}

/** A form that is validated before it is sent. */
export type JudgedForm = {
  isBusy: ReadonlySignal<boolean>;
  /** Returns the error of a field, by its name in the API. */
  problem: (field: string) => string | undefined;
  /** The error of the form as a whole; null if there is none. */
  rest: string | null;
  /** The failure of the last attempt; null before and while another one runs. */
  failure: unknown;
  /** Runs `work` unless `judged` has a problem; all of them are shown at once. */
  submit: (judged: Readonly<Record<string, string | null>>, work: () => Promise<void>) => Promise<void>;
  clear: () => void;
};

/** Validates a required field: returns `problem` if its text is empty, else null. */
export function required(text: string, problem: string): string | null {
  return text === '' ? problem : null;
}

/** Validates a form, then sends it; `texts` are the errors of fields that the API refuses nevertheless. */
export function useJudgedForm(texts: FieldTexts): JudgedForm {
  const { isBusy, error, run } = useFormAction();
  const own = useSignal<Readonly<Record<string, string>>>({});
  const { byField, rest } = problemsByField(error.value, texts);
  const clear = () => {
    own.value = {};
    error.value = null;
  };
  return {
    isBusy,
    problem: (field) => own.value[field] ?? byField[field],
    rest,
    failure: error.value,
    clear,
    async submit(judged, work) {
      clear();
      own.value = Object.fromEntries(Object.entries(judged).flatMap(([field, text]) => (text ? [[field, text]] : [])));
      if (Object.keys(own.value).length === 0) await run(work);
    },
  };
}

function showFailure(failure: unknown): void {
  toast(sentenceOf(failure), 'bad');
}

type Toast = { id: number; text: string; tone: 'good' | 'bad' };

const toasts = signal<readonly Toast[]>([]);
const counter = { last: 0 };

// A new user must not see the previous user's messages.
const reader: { userId: string | null } = { userId: null };
effect(() => {
  const userId = presentSession()?.user.id ?? null;
  if (userId !== reader.userId) toasts.value = [];
  reader.userId = userId;
});

/** Time for which a success is shown, in milliseconds; errors stay until they are closed. */
const STAY_MS = 5000;

/** Shows a message at the edge of the page, which screen readers announce. */
export function toast(text: string, tone: Toast['tone'] = 'good'): void {
  counter.last += 1;
  const id = counter.last;
  toasts.value = [...toasts.value.slice(-3), { id, text, tone }];
  if (tone === 'good') setTimeout(() => dismiss(id), STAY_MS);
}

function dismiss(id: number): void {
  toasts.value = toasts.value.filter((each) => each.id !== id);
}

/** The shown toasts; the layout renders them once. They return the focus to the control from which it came. */
export function Toasts() {
  const before = useRef<HTMLElement | null>(null);
  const returnFocus = () => {
    before.current?.focus({ preventScroll: true });
    // That control may be gone.
    if (document.activeElement !== before.current) document.querySelector('main')?.focus({ preventScroll: true });
  };
  return (
    <div
      class="
        pointer-events-none fixed inset-x-0 bottom-[calc(4.5rem+env(safe-area-inset-bottom))] z-50 flex flex-col
        items-center gap-2 px-3 md:bottom-5 print:hidden
      "
      aria-live="polite"
      onFocusIn={({ currentTarget, relatedTarget }) => {
        const left = relatedTarget instanceof HTMLElement ? relatedTarget : null;
        if (!currentTarget.contains(left)) before.current = left;
      }}
    >
      {toasts.value.map((each) => (
        <Message key={each.id} {...each} onFocusLost={returnFocus} />
      ))}
    </div>
  );
}

function Message({ id, text, tone, onFocusLost }: Toast & { onFocusLost: () => void }) {
  const box = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => () => void (box.current?.contains(document.activeElement) && onFocusLost()), []);
  return (
    <div
      ref={box}
      role={tone === 'bad' ? 'alert' : undefined}
      class="
        pointer-events-auto flex max-w-md items-center gap-2.5 rounded-lg border border-line bg-raised py-1 pl-3.5 pr-1
        text-sm shadow-lg
      "
    >
      <Icon name={tone === 'bad' ? 'warning' : 'check'} class={`size-4 ${tone === 'bad' ? 'text-down' : 'text-up'}`} />
      <span class="py-1.5">{text}</span>
      <IconButton icon="close" label="Dismiss" onClick={() => dismiss(id)} />
    </div>
  );
}
