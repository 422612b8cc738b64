import test, { type ExecutionContext } from 'ava';
import type { MonitorMessage } from '../../../core/alerts/envelope.ts';
import type { WebhookPreset } from '../../../core/alerts/webhook.ts';
import type { Verdict } from '../../../core/checks/verdict.ts';
import { createChannel } from '../../../models/alerts/channels.ts';
import type { ClaimedAttempt } from '../../../models/alerts/delivery-attempts.ts';
import { deleteMonitor, pauseMonitor } from '../../../models/monitors/monitor-changes.ts';
import { prepareRequests } from '../../../notifications/webhook/prepare.ts';
import { createEvaluator } from '../../../workers/incidents/evaluate.ts';
import { sweep } from '../../../workers/system/sweep.ts';
import { claimNextDelivery, recordAttempt } from '../../helpers/deliveries.ts';
import { openTestRuntime, resultOf } from '../../helpers/runtime.ts';

/** Start of a step at which waiting deliveries are due. */
const START_MS = Math.floor(Date.now() / 5000) * 5000 - 60_000;
const CLAIM_MS = 15_000;

test('the retry of an opening alert does not reopen its incident after the end', async (t) => {
  const { change, attempt, outcomesOf, pagerduty } = await prepare(t);
  await change('down', START_MS);
  t.is(await attempt(pagerduty, START_MS, { retryAtMs: START_MS + 5000 }), 'monitor.down');
  await change('up', START_MS + 3000);
  t.is(await attempt(pagerduty, START_MS + 3000), 'monitor.up');
  t.is(await attempt(pagerduty, START_MS + 5000), null);
  t.deepEqual(await outcomesOf(pagerduty), ['superseded', 'delivered']);
});

test('an attempt that fails after its incident has ended is not retried', async (t) => {
  const { change, claim, record, outcomesOf, pagerduty } = await prepare(t);
  await change('down', START_MS);
  const claimed = await claim(pagerduty, START_MS);
  await change('up', START_MS + 3000);
  await record(claimed, { retryAtMs: START_MS + 13_000 });
  t.deepEqual(await outcomesOf(pagerduty), ['superseded', 'pending']);
});

test('a resolve waits for a retry of the opening alert that is under way', async (t) => {
  const { change, attempt, claim, record, pagerduty } = await prepare(t);
  await change('down', START_MS);
  await attempt(pagerduty, START_MS, { retryAtMs: START_MS + 5000 });
  const retried = await claim(pagerduty, START_MS + 5000);
  t.is(retried?.event, 'monitor.down');
  await change('up', START_MS + 6000);
  t.is(await attempt(pagerduty, START_MS + 6000), null);
  await record(retried, {});
  t.is(await attempt(pagerduty, START_MS + 6000), 'monitor.up');
});

test('a resolve is always retried at a stateful receiver; a stateless one needs only the newest state', async (t) => {
  const { change, attempt, outcomesOf, pagerduty, discord } = await prepare(t);
  for (const [index, verdict] of (['down', 'up', 'down'] as const).entries()) {
    const atMs = START_MS + 1000 * index;
    await change(verdict, atMs);
    for (const channelId of [pagerduty, discord])
      await attempt(channelId, atMs, verdict === 'up' ? { retryAtMs: START_MS + 60_000 } : {});
  }
  t.is(await attempt(pagerduty, START_MS + 60_000), 'monitor.up');
  t.is(await attempt(discord, START_MS + 60_000), null);
  t.deepEqual(await outcomesOf(pagerduty), ['delivered', 'delivered', 'delivered']);
  t.deepEqual(await outcomesOf(discord), ['delivered', 'superseded', 'delivered']);
});

test('a resolve is not retried after its incident was reopened: the open alert has its key', async (t) => {
  const { runtime, change, attempt, claim, record, outcomesOf, pagerduty } = await prepare(t);
  await runtime.database.pool.query('UPDATE monitors SET reopen_seconds = 300');
  const ids = new Set<string | null>();
  for (const [index, verdict] of (['down', 'up', 'down'] as const).entries()) {
    const atMs = START_MS + 1000 * index;
    await change(verdict, atMs);
    const claimed = await claim(pagerduty, atMs);
    if (claimed !== null) ids.add((claimed.message as MonitorMessage).detail.incident_id);
    await record(claimed, verdict === 'up' ? { retryAtMs: START_MS + 60_000 } : {});
  }
  t.is(ids.size, 1);
  t.is(await attempt(pagerduty, START_MS + 60_000), null);
  t.deepEqual(await outcomesOf(pagerduty), ['delivered', 'superseded', 'delivered']);
  await change('up', START_MS + 70_000);
  t.is(await attempt(pagerduty, START_MS + 70_000), 'monitor.up');
});

