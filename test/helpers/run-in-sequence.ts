let last: Promise<unknown> = Promise.resolve();

/**
 * Runs one such work of a test file after the other, in the order of the calls: to start many programs at once takes
 * each longer than tests wait for it.
 */
export function runInSequence<Result>(work: () => Promise<Result>): Promise<Result> {
  const done = last.then(work);
  last = done.catch(() => undefined);
  return done;
}
