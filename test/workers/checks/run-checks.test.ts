import test from 'ava';
import { createLogger } from '../../../config/logger.ts';
import type { Observation } from '../../../core/checks/observation.ts';
import type { ScheduleSlot } from '../../../core/checks/slots.ts';
import type { DueCheck } from '../../../models/checks/checks.ts';
import { bodyScope } from '../../../net/body-budget.ts';
import { Checker, type CheckerParts } from '../../../probes/checker.ts';
import { Judge } from '../../../probes/judging/judge.ts';
import type { ResultPayload } from '../../../queues/payloads.ts';
import { CertificateRecorder } from '../../../workers/checks/certificate-recorder.ts';
import { ConcurrencyLimiter } from '../../../workers/checks/concurrency-limiter.ts';
import { ResultBatcher } from '../../../workers/checks/result-batcher.ts';
import { CheckRunner, type CheckRunnerParts } from '../../../workers/checks/run-checks.ts';
import { httpTarget } from '../../helpers/check-target.ts';

const ENTRY = { agentNo: 2, intervalSeconds: 60, slot: 0 };
const SLOT_START_MS = 1_700_000_040_000;

function answered(status: number): Observation {
  return {
    type: 'http',
    outcome: 'answered',
    startedAt: SLOT_START_MS,
    latencyMs: 12.4,
    timings: { dnsMs: null, connectMs: 1, tlsMs: null, firstByteMs: 2, downloadMs: null },
    certificate: null,
    status,
    headers: {},
    body: null,
    bodyTruncated: false,
    bodyStart: null,
    hadSecrets: false,
  };
}

const TIMED_OUT: Observation = {
  type: 'http',
  outcome: 'failed',
  startedAt: SLOT_START_MS,
  latencyMs: 5000,
  timings: { dnsMs: null, connectMs: 1, tlsMs: null, firstByteMs: null, downloadMs: null },
  certificate: null,
  cause: 'timeout',
  reason: 'Timed out while waiting for the response',
};

function dueCheck(monitorNo: number): DueCheck {
  return {
    monitorNo,
    monitorId: `mon_${monitorNo}`,
    tenantId: 'ten_1',
    name: `Monitor ${monitorNo}`,
    checksVersion: 3,
    target: httpTarget({ target: 'http://127.0.0.1:9/' }),
    steadyVerdict: 'up',
    badVote: null,
    hasItsSecrets: true,
  };
}

type Parts = Pick<CheckerParts, 'probe' | 'judge' | 'selfCheck' | 'stallWatch'> &
  Pick<CheckRunnerParts, 'listDueChecks' | 'claimRechecks' | 'behind' | 'batcher'> & { limiter: ConcurrencyLimiter };

const SILENT = createLogger({ process: 'check', level: 'silent' });

/** Runs ticks on simulated time; waiting for a time advances to it. */
function checkerAt(startMs: number, overrides: Partial<Parts> = {}) {
  let nowMs = startMs;
  const stopping = new AbortController();
  const submitted: ResultPayload[][] = [];
  const completed: { region: string; latenessMs: number }[] = [];
  const crashed: unknown[] = [];
  const leftToOthers: number[] = [];
  const now = () => nowMs;
  const parts = {
    probe: () => Promise.resolve(answered(200)),
    judge: new Judge(),
    stallWatch: {
      watch: async <T>(work: () => Promise<T>) => ({
        result: await work(),
        ownTime: { tookMs: 100, stalledMs: 0, longestStallMs: 0 },
      }),
    },
    selfCheck: null,
    limiter: new ConcurrencyLimiter({ concurrency: 10, perTurn: 10 }),
    ...overrides,
  };
  const runner = new CheckRunner({
    listDueChecks: () => Promise.resolve([1, 2, 3].map(dueCheck)),
    checker: new Checker({ ...parts, now, aheadMs: () => 0, onCrash: (error) => void crashed.push(error) }),
    batcher: new ResultBatcher({
      submit: (results) => Promise.resolve(void submitted.push([...results])),
      maxDelayMs: 5,
      urgentDelayMs: 5,
      urgentGapMs: 0,
      maxResults: 100,
      pause: () => Promise.resolve(),
      now,
    }),
    now,
    waitUntil(atMs) {
      nowMs = Math.max(nowMs, atMs);
      return Promise.resolve();
    },
    stopping: stopping.signal,
    claimRechecks: () => Promise.resolve([]),
    scheduleRechecks: (rechecks) =>
      Promise.resolve(void leftToOthers.push(...rechecks.map(({ monitorNo }) => monitorNo))),
    certificates: new CertificateRecorder({
      store: () => Promise.reject(new Error('No certificate was seen')),
      waitMs: 0,
      onFailure: (error) => void crashed.push(error),
      now,
    }),
    behind: { record: () => Promise.resolve() },
    recordFailedCheck: null,
    source: { id: 'agt_2', name: 'frankfurt' },
    metrics: { checkCompleted: (check) => void completed.push(check) },
    log: SILENT,
    ...parts,
  });
  const check = (slot: ScheduleSlot, slotBeginsAtMs: number) => runner.runTick(slot, slotBeginsAtMs);
  const recheck = () => runner.runRechecks(ENTRY.agentNo);
  return { check, recheck, submitted, completed, crashed, leftToOthers, stop: () => stopping.abort() };
}

