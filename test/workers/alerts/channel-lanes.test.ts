import test from 'ava';
import * as fc from 'fast-check';
import { ChannelLanes, LANES_PER_CHANNEL, type Claim } from '../../../workers/alerts/channel-lanes.ts';
import { until } from '../../helpers/until.ts';

type Claimed = { id: string };

const NOTHING: Claim<Claimed> = { claimed: null, hasMore: false };

test('due deliveries are attempted in order, four at a time', async (t) => {
  const { lanes, due, begun, most } = prepare({ attempt: () => Promise.resolve('delivered') });
  due.push(...Array.from({ length: 10 }, (_, index) => `dlv_${index}`));
  const all = [...due];
  t.deepEqual(await lanes.run('nch_1'), { outcomes: { delivered: 10 }, isCutShort: false });
  t.deepEqual(begun, all);
  t.is(most(), LANES_PER_CHANNEL);
});

test('each delivery takes one claim if claims report what is left', async (t) => {
  const { lanes, due, claims } = prepare({ attempt: () => Promise.resolve('failed') });
  due.push('dlv_1');
  t.deepEqual(await lanes.run('nch_1'), { outcomes: { failed: 1 }, isCutShort: false });
  t.is(claims(), 1);
  due.push('dlv_2', 'dlv_3', 'dlv_4');
  await lanes.run('nch_1');
  t.is(claims(), 4);
});

test('a hanging channel blocks four attempts and its first caller, but no other channel', async (t) => {
  const answers: (() => void)[] = [];
  const attempt = ({ id }: Claimed) =>
    id.startsWith('hang')
      ? new Promise<string>((resolve) => answers.push(() => resolve('retry')))
      : Promise.resolve('delivered');
  const due = new Map([
    ['nch_hang', ['hang_1', 'hang_2', 'hang_3', 'hang_4', 'hang_5']],
    ['nch_well', ['dlv_1', 'dlv_2']],
  ]);
  const lanes = new ChannelLanes<Claimed>({
    claim: (channelId) => Promise.resolve(claimFrom(due.get(channelId) ?? [])),
    attempt,
  });

  const first = lanes.run('nch_hang');
  t.deepEqual(await lanes.run('nch_well'), { outcomes: { delivered: 2 }, isCutShort: false });
  await until(() => answers.length === LANES_PER_CHANNEL);
  t.deepEqual(await lanes.run('nch_hang'), { outcomes: {}, isCutShort: false });
  t.deepEqual(due.get('nch_hang'), ['hang_5']);

  for (let answered = 0; answered < 5; answered += 1) (await until(() => answers.shift()))();
  t.deepEqual(await first, { outcomes: { retry: 5 }, isCutShort: false });
});

test('no delivery is missed, whenever it arrives and however late claims see it', async (t) => {
  const arrivals = fc.array(fc.record({ afterTurns: fc.nat(12), deliveries: fc.integer({ min: 1, max: 3 }) }), {
    minLength: 1,
    maxLength: 12,
  });
  const turns = fc.array(fc.nat(6), { minLength: 1, maxLength: 20 });
  await fc.assert(
    fc.asyncProperty(arrivals, turns, turns, async (comings, claimTurns, attemptTurns) => {
      const due: string[] = [];
      const attempted: string[] = [];
      let [claims, made, underWay, most] = [0, 0, 0, 0];
      const lanes = new ChannelLanes<Claimed>({
        claim: async () => {
          claims += 1;
          // Like a statement, the claim sees the state from its start, and reports it later.
          const claimed = claimFrom(due);
          await turn(claimTurns[claims % claimTurns.length] ?? 0);
          return claimed;
        },
        attempt: async ({ id }) => {
          underWay += 1;
          most = Math.max(most, underWay);
          await turn(attemptTurns[Number(id) % attemptTurns.length] ?? 0);
          underWay -= 1;
          attempted.push(id);
          return 'delivered';
        },
      });
      const runs: Promise<unknown>[] = [];
      for (const { afterTurns, deliveries } of comings) {
        await turn(afterTurns);
        for (let count = 0; count < deliveries; count += 1) due.push(String(made++));
        runs.push(lanes.run('nch_1'));
      }
      await Promise.all(runs);
      t.deepEqual(
        attempted.map(Number).toSorted((a, b) => a - b),
        Array.from({ length: made }, (_, index) => index),
      );
      t.true(most <= LANES_PER_CHANNEL);
    }),
    { numRuns: 500 },
  );
});

