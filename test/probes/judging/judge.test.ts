import { setImmediate as turn } from 'node:timers/promises';
import test from 'ava';
import type { HttpAnswered } from '../../../core/checks/http/observation.ts';
import { CROWDED_OUT, type Judged } from '../../../core/checks/judging.ts';
import type { Observation } from '../../../core/checks/observation.ts';
import type { Assertion, CheckTarget } from '../../../core/monitors/monitor.ts';
import { Judge } from '../../../probes/judging/judge.ts';
import { httpTarget } from '../../helpers/check-target.ts';
import { HOSTILE_ASSERTIONS, HOSTILE_BODY } from '../../helpers/long-judging.ts';

const ANSWER: HttpAnswered = {
  type: 'http',
  outcome: 'answered',
  startedAt: 1_800_000_000_000,
  latencyMs: 120,
  timings: { dnsMs: null, connectMs: 1, tlsMs: null, firstByteMs: 1, downloadMs: 1 },
  certificate: null,
  status: 200,
  headers: {},
  body: null,
  bodyTruncated: false,
  bodyStart: null,
  hadSecrets: false,
};

/** A typical page. */
const PAGE =
  `<html><body>${'<p class="line">Orders and carts, prices in euro: 12.50 each</p>\n'.repeat(3000)}<b ` +
  'id="version">v4.12.7</b></body></html>';
const HONEST: Assertion[] = [
  { source: 'text_body', op: 'matches', value: String.raw`id="version">v\d+\.\d+\.\d+<` },
  { source: 'text_body', op: 'not_contains', value: 'Internal Server Error' },
  { source: 'text_body', op: 'matches', value: String.raw`(?i)prices in (?:euro|dollars): \d+\.\d\d` },
];

const judge = new Judge();
test.after.always(() => judge.close());

type Given = { body?: string; account?: string; check?: string | null; by?: Judge } & Partial<CheckTarget>;

function judgeAnswer(
  assertions: Assertion[],
  { body = HOSTILE_BODY, account = 'ten_1', check = null, by = judge, ...target }: Given = {},
): Promise<Judged> {
  return by.judge({
    target: httpTarget({ target: 'http://127.0.0.1/', ...target, checkSpec: { assertions } }),
    observation: { ...ANSWER, body },
    account,
    check,
  });
}

/** Returns the most CPU time that the event loop spends between two turns during `work`, in milliseconds. */
async function longestHold(work: Promise<unknown>): Promise<number> {
  const progress = { isDone: false };
  void work.finally(() => (progress.isDone = true));
  let longest = 0;
  while (!progress.isDone) {
    const before = process.threadCpuUsage();
    await turn();
    const { user, system } = process.threadCpuUsage(before);
    longest = Math.max(longest, (user + system) / 1000);
  }
  return longest;
}

test.serial(
  'fifty slow patterns are no vote, and the reason names the one that exceeded the budget and a remedy',
  async (t) => {
    const judging = judgeAnswer(HOSTILE_ASSERTIONS);
    t.true((await longestHold(judging)) < 100);
    const { judgement, isOverBudget, conditions } = await judging;
    t.true(isOverBudget);
    t.like(judgement, { verdict: 'none', cause: null });
    t.regex(
      judgement.reason ?? '',
      new RegExp(
        '^The check used up its 50 ms of CPU time at text_body matches ' +
          String.raw`"a\[ab\]\{3\d\d\}\[cd\]": simplify the pattern, or use fewer$`,
      ),
    );
    t.is(conditions.length, 50);
  },
);

test.serial('paths that select a whole megabyte of lists exceed the budget', async (t) => {
  const body = `[[]${',[]'.repeat(340_000)}]`;
  const judging = judgeAnswer(
    Array.from({ length: 10 }, () => ({ source: 'json_body', op: 'exists', path: '$' })),
    { body },
  );
  t.true((await longestHold(judging)) < 100);
  t.regex(
    (await judging).judgement.reason ?? '',
    /CPU time at json_body "\$" exists: narrow the path or request a smaller document, or use fewer$/,
  );
});

test.serial('fifty texts that are slow to search for exceed the budget as well', async (t) => {
  const body = 'a'.repeat(1024 * 1024);
  const judging = judgeAnswer(
    Array.from({ length: 50 }, (_, index) => ({
      source: 'text_body',
      op: 'not_contains',
      value: `${'a'.repeat(900 + index)}b`,
    })),
    { body },
  );
  t.true((await longestHold(judging)) < 100);
  t.regex(
    (await judging).judgement.reason ?? '',
    /CPU time at text_body not_contains "a+\.\.\.": request a smaller response, or use fewer$/,
  );
});

test('a large page with several patterns is judged on every check', async (t) => {
  for (let checks = 0; checks < 20; checks += 1)
    t.deepEqual((await judgeAnswer(HONEST, { body: PAGE, check: 'honest' })).judgement, {
      verdict: 'up',
      cause: null,
      reason: null,
    });
  t.like(
    (await judgeAnswer([...HONEST, { source: 'text_body', op: 'contains', value: 'nowhere' }], { body: PAGE }))
      .judgement,
    { verdict: 'down', cause: 'assert_text_body_contains' },
  );
});

test('a condition that failed before the budget was exceeded decides', async (t) => {
  const [first] = HOSTILE_ASSERTIONS;
  if (first === undefined) return t.fail();
  t.like((await judgeAnswer([{ source: 'text_body', op: 'contains', value: 'nowhere' }, first])).judgement, {
    verdict: 'down',
    cause: 'assert_text_body_contains',
  });
  t.like((await judgeAnswer([first], { bodyMatch: 'nowhere' })).judgement, { verdict: 'down', cause: 'body_mismatch' });
  t.like((await judgeAnswer([first], { expectedStatus: '5xx' })).judgement, { verdict: 'down', cause: 'status_200' });
  t.like((await judgeAnswer([first, { source: 'response_time', op: 'lt', value: '1' }])).judgement, {
    verdict: 'none',
  });
});