test('stopping finishes running checks, starts no more and leaves the tick to another process', async (t) => {
  const begun = Promise.withResolvers<void>();
  const answer = Promise.withResolvers<Observation>();
  const { check, stop, submitted } = checkerAt(SLOT_START_MS - 300, {
    limiter: new ConcurrencyLimiter({ concurrency: 1, perTurn: 1 }),
    probe() {
      begun.resolve();
      return answer.promise;
    },
  });
  const outcome = check(ENTRY, SLOT_START_MS);
  await begun.promise;
  stop();
  answer.resolve(answered(200));
  t.is(await outcome, null);
  t.deepEqual(
    submitted.map((results) => results.length),
    [1],
  );
});

test('rechecks that have not started before a stop are left to the next process', async (t) => {
  const begun = Promise.withResolvers<void>();
  const answer = Promise.withResolvers<Observation>();
  const claims = [[1, 2, 3].map(dueCheck)];
  const { recheck, stop, submitted, leftToOthers } = checkerAt(SLOT_START_MS, {
    limiter: new ConcurrencyLimiter({ concurrency: 1, perTurn: 1 }),
    claimRechecks: () => Promise.resolve(claims.shift() ?? []),
    probe() {
      begun.resolve();
      return answer.promise;
    },
  });
  const outcome = recheck();
  await begun.promise;
  stop();
  answer.resolve(answered(200));
  t.is(await outcome, null);
  t.deepEqual(
    submitted.flat().map(({ monitorNo }) => monitorNo),
    [1],
  );
  t.deepEqual(leftToOthers, [2, 3]);
});

test('rechecks being claimed during a stop are left to the next process', async (t) => {
  const claimed = Promise.withResolvers<DueCheck[]>();
  const { recheck, stop, submitted, leftToOthers } = checkerAt(SLOT_START_MS, { claimRechecks: () => claimed.promise });
  const outcome = recheck();
  stop();
  claimed.resolve([1, 2].map(dueCheck));
  t.is(await outcome, null);
  t.deepEqual(leftToOthers, [1, 2]);
  t.is(await recheck(), null, 'a job fetched after the stop is returned');
  t.deepEqual(submitted, []);
});

test('waiting checks merged with a later tick are left to the next process on a stop', async (t) => {
  const limiter = new ConcurrencyLimiter({ concurrency: 1, perTurn: 1000 });
  await limiter.enter('another account');
  const { check, stop, submitted, leftToOthers } = checkerAt(SLOT_START_MS - 300, { limiter });
  const first = check(ENTRY, SLOT_START_MS);
  t.like(await check(ENTRY, SLOT_START_MS + 60_000), { checks: 0, dropped: 3 });
  stop();
  limiter.leave('another account');
  t.is(await first, null);
  t.deepEqual(leftToOthers, [1, 2, 3]);
  t.deepEqual(submitted, []);
});

test('each monitor of a slot is probed at its own offset, and the results are submitted in one batch', async (t) => {
  const { check, submitted, completed } = checkerAt(SLOT_START_MS - 300);
  const outcome = await check(ENTRY, SLOT_START_MS);
  t.like(outcome, { checks: 3, up: 3, dropped: 0, monitors: ['Monitor 1: up', 'Monitor 2: up', 'Monitor 3: up'] });
  t.is(submitted.length, 1);
  const dues = submitted[0]?.map(({ dueAtMs }) => dueAtMs - SLOT_START_MS) ?? [];
  t.is(new Set(dues).size, 3);
  t.true(dues.every((due) => due >= 0 && due < 4000));
  t.is(completed.length, 3);
  t.true(completed.every(({ latenessMs, region }) => latenessMs >= 0 && region === 'frankfurt'));
  t.like(submitted[0]?.[0], {
    agentNo: 2,
    checksVersion: 3,
    verdict: 'up',
    cause: null,
    httpStatus: 200,
    latencyMs: 12,
  });
});

