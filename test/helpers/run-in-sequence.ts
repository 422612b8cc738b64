let last: Promise<unknown> = Promise.resolve();

/**
 * Runs a task after those of earlier calls in this process. Many programs started at once would each take longer than
 * tests wait for them.
 */
export function runInSequence<Result>(work: () => Promise<Result>): Promise<Result> {
  const done = last.then(work);
  last = done.catch(() => undefined);
  return done;
}
