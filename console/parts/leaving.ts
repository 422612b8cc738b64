import { useEffect, useRef } from 'preact/hooks';
import { askBeforeLeaving } from '../shell/router.ts';

type Leaving = {
  /** Whether there is anything that would be lost. */
  isNeeded: boolean;
  /** The question; true = go. */
  ask: () => Promise<boolean>;
  /** Asked in the moment of leaving: what was saved just now may not be drawn yet. */
  isFree: () => boolean;
};

/**
 * While something would be lost, leaving is asked about: by ours within the console, by the browser's own question
 * beyond it.
 */
export function useLeaveQuestion({ isNeeded, ask, isFree }: Leaving): void {
  const latest = useRef({ ask, isFree });
  latest.current = { ask, isFree };
  useEffect(() => {
    if (!isNeeded) return undefined;
    const stop = askBeforeLeaving(async () => latest.current.isFree() || (await latest.current.ask()));
    const hold = (event: BeforeUnloadEvent) => {
      if (!latest.current.isFree()) event.preventDefault();
    };
    window.addEventListener('beforeunload', hold);
    return () => {
      stop();
      window.removeEventListener('beforeunload', hold);
    };
  }, [isNeeded]);
}
