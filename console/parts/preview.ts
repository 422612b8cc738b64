import { useSignal, type ReadonlySignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { sentenceOf } from '../client/failure.ts';

/** The pause after the last change before a preview is requested, in milliseconds. */
const PAUSE_MS = 400;

/** A preview of what is being typed; both are null until the first response. */
export type Preview<T> = { answer: ReadonlySignal<T | null>; problem: ReadonlySignal<string | null> };

/**
 * Requests a preview of a form once it has not changed for a moment. `body` is null while the form is not complete. The
 * last answer stays while the next one is on its way.
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