test('an incident opened by a monitor flapping beyond its rate limit is resolved at the receiver', async (t) => {
  const { runtime, change, claim, record, pagerduty } = await prepare(t);
  const open = new Set<string>();
  const drain = async (nowMs: number) => {
    for (let claimed = await claim(pagerduty, nowMs); claimed !== null; claimed = await claim(pagerduty, nowMs)) {
      const { detail, event } = claimed.message as MonitorMessage;
      if (event === 'monitor.up') open.delete(detail.incident_id ?? '');
      else open.add(detail.incident_id ?? '');
      await record(claimed, {});
    }
  };
  // The rate allows three changes: an incident is open there when the rate is used up.
  await runtime.database.pool.query(`INSERT INTO delivery_rates (key, used_up) SELECT id, $1 FROM monitors`, [
    START_MS + (240 + 2 * 2 - 6) * 1000,
  ]);
  for (let turn = 0; turn < 20; turn += 1) await change(turn % 2 === 0 ? 'down' : 'up', START_MS + 100 * turn);
  await drain(START_MS + 2000);
  t.is(open.size, 1);
  await drain(START_MS + 3_600_000);
  t.deepEqual([...open], []);
  const { rows } = await runtime.database.pool.query(
    'SELECT count(*)::int AS deliveries FROM deliveries WHERE channel_id = $1',
    [pagerduty],
  );
  t.true(rows[0].deliveries <= 6, `${rows[0].deliveries} deliveries`);
});

for (const [what, end] of [
  ['paused', pauseMonitor],
  ['deleted', deleteMonitor],
] as const)
  test(`a monitor that is ${what} while down leaves no alert open at a receiver`, async (t) => {
    const { runtime, monitor, change, attempt, claim, record, outcomesOf, pagerduty, discord } = await prepare(t);
    await change('down', START_MS);
    const down = await claim(pagerduty, START_MS);
    await record(down, {});
    await attempt(discord, START_MS);
    const key = { tenantId: runtime.tenantId, id: monitor.id, author: null };
    await end(runtime.database, { ...key, nowMs: START_MS + 5000 });
    const up = await claim(pagerduty, START_MS + 5000);
    const [opened, resolved] = [await requestOf(down), await requestOf(up)];
    t.like(opened, { event_action: 'trigger' });
    t.like(resolved, { event_action: 'resolve', dedup_key: opened['dedup_key'], routing_key: 'k' });
    // Like any resolve it is retried, although its monitor no longer exists.
    await record(up, { retryAtMs: START_MS + 10_000 });
    t.is(await attempt(pagerduty, START_MS + 10_000), 'monitor.up');
    t.deepEqual(await outcomesOf(pagerduty), ['delivered', 'delivered']);
    t.deepEqual(await outcomesOf(discord), ['delivered']);
  });

for (const [what, end] of [
  ['paused', pauseMonitor],
  ['deleted', deleteMonitor],
] as const)
  test(`a monitor that is ${what} while unknown leaves no alert open at a receiver`, async (t) => {
    const { runtime, monitor, claim, fallSilent, pagerduty } = await prepare(t);
    const { unknown, silentMs } = await fallSilent(pagerduty);
    const key = { tenantId: runtime.tenantId, id: monitor.id, author: null };
    await end(runtime.database, { ...key, nowMs: silentMs + 5000 });
    const [opened, resolved] = [await requestOf(unknown), await requestOf(await claim(pagerduty, silentMs + 5000))];
    t.like(opened, { event_action: 'trigger' });
    t.like(resolved, { event_action: 'resolve', dedup_key: opened['dedup_key'] });
  });

test('a recovery also resolves the alert of an unknown state if the down alert never arrived', async (t) => {
  const { change, attempt, claim, record, fallSilent, pagerduty } = await prepare(t);
  const { unknown, silentMs } = await fallSilent(pagerduty);
  const opened = await requestOf(unknown);
  await change('down', silentMs + 1000);
  await attempt(pagerduty, silentMs + 1000, { retryAtMs: silentMs + 60_000 });
  await change('up', silentMs + 2000);
  const up = await claim(pagerduty, silentMs + 2000);
  t.is(up?.event, 'monitor.up');
  const resolved = await requestsOf(up);
  t.deepEqual(
    resolved.map((request) => [request['event_action'], request['dedup_key'] === opened['dedup_key']]),
    [
      ['resolve', false],
      ['resolve', true],
    ],
  );
  await record(up, {});
  await change('down', silentMs + 3000);
  t.is((await requestsOf(await claim(pagerduty, silentMs + 3000))).length, 1);
});

