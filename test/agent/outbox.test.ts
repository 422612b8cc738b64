import { readdir } from 'node:fs/promises';
import test, { type ExecutionContext } from 'ava';
import { Journal } from '../../agent/journal.ts';
import { Outbox, type OutboxEvent } from '../../agent/outbox.ts';
import type { IngestOutcome } from '../../agent/service-client.ts';
import type { AgentResult, IngestAnswer } from '../../core/agents/wire.ts';
import { manualTime } from '../helpers/manual-time.ts';
import { temporaryFolder } from '../helpers/temporary-folder.ts';
import { until } from '../helpers/until.ts';

const START_MS = 1_800_000_000_000;

function result(number: number, overrides: Partial<AgentResult> = {}): AgentResult {
  return {
    monitorId: `mon_${number}`,
    ok: true,
    cause: null,
    latencyMs: 1,
    httpStatus: 200,
    ts: START_MS / 1000 + number / 1000,
    ...overrides,
  };
}

const REFUSED_BY_PROXY: IngestOutcome = {
  outcome: 'refused',
  reason: "HTTP 400: the response is a proxy's",
  isFromService: false,
};

function accepted(count: number, recheck: IngestAnswer['recheck'] = []): IngestOutcome {
  return {
    outcome: 'accepted',
    answer: {
      accepted: count,
      dropped: 0,
      droppedBecause: { notAssigned: 0, future: 0, tooOld: 0, tooMany: 0 },
      recheck,
    },
  };
}

type Answer = (results: AgentResult[]) => IngestOutcome;

/** Opens an outbox on a real folder and manual time; the test sets the answers of its service. */
async function openOutbox(
  t: ExecutionContext,
  bounds: { maxResults?: number; maxAgeMs?: number; folder?: string } = {},
) {
  const { maxResults = 10_000, maxAgeMs = 86_400_000, folder = await temporaryFolder(t) } = bounds;
  const time = manualTime(START_MS);
  const events: OutboxEvent[] = [];
  const sent: { atMs: number; ids: string[] }[] = [];
  const service: { answer: Answer } = { answer: (results) => accepted(results.length) };
  const { journal, waiting } = await Journal.open({ folder, now: time.now, onDisk: () => undefined });
  t.teardown(() => journal.close());
  const outbox = new Outbox({
    ...time,
    journal,
    waiting,
    maxResults,
    maxAgeMs,
    random: () => 0.5,
    onEvent: (event) => void events.push(event),
    send(body) {
      const { results }: { results: AgentResult[] } = JSON.parse(body);
      sent.push({ atMs: time.now() - START_MS, ids: results.map(({ monitorId }) => monitorId) });
      return Promise.resolve(service.answer(results));
    },
  });
  const kinds = () => events.map(({ kind }) => kind);
  return { outbox, time, events, kinds, sent, service, journal, folder };
}

const away: Answer = () => ({ outcome: 'failed', reason: 'Connection refused', requestedWaitMs: null });

test('a change is sent at once, other results are batched for three seconds at most', async (t) => {
  const { outbox, time, sent } = await openOutbox(t);
  outbox.add(result(1), { isUrgent: false });
  await time.pass(1000);
  outbox.add(result(2), { isUrgent: false });
  await time.pass(10_000);
  outbox.add(result(3), { isUrgent: false });
  outbox.add(result(4, { ok: false }), { isUrgent: true });
  await time.pass(50);
  t.deepEqual(sent, [
    { atMs: 3000, ids: ['mon_1', 'mon_2'] },
    { atMs: 11_030, ids: ['mon_3', 'mon_4'] },
  ]);
});

test("when everything fails, changes are batched within an agent's rate limit per minute", async (t) => {
  const { outbox, time, sent } = await openOutbox(t);
  for (let number = 0; number < 600; number += 1) {
    outbox.add(result(number, { ok: false }), { isUrgent: true });
    await time.pass(100);
  }
  await time.pass(1000);
  t.true(sent.length <= 210, `${sent.length} requests in a minute`);
  t.is(sent.flatMap(({ ids }) => ids).length, 600);
});