test('response bodies count toward the account of the check', async (t) => {
  const accounts: unknown[] = [];
  const probe = () => {
    accounts.push(bodyScope()?.account);
    return Promise.resolve(answered(200));
  };
  await checkerAt(SLOT_START_MS - 300, { probe }).check(ENTRY, SLOT_START_MS);
  t.deepEqual(accounts, ['ten_1', 'ten_1', 'ten_1']);
});

test('a crashed probe is reported and casts no vote, and other checks are unaffected', async (t) => {
  let calls = 0;
  const probe = () => {
    calls += 1;
    return calls === 2 ? Promise.reject(new Error('EMFILE')) : Promise.resolve(answered(503));
  };
  const { check, submitted, crashed } = checkerAt(SLOT_START_MS - 300, { probe });
  t.like(await check(ENTRY, SLOT_START_MS), { checks: 3, down: 2, none: 1 });
  t.is(crashed.length, 1);
  const lost = submitted[0]?.find(({ verdict }) => verdict === 'none');
  t.like(lost, { cause: null, httpStatus: null, latencyMs: null });
});

test('timings are kept for every failure, and for good results of the first tick in ten minutes', async (t) => {
  const phases = { dnsMs: null, connectMs: 1, tlsMs: null, firstByteMs: 2, downloadMs: null };
  const storedPhasesAt = async (slotBeginsAtMs: number, status: number) => {
    const { check, submitted } = checkerAt(slotBeginsAtMs - 300, { probe: () => Promise.resolve(answered(status)) });
    await check(ENTRY, slotBeginsAtMs);
    return submitted.flat().map((result) => result.phases);
  };
  const windowMs = Math.floor(SLOT_START_MS / 600_000) * 600_000;
  t.deepEqual(await storedPhasesAt(windowMs, 200), [phases, phases, phases]);
  t.deepEqual(await storedPhasesAt(windowMs + 60_000, 200), [null, null, null]);
  t.deepEqual(await storedPhasesAt(windowMs + 60_000, 503), [phases, phases, phases]);
});

test('only a failure that may be the first of its source carries the response', async (t) => {
  const votes = [null, 'degraded', 'down'] as const;
  const listDueChecks = () => Promise.resolve(votes.map((badVote, index) => ({ ...dueCheck(index + 1), badVote })));
  const answersTo = async (status: number) => {
    const { check, submitted } = checkerAt(SLOT_START_MS - 300, {
      listDueChecks,
      probe: () => Promise.resolve(answered(status)),
    });
    await check(ENTRY, SLOT_START_MS);
    return submitted
      .flat()
      .toSorted((a, b) => a.monitorNo - b.monitorNo)
      .map(({ answer }) => answer?.status ?? null);
  };
  t.deepEqual(await answersTo(503), [503, 503, null]);
  t.deepEqual(await answersTo(200), [null, null, null]);
});

test('a monitor whose secrets cannot be read casts no vote and is not probed; other monitors are', async (t) => {
  const listDueChecks = () => Promise.resolve([dueCheck(1), { ...dueCheck(2), hasItsSecrets: false }]);
  const { check, submitted } = checkerAt(SLOT_START_MS - 300, { listDueChecks });
  t.like(await check(ENTRY, SLOT_START_MS), { checks: 2, up: 1, none: 1 });
  t.regex(submitted[0]?.find(({ verdict }) => verdict === 'none')?.reason ?? '', /SECRET_KEYS/);
});

test('a tick so late that the next one is nearer is dropped without a probe', async (t) => {
  const { check, submitted } = checkerAt(SLOT_START_MS + 45_000, {
    probe: () => Promise.reject(new Error('must not be probed')),
  });
  t.like(await check(ENTRY, SLOT_START_MS), { checks: 0, dropped: 3 });
  t.deepEqual(submitted, []);
});

test('a tick repeated after a crash has the same due times, so its results are stored once', async (t) => {
  const first = checkerAt(SLOT_START_MS - 300);
  const second = checkerAt(SLOT_START_MS + 700);
  await first.check(ENTRY, SLOT_START_MS);
  await second.check(ENTRY, SLOT_START_MS);
  const dues = (submitted: ResultPayload[][]) =>
    submitted
      .flat()
      .map(({ monitorNo, dueAtMs }) => [monitorNo, dueAtMs])
      .toSorted();
  t.deepEqual(dues(first.submitted), dues(second.submitted));
});