/** Returns the first request for a claimed delivery. */
async function requestOf(claimed: ClaimedAttempt | null): Promise<Record<string, unknown>> {
  return (await requestsOf(claimed))[0] ?? {};
}

/** Returns the requests for a claimed delivery. */
async function requestsOf(claimed: ClaimedAttempt | null): Promise<Record<string, unknown>[]> {
  if (claimed === null || claimed.webhook === null) throw new Error('There is nothing to send');
  const { webhook, tenantId, deliveryId, resolvesUnknown, message } = claimed;
  const renderer = { render: () => Promise.reject(new Error('A preset has no template')) };
  const delivery = { ...webhook, account: tenantId, deliveryId, resolvesUnknown, message: message as MonitorMessage };
  const { requests } = await prepareRequests(delivery, { nowMs: START_MS, renderer });
  return requests.map(({ body }) => JSON.parse(body.toString('utf8')));
}

/** Sets up a monitor that has been up for a long time, with webhooks of two presets. */
async function prepare(t: ExecutionContext) {
  const runtime = await openTestRuntime(t);
  const { database, tenantId, newId } = runtime;
  const agent = await runtime.addAgent('local');
  const monitor = await runtime.addMonitor([agent], { name: 'Shop', downAfterFailures: 1 });
  let steps = 0;
  const change = async (verdict: Verdict, atMs: number) => {
    steps += 1;
    const evaluate = createEvaluator({ ...runtime, now: () => atMs });
    return await evaluate([resultOf(monitor, agent, { dueAtMs: atMs - 1000 + 10 * steps, verdict })]);
  };
  await change('up', START_MS - 100_000);
  const addChannel = async (preset: WebhookPreset) => {
    const id = newId('nch');
    await createChannel(database, {
      id,
      tenantId,
      type: 'webhook',
      name: preset,
      status: 'connected',
      allMonitors: true,
      monitorIds: [],
      webhook: { url: 'https://hooks.example/?routing_key=k', signingSecret: 'whsec_AAAA', format: { preset } },
      nowMs: START_MS,
      author: null,
    });
    return id;
  };
  const claim = (channelId: string, nowMs: number) =>
    claimNextDelivery(database, channelId, { nowMs, claimMs: CLAIM_MS });
  const record = async (claimed: Awaited<ReturnType<typeof claim>>, { retryAtMs = null }: Outcome) => {
    if (claimed === null) return;
    const isRecorded = await recordAttempt(database, {
      deliveryId: claimed.deliveryId,
      attempt: claimed.attempt,
      outcome: retryAtMs === null ? 'delivered' : 'retry',
      statusCode: retryAtMs === null ? 202 : 502,
      durationMs: 5,
      error: null,
      response: null,
      finishedAtMs: START_MS,
      nextAttemptAtMs: retryAtMs,
    });
    t.true(isRecorded);
  };
  return {
    runtime,
    monitor,
    change,
    claim,
    record,
    pagerduty: await addChannel('pagerduty'),
    discord: await addChannel('discord'),
    /** Makes the next attempt of a channel, and returns its event; null if none is due. */
    async attempt(channelId: string, nowMs: number, outcome: Outcome = {}) {
      const claimed = await claim(channelId, nowMs);
      await record(claimed, outcome);
      return claimed?.event ?? null;
    },
    /** Makes the monitor unknown ten minutes after the start, and notifies the channel. */
    async fallSilent(channelId: string) {
      const silentMs = START_MS + 600_000;
      await database.pool.query('UPDATE agents SET last_seen_at = last_seen_at + 100000');
      for (let nowMs = START_MS; nowMs <= silentMs; nowMs += 10_000) await sweep({ ...runtime, now: () => nowMs });
      const unknown = await claim(channelId, silentMs);
      if (unknown?.event !== 'monitor.unknown') throw new Error(`It is ${unknown?.event}`);
      await record(unknown, {});
      return { unknown, silentMs };
    },
    outcomesOf: async (channelId: string) =>
      (
        await database.pool.query<{ outcome: string }>(
          'SELECT outcome FROM deliveries WHERE channel_id = $1 ORDER BY no',
          [channelId],
        )
      ).rows.map(({ outcome }) => outcome),
  };
}

/** Outcome of an attempt: delivered, or to be retried at a time in Unix milliseconds. */
type Outcome = { retryAtMs?: number | null };