test('a preview shows what was judged within the budget, and continues after a failed condition', async (t) => {
  const [first] = HOSTILE_ASSERTIONS;
  if (first === undefined) return t.fail();
  const { judgement, conditions } = await judgeAnswer(
    [
      { source: 'header', op: 'exists', name: 'X-Gone' },
      { source: 'text_body', op: 'contains', value: 'ab' },
      first,
      ...HOSTILE_ASSERTIONS,
    ],
    { isShown: true },
  );
  t.like(judgement, { verdict: 'down', cause: 'assert_header_exists' });
  t.deepEqual(
    conditions.slice(0, 3).map(({ outcome }) => outcome),
    ['missing', 'holds', 'unjudged'],
  );
  t.regex(conditions[2]?.reason ?? '', /CPU time at text_body matches/);
});

test('a check over budget is not judged again soon, unless its monitor changed or fails otherwise', async (t) => {
  const by = new Judge();
  t.teardown(() => by.close());
  t.true((await judgeAnswer(HOSTILE_ASSERTIONS, { check: '7 1', by })).isOverBudget);
  t.regex(
    (await judgeAnswer(HOSTILE_ASSERTIONS, { check: '7 1', by })).judgement.reason ?? '',
    /^Not evaluated again yet\. The check used up its 50 ms of CPU time .* simplify the pattern, or use fewer$/,
  );
  t.like((await judgeAnswer(HOSTILE_ASSERTIONS, { check: '7 1', by, expectedStatus: '404' })).judgement, {
    verdict: 'down',
    cause: 'status_200',
  });
  t.like((await judgeAnswer(HONEST, { body: PAGE, check: '7 2', by })).judgement, { verdict: 'up' });
  t.like((await judgeAnswer(HONEST, { body: PAGE, check: '8 1', by })).judgement, { verdict: 'up' });
});

test('fifty hostile monitors of one account do not hold up the checks of another', async (t) => {
  const by = new Judge();
  t.teardown(() => by.close());
  let judged = 0;
  const hostile = Array.from({ length: 50 }, (_, index) =>
    judgeAnswer(HOSTILE_ASSERTIONS, { account: 'ten_bad', check: `bad ${index}`, by }).finally(() => (judged += 1)),
  );
  const honest = Array.from({ length: 10 }, (_, index) =>
    judgeAnswer(HONEST, { body: PAGE, account: 'ten_good', check: `good ${index}`, by }),
  );
  for (const { judgement } of await Promise.all(honest))
    t.deepEqual(judgement, { verdict: 'up', cause: null, reason: null });
  t.true(judged < 25, `${judged} of the other account's checks came first`);
  for (const { judgement } of await Promise.all(hostile))
    t.regex(`${judgement.verdict} ${judgement.reason}`, /^none The check used up its 50 ms of CPU time at/);
});

test.serial('UDP replies and DNS records have the same budget', async (t) => {
  const udp: Observation = {
    type: 'udp',
    startedAt: 1,
    dnsMs: null,
    outcome: 'replied',
    latencyMs: 1,
    reply: HOSTILE_BODY,
    replyBytes: HOSTILE_BODY,
  };
  const target = httpTarget({
    type: 'udp',
    target: '127.0.0.1:9',
    checkSpec: { transport: { expect: 'a[ab]{300}[cd]', expectMode: 'regex' } },
  });
  t.like((await judge.judge({ target, observation: udp, account: 'ten_1', check: null })).judgement, {
    verdict: 'none',
    reason: 'The check used up its 50 ms of CPU time at the expected response "a[ab]{300}[cd]": simplify the pattern',
  });
  const answers = {
    A: {
      outcome: 'records',
      records: Array.from({ length: 3900 }, (_, index) => `192.0.${index >> 8}.${index & 255}`),
    },
  } as const;
  const dns: Observation = {
    type: 'dns',
    startedAt: 1,
    latencyMs: 1,
    ownResolversWork: true,
    outcome: 'queried',
    server: null,
    answers,
    opinions: [1, 2, 3, 4].map((resolver) => ({ resolver: `192.0.2.${resolver}`, answers })),
  };
  const expected = Array.from({ length: 50 }, (_, index) => `10.0.0.${index}`);
  const records = Array.from({ length: 50 }, () => ({ type: 'A', mode: 'equals', expected }) as const);
  const judging = judge.judge({
    target: httpTarget({ type: 'dns', target: 'a.example', checkSpec: { dns: { records } } }),
    observation: dns,
    account: 'ten_1',
    check: null,
  });
  t.true((await longestHold(judging)) < 100);
  t.like((await judging).judgement, {
    verdict: 'none',
    reason: 'The check used up its 50 ms of CPU time at its records: expect fewer of them',
  });
});

test('waiting bodies are limited by their bytes, not by their characters', async (t) => {
  const busy = new Judge();
  t.teardown(() => busy.close());
  const body = '\u3042'.repeat(1024 * 1024);
  let crowdedOut = 0;
  for (let no = 0; no < 100; no += 1)
    void judgeAnswer(HOSTILE_ASSERTIONS, { body, by: busy }).then(
      ({ judgement }) => (crowdedOut += Number(judgement === CROWDED_OUT)),
    );
  await turn();
  // The thread has four of 2 MiB each, and 128 MiB wait.
  t.true(crowdedOut >= 32);
});
