import { signal, useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useId, useLayoutEffect, useRef } from 'preact/hooks';
import { sentenceOf } from '../client/answer.ts';
import { guardLeaving, route, type LeaveGuard } from '../shell/router.ts';
import { useFormAction } from './action.tsx';
import { Button, IconButton, successorOf } from './button.tsx';
import { SelectField } from './choice-fields.tsx';
import { Form, FormError } from './field.tsx';
import { formatDuration } from './time.tsx';

/** A modal dialog. Escape, the close button and a click on the backdrop close it. */
export function Dialog({
  title,
  onClose,
  children,
  actions,
  wide = false,
}: {
  title: string;
  onClose: () => void;
  children: ComponentChildren;
  actions?: ComponentChildren;
  wide?: boolean;
}) {
  const box = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  const latest = useRef(onClose);
  latest.current = onClose;
  // A text selection may end beside the dialog; only a press that also began there closes it.
  const isPressedBeside = useRef(false);
  // Browsers return the focus only from a dialog in the page, and before another one opens in its place.
  useLayoutEffect(() => {
    const { current } = box;
    if (current === null) return undefined;
    // Browsers close the dialog on a second Escape, even if the handler of the first prevented it.
    const reopen = () => {
      current.showModal();
      latest.current();
    };
    const focusSuccessor = successorOf(document.activeElement);
    current.showModal();
    current.addEventListener('close', reopen);
    return () => {
      current.removeEventListener('close', reopen);
      current.close();
      // What opened it, and would have the focus again, may be gone.
      queueMicrotask(focusSuccessor);
    };
  }, []);
  return (
    <dialog
      ref={box}
      aria-labelledby={titleId}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onPointerDown={(event) => {
        isPressedBeside.current = event.target === box.current;
      }}
      onClick={(event) => isPressedBeside.current && event.target === box.current && onClose()}
      class={
        'm-auto max-h-[calc(100dvh-2rem)] w-[calc(100vw-2rem)] overflow-auto rounded-xl border border-line ' +
        `bg-raised p-0 text-ink shadow-2xl ${wide ? 'max-w-3xl' : 'max-w-lg'}`
      }
    >
      <div class="flex items-center justify-between gap-3 border-b border-line py-2 pl-5 pr-2">
        <h2 id={titleId} class="heading text-base">
          {title}
        </h2>
        <IconButton icon="close" label="Close" onClick={onClose} />
      </div>
      <div class="px-5 py-4">{children}</div>
      {actions !== undefined && (
        <div class="flex flex-wrap justify-end gap-2 border-t border-line px-5 py-3">{actions}</div>
      )}
    </dialog>
  );
}

type Question = {
  title: string;
  text: ComponentChildren;
  action: string;
  tone?: 'primary' | 'danger';
  /** Whether it concerns a request in progress: the end of the request then closes it. */
  isOfSent?: boolean;
};
const openQuestion = signal<(Question & { answer: (yes: boolean) => void }) | null>(null);

/**
 * Asks for confirmation before an action; resolves to true if the user confirms. `action` is the label of the button.
 */
export function confirm(question: Question): Promise<boolean> {
  // A new confirmation cancels the open one.
  openQuestion.peek()?.answer(false);
  return new Promise((resolve) => {
    openQuestion.value = {
      ...question,
      answer: (yes) => {
        openQuestion.value = null;
        resolve(yes);
      },
    };
  });
}

/** The open confirmation, if any; the layout renders it once. */
export function ConfirmDialog() {
  // An open question ends with its page, and with the layout at the end of the session.
  useLayoutEffect(() => () => openQuestion.peek()?.answer(false), [route.value.path]);
  if (openQuestion.value === null) return null;
  const { title, text, action, tone = 'danger', answer } = openQuestion.value;
  return (
    <Dialog
      title={title}
      onClose={() => answer(false)}
      actions={
        <>
          <Button onClick={() => answer(false)}>Cancel</Button>
          <Button tone={tone} onClick={() => answer(true)}>
            {action}
          </Button>
        </>
      }
    >
      <div class="text-sm">{text}</div>
    </Dialog>
  );
}

type FormDialogProps = {
  title: string;
  /** The label of the submit button. */
  action: string;
  tone?: 'primary' | 'danger';
  isBusy: boolean;
  canSubmit?: boolean;
  /** The error of the form as a whole; null if there is none. */
  error: string | null;
  onSubmit: () => void;
  onClose: () => void;
  children: ComponentChildren;
};