test('a full batch is submitted at once, a single result after the delay', async (t) => {
  const sizes: number[] = [];
  const batcher = new ResultBatcher({
    submit: (results) => Promise.resolve(void sizes.push(results.length)),
    maxDelayMs: 5,
    urgentDelayMs: 5,
    urgentGapMs: 0,
    maxResults: 2,
    pause: () => Promise.resolve(),
    now: Date.now,
  });
  const result = { monitorNo: 1 } as ResultPayload;
  await Promise.all([batcher.add(result, false), batcher.add(result, false), batcher.add(result, false)]);
  t.deepEqual(sizes, [2, 1]);
});

test('a batch carries the time at which it was complete, even if the queue refuses it at first', async (t) => {
  let nowMs = SLOT_START_MS;
  const ready: number[] = [];
  const batcher = new ResultBatcher({
    submit(_results, readyAtMs) {
      ready.push(readyAtMs);
      return ready.length === 1 ? Promise.reject(new Error('away')) : Promise.resolve();
    },
    maxDelayMs: 3_600_000,
    urgentDelayMs: 1,
    urgentGapMs: 0,
    maxResults: 2,
    pause: (ms) => Promise.resolve(void (nowMs += ms)),
    now: () => nowMs,
  });
  const first = batcher.add({ monitorNo: 1 } as ResultPayload, false);
  nowMs += 3000;
  await Promise.all([first, batcher.add({ monitorNo: 2 } as ResultPayload, false)]);
  t.deepEqual(ready, [SLOT_START_MS + 3000, SLOT_START_MS + 3000]);
});

test('full batches do not delay a later batch with a result that may be a change', async (t) => {
  let batches = 0;
  const batcher = new ResultBatcher({
    submit: () => Promise.resolve(void (batches += 1)),
    maxDelayMs: 3_600_000,
    urgentDelayMs: 1,
    // With a gap for each of them the test would take a quarter of an hour.
    urgentGapMs: 100,
    maxResults: 2,
    pause: () => Promise.resolve(),
    now: Date.now,
  });
  const result = { monitorNo: 1 } as ResultPayload;
  await Promise.all(Array.from({ length: 20_000 }, () => batcher.add(result, true)));
  await batcher.add(result, true);
  t.is(batches, 10_001);
});

test('a result that may be a change is submitted at once, together with waiting results', async (t) => {
  const sizes: number[] = [];
  const batcher = new ResultBatcher({
    submit: (results) => Promise.resolve(void sizes.push(results.length)),
    maxDelayMs: 3_600_000,
    urgentDelayMs: 1,
    urgentGapMs: 0,
    maxResults: 10,
    pause: () => Promise.resolve(),
    now: Date.now,
  });
  const good = batcher.add({ monitorNo: 1 } as ResultPayload, false);
  await batcher.add({ monitorNo: 2 } as ResultPayload, true);
  await good;
  t.deepEqual(sizes, [2]);
});

test('the first urgent batch is submitted at once, and results within the gap after it together', async (t) => {
  const sizes: number[] = [];
  const batcher = new ResultBatcher({
    submit: (results) => Promise.resolve(void sizes.push(results.length)),
    maxDelayMs: 3_600_000,
    urgentDelayMs: 1,
    urgentGapMs: 100,
    maxResults: 10,
    pause: () => Promise.resolve(),
    now: Date.now,
  });
  const startedAt = performance.now();
  await batcher.add({ monitorNo: 1 } as ResultPayload, true);
  await Promise.all([2, 3].map((monitorNo) => batcher.add({ monitorNo } as ResultPayload, true)));
  t.deepEqual(sizes, [1, 2]);
  t.true(performance.now() - startedAt >= 99);
});

for (const { name, steadyVerdict, status, mayChangeState } of [
  {
    name: 'a good result of a monitor that is up changes nothing',
    steadyVerdict: 'up',
    status: 200,
    mayChangeState: false,
  },
  {
    name: 'a good result of a monitor that is down may be its recovery',
    steadyVerdict: 'down',
    status: 200,
    mayChangeState: true,
  },
  {
    name: 'a good result of an undecided monitor may decide its state',
    steadyVerdict: null,
    status: 200,
    mayChangeState: true,
  },
  {
    name: 'a bad result of a monitor that is up may be an outage',
    steadyVerdict: 'up',
    status: 503,
    mayChangeState: true,
  },
  {
    name: 'another bad result of a monitor that is down changes nothing',
    steadyVerdict: 'down',
    status: 503,
    mayChangeState: false,
  },
] as const) {
  test(name, async (t) => {
    const passed: boolean[] = [];
    const { check } = checkerAt(SLOT_START_MS - 300, {
      listDueChecks: () => Promise.resolve([{ ...dueCheck(1), steadyVerdict }]),
      probe: () => Promise.resolve(answered(status)),
      batcher: { add: (_result, mayChange) => Promise.resolve(void passed.push(mayChange)) },
    });
    await check(ENTRY, SLOT_START_MS);
    t.deepEqual(passed, [mayChangeState]);
  });
}