test('a batch holds at most a thousand results, and a full one is sent at once', async (t) => {
  const { outbox, time, sent } = await openOutbox(t);
  for (let number = 0; number < 2500; number += 1) outbox.add(result(number), { isUrgent: false });
  await time.pass(3000);
  t.deepEqual(
    sent.map(({ ids }) => ids.length),
    [1000, 1000, 500],
  );
  t.is(sent[0]?.atMs, 0);
  t.is(outbox.waiting, 0);
});

test("a batch stays within the service's body limit", async (t) => {
  const { outbox, time, sent } = await openOutbox(t);
  for (let number = 0; number < 10; number += 1)
    outbox.add(result(number, { ok: false, reason: 'é'.repeat(150_000) }), { isUrgent: true });
  await time.pass(1000);
  t.deepEqual(
    sent.map(({ ids }) => ids.length),
    [3, 3, 3, 1],
  );
});

test('while the service is down results are buffered, then replayed in order, each exactly once', async (t) => {
  const { outbox, time, sent, service, events } = await openOutbox(t);
  service.answer = away;
  for (let number = 0; number < 100; number += 1) {
    outbox.add(result(number), { isUrgent: false });
    await time.pass(1000);
  }
  const tries = sent.length;
  t.true(tries >= 3 && tries < 15, `${tries} tries in 100 s`);
  service.answer = (results) => accepted(results.length);
  await time.pass(61_000);
  t.deepEqual(
    sent.slice(tries).flatMap(({ ids }) => ids),
    Array.from({ length: 100 }, (_, number) => `mon_${number}`),
  );
  t.deepEqual(
    events.filter(({ kind }) => kind === 'replayed'),
    [{ kind: 'replayed', results: 100 }],
  );
});

test('a wait requested by the service is respected, even when another request succeeds', async (t) => {
  const { outbox, time, sent, service } = await openOutbox(t);
  service.answer = () => ({ outcome: 'failed', reason: 'HTTP 429', requestedWaitMs: 40_000 });
  outbox.add(result(1), { isUrgent: true });
  await time.pass(1000);
  outbox.retryNow();
  await time.pass(38_000);
  t.is(sent.length, 1);
  await time.pass(2000);
  t.is(sent.length, 2);
});

test('buffered results are sent at once when another request succeeds', async (t) => {
  const { outbox, time, sent, service } = await openOutbox(t);
  service.answer = away;
  outbox.add(result(1), { isUrgent: true });
  await time.pass(200_000);
  const tries = sent.length;
  service.answer = (results) => accepted(results.length);
  outbox.retryNow();
  await time.pass(1);
  t.is(sent.length, tries + 1);
  t.is(outbox.waiting, 0);
});

test('a result the service rejects is found by bisection and dropped; all others arrive once in order', async (t) => {
  const { outbox, time, sent, service, events } = await openOutbox(t);
  const takenIn: string[] = [];
  service.answer = (results) => {
    if (results.some(({ monitorId }) => monitorId === 'mon_613'))
      return { outcome: 'refused', reason: 'HTTP 400: results[0] is malformed', isFromService: true };
    takenIn.push(...results.map(({ monitorId }) => monitorId));
    return accepted(results.length);
  };
  for (let number = 0; number < 1000; number += 1) outbox.add(result(number), { isUrgent: false });
  await time.pass(10_000);
  t.deepEqual(
    takenIn,
    Array.from({ length: 1000 }, (_, number) => `mon_${number}`).filter((id) => id !== 'mon_613'),
  );
  const refused = events.filter((event) => event.kind === 'refused');
  t.is(refused.length, 1);
  t.like(JSON.parse(refused[0]?.line ?? ''), { monitorId: 'mon_613' });
  t.true(sent.length < 40, `${sent.length} requests`);
});

test('an agent stays within its rate limit even if the service rejects every other result', async (t) => {
  const { outbox, time, sent, service, events } = await openOutbox(t);
  service.answer = (results) =>
    results.some(({ ok }) => !ok)
      ? { outcome: 'refused', reason: 'HTTP 400: results[0] is malformed', isFromService: true }
      : accepted(results.length);
  for (let number = 0; number < 600; number += 1)
    outbox.add(result(number, { ok: number % 2 === 0 }), { isUrgent: false });
  await time.pass(63_000);
  t.true(sent.length <= 210, `${sent.length} requests in a minute`);
  await time.pass(600_000);
  t.is(outbox.waiting, 0);
  t.is(events.filter(({ kind }) => kind === 'refused').length, 300);
});