test('a delivery that arrives just as all lanes find nothing is not missed', async (t) => {
  for (let turns = 0; turns <= 10; turns += 1) {
    const due = Array.from({ length: LANES_PER_CHANNEL }, (_, index) => `dlv_${index}`);
    const empty: (() => void)[] = [];
    const attempted: string[] = [];
    const lanes = new ChannelLanes<Claimed>({
      claim: () => {
        const id = due.shift();
        // Overtaken by other claims, each reports that there is more, until four find nothing.
        if (id !== undefined)
          return Promise.resolve({ claimed: { id }, hasMore: attempted.length < LANES_PER_CHANNEL });
        return empty.length < LANES_PER_CHANNEL
          ? new Promise((resolve) => empty.push(() => resolve(NOTHING)))
          : Promise.resolve(NOTHING);
      },
      attempt: ({ id }) => Promise.resolve(void attempted.push(id)).then(() => 'delivered'),
    });
    const first = lanes.run('nch_1');
    await until(() => empty.length === LANES_PER_CHANNEL);
    for (const answer of empty) answer();
    await turn(turns);
    due.push('dlv_late');
    await Promise.all([first, lanes.run('nch_1')]);
    t.is(attempted.at(-1), 'dlv_late', `after ${turns} turns`);
  }
});

test('two processes miss no delivery and keep the order of each monitor', async (t) => {
  const arrivals = fc.array(fc.record({ afterTurns: fc.nat(12), monitor: fc.nat(2), process: fc.nat(1) }), {
    minLength: 1,
    maxLength: 15,
  });
  const turns = fc.array(fc.nat(6), { minLength: 1, maxLength: 20 });
  await fc.assert(
    fc.asyncProperty(arrivals, turns, turns, async (comings, claimTurns, attemptTurns) => {
      const outbox = createOutbox();
      const attempted: string[] = [];
      let [claims, underWay] = [0, 0];
      const processes = [0, 1].map(
        () =>
          new ChannelLanes<Claimed & { monitor: number }>({
            claim: async () => {
              claims += 1;
              const before = claimTurns[claims % claimTurns.length] ?? 0;
              await turn(before);
              const claimed = outbox.claim();
              await turn(claimTurns[(claims + 1) % claimTurns.length] ?? 0);
              return claimed;
            },
            attempt: async ({ id, monitor }) => {
              underWay += 1;
              attempted.push(id);
              await turn(attemptTurns[attempted.length % attemptTurns.length] ?? 0);
              outbox.release(monitor);
              underWay -= 1;
              await turn(2);
              return 'delivered';
            },
          }),
      );
      const runs: Promise<unknown>[] = [];
      for (const [index, { afterTurns, monitor, process }] of comings.entries()) {
        await turn(afterTurns);
        outbox.due.push({ id: `${monitor}-${String(index).padStart(2, '0')}`, monitor });
        runs.push(processes[process]?.run('nch_1') ?? Promise.reject(new Error('no such process')));
      }
      await Promise.all(runs);
      t.is(underWay, 0);
      t.is(attempted.length, comings.length);
      for (const monitor of ['0', '1', '2']) {
        const own = attempted.filter((id) => id.startsWith(monitor));
        t.deepEqual(own, own.toSorted());
      }
    }),
    { numRuns: 200 },
  );
});

test('a waiting lane continues as soon as the attempt that it waits for ends', async (t) => {
  const waitMs = async () => {
    const answers: (() => void)[] = [];
    const { lanes, outbox, begun, claims } = prepareOutbox(() => new Promise((resolve) => answers.push(resolve)));
    outbox.due.push({ id: 'dlv_1', monitor: 1 }, { id: 'dlv_2', monitor: 1 });
    const run = lanes.run('nch_1');
    // By then it polls only once a second, and must not wait for that.
    await until(() => claims() >= 7, { intervalMs: 10 });
    const answeredAtMs = performance.now();
    answers[0]?.();
    await until(() => answers.length === 2, { intervalMs: 1 });
    const waitedMs = performance.now() - answeredAtMs;
    answers[1]?.();
    t.deepEqual(await run, { outcomes: { delivered: 2 }, isCutShort: false });
    t.deepEqual(begun, ['dlv_1', 'dlv_2']);
    return waitedMs;
  };
  // A busy machine delays one of them, but a lane that waits for its next poll waits every time.
  t.true(await until(async () => (await waitMs()) < 500));
});

