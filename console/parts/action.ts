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