test('results a proxy refuses are kept, and arrive in order once the proxy lets them pass', async (t) => {
  const { outbox, time, sent, service, kinds } = await openOutbox(t);
  service.answer = () => REFUSED_BY_PROXY;
  for (let number = 0; number < 600; number += 1) outbox.add(result(number), { isUrgent: false });
  await time.pass(300_000);
  t.is(outbox.waiting, 600);
  // Each try sends two requests: the oldest result, and another one.
  t.true(sent.length < 2 * 30, `${sent.length} requests`);
  t.true(kinds().includes('failed'));
  const tries = sent.length;
  service.answer = (results) => accepted(results.length);
  await time.pass(70_000);
  t.deepEqual(
    sent.slice(tries).flatMap(({ ids }) => ids),
    Array.from({ length: 600 }, (_, number) => `mon_${number}`),
  );
  t.false(kinds().includes('refused'));
});

test('results a proxy always refuses are dropped once others arrive, and no other is lost', async (t) => {
  const { outbox, time, sent, service, events } = await openOutbox(t);
  const isBad = (id: string) => id === 'mon_2' || id === 'mon_3';
  service.answer = (results) =>
    results.some(({ monitorId }) => isBad(monitorId)) ? REFUSED_BY_PROXY : accepted(results.length);
  for (let number = 0; number < 20; number += 1) outbox.add(result(number), { isUrgent: false });
  await time.pass(60_000);
  t.is(outbox.waiting, 0);
  t.deepEqual(
    events.flatMap((event) => (event.kind === 'refused' ? [JSON.parse(event.line).monitorId] : [])),
    ['mon_2', 'mon_3'],
  );
  const arrived = sent.flatMap(({ ids }) => (ids.some(isBad) ? [] : ids));
  t.deepEqual(new Set(arrived).size, 18);
  t.is(arrived.length, 18);
});

test('a refusal counts only if another result was accepted since the one before', async (t) => {
  const { outbox, time, service, kinds } = await openOutbox(t);
  service.answer = () => REFUSED_BY_PROXY;
  outbox.add(result(1), { isUrgent: true });
  await time.pass(5000);
  outbox.add(result(2), { isUrgent: true });
  service.answer = ([first]) => (first?.monitorId === 'mon_2' ? accepted(1) : REFUSED_BY_PROXY);
  await time.pass(600_000);
  t.is(outbox.waiting, 1);
  t.false(kinds().includes('refused'));
});

test('a result a proxy always refuses is dropped even if others come one by one', async (t) => {
  const { outbox, time, service, sent, kinds } = await openOutbox(t);
  service.answer = ([first]) => (first?.monitorId === 'mon_1' ? REFUSED_BY_PROXY : accepted(1));
  outbox.add(result(1), { isUrgent: true });
  for (let number = 2; number < 42; number += 1) {
    await time.pass(60_000);
    outbox.add(result(number), { isUrgent: true });
  }
  await time.pass(60_000);
  t.true(kinds().includes('refused'));
  t.is(outbox.waiting, 0);
  t.true(sent.length < 60, `${sent.length} requests`);
});

test('a result dropped while it is being sent is not counted as refused', async (t) => {
  const { outbox, time, service, kinds } = await openOutbox(t, { maxResults: 1 });
  outbox.add(result(1), { isUrgent: true });
  service.answer = ([first]) => {
    if (first?.monitorId === 'mon_2') return accepted(1);
    outbox.add(result(2), { isUrgent: true });
    return { outcome: 'refused', reason: 'HTTP 400: results[0] is malformed', isFromService: true };
  };
  await time.pass(10_000);
  t.is(outbox.waiting, 0);
  t.true(kinds().includes('dropped'));
  t.false(kinds().includes('refused'));
});

