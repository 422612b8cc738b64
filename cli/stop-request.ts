/**
 * A signal that comes this soon after the first is its echo, in milliseconds: npm passes on what the terminal has sent
 * us already.
 */
const ECHO_MS = 500;

/** How often a service that npm runs polls whether npm is still there, in milliseconds. */
const WATCH_INTERVAL_MS = 500;

/**
 * Resolves when the service shall stop: with the first SIGINT or SIGTERM, or, where npm runs it, when npm was ended
 * without a word to us, which would leave an orphaned service. A second signal calls `onImpatience`.
 */
export function awaitStopRequest({
  isRunByNpm,
  onImpatience,
}: {
  isRunByNpm: boolean;
  onImpatience: () => void;
}): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  let signalledAtMs: number | null = null;
  const onSignal = () => {
    if (signalledAtMs !== null && performance.now() - signalledAtMs > ECHO_MS) onImpatience();
    signalledAtMs ??= performance.now();
    resolve();
  };
  process.on('SIGINT', onSignal);
  process.on('SIGTERM', onSignal);
  if (isRunByNpm) watchParent(resolve);
  return promise;
}

/** An orphan gets another parent. */
function watchParent(onGone: () => void): void {
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    onGone();
  }, WATCH_INTERVAL_MS);
  timer.unref();
}
