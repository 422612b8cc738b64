import { useSignal, type ReadonlySignal, type Signal } from '@preact/signals';
import { sentenceOf } from '../client/failure.ts';
import { toast } from './toast.tsx';

/** What a button does: whether it is under way, and how to start it. */
export type Action = { isBusy: ReadonlySignal<boolean>; run: (work: () => Promise<void>) => Promise<void> };

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

/** What a form does on submit; `error` is the failure of the last attempt, null before and while another one runs. */
export type FormAction = Action & { error: Signal<unknown> };

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

function showFailure(failure: unknown): void {
  toast(sentenceOf(failure), 'bad');
}