test('a waiting lane blocks no other delivery and does not claim in a busy loop', async (t) => {
  const answers: (() => void)[] = [];
  const { lanes, outbox, begun, claims } = prepareOutbox(() => new Promise((resolve) => answers.push(resolve)));
  outbox.due.push({ id: 'dlv_1', monitor: 1 }, { id: 'dlv_2', monitor: 1 });
  const run = lanes.run('nch_1');
  await until(() => claims() >= 4);
  t.deepEqual(begun, ['dlv_1']);
  outbox.due.push({ id: 'dlv_3', monitor: 2 });
  await lanes.run('nch_1');
  await until(() => begun.includes('dlv_3'), { intervalMs: 1 });
  const before = performance.now();
  const claimsBefore = claims();
  await until(() => claims() > claimsBefore + 1);
  t.true(performance.now() - before > 40, `two polls within ${performance.now() - before} ms`);
  await untilOver(run, answers);
  t.deepEqual(begun, ['dlv_1', 'dlv_3', 'dlv_2']);
});

test('a delivery that waits for an attempt of another process is polled until it is free', async (t) => {
  const { lanes, outbox, begun } = prepareOutbox(() => Promise.resolve());
  outbox.due.push({ id: 'dlv_theirs', monitor: 1 }, { id: 'dlv_1', monitor: 1 });
  t.is(outbox.claim().claimed?.id, 'dlv_theirs');
  const run = lanes.run('nch_1');
  t.deepEqual(await lanes.run('nch_1'), { outcomes: {}, isCutShort: false });
  t.deepEqual(begun, []);
  outbox.release(1);
  t.deepEqual(await run, { outcomes: { delivered: 1 }, isCutShort: false });
});

test('a stop does not wait for what another process holds, and reports that it was cut short', async (t) => {
  const { lanes, outbox, claims } = prepareOutbox(() => Promise.resolve());
  outbox.due.push({ id: 'dlv_theirs', monitor: 1 }, { id: 'dlv_1', monitor: 1 });
  outbox.claim();
  const run = lanes.run('nch_1');
  await until(() => claims() >= 3);
  lanes.stop();
  t.deepEqual(await run, { outcomes: {}, isCutShort: true });
  t.is(outbox.due.length, 1);
});

test('a stop lets attempts under way finish, claims no more, and reports that it was cut short', async (t) => {
  const answers: (() => void)[] = [];
  const { lanes, due, claims } = prepare({
    attempt: () => new Promise((resolve) => answers.push(() => resolve('delivered'))),
  });
  due.push(...Array.from({ length: 10 }, (_, index) => `dlv_${index}`));
  const run = lanes.run('nch_1');
  await until(() => answers.length === LANES_PER_CHANNEL);
  lanes.stop();
  for (const answer of answers) answer();
  t.deepEqual(await run, { outcomes: { delivered: LANES_PER_CHANNEL }, isCutShort: true });
  t.is(due.length, 6);
  const claimsBefore = claims();
  t.deepEqual(await lanes.run('nch_2'), { outcomes: {}, isCutShort: true });
  t.is(claims(), claimsBefore);
});

test('a failed claim rejects the run after the other lanes have ended, and the next run starts afresh', async (t) => {
  const answers: (() => void)[] = [];
  const claims: (() => Promise<Claim<Claimed>>)[] = [
    () => Promise.resolve({ claimed: { id: 'dlv_1' }, hasMore: true }),
    () => Promise.reject(new Error('connection lost')),
    () => Promise.resolve(NOTHING),
  ];
  const lanes = new ChannelLanes<Claimed>({
    claim: () => (claims.shift() ?? (() => Promise.resolve(NOTHING)))(),
    attempt: () => new Promise((resolve) => answers.push(() => resolve('delivered'))),
  });
  let isOver = false;
  const run = lanes.run('nch_1').finally(() => (isOver = true));
  await until(() => claims.length === 1);
  t.false(isOver);
  answers[0]?.();
  await t.throwsAsync(run, { message: 'connection lost' });
  t.deepEqual(await lanes.run('nch_1'), { outcomes: {}, isCutShort: false });
});

