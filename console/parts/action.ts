import { useSignal, type ReadonlySignal } from '@preact/signals';
import { sentenceOf } from '../client/failure.ts';
import { toast } from './toast.tsx';

/** The action of a button: whether it is under way, and how to begin. */
export type Action = { isBusy: ReadonlySignal<boolean>; run: (work: () => Promise<void>) => Promise<void> };

/** Does one thing at a time; what goes wrong is reported at the edge of the page. */
export function useAction(): Action {
  const isBusy = useSignal(false);
  const run = async (work: () => Promise<void>) => {
    if (isBusy.peek()) return;
    isBusy.value = true;
    try {
      await work();
    } catch (error) {
      toast(sentenceOf(error), 'bad');
    }
    isBusy.value = false;
  };
  return { isBusy, run };
}

/** The action of a form: whether it is under way, and how it failed the last time. */
export type FormAction = {
  isBusy: ReadonlySignal<boolean>;
  error: ReadonlySignal<unknown>;
  run: (work: () => Promise<void>) => Promise<void>;
};

/** Runs one action at a time and keeps its failure, to be shown in the form. */
export function useFormAction(): FormAction {
  const isBusy = useSignal(false);
  const error = useSignal<unknown>(null);
  const run = async (work: () => Promise<void>) => {
    if (isBusy.value) return;
    isBusy.value = true;
    error.value = null;
    try {
      await work();
    } catch (failure) {
      error.value = failure;
    }
    isBusy.value = false;
  };
  return { isBusy, error, run };
}
