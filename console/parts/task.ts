import { useSignal, type ReadonlySignal } from '@preact/signals';

/** Something that a button does: whether it is under way, and what went wrong the last time. */
export type Task = {
  isBusy: ReadonlySignal<boolean>;
  error: ReadonlySignal<unknown>;
  run: (work: () => Promise<void>) => Promise<void>;
};

/** Does one thing at a time and keeps what went wrong, to be shown where it belongs. */
export function useTask(): Task {
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