test('several channels are delivered concurrently and reported together', async (t) => {
  const due = new Map([
    ['nch_1', ['dlv_1', 'dlv_2']],
    ['nch_2', ['dlv_3']],
    ['nch_3', []],
  ]);
  const claim = (channelId: string) => Promise.resolve(claimFrom(due.get(channelId) ?? []));
  const lanes = new ChannelLanes<Claimed>({
    claim,
    attempt: ({ id }) => Promise.resolve(id === 'dlv_3' ? 'failed' : 'delivered'),
  });
  t.deepEqual(await lanes.runAll(['nch_1', 'nch_2', 'nch_3']), {
    outcomes: { delivered: 2, failed: 1 },
    isCutShort: false,
  });
  lanes.stop();
  t.true((await lanes.runAll(['nch_1'])).isCutShort);
});

test('the failure of one channel is reported after the rest have finished', async (t) => {
  const due = ['dlv_1'];
  const claim = (channelId: string) =>
    channelId === 'nch_away' ? Promise.reject(new Error('connection lost')) : Promise.resolve(claimFrom(due));
  let delivered = 0;
  const lanes = new ChannelLanes<Claimed>({
    claim,
    attempt: () => turn(20).then(() => ((delivered += 1), 'delivered')),
  });
  await t.throwsAsync(lanes.runAll(['nch_away', 'nch_1']), { message: 'connection lost' });
  t.is(delivered, 1);
});

/** Returns lanes over an outbox. */
function prepareOutbox(attempt: () => Promise<void>) {
  const outbox = createOutbox();
  const begun: string[] = [];
  let claims = 0;
  const lanes = new ChannelLanes<Claimed & { monitor: number }>({
    claim: () => {
      claims += 1;
      return Promise.resolve(outbox.claim());
    },
    attempt: async ({ id, monitor }) => {
      begun.push(id);
      await attempt();
      outbox.release(monitor);
      return 'delivered';
    },
  });
  return { lanes, outbox, begun, claims: () => claims };
}

/** Answers all attempts until the run is over. */
async function untilOver(run: Promise<unknown>, answers: (() => void)[]): Promise<void> {
  let isOver = false;
  void run.finally(() => (isOver = true));
  await until(() => {
    for (const answer of answers.splice(0)) answer();
    return isOver;
  });
}

/** Returns lanes over a list of due deliveries. */
function prepare({ attempt }: { attempt: (claimed: Claimed) => Promise<string> }) {
  const due: string[] = [];
  const begun: string[] = [];
  let [claims, underWay, most] = [0, 0, 0];
  const lanes = new ChannelLanes<Claimed>({
    claim: () => {
      claims += 1;
      return Promise.resolve(claimFrom(due));
    },
    attempt: async (claimed) => {
      begun.push(claimed.id);
      underWay += 1;
      most = Math.max(most, underWay);
      const outcome = await attempt(claimed);
      // No claim resolves at once.
      await turn(3);
      underWay -= 1;
      return outcome;
    },
  });
  return { lanes, due, begun, claims: () => claims, most: () => most };
}

function claimFrom(due: string[]): Claim<Claimed> {
  const id = due.shift();
  return id === undefined ? NOTHING : { claimed: { id }, hasMore: due.length > 0 };
}

/**
 * Returns deliveries of several monitors as two or more processes share them: claimed in order, each only after its
 * monitor's previous attempt is over.
 */
function createOutbox() {
  const due: { id: string; monitor: number }[] = [];
  const busy = new Set<number>();
  return {
    due,
    claim(): Claim<Claimed & { monitor: number }> {
      const index = due.findIndex(({ monitor }) => !busy.has(monitor));
      const [claimed = null] = index === -1 ? [] : due.splice(index, 1);
      if (claimed !== null) busy.add(claimed.monitor);
      return { claimed, hasMore: due.length > 0 };
    },
    release: (monitor: number) => void busy.delete(monitor),
  };
}

/** Yields to all other ready work, `times` times. */
async function turn(times: number): Promise<void> {
  for (let count = 0; count < times; count += 1) await Promise.resolve();
}
