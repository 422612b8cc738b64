import { useEffect, useRef } from 'preact/hooks';
import type { LiveKind } from './live-stream.ts';
import { liveState, onChange } from './live.ts';

/** The delay that turns many changes into one reload. */
const GATHER_MS = 300;
/** The interval of reloads while there is no stream. */
const POLL_MS = 10_000;

/**
 * Reloads after changes of the given kinds, after the stream has come back, and every 10 s without it. `concerns` says
 * which changes matter.
 */
export function useReload(
  load: { reload: () => Promise<void> },
  kinds: readonly LiveKind[],
  concerns: (id: string) => boolean = () => true,
): void {
  const latest = useRef({ load, concerns });
  latest.current = { load, concerns };
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | null = null;
    const soon = () => {
      timer ??= setTimeout(() => {
        timer = null;
        void latest.current.load.reload();
      }, GATHER_MS);
    };
    let isFirst = true;
    const endings = [
      onChange((kind, { id }) => kinds.includes(kind) && latest.current.concerns(id) && soon()),
      liveState.subscribe((state) => {
        if (!isFirst && state === 'live') soon();
        isFirst = false;
      }),
    ];
    const poll = setInterval(() => {
      if (liveState.peek() !== 'live' && !document.hidden) soon();
    }, POLL_MS);
    return () => {
      for (const end of endings) end();
      clearInterval(poll);
      if (timer !== null) clearTimeout(timer);
    };
  }, []);
}

/** Reloads at an interval while `isWanted`, for data that the stream does not report, such as deliveries. */
export function usePoll(load: { reload: () => Promise<void> }, isWanted: boolean, everyMs: number): void {
  const latest = useRef(load);
  latest.current = load;
  useEffect(() => {
    if (!isWanted) return undefined;
    const timer = setInterval(() => {
      if (!document.hidden) void latest.current.reload();
    }, everyMs);
    return () => clearInterval(timer);
  }, [isWanted, everyMs]);
}