test('a result dropped while it is being sent does not stop later ones', async (t) => {
  const { outbox, time, service, sent } = await openOutbox(t, { maxResults: 2 });
  for (const number of [1, 2]) outbox.add(result(number), { isUrgent: true });
  service.answer = (results) => {
    const ids = results.map(({ monitorId }) => monitorId);
    if (ids.join() === 'mon_1') outbox.add(result(3), { isUrgent: true });
    return ids.includes('mon_3') && ids.length === 1 ? accepted(1) : REFUSED_BY_PROXY;
  };
  await time.pass(600_000);
  t.true(sent.some(({ ids }) => ids.join() === 'mon_3'));
});

test('results of other monitors do not wait for a monitor whose results a proxy always refuses', async (t) => {
  const { outbox, time, sent, service } = await openOutbox(t);
  service.answer = (results) =>
    results.some(({ monitorId }) => monitorId === 'mon_0') ? REFUSED_BY_PROXY : accepted(results.length);
  for (let second = 0; second < 1200; second += 10) {
    outbox.add(result(0, { ts: time.now() / 1000 }), { isUrgent: false });
    if (second % 60 === 0) outbox.add(result(second), { isUrgent: false });
    await time.pass(10_000);
  }
  await time.pass(60_000);
  t.is(new Set(sent.flatMap(({ ids }) => (ids.includes('mon_0') ? [] : ids))).size, 19);
});

test('results a proxy refuses are kept as long as it has accepted none', async (t) => {
  const { outbox, time, service, kinds } = await openOutbox(t);
  service.answer = () => REFUSED_BY_PROXY;
  for (let number = 0; number < 3; number += 1) outbox.add(result(number), { isUrgent: false });
  await time.pass(600_000);
  outbox.add(result(3), { isUrgent: false });
  await time.pass(600_000);
  t.is(outbox.waiting, 4);
  t.false(kinds().includes('refused'));
});

test('an agent stopped during bisection still sends its buffered results', async (t) => {
  const { outbox, time, service } = await openOutbox(t);
  service.answer = (results) => (results.length > 10 ? REFUSED_BY_PROXY : accepted(results.length));
  for (let number = 0; number < 100; number += 1) outbox.add(result(number), { isUrgent: false });
  const closed = outbox.close(3000);
  await time.pass(3000);
  await closed;
  t.is(outbox.waiting, 0);
});

test('all results get through a proxy that accepts only small batches', async (t) => {
  const { outbox, time, service } = await openOutbox(t);
  service.answer = (results) => (results.length > 100 ? REFUSED_BY_PROXY : accepted(results.length));
  for (let number = 0; number < 600; number += 1) outbox.add(result(number), { isUrgent: false });
  await time.pass(60_000);
  t.is(outbox.waiting, 0);
});

test('beyond the limit the oldest results are dropped and counted', async (t) => {
  const { outbox, time, sent, service, events } = await openOutbox(t, { maxResults: 100 });
  service.answer = away;
  for (let number = 0; number < 130; number += 1) outbox.add(result(number), { isUrgent: false });
  await time.pass(4000);
  t.is(outbox.waiting, 100);
  t.is(
    events.reduce((sum, event) => sum + (event.kind === 'dropped' ? event.results : 0), 0),
    30,
  );
  t.is(sent.at(-1)?.ids[0], 'mon_30');
});

test('results that are too old are dropped before they are sent', async (t) => {
  const { outbox, time, service, sent, kinds } = await openOutbox(t, { maxAgeMs: 3_600_000 });
  service.answer = away;
  outbox.add(result(1), { isUrgent: false });
  await time.pass(3_000_000);
  outbox.add(result(2, { ts: time.now() / 1000 }), { isUrgent: false });
  await time.pass(700_000);
  t.is(outbox.waiting, 1);
  t.deepEqual(sent.at(-1)?.ids, ['mon_2']);
  t.true(kinds().includes('dropped'));
});

test('a result not sent within half a second is written to disk, and deleted once sent', async (t) => {
  const { outbox, time, service, folder, journal } = await openOutbox(t);
  service.answer = away;
  outbox.add(result(1), { isUrgent: true });
  await time.pass(499);
  t.deepEqual(await readdir(folder), []);
  await time.pass(1);
  await until(async () => (await readdir(folder)).length === 1);
  service.answer = (results) => accepted(results.length);
  await time.pass(3000);
  await journal.settle([]);
  t.deepEqual(await readdir(folder), []);
});