test('a batch that the queue refuses is retried every second until it is accepted', async (t) => {
  let refusals = 3;
  const pauses: number[] = [];
  const batcher = new ResultBatcher({
    submit: () => (refusals-- > 0 ? Promise.reject(new Error('away')) : Promise.resolve()),
    maxDelayMs: 1,
    urgentDelayMs: 1,
    urgentGapMs: 0,
    maxResults: 10,
    pause: (ms) => Promise.resolve(void pauses.push(ms)),
    now: Date.now,
  });
  await batcher.add({ monitorNo: 1 } as ResultPayload, false);
  t.deepEqual(pauses, [1000, 1000, 1000]);
});

test('a timeout during a stall of the process casts no vote', async (t) => {
  const { check, submitted } = checkerAt(SLOT_START_MS - 300, {
    probe: () => Promise.resolve(TIMED_OUT),
    stallWatch: {
      watch: async (work) => ({
        result: await work(),
        ownTime: { tookMs: 1000, stalledMs: 600, longestStallMs: 600 },
      }),
    },
  });
  await check(ENTRY, SLOT_START_MS);
  t.deepEqual(
    submitted.flat().map(({ verdict }) => verdict),
    ['none', 'none', 'none'],
  );
  t.regex(submitted[0]?.[0]?.reason ?? '', /itself was held up/);
});

test('a waiting slot keeps its one place in the queue and is then checked for its newest tick only', async (t) => {
  const begun = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  const probe = async () => {
    begun.resolve();
    await release.promise;
    return answered(200);
  };
  const { check, submitted } = checkerAt(SLOT_START_MS - 300, {
    limiter: new ConcurrencyLimiter({ concurrency: 1, perTurn: 10 }),
    probe,
  });
  const first = check(ENTRY, SLOT_START_MS);
  await begun.promise;
  const other = check({ ...ENTRY, slot: 1 }, SLOT_START_MS + 250);
  const second = check(ENTRY, SLOT_START_MS + 60_000);
  t.like(await check(ENTRY, SLOT_START_MS + 120_000), { checks: 0, dropped: 0 });
  t.like(await check(ENTRY, SLOT_START_MS + 180_000), { checks: 0, dropped: 0 });
  release.resolve();
  t.like(await first, { checks: 3, dropped: 0 });
  t.like(await other, { checks: 3, dropped: 0 });
  t.like(await second, { checks: 3, dropped: 6 });
  const ticks = submitted
    .flat()
    .map(({ monitorNo, dueAtMs }) => [monitorNo, Math.floor((dueAtMs - SLOT_START_MS) / 60_000)]);
  t.deepEqual(ticks, [
    [1, 0],
    [2, 0],
    [3, 0],
    [1, 0],
    [2, 0],
    [3, 0],
    [1, 3],
    [2, 3],
    [3, 3],
  ]);
});

test('a check still waiting when its next one is due runs once, for the later time and target', async (t) => {
  const concurrency = 32;
  const limiter = new ConcurrencyLimiter({ concurrency, perTurn: 1000 });
  for (let held = 0; held < concurrency; held += 1) await limiter.enter('another account');
  let behind = 0;
  let ticksRead = 0;
  const probed: string[] = [];
  const { check, submitted } = checkerAt(SLOT_START_MS - 300, {
    limiter,
    listDueChecks() {
      ticksRead += 1;
      const target = httpTarget({ target: `http://127.0.0.1:9/${ticksRead}` });
      return Promise.resolve([1, 2, 3].map((no) => ({ ...dueCheck(no), target })));
    },
    probe(target) {
      probed.push(target.target);
      return Promise.resolve(answered(200));
    },
    behind: { record: async () => void (behind += 1) },
  });
  const first = check(ENTRY, SLOT_START_MS);
  t.like(await check(ENTRY, SLOT_START_MS + 60_000), { checks: 0, dropped: 3 });
  t.is(behind, 3);
  for (let held = 0; held < concurrency; held += 1) limiter.leave('another account');
  t.like(await first, { checks: 3, dropped: 0 });
  const ticks = submitted.flat().map(({ dueAtMs }) => Math.floor((dueAtMs - SLOT_START_MS) / 60_000));
  t.deepEqual(ticks, [1, 1, 1]);
  t.deepEqual(
    probed,
    Array.from({ length: 3 }, () => 'http://127.0.0.1:9/2'),
  );
});
