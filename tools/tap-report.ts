export type Tally = { passed: number; failed: number };

const RESULT = /^(ok|not ok) \d+ - (.*?)(?: # (SKIP|TODO))?$/;
const PLAN = /^1\.\.\d+$/;
const SUMMARY = /^# (tests|pass|fail|skip) (\d+)$/;

/** Number of lines of a failure that a long run repeats at its end: first the failure, then the output of programs. */
const REPEATED_LINES = 60;

/**
 * Reads ava's TAP 13, prints it for people with the failures repeated at the end, and counts. Everything that is not a
 * pass counts as failed: crashed files, uncaught exceptions, failed hooks and timeouts have result lines of their own,
 * and tests that never ran appear in the closing sum only. A skipped test counts as neither.
 */
export async function reportTap(lines: AsyncIterable<string>, print: (line: string) => void): Promise<Tally> {
  let passed = 0;
  let failed = 0;
  let failedInSummary = 0;
  let isAtEnd = false;
  const failures: string[][] = [];
  let isFailing = false;
  for await (const line of lines) {
    const [, outcome, title, directive] = RESULT.exec(line) ?? [];
    const [, sum, count] = isAtEnd ? (SUMMARY.exec(line) ?? []) : [];
    if (sum === 'fail') failedInSummary = Number(count);
    if (directive === 'SKIP') print(`- ${title} (skipped)`);
    else if (outcome === 'ok') passed += 1;
    else if (outcome === 'not ok') failed += 1;
    if (outcome !== undefined && directive !== 'SKIP') print(`${outcome === 'ok' ? '✔' : '✘'} ${title}`);
    if (outcome !== undefined) isFailing = outcome === 'not ok' && directive !== 'SKIP';
    if (outcome !== undefined && isFailing) failures.push([`✘ ${title}`]);
    if (PLAN.test(line)) isAtEnd = true;
    else if (outcome === undefined && sum === undefined && !isFrame(line)) {
      print(line);
      if (isFailing && !isAtEnd) failures.at(-1)?.push(line);
    }
  }
  if (failures.length > 0) print('What failed, once more:');
  for (const failure of failures) {
    const { said = [], failed: what = [] } = Object.groupBy(failure, (line) =>
      line.startsWith('#') ? 'said' : 'failed',
    );
    for (const line of [...what, ...said].slice(0, REPEATED_LINES)) print(line);
  }
  return { passed, failed: Math.max(failed, failedInSummary) };
}

/** Reports whether a line belongs to the TAP format and has no information for a reader. */
function isFrame(line: string): boolean {
  return line.startsWith('TAP version') || line.trim() === '---' || line.trim() === '...' || line.trim() === '';
}
