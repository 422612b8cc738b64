import test from 'ava';
import type { Observation } from '../../core/checks/observation.ts';
import { bodyScope } from '../../net/body-budget.ts';
import { Checker, type CheckerParts, type CheckRequest } from '../../probes/checker.ts';
import { Judge } from '../../probes/judging/judge.ts';
import { httpTarget } from '../helpers/check-target.ts';
import { HOSTILE_ASSERTIONS, HOSTILE_BODY } from '../helpers/long-judging.ts';

const AT_MS = 1_800_000_000_123;
const ACCOUNT = 'ten_1';
const REQUEST: CheckRequest = {
  target: httpTarget({ target: 'http://127.0.0.1:9/' }),
  inability: null,
  monitorId: 'mon_1',
  identity: '1 1',
  badVote: null,
};
const CUT_OFF = { verdict: 'none', cause: null, reason: 'Cut off' } as const;

function http(overrides: object = {}): Observation {
  const certificate = { subject: 'a.example', issuer: 'CA', validFrom: 1_700_000_000, validTo: 1_800_864_000 };
  return {
    type: 'http',
    outcome: 'answered',
    startedAt: AT_MS,
    latencyMs: 23.6,
    timings: { dnsMs: null, connectMs: 1, tlsMs: 20, firstByteMs: 2, downloadMs: null },
    certificate,
    status: 200,
    headers: {},
    body: null,
    bodyTruncated: false,
    bodyStart: null,
    hadSecrets: false,
    ...overrides,
  } as Observation;
}

function checkerWith(overrides: Partial<CheckerParts> = {}) {
  const crashes: unknown[] = [];
  const checker = new Checker({
    probe: () => Promise.resolve(http({ status: 500 })),
    judge: new Judge(),
    stallWatch: {
      watch: async (work) => ({ result: await work(), ownTime: { tookMs: 100, stalledMs: 0, longestStallMs: 0 } }),
    },
    selfCheck: null,
    now: () => AT_MS,
    aheadMs: () => 0,
    onCrash: (error, monitorId) => void crashes.push([error, monitorId]),
    ...overrides,
  });
  const check = (request: Partial<CheckRequest> = {}) => checker.check(ACCOUNT, { ...REQUEST, ...request });
  return { check, crashes };
}

test('a check is judged by what its monitor expects', async (t) => {
  t.like(await checkerWith().check(), { startedAtMs: AT_MS, judgement: { verdict: 'down', cause: 'status_500' } });
});

test('bodies that a check reads count toward its account', async (t) => {
  const accounts: unknown[] = [];
  const { check } = checkerWith({
    probe() {
      accounts.push(bodyScope()?.account);
      return Promise.resolve(http({ status: 200 }));
    },
  });
  t.is((await check()).judgement.verdict, 'up');
  t.deepEqual(accounts, [ACCOUNT]);
});

test('a check that exceeds its CPU budget is no vote, and the reason says where', async (t) => {
  const judge = new Judge();
  t.teardown(() => judge.close());
  const { check } = checkerWith({ judge, probe: () => Promise.resolve(http({ status: 200, body: HOSTILE_BODY })) });
  const target = { ...httpTarget({ target: 'http://127.0.0.1:9/' }), checkSpec: { assertions: HOSTILE_ASSERTIONS } };
  const { judgement } = await check({ target });
  t.is(judgement.verdict, 'none');
  t.regex(judgement.reason ?? '', /^The check used up its 50 ms of CPU time at text_body matches/);
});

test('evidence is kept only of a first bad response that counts, and without secrets', async (t) => {
  const answer = { status: 500, headers: { server: 'nginx' }, bodyStart: Buffer.from('Oops') };
  const answerOf = async (
    observation: object,
    overrides: Partial<CheckerParts> = {},
    request: Partial<CheckRequest> = {},
  ) => (await checkerWith({ probe: () => Promise.resolve(http(observation)), ...overrides }).check(request)).answer;
  t.deepEqual(await answerOf(answer), { status: 500, headers: { server: 'nginx' }, body: 'Oops' });
  t.like(await answerOf({ ...answer, hadSecrets: true }), { body: null, bodyWithheld: 'secrets' });
  t.is(await answerOf({ ...answer, status: 200 }), null);
  t.is(await answerOf(answer, {}, { badVote: 'down' }), null);
  t.is(await answerOf(answer, { selfCheck: { apply: () => Promise.resolve(CUT_OFF) } }), null);
});

test('a self-check that crashes is no vote and is reported as a bug', async (t) => {
  const bug = new Error('a bug');
  const { check, crashes } = checkerWith({ selfCheck: { apply: () => Promise.reject(bug) } });
  t.like(await check(), {
    judgement: { verdict: 'none', cause: null, reason: 'The check could not be run here' },
    answer: null,
  });
  t.deepEqual(crashes, [[bug, 'mon_1']]);
});

test('a probe that crashes is no vote and is reported as a bug', async (t) => {
  const bug = new Error('bug');
  const { check, crashes } = checkerWith({ probe: () => Promise.reject(bug) });
  t.like(await check(), {
    observation: null,
    judgement: { verdict: 'none', cause: null, reason: 'The check could not be run here' },
  });
  t.deepEqual(crashes, [[bug, 'mon_1']]);
});

test('a target that cannot be checked is not probed, and is no vote with that reason', async (t) => {
  const { check, crashes } = checkerWith({ probe: () => Promise.reject(new Error('probed')) });
  for (const target of [null, REQUEST.target])
    t.like(await check({ target, inability: 'No key' }), { judgement: { verdict: 'none', reason: 'No key' } });
  t.deepEqual(crashes, []);
});

test('the self-check can overrule a bad result, except in a preview', async (t) => {
  const { check } = checkerWith({ selfCheck: { apply: () => Promise.resolve(CUT_OFF) } });
  t.deepEqual((await check()).judgement, CUT_OFF);
  t.like(await check({ monitorId: null }), { judgement: { verdict: 'down' } });
});
