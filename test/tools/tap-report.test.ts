import test from 'ava';
import { reportTap } from '../../tools/tap-report.ts';

async function report(...lines: string[]) {
  const printed: string[] = [];
  async function* source() {
    yield* lines;
  }
  return { ...(await reportTap(source(), (line) => printed.push(line))), printed };
}

test('results are counted and their details printed', async (t) => {
  const { passed, failed, printed } = await report(
    'TAP version 13',
    'ok 1 - a',
    'not ok 2 - b',
    '  ---',
    '    message: no',
    '  ...',
    '',
    '1..2',
    '# tests 2',
    '# pass 1',
    '# fail 1',
  );
  t.deepEqual({ passed, failed }, { passed: 1, failed: 1 });
  t.deepEqual(printed.slice(0, 3), ['✔ a', '✘ b', '    message: no']);
});

test('tests that never ran count as failures although they have no line', async (t) => {
  const { failed } = await report(
    'ok 1 - a',
    '# 3 tests remaining in a.test.ts',
    '1..4',
    '# tests 4',
    '# pass 1',
    '# fail 3',
  );
  t.is(failed, 3);
});

test('a skipped test is neither passed nor failed, and is reported', async (t) => {
  const { passed, failed, printed } = await report('ok 1 - a # SKIP', 'not ok 2 - b # TODO');
  t.deepEqual({ passed, failed }, { passed: 0, failed: 1 });
  t.is(printed[0], '- a (skipped)');
});

test('a log line that looks like a total does not change the count', async (t) => {
  const { passed, failed } = await report('# fail 9', 'ok 1 - a', '#   # fail 9', '1..1', '# pass 1', '# fail 0');
  t.deepEqual({ passed, failed }, { passed: 1, failed: 0 });
});

test('failures are repeated at the end, with their details, before the logs', async (t) => {
  const { printed } = await report(
    'not ok 1 - a',
    '# log of a',
    '  ---',
    '    message: no',
    '  ...',
    'ok 2 - b',
    '# log of c',
    '1..2',
    '# tests 2',
    '# pass 1',
    '# fail 1',
  );
  t.deepEqual(printed, [
    '✘ a',
    '# log of a',
    '    message: no',
    '✔ b',
    '# log of c',
    'What failed, once more:',
    '✘ a',
    '    message: no',
    '# log of a',
  ]);
});