/** A modal dialog with a form. While it is sent, nothing closes it, and leaving asks for confirmation. */
export function FormDialog({
  title,
  action,
  tone = 'primary',
  isBusy,
  canSubmit = true,
  error,
  onSubmit,
  onClose,
  children,
}: FormDialogProps) {
  const id = useId();
  // The response to a request in progress may be shown only once (D-289).
  useLeaveGuard({ isNeeded: isBusy, isSent: isBusy, isFree: () => !isBusy, ask: askSent });
  return (
    <Dialog
      title={title}
      onClose={() => isBusy || onClose()}
      actions={
        <>
          <Button disabled={isBusy} onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit" form={id} tone={tone} busy={isBusy} disabled={!canSubmit}>
            {action}
          </Button>
        </>
      }
    >
      <Form id={id} class="flex flex-col gap-4" onSubmit={onSubmit}>
        {children}
        <FormError text={error} />
      </Form>
    </Dialog>
  );
}

type LengthProps = {
  title: string;
  action: string;
  label?: string;
  /** Describes the effect of a length. */
  hint: (seconds: number) => string;
  /** Choices in seconds, and the initial one. */
  lengths: readonly number[];
  initial: number;
  onSubmit: (seconds: number) => Promise<void>;
  onClose: () => void;
  children?: ComponentChildren;
};

/** Asks how long something lasts; `onSubmit` resolves once it is stored. */
export function LengthDialog(props: LengthProps) {
  const { title, action, label = 'From now, for', hint, lengths, initial, onSubmit, onClose, children } = props;
  const chosen = useSignal(String(initial));
  const seconds = Number(chosen.value);
  const { isBusy, error, run } = useFormAction();
  const submit = () => run(() => onSubmit(seconds).then(onClose));
  return (
    <FormDialog
      title={title}
      action={action}
      isBusy={isBusy.value}
      error={error.value === null ? null : sentenceOf(error.value)}
      onSubmit={() => void submit()}
      onClose={onClose}
    >
      <SelectField
        label={label}
        autofocus
        options={lengths.map((each) => ({ value: String(each), label: formatDuration(each) }))}
        value={chosen.value}
        onValue={(value) => (chosen.value = value)}
        hint={hint(seconds)}
      />
      {children}
    </FormDialog>
  );
}

/** Asks for confirmation before leaving while `isNeeded`: in a dialog within the console, by the browser beyond it. */
export function useLeaveGuard({
  isNeeded,
  isSent = false,
  ...guard
}: LeaveGuard & { isNeeded: boolean; isSent?: boolean }): void {
  const latest = useRef(guard);
  latest.current = guard;
  // Before the paint, so that the guard covers a request from its first moment.
  useLayoutEffect(() => {
    if (!isNeeded) return undefined;
    const isFree = () => latest.current.isFree();
    const { query } = guard;
    const stop = guardLeaving({
      query,
      isFree,
      get ask() {
        return latest.current.ask;
      },
    });
    const warn = (event: BeforeUnloadEvent) => {
      if (!isFree()) event.preventDefault();
    };
    window.addEventListener('beforeunload', warn);
    return () => {
      stop();
      window.removeEventListener('beforeunload', warn);
    };
  }, [isNeeded]);
  // A question about a request ends with it, even if the request failed and the input stays.
  useLayoutEffect(() => {
    if (!isSent) return undefined;
    return () => {
      const question = openQuestion.peek();
      if (question?.isOfSent === true) question.answer(false);
    };
  }, [isSent]);
}

/**
 * Asks before leaving a form with unsaved input, which may be on its way (`isBusy`). `isUnsaved` is called when the
 * form is rendered and at the moment of leaving; `query` is that of a `LeaveGuard`.
 */
export function useUnsaved(isUnsaved: () => boolean, isBusy: boolean, query?: string): void {
  const ask = isBusy ? askSent : askUnsaved;
  useLeaveGuard({ isNeeded: isUnsaved(), isSent: isBusy, isFree: () => !isUnsaved(), ask, query });
}

/** Asks before leaving a form whose request has no response yet (D-673). */
export function askSent(): Promise<boolean> {
  const text = 'It was sent already, and may still be saved: check before you try again.';
  return confirm({ title: 'Leave while saving?', text, action: 'Leave', isOfSent: true });
}

function askUnsaved(): Promise<boolean> {
  return confirm({ title: 'Leave without saving?', text: 'Your changes will be lost.', action: 'Leave' });
}