test('results of an earlier run are sent first, at once, and reported as replayed', async (t) => {
  const first = await openOutbox(t);
  first.service.answer = away;
  for (let number = 0; number < 20; number += 1) first.outbox.add(result(number), { isUrgent: false });
  await first.outbox.close(0);
  const second = await openOutbox(t, { folder: first.folder });
  second.outbox.add(result(20), { isUrgent: false });
  await second.time.pass(1);
  t.deepEqual(
    second.sent.flatMap(({ ids }) => ids),
    Array.from({ length: 21 }, (_, number) => `mon_${number}`),
  );
  t.true(second.kinds().includes('replayed'));
  await second.journal.settle([]);
  t.deepEqual(await readdir(first.folder), []);
});

test("a recheck hint's delay counts from the monitor's last failing probe in the batch", async (t) => {
  const { outbox, time, service, events } = await openOutbox(t);
  service.answer = (results) =>
    accepted(results.length, [
      { monitorId: 'mon_1', afterMs: 5000 },
      { monitorId: 'mon_9', afterMs: 5000 },
    ]);
  outbox.add(result(1, { ok: false, ts: START_MS / 1000 - 60 }), { isUrgent: true });
  outbox.add(result(1, { ok: false, ts: START_MS / 1000 }), { isUrgent: true });
  outbox.add(result(2), { isUrgent: false });
  await time.pass(100);
  t.deepEqual(
    events.filter(({ kind }) => kind === 'recheck'),
    [{ kind: 'recheck', monitorId: 'mon_1', atMs: START_MS + 5000 }],
  );
});

test('results are kept when the token is rejected, and a held outbox sends nothing until released', async (t) => {
  const { outbox, time, service, sent, kinds } = await openOutbox(t);
  service.answer = () => ({ outcome: 'unauthorized' });
  outbox.add(result(1), { isUrgent: true });
  await time.pass(100);
  t.true(kinds().includes('unauthorized'));
  outbox.hold(true);
  await time.pass(600_000);
  t.is(sent.length, 1);
  t.is(outbox.waiting, 1);
  service.answer = (results) => accepted(results.length);
  outbox.hold(false);
  await time.pass(61_000);
  t.is(outbox.waiting, 0);
});

test('closing sends buffered results, and those that cannot be sent stay on disk', async (t) => {
  const first = await openOutbox(t);
  first.outbox.add(result(1), { isUrgent: false });
  await first.outbox.close(60_000);
  t.deepEqual(
    first.sent.flatMap(({ ids }) => ids),
    ['mon_1'],
  );
  t.deepEqual(await readdir(first.folder), []);

  const second = await openOutbox(t);
  second.service.answer = away;
  second.outbox.add(result(1), { isUrgent: false });
  await second.outbox.close(60_000);
  t.is((await readdir(second.folder)).length, 1);
});

for (const jumpMs of [-3_600_000, -540_000, 540_000, 3_600_000]) {
  test(`results are sent as before after the clock is set by ${jumpMs / 60_000} minutes`, async (t) => {
    const { outbox, time, sent, service } = await openOutbox(t);
    outbox.add(result(1, { ok: false }), { isUrgent: true });
    await time.pass(1000);
    time.jump(jumpMs);
    outbox.add(result(2, { ok: false }), { isUrgent: true });
    await time.pass(1000);
    t.deepEqual(
      sent.map(({ ids }) => ids),
      [['mon_1'], ['mon_2']],
    );

    service.answer = () => ({ outcome: 'failed', reason: 'HTTP 503', requestedWaitMs: 5000 });
    outbox.add(result(3), { isUrgent: false });
    await time.pass(3500);
    service.answer = (results) => accepted(results.length);
    time.jump(jumpMs);
    outbox.add(result(4, { ok: false }), { isUrgent: true });
    await time.pass(4000);
    t.is(outbox.waiting, 2, 'the requested wait is in elapsed time');
    await time.pass(1000);
    t.is(outbox.waiting, 0);
  });
}
