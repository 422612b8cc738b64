import { randomBytes } from 'node:crypto';
import type { RequestListener } from 'node:http';
import { json, text as readText } from 'node:stream/consumers';
import test, { type ExecutionContext } from 'ava';
import { Webhook } from 'standardwebhooks';
import { buildChannelMessage } from '../../../core/alerts/channel-message.ts';
import type { ChannelType } from '../../../core/alerts/channel.ts';
import { buildTestMessage } from '../../../core/alerts/envelope.ts';
import type { WebhookFormat } from '../../../core/alerts/webhook.ts';
import { createChannel, updateChannel } from '../../../models/alerts/channels.ts';
import { insertDeliveries } from '../../../models/alerts/deliveries.ts';
import { reopenDelivery } from '../../../models/alerts/delivery-record.ts';
import { rotateSigningSecret } from '../../../models/alerts/webhook-secrets.ts';
import { closeDatabase, type Database } from '../../../models/database.ts';
import { createIdSource } from '../../../models/secrets/ids.ts';
import { runOn } from '../../../models/sql.ts';
import { createHttpClient } from '../../../net/http-client.ts';
import { NO_CONNECTION, unsuccessful, type ChannelAttempt } from '../../../notifications/attempt-result.ts';
import { attemptWebhook } from '../../../notifications/webhook/attempt.ts';
import { createWebhookAgent } from '../../../notifications/webhook/sending.ts';
import { generateSigningSecret } from '../../../notifications/webhook/signature.ts';
import { createTemplateRenderer, type TemplateRenderer } from '../../../notifications/webhook/template/renderer.ts';
import type { DueAttempt } from '../../../queues/job-queues.ts';
import { ChannelHealth } from '../../../workers/alerts/channel-health.ts';
import { ChannelLanes } from '../../../workers/alerts/channel-lanes.ts';
import type { DelivererParts } from '../../../workers/alerts/deliver.ts';
import { TestAuthority, type KeyPair } from '../../helpers/certificates.ts';
import { createTestDatabase, openTestDatabase, type TestDatabase } from '../../helpers/database.ts';
import { claimNextDelivery } from '../../helpers/deliveries.ts';
import { startHttpServer } from '../../helpers/http-server.ts';
import { until } from '../../helpers/until.ts';
import { DELIVERED, createDeliverer } from './create-deliverer.ts';

const DEADLINE_MS = 60_000;
const START_MS = Date.now();
const MESSAGE = buildTestMessage({ nowMs: START_MS, publicUrl: 'https://spotcheck.example' });
/** This message goes to chats only, and no newer change of a monitor makes its retries superfluous. */
const CHAT_MESSAGE = buildChannelMessage({
  channel: { id: 'nch_other', name: 'Other', type: 'webhook' },
  failures: 100,
  failingSinceMs: 0,
  lastError: 'gone',
  nowMs: START_MS,
  publicUrl: 'https://spotcheck.example',
});

let testDatabase: TestDatabase;
let database: Database;
let keys: KeyPair;
let made = 0;

test.before(async () => {
  const authority = await TestAuthority.create();
  authority.trust();
  keys = await authority.issue({ hosts: ['127.0.0.1'] });
  testDatabase = await createTestDatabase();
  database = openTestDatabase(testDatabase.databaseUrl);
});

test.after.always(async () => {
  await closeDatabase(database);
  await testDatabase.drop();
});

test('a delivery with a 2xx response is finished, recorded, counted and logged', async (t) => {
  const { deliver, receiver, log, outcomes } = await prepare(t, (_request, response) => void response.end('ok'));
  const { id, channelId } = await addDelivery(receiver.url);
  t.deepEqual(await deliver(channelId), { delivered: 1 });
  t.like(await deliveryOf(id), { outcome: 'delivered', attempts: 1, claimed_until: null });
  t.like((await attemptsOf(id))[0], {
    attempt: 1,
    outcome: 'delivered',
    status_code: 200,
    error: null,
    response: 'ok',
  });
  t.deepEqual(outcomes, ['delivered']);
  const [line] = log;
  t.like(line, {
    text: 'delivery.attempted',
    delivery_id: id,
    channel_id: channelId,
    monitor_id: `mon_of_${id}`,
    attempt: 1,
    outcome: 'delivered',
  });
  t.is(typeof line?.['duration_ms'], 'number');
});

test('neither the log nor the rows of an attempt contain the URL or the secret', async (t) => {
  const { deliver, receiver, log } = await prepare(t, (_request, response) => void response.writeHead(500).end());
  const { id, channelId, signingSecret } = await addDelivery(`${receiver.url}hidden-path`);
  await deliver(channelId);
  const shown = JSON.stringify([log, await attemptsOf(id), await deliveryOf(id)]);
  t.false(shown.includes('hidden-path'));
  t.false(shown.includes(signingSecret));
});

test('one job delivers everything due on its channel, longest due first, and nothing of another channel', async (t) => {
  const ids: unknown[] = [];
  const held: (() => void)[] = [];
  const { deliver, receiver } = await prepare(t, async (request, response) => {
    ids.push(((await json(request)) as { delivery_id: unknown }).delivery_id);
    held.push(() => response.end());
  });
  const [first, other] = [await addDelivery(receiver.url), await addDelivery(receiver.url)];
  const all = [first.id];
  for (let count = 0; count < 11; count += 1) all.push(await addDeliveryTo(first));
  const delivering = deliver(first.channelId);
  await until(() => held.length === 4);
  t.deepEqual(ids.toSorted(), all.slice(0, 4).toSorted());
  for (let answered = 0; answered < 12; answered += 1) (await until(() => held[answered]))();
  t.deepEqual(await delivering, { delivered: 12 });
  t.deepEqual(ids.toSorted(), all.toSorted());
  t.is((await deliveryOf(other.id)).outcome, 'pending');
});

test('a 500 is retried after about five seconds, with the same id, and then delivered', async (t) => {
  const ids: unknown[] = [];
  const { deliver, receiver, clock, retries } = await prepare(t, async (request, response) => {
    ids.push(((await json(request)) as { delivery_id: unknown }).delivery_id);
    response.writeHead(ids.length === 1 ? 500 : 200).end();
  });
  const { id, channelId } = await addDelivery(receiver.url);
  t.deepEqual(await deliver(channelId), { retry: 1 });
  const [retry] = retries;
  const retryInMs = (retry?.dueAtMs ?? 0) - clock.now();
  t.true(retryInMs >= 4000 && retryInMs <= 6000, `${retryInMs} ms`);
  t.like(retry, { deliveryId: id, channelId, attempt: 2 });
  t.like((await attemptsOf(id))[0], { outcome: 'retry', status_code: 500, error: 'The endpoint responded with 500' });
  clock.offsetMs += retryInMs;
  t.deepEqual(await deliver(channelId), { delivered: 1 });
  t.deepEqual(ids, [id, id]);
  t.like(await deliveryOf(id), { outcome: 'delivered', attempts: 2 });
});

test('a job that runs before the retry is due makes no attempt', async (t) => {
  const { deliver, receiver, clock } = await prepare(t, (_request, response) => void response.writeHead(503).end());
  const { channelId } = await addDelivery(receiver.url);
  t.deepEqual(await deliver(channelId), { retry: 1 });
  clock.offsetMs += 1000;
  t.deepEqual(await deliver(channelId), {});
  t.is(receiver.requests(), 1);
});

test('an attempt whose record was the victim of a deadlock is recorded, and its message is sent once', async (t) => {
  const { deliver, receiver } = await prepare(t, (_request, response) => void response.end('ok'));
  const { id, channelId } = await addDelivery(receiver.url);
  await database.pool.query(`CREATE SEQUENCE records;
    CREATE FUNCTION fall_victim() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      IF nextval('records') < 3 THEN RAISE EXCEPTION 'victim' USING ERRCODE = 'deadlock_detected'; END IF;
      RETURN NEW; END $$;
    CREATE TRIGGER victim BEFORE UPDATE ON deliveries FOR EACH ROW
      WHEN (NEW.id = '${id}' AND NEW.outcome = 'delivered') EXECUTE FUNCTION fall_victim()`);
  t.deepEqual(await deliver(channelId), { delivered: 1 });
  t.is(receiver.requests(), 1);
  t.like(await deliveryOf(id), { outcome: 'delivered', attempts: 1, claimed_until: null });
  t.like(await attemptsOf(id), [{ attempt: 1, outcome: 'delivered' }]);
});

test('after three retries a delivery fails, and no further job is added', async (t) => {
  const { deliver, receiver, clock, retries } = await prepare(
    t,
    (_request, response) => void response.writeHead(500).end(),
  );
  const { id, channelId } = await addDelivery(receiver.url);
  const results: Record<string, number>[] = [];
  for (let run = 1; run <= 4; run += 1) {
    results.push(await deliver(channelId));
    clock.offsetMs += 200_000;
  }
  t.deepEqual(results, [{ retry: 1 }, { retry: 1 }, { retry: 1 }, { failed: 1 }]);
  t.deepEqual(
    retries.map((retry) => retry.attempt),
    [2, 3, 4],
  );
  t.deepEqual(await deliver(channelId), {});
  t.is(receiver.requests(), 4);
  t.like(await deliveryOf(id), { outcome: 'failed', attempts: 4 });
  t.is((await attemptsOf(id)).at(-1)?.outcome, 'failed');
});

test('a resolve that its receiver rejects twenty times is delivered with the twenty-first attempt', async (t) => {
  let lost = 0;
  const { deliver, clock, receiver, retries } = await prepare(t, (_request, response) => {
    lost += 1;
    response.writeHead(lost <= 20 ? [500, 429, 403][lost % 3]! : 202).end();
  });
  const { id, channelId } = await addDelivery(`${receiver.url}?routing_key=k`, 'webhook', {
    preset: 'pagerduty',
  });
  await database.pool.query(
    `UPDATE deliveries SET message = jsonb_set(message::jsonb, '{detail,incident_id}', '"inc_1"') WHERE id = $1`,
    [id],
  );
  for (let attempt = 1; attempt <= 21; attempt += 1) {
    t.deepEqual(await deliver(channelId), attempt <= 20 ? { retry: 1 } : { delivered: 1 }, `attempt ${attempt}`);
    const waitMs = (retries.at(-1)?.dueAtMs ?? 0) - clock.now();
    t.true(waitMs <= 1.2 * 3_600_000);
    clock.offsetMs += Math.max(0, waitMs);
  }
  t.like(await deliveryOf(id), { outcome: 'delivered', attempts: 21 });
});

test('a channel has at most a thousand resolves that are retried beyond the normal schedule', async (t) => {
  const { deliver, clock, receiver } = await prepare(t, (_request, response) => void response.writeHead(400).end());
  const { id, tenantId, channelId } = await addDelivery(`${receiver.url}?routing_key=k`, 'webhook', {
    preset: 'pagerduty',
  });
  const late = (count: number) =>
    database.pool.query(
      `INSERT INTO deliveries
         (id, tenant_id, channel_id, monitor_id, event, message, next_attempt_at, created_at, attempts)
       SELECT 'late_' || n, $1, $2, 'mon_' || n, event, message, $4, 0, 9 FROM deliveries, generate_series(1, $3::int) n
       WHERE id = $5`,
      [tenantId, channelId, count, clock.now() + 86_400_000, id],
    );
  const resolve = async () => {
    const next = await addDeliveryTo({ tenantId, channelId });
    await database.pool.query(
      `UPDATE deliveries SET message = jsonb_set(message::jsonb, '{detail,incident_id}', '"inc_1"') WHERE id = $1`,
      [next],
    );
    for (let attempt = 1; attempt <= 4; attempt += 1) {
      await deliver(channelId);
      clock.offsetMs += 200_000;
    }
    return await deliveryOf(next);
  };
  await deliver(channelId);
  await late(999);
  t.like(await resolve(), { outcome: 'pending', attempts: 4 });
  t.like(await resolve(), { outcome: 'failed', attempts: 4 });
});

test('if a template fails to render, the signed envelope is sent instead, and the attempt says so', async (t) => {
  const bodies: { event?: string; title?: string }[] = [];
  const { deliver, receiver } = await prepare(t, async (request, response) => {
    bodies.push((await json(request)) as (typeof bodies)[number]);
    response.end();
  });
  const send = async (body: string) => {
    const template = { method: 'PUT', contentType: 'application/json', body } as const;
    const { id, channelId } = await addDelivery(receiver.url, 'webhook', { template });
    t.deepEqual(await deliver(channelId), { delivered: 1 });
    return (await attemptsOf(id))[0];
  };
  t.like(await send('{"title": {{ title | json }}}'), { outcome: 'delivered', error: null });
  t.deepEqual(bodies.at(-1), { title: 'Recovered: Test delivery' });
  const failed = await send('{"title": {% for each in (1..9999999) %}{{ each }}{% endfor %}}');
  t.like(failed, { outcome: 'delivered', status_code: 200 });
  t.regex(String(failed?.error), /^The signed envelope was sent instead: template\.body renders too much/);
  t.is(bodies.at(-1)?.event, 'monitor.up');
  t.regex(String((await send('{"title": "{{ reason }}""}'))?.error), /valid JSON/);
  t.is(bodies.at(-1)?.event, 'monitor.up');
});

test('a template that times out is retried, and only the last attempt sends the envelope instead', async (t) => {
  const bodies: { event?: string }[] = [];
  const render = async () => ({ ok: false, problem: 'was not rendered within 3 s', isLate: true }) as const;
  const { clock, deliver, receiver } = await prepare(
    t,
    async (request, response) => {
      bodies.push((await json(request)) as (typeof bodies)[number]);
      response.writeHead(400).end();
    },
    { renderer: { render } },
  );
  const template = { method: 'PUT', contentType: 'text/plain', body: 'x' } as const;
  const { id, channelId } = await addDelivery(receiver.url, 'webhook', { template });
  for (let attempt = 1; attempt <= 3; attempt += 1) {
    t.deepEqual(await deliver(channelId), { retry: 1 });
    clock.offsetMs += Math.max(0, (await deliveryOf(id)).next_attempt_at - clock.now());
  }
  t.deepEqual(bodies, []);
  t.is((await attemptsOf(id))[2]?.error, 'template.body was not rendered within 3 s');
  t.deepEqual(await deliver(channelId), { failed: 1 });
  t.is(bodies[0]?.event, 'monitor.up');
});

test('a 404 is final after one attempt', async (t) => {
  const { deliver, receiver, retries } = await prepare(t, (_request, response) => void response.writeHead(404).end());
  const { id, channelId } = await addDelivery(receiver.url);
  t.deepEqual(await deliver(channelId), { failed: 1 });
  t.deepEqual(retries, []);
  t.is((await deliveryOf(id)).outcome, 'failed');
});

test('a job run four times concurrently, in two processes, sends one request', async (t) => {
  const [one, another] = [
    await prepare(t, (_request, response) => void response.end()),
    await prepare(t, (_request, response) => void response.end()),
  ];
  const { id, channelId } = await addDelivery(one.receiver.url);
  const results = await Promise.all([one, another, one, another].map(({ deliver }) => deliver(channelId)));
  t.is(results.filter((result) => result['delivered'] === 1).length, 1);
  t.is(one.receiver.requests(), 1);
  t.like(await deliveryOf(id), { outcome: 'delivered', attempts: 1 });
});

test('an attempt interrupted by a crash is repeated when its claim expires, and counts as an attempt', async (t) => {
  const { deliver, receiver, clock } = await prepare(t, (_request, response) => void response.end());
  const { id, channelId } = await addDelivery(receiver.url);
  await claimNextDelivery(database, channelId, { nowMs: clock.now(), claimMs: 10_000 });
  t.deepEqual(await deliver(channelId), {});
  clock.offsetMs += 10_000;
  t.deepEqual(await deliver(channelId), { delivered: 1 });
  t.deepEqual(
    (await attemptsOf(id)).map(({ attempt, outcome }) => ({ attempt, outcome })),
    [
      { attempt: 1, outcome: null },
      { attempt: 2, outcome: 'delivered' },
    ],
  );
  t.is(receiver.requests(), 1);
});

test('a response after the claim expired leaves the delivery to its current holder', async (t) => {
  const held: (() => void)[] = [];
  const { deliver, receiver, clock, retries } = await prepare(
    t,
    (_request, response) => void held.push(() => response.writeHead(500).end()),
  );
  const { id, channelId } = await addDelivery(receiver.url);
  const run = deliver(channelId);
  await until(() => held.length === 1);
  await claimNextDelivery(database, channelId, { nowMs: clock.now() + DEADLINE_MS + 7000, claimMs: 10_000 });
  held[0]?.();
  t.deepEqual(await run, { skipped: 1 });
  t.deepEqual(retries, []);
  t.like(await deliveryOf(id), { outcome: 'pending', attempts: 2 });
});

test('a worker that stalled past its claim sends nothing and releases the delivery', async (t) => {
  const prepared = await prepare(t, (_request, response) => void response.end());
  const { deliverer, deliver, receiver, clock, retries, log } = prepared;
  const first = await addDelivery(receiver.url);
  await addDeliveryTo(first, `mon_of_${first.id}`);
  // More attempts than a delivery has.
  for (let stood = 1; stood <= 5; stood += 1) {
    const { claimed } = await deliverer.claim(first.channelId);
    if (claimed === null) throw new Error('There is a delivery to claim');
    t.is(claimed.deliveryId, first.id, 'the other alert of the monitor is not claimed first');
    clock.offsetMs += 2 * DEADLINE_MS;
    t.is(await deliverer.attempt(claimed), 'skipped');
    t.like(retries.at(-1), { deliveryId: first.id });
  }
  t.is(receiver.requests(), 0);
  t.deepEqual(
    log.map(({ text }) => text),
    Array.from({ length: 5 }, () => 'delivery.claim_expired'),
  );
  t.deepEqual(await attemptsOf(first.id), []);
  t.deepEqual(await deliver(first.channelId), { delivered: 2 });
});

test('a stalled worker does not release a delivery that another worker has claimed since', async (t) => {
  const { deliverer, receiver, clock } = await prepare(t, (_request, response) => void response.end());
  const { id, channelId } = await addDelivery(receiver.url);
  const { claimed } = await deliverer.claim(channelId);
  if (claimed === null) throw new Error('There is a delivery to claim');
  clock.offsetMs += 2 * DEADLINE_MS;
  const claimedAtMs = clock.now();
  await claimNextDelivery(database, channelId, { nowMs: claimedAtMs, claimMs: 10_000 });
  t.is(await deliverer.attempt(claimed), 'skipped');
  t.like(await deliveryOf(id), { outcome: 'pending', attempts: 2, claimed_until: claimedAtMs + 10_000 });
  const numbers = (await attemptsOf(id)).map(({ attempt }) => attempt);
  t.deepEqual(numbers, [1, 2], 'a lost record would make a postponement count as an attempt');
});

test('a delivery gets at most four attempts, including those interrupted by a crash', async (t) => {
  const { deliver, receiver, clock } = await prepare(t, (_request, response) => void response.writeHead(500).end());
  const dieInside = async (channelId: string, times: number): Promise<void> => {
    for (let attempt = 1; attempt <= times; attempt += 1) {
      await claimNextDelivery(database, channelId, { nowMs: clock.now(), claimMs: 1000 });
      clock.offsetMs += 1000;
    }
  };
  const [thrice, often] = [await addDelivery(receiver.url), await addDelivery(receiver.url)];
  await dieInside(thrice.channelId, 3);
  t.deepEqual(await deliver(thrice.channelId), { failed: 1 }, 'the fourth attempt is the last');
  t.is(receiver.requests(), 1);
  await dieInside(often.channelId, 4);
  t.deepEqual(await deliver(often.channelId), { failed: 1 });
  t.is(receiver.requests(), 1, 'there is no fifth request');
  t.is((await attemptsOf(often.id)).at(-1)?.error, 'Gave up: earlier attempts were interrupted or postponed');
});

test('a delivery to a channel that was disabled meanwhile fails with that reason', async (t) => {
  const { deliver, receiver } = await prepare(t, (_request, response) => void response.end());
  const { id, tenantId, channelId } = await addDelivery(receiver.url);
  await updateChannel(database, { tenantId, id: channelId, author: null }, { enabled: false });
  t.deepEqual(await deliver(channelId), { failed: 1 });
  t.is((await attemptsOf(id))[0]?.error, 'The channel is disabled');
  t.is(receiver.requests(), 0);
});

test('a delivery to Telegram is retried with a clear error while the installation has no bot', async (t) => {
  const { deliver } = await prepare(t, (_request, response) => void response.end());
  const { id, channelId } = await addDelivery('https://unused.example/', 'telegram');
  t.deepEqual(await deliver(channelId), { retry: 1 });
  t.is((await attemptsOf(id))[0]?.error, 'Telegram is not configured on this installation');
});

/** Result of the bot while it exceeds the rate limit of all chats, or is broken. */
const tooMany = (retryAfterMs: number): ChannelAttempt => ({
  ...DELIVERED,
  outcome: 'retry',
  statusCode: 429,
  error: 'Telegram responded with 429: Too Many Requests',
  retryAfterMs,
});
const NO_ROOM = unsuccessful('retry', NO_CONNECTION);
const BROKEN: ChannelAttempt = { ...DELIVERED, outcome: 'retry', statusCode: 502, error: 'Bad gateway' };

/**
 * Creates a Telegram channel whose bot returns these results in order, the last one repeatedly; each job runs when due.
 */
async function prepareBot(t: ExecutionContext, ...answers: ChannelAttempt[]) {
  const answer = () => Promise.resolve((answers.length > 1 ? answers.shift() : answers[0]) ?? DELIVERED);
  const prepared = await prepare(t, (_request, response) => void response.end(), {
    sendTelegram: answer,
    sendEmail: answer,
  });
  const { id, channelId } = await addDelivery('https://unused.example/', 'telegram');
  await database.pool.query('UPDATE channels SET chat_id = $1, sealed_url = NULL WHERE id = $1', [channelId]);
  await database.pool.query('UPDATE deliveries SET monitor_id = NULL, event = $2, message = $3 WHERE id = $1', [
    id,
    CHAT_MESSAGE.event,
    CHAT_MESSAGE,
  ]);
  const { clock, deliver } = prepared;
  const deliverWhenDue = async () => {
    const { next_attempt_at: dueAtMs } = await deliveryOf(id);
    const waitMs = Math.max(0, dueAtMs - clock.now());
    clock.offsetMs += waitMs;
    return { outcomes: await deliver(channelId), waitMs };
  };
  return { ...prepared, id, channelId, deliverWhenDue };
}

test('a rate limit of the whole bot uses up no attempts of an alert for an hour', async (t) => {
  const { clock, id, channelId, deliverWhenDue } = await prepareBot(t, tooMany(3000));
  const startedAtMs = clock.now();
  let attempts = 0;
  while (clock.now() - startedAtMs <= 3_600_000) {
    const { outcomes, waitMs } = await deliverWhenDue();
    t.deepEqual(outcomes, { retry: 1 });
    attempts += 1;
    t.true(waitMs <= 150_000 && attempts <= 50, `attempt ${attempts} after ${waitMs} ms`);
  }
  t.true(attempts > 20, String(attempts));
  // From then on no delivery waits forever.
  const outcomes: unknown[] = [];
  while ((await deliveryOf(id)).outcome === 'pending') outcomes.push((await deliverWhenDue()).outcomes);
  t.true(outcomes.length <= 4, String(outcomes.length));
  t.deepEqual(outcomes.at(-1), { failed: 1 });
  const { rows } = await database.pool.query('SELECT last_error, failures FROM channels WHERE id = $1', [channelId]);
  t.deepEqual(rows, [{ last_error: null, failures: 0 }]);
});

test('rate limits of the whole bot leave an alert its four attempts', async (t) => {
  const { id, deliverWhenDue } = await prepareBot(t, ...Array.from({ length: 6 }, () => tooMany(40_000)), BROKEN);
  const outcomes: unknown[] = [];
  for (let attempt = 1; attempt <= 10; attempt += 1) {
    const next = await deliverWhenDue();
    outcomes.push(next.outcomes);
    if (attempt >= 2 && attempt <= 7) t.true(next.waitMs >= 30_000, `attempt ${attempt} after ${next.waitMs} ms`);
  }
  t.deepEqual(outcomes, [...Array.from({ length: 9 }, () => ({ retry: 1 })), { failed: 1 }]);
  t.like(await deliveryOf(id), { outcome: 'failed', attempts: 10 });

  const late = await prepareBot(t, ...Array.from({ length: 6 }, () => tooMany(0)), DELIVERED);
  for (let attempt = 1; attempt <= 7; attempt += 1) await late.deliverWhenDue();
  t.like(await deliveryOf(late.id), { outcome: 'delivered', attempts: 7 });
});

/** Keeps the retries of a channel's deliveries, whose monitors do not exist. */
async function keepRetries(channelId: string): Promise<void> {
  await database.pool.query(`UPDATE deliveries SET event = 'test' WHERE channel_id = $1`, [channelId]);
}

test('a large outage exceeds the rate limit of a preset receiver without losing an alert', async (t) => {
  const { deliver, clock, receiver } = await prepare(t, (_request, response) => {
    takenInMinute.set(minute(), (takenInMinute.get(minute()) ?? 0) + 1);
    response.writeHead((takenInMinute.get(minute()) ?? 0) <= 5 ? 204 : 429).end();
  });
  const takenInMinute = new Map<number, number>();
  const minute = () => Math.floor(clock.now() / 60_000);
  const channel = await addDelivery(receiver.url, 'webhook', { preset: 'discord' });
  for (let alerts = 1; alerts < 40; alerts += 1) await addDeliveryTo(channel);
  await keepRetries(channel.channelId);
  const query = 'SELECT DISTINCT outcome FROM deliveries WHERE channel_id = $1';
  const outcomesOf = async () =>
    (await database.pool.query(query, [channel.channelId])).rows.map(({ outcome }) => outcome);
  while (clock.offsetMs < 3_600_000 && (await outcomesOf()).includes('pending')) {
    await deliver(channel.channelId);
    clock.offsetMs += 10_000;
  }
  t.deepEqual(await outcomesOf(), ['delivered']);
});

/** Waits for the end of a channel's pause, and until a delivery of it is due. */
async function waitForTurn(channelId: string, clock: { now: () => number; offsetMs: number }): Promise<void> {
  const { rows } = await database.pool.query(
    `SELECT greatest(quiet_until, (SELECT min(next_attempt_at) FROM deliveries d
       WHERE d.channel_id = c.id AND outcome = 'pending')) AS at FROM channels c WHERE id = $1`,
    [channelId],
  );
  clock.offsetMs += Math.max(0, (rows[0].at ?? 0) - clock.now());
}

test('a preset receiver that takes one message a second gets all alerts of a large outage soon', async (t) => {
  let takenAtMs = 0;
  const { deliver, clock, receiver } = await prepare(t, (_request, response) => {
    const isTaken = clock.now() - takenAtMs >= 1000;
    if (isTaken) takenAtMs = clock.now();
    response.writeHead(isTaken ? 200 : 429).end();
  });
  const { channelId, tenantId } = await addDelivery(receiver.url, 'webhook', { preset: 'google_chat' });
  for (let alerts = 1; alerts < 120; alerts += 1) await addDeliveryTo({ channelId, tenantId });
  await keepRetries(channelId);
  const query = `SELECT count(*) AS left FROM deliveries WHERE channel_id = $1 AND outcome <> 'delivered'`;
  const countLeft = async () => (await database.pool.query(query, [channelId])).rows[0].left;
  const deliverUntil = async (minute: number) => {
    while (clock.offsetMs < minute * 60_000 && (await countLeft()) > 0) {
      await deliver(channelId);
      await waitForTurn(channelId, clock);
    }
    return await countLeft();
  };
  const left = await deliverUntil(5);
  t.true(left <= 30, `${left} left after five minutes`);
  t.is(await deliverUntil(15), 0);
});

for (const [headers, longestMs] of [
  [{}, 1000],
  [{ 'Retry-After': '3600' }, 300_000],
] as const)
  test(`a preset receiver that always limits fails its channel at once, ${JSON.stringify(headers)}`, async (t) => {
    const { deliver, clock, receiver } = await prepare(
      t,
      (_request, response) => void response.writeHead(429, headers).end(),
    );
    const channel = await addDelivery(receiver.url, 'webhook', { preset: 'discord' });
    for (let alerts = 1; alerts < 8; alerts += 1) await addDeliveryTo(channel);
    await keepRetries(channel.channelId);
    const channelOf = async () => {
      const query = 'SELECT last_error, failures, quiet_until FROM channels WHERE id = $1';
      return (await database.pool.query(query, [channel.channelId])).rows[0];
    };
    await deliver(channel.channelId);
    const afterFirst = await channelOf();
    t.is(afterFirst.last_error, 'The endpoint responded with 429');
    // Only the first lanes had begun.
    t.is(receiver.requests(), afterFirst.failures);
    t.true(afterFirst.failures >= 1 && afterFirst.failures <= 4, String(afterFirst.failures));
    let pauses = 0;
    while ((await deliveryOf(channel.id)).outcome === 'pending') {
      const pauseMs = (await channelOf()).quiet_until - clock.now();
      t.true(pauseMs <= longestMs, String(pauseMs));
      await waitForTurn(channel.channelId, clock);
      await deliver(channel.channelId);
      pauses += 1;
    }
    t.true(clock.offsetMs > 3_600_000 && clock.offsetMs <= 3 * 3_600_000, String(clock.offsetMs));
    t.true(receiver.requests() <= 4 * (pauses + 1), `${receiver.requests()} requests, ${pauses} pauses`);
    // Each delivery counts once.
    t.true((await channelOf()).failures <= 8);
  });

test('a receiver with a preset gets nothing until the time that its Retry-After requests', async (t) => {
  const { deliver, clock, receiver } = await prepare(t, (_request, response) => {
    response.writeHead(429, { 'Retry-After': '90' }).end();
  });
  const channel = await addDelivery(receiver.url, 'webhook', { preset: 'discord' });
  await keepRetries(channel.channelId);
  t.deepEqual(await deliver(channel.channelId), { retry: 1 });
  t.true((await deliveryOf(channel.id)).next_attempt_at >= clock.now() + 90_000);
  await addDeliveryTo(channel);
  t.deepEqual(await deliver(channel.channelId), {});
  clock.offsetMs += 90_000;
  await deliver(channel.channelId);
  t.true(receiver.requests() > 1);

  const plain = await addDelivery(receiver.url);
  t.deepEqual(await deliver(plain.channelId), { failed: 1 });
  const next = await addDeliveryTo(plain);
  t.deepEqual(await deliver(plain.channelId), { failed: 1 });
  t.like(await deliveryOf(next), { attempts: 1 });
});

test('a resolve beyond the limit of late ones survives a rate limit like other alerts', async (t) => {
  let isLimited = true;
  const { deliver, clock, receiver } = await prepare(
    t,
    (_request, response) => void response.writeHead(isLimited ? 429 : 202).end(),
  );
  const { id, channelId, tenantId } = await addDelivery(receiver.url, 'webhook', { preset: 'opsgenie' });
  await database.pool.query(
    `UPDATE deliveries SET message = jsonb_set(message::jsonb, '{detail,incident_id}', '"inc_1"') WHERE id = $1`,
    [id],
  );
  await database.pool.query(
    `INSERT INTO deliveries
       (id, tenant_id, channel_id, monitor_id, event, message, next_attempt_at, created_at, attempts)
     SELECT 'limited_' || n, $1, $2, 'mon_' || n, event, message, $3, 0, 9 FROM deliveries, generate_series(1, 1001) n
     WHERE id = $4`,
    [tenantId, channelId, clock.now() + 10 * 86_400_000, id],
  );
  for (let attempt = 1; attempt <= 6; attempt += 1) {
    t.deepEqual(await deliver(channelId), { retry: 1 }, `attempt ${attempt}`);
    clock.offsetMs += Math.max(0, (await deliveryOf(id)).next_attempt_at - clock.now());
  }
  isLimited = false;
  t.deepEqual(await deliver(channelId), { delivered: 1 });
});

test('a template whose receiver limits rates keeps to the timetable', async (t) => {
  const { deliver, clock, receiver } = await prepare(t, (_request, response) => {
    response.writeHead(429, { 'Retry-After': '3600' }).end();
  });
  const template = { method: 'POST', contentType: 'text/plain', body: '{{ event }}' } as const;
  const { id, channelId } = await addDelivery(receiver.url, 'webhook', { template });
  for (let attempt = 1; attempt <= 4; attempt += 1) {
    t.deepEqual(await deliver(channelId), attempt < 4 ? { retry: 1 } : { failed: 1 });
    clock.offsetMs += Math.max(0, (await deliveryOf(id)).next_attempt_at - clock.now());
  }
  t.true(clock.offsetMs < 190_000, String(clock.offsetMs));
});

test('an alert that was postponed often is sent after its preset became an envelope', async (t) => {
  let isLimited = true;
  const { deliver, clock, receiver } = await prepare(
    t,
    (_request, response) => void response.writeHead(isLimited ? 429 : 200).end(),
  );
  const { id, channelId } = await addDelivery(receiver.url, 'webhook', { preset: 'discord' });
  await keepRetries(channelId);
  for (let attempt = 1; attempt <= 6; attempt += 1) {
    t.deepEqual(await deliver(channelId), { retry: 1 });
    clock.offsetMs += Math.max(0, (await deliveryOf(id)).next_attempt_at - clock.now());
  }
  await database.pool.query('UPDATE channels SET format = NULL WHERE id = $1', [channelId]);
  isLimited = false;
  t.deepEqual(await deliver(channelId), { delivered: 1 });
});

test('a late 429 of the previous address does not pause the new one', async (t) => {
  const response = Promise.withResolvers<void>();
  const { deliver, receiver } = await prepare(t, async (_request, rejecting) => {
    await response.promise;
    rejecting.writeHead(429, { 'Retry-After': '3600' }).end();
  });
  const { channelId } = await addDelivery(receiver.url, 'webhook', { preset: 'discord' });
  await keepRetries(channelId);
  const delivering = deliver(channelId);
  await until(() => receiver.requests() === 1);
  await database.pool.query(`UPDATE channels SET sealed_url = 'another' WHERE id = $1`, [channelId]);
  response.resolve();
  t.deepEqual(await delivering, { retry: 1 });
  const { rows } = await database.pool.query('SELECT quiet_until FROM channels WHERE id = $1', [channelId]);
  t.deepEqual(rows, [{ quiet_until: null }]);
});

test('an email that gets no mail server connection uses up no attempt and counts as no failure', async (t) => {
  const answers = Array.from({ length: 6 }, () => NO_ROOM);
  const { id, channelId, deliverWhenDue } = await prepareBot(t, ...answers, BROKEN);
  const toEmail = `UPDATE channels SET type = 'email', chat_id = NULL, address = 'a@b.example' WHERE id = $1`;
  await database.pool.query(toEmail, [channelId]);
  for (let attempt = 1; attempt <= 9; attempt += 1) t.deepEqual((await deliverWhenDue()).outcomes, { retry: 1 });
  const { rows } = await database.pool.query('SELECT failures FROM channels WHERE id = $1', [channelId]);
  t.deepEqual(rows, [{ failures: 0 }]);
  t.deepEqual((await deliverWhenDue()).outcomes, { failed: 1 });
  t.like(await deliveryOf(id), { outcome: 'failed', attempts: 10 });
});

test('a redelivery has its own hour, and rate limits of its first round do not count toward it', async (t) => {
  const { clock, id, deliverWhenDue } = await prepareBot(t, tooMany(0));
  while ((await deliveryOf(id)).outcome === 'pending') await deliverWhenDue();
  const { rows } = await database.pool.query('SELECT tenant_id AS "tenantId" FROM deliveries WHERE id = $1', [id]);
  await reopenDelivery(database, { tenantId: rows[0].tenantId, id, author: null }, clock.now());
  for (let attempt = 1; attempt <= 6; attempt += 1) t.deepEqual((await deliverWhenDue()).outcomes, { retry: 1 });
});

test('a channel that does not exist has nothing to deliver', async (t) => {
  const { deliver } = await prepare(t, (_request, response) => void response.end());
  t.deepEqual(await deliver('nch_none'), {});
});

test('no retry is lost while the queue is unreachable: it is stored before its job is added', async (t) => {
  const enqueueAttempts = (): Promise<void> => Promise.reject(new Error('queue away'));
  const { deliver, receiver, clock, log } = await prepare(
    t,
    (_request, response) => void response.writeHead(500).end(),
    { queues: { enqueueAttempts } },
  );
  const { id, channelId } = await addDelivery(receiver.url);
  const beforeMs = clock.now();
  t.deepEqual(await deliver(channelId), { retry: 1 });
  const { next_attempt_at: dueAtMs } = await deliveryOf(id);
  t.true(dueAtMs >= beforeMs + 4000, `${dueAtMs - beforeMs} ms`);
  t.is(log.at(-1)?.text, 'delivery.retry_not_queued');
});

test('an attempt that fails inside the service is recorded, logged and retried', async (t) => {
  const sendWebhook = (): Promise<never> => Promise.reject(new Error('too many open files'));
  const { deliver, receiver, log } = await prepare(t, (_request, response) => void response.end(), { sendWebhook });
  const { id, channelId } = await addDelivery(receiver.url);
  t.deepEqual(await deliver(channelId), { retry: 1 });
  t.like((await attemptsOf(id))[0], { outcome: 'retry', error: 'The service interrupted the attempt' });
  t.is(log[0]?.text, 'delivery.broke_off');
});

test('a hanging receiver blocks four deliveries and delays no other receiver', async (t) => {
  const held: (() => void)[] = [];
  const { deliver, receiver } = await prepare(t, (request, response) => {
    if (request.url !== '/hang') return void response.end();
    held.push(() => response.end());
  });
  const hung = await addDelivery(`${receiver.url}hang`);
  for (let count = 0; count < 9; count += 1) await addDeliveryTo(hung, `mon_other_${count}`);
  const first = deliver(hung.channelId);
  await until(() => held.length === 4);
  t.deepEqual(await deliver((await addDelivery(receiver.url)).channelId), { delivered: 1 });
  t.deepEqual(await deliver(hung.channelId), {});
  t.is(held.length, 4);
  for (let answered = 0; answered < 10; answered += 1) (await until(() => held[answered]))();
  t.deepEqual(await first, { delivered: 10 });
});

test('a stop finishes the attempts under way and leaves the rest of a backlog for later', async (t) => {
  const held: (() => void)[] = [];
  const { lanes, receiver } = await prepare(t, (_request, response) => void held.push(() => response.end()));
  const first = await addDelivery(receiver.url);
  for (let count = 0; count < 9; count += 1) await addDeliveryTo(first, `mon_other_${count}`);
  const run = lanes.run(first.channelId);
  await until(() => held.length === 4);
  lanes.stop();
  for (const answer of held) answer();
  t.deepEqual(await run, { outcomes: { delivered: 4 }, isCutShort: true });
  const { rows } = await database.pool.query(
    `SELECT count(*) AS pending FROM deliveries
     WHERE channel_id = $1 AND outcome = 'pending' AND claimed_until IS NULL`,
    [first.channelId],
  );
  t.is(rows[0].pending, 6);
});

test('a redelivery keeps its id, continues the attempt numbers and gets the full retry schedule', async (t) => {
  const ids: unknown[] = [];
  const { deliver, receiver, clock, retries } = await prepare(t, async (request, response) => {
    ids.push(((await json(request)) as { delivery_id: unknown }).delivery_id);
    response.writeHead(ids.length < 6 ? 500 : 200).end();
  });
  const { id, tenantId, channelId } = await addDelivery(receiver.url);
  const workOff = async (runs: number) => {
    const results: Record<string, number>[] = [];
    for (let run = 0; run < runs; run += 1) {
      results.push(await deliver(channelId));
      clock.offsetMs += 200_000;
    }
    return results;
  };
  t.deepEqual(await workOff(4), [{ retry: 1 }, { retry: 1 }, { retry: 1 }, { failed: 1 }]);
  await reopenDelivery(database, { tenantId, id, author: null }, clock.now());
  const beforeMs = clock.now();
  t.deepEqual(await workOff(2), [{ retry: 1 }, { delivered: 1 }]);
  const waitMs = (retries.at(-1)?.dueAtMs ?? 0) - beforeMs;
  t.true(waitMs >= 4000 && waitMs < 20_000, `${waitMs} ms until the first retry of the new round`);
  t.deepEqual(
    retries.map(({ attempt }) => attempt),
    [2, 3, 4, 6],
  );
  t.deepEqual(
    ids,
    Array.from({ length: 6 }, () => id),
  );
  t.like(await deliveryOf(id), { outcome: 'delivered', attempts: 6 });
});

test('after a secret rotation both secrets sign deliveries for a day', async (t) => {
  const received: { headers: Record<string, string>; body: string }[] = [];
  const { deliver, receiver, clock } = await prepare(t, async (request, response) => {
    received.push({ headers: request.headers as Record<string, string>, body: await readText(request) });
    response.end();
  });
  const first = await addDelivery(receiver.url);
  const newSecret = generateSigningSecret(randomBytes);
  await rotateSigningSecret(
    database,
    { tenantId: first.tenantId, id: first.channelId, author: null },
    { signingSecret: newSecret, nowMs: clock.now() },
  );
  await deliver(first.channelId);
  for (const secret of [newSecret, first.signingSecret])
    t.notThrows(() => new Webhook(secret).verify(received[0]?.body ?? '', received[0]?.headers ?? {}));
  t.true('x-service-signature-previous' in (received[0]?.headers ?? {}));
  clock.offsetMs += 86_400_000;
  await addDeliveryTo(first);
  await deliver(first.channelId);
  t.false('x-service-signature-previous' in (received[1]?.headers ?? {}));
  t.regex(received[1]?.headers['webhook-signature'] ?? '', /^v1,\S+$/);
});

test('chat-only messages are never sent to a webhook', async (t) => {
  const { deliver, receiver } = await prepare(t, (_request, response) => void response.end());
  const { id, tenantId, channelId } = await addDelivery(receiver.url);
  await insertDeliveries(runOn(database.pool), [
    { id: `${id}_chat`, tenantId, channelId, monitorId: null, message: CHAT_MESSAGE, createdAtMs: START_MS },
  ]);
  t.deepEqual(await deliver(channelId), { delivered: 1, failed: 1 });
  t.is(receiver.requests(), 1);
  t.is((await attemptsOf(`${id}_chat`))[0]?.error, 'channel.failing is sent to chats only');
});

type Line = Record<string, unknown> & { text: string };

type Overrides = Partial<DelivererParts> & { renderer?: Pick<TemplateRenderer, 'render'> };

/** Starts a receiver, and a deliverer with everything real but the clock, which can be advanced. */
async function prepare(t: ExecutionContext, listener: RequestListener, given: Overrides = {}) {
  const { renderer = createTemplateRenderer(), ...overrides } = given;
  let requests = 0;
  const counted: RequestListener = (request, response) => {
    requests += 1;
    listener(request, response);
  };
  const { port } = await startHttpServer(t, counted, keys);
  const agent = createWebhookAgent();
  t.teardown(() => agent.destroy());
  const http = createHttpClient({ allowPrivateNetwork: true });
  const clock = { offsetMs: 0, now: () => START_MS + clock.offsetMs };
  const log: Line[] = [];
  const writeLine = (fields: object, text: string): void => void log.push({ ...fields, text });
  const retries: DueAttempt[] = [];
  const outcomes: string[] = [];
  const queues = {
    enqueueAttempts: (attempts: readonly DueAttempt[]) => Promise.resolve(void retries.push(...attempts)),
  };
  const channelHealth = new ChannelHealth({
    database,
    queues,
    newId: createIdSource(),
    now: clock.now,
    publicUrl: 'https://spotcheck.example',
    log: { warn: writeLine },
  });
  const deliverer = createDeliverer({
    database,
    sendWebhook: (delivery) =>
      attemptWebhook(delivery, { http, agent, deadlineMs: DEADLINE_MS, now: clock.now, renderer }),
    deadlineMs: DEADLINE_MS,
    now: clock.now,
    channelHealth,
    queues,
    metrics: { deliveryAttempted: (outcome) => void outcomes.push(outcome) },
    log: { info: writeLine, warn: writeLine },
    ...overrides,
  });
  const lanes = new ChannelLanes(deliverer);
  const deliver = async (channelId: string) => (await lanes.run(channelId)).outcomes;
  return {
    deliverer,
    deliver,
    lanes,
    receiver: { url: `https://127.0.0.1:${port}/`, requests: () => requests },
    clock,
    log,
    retries,
    outcomes,
  };
}

async function addDelivery(url: string, type: ChannelType = 'webhook', format: WebhookFormat = null) {
  made += 1;
  const [tenantId, channelId] = [`ten_${made}`, `nch_${made}`];
  const signingSecret = generateSigningSecret(randomBytes);
  await database.pool.query(`INSERT INTO tenants (id, name, plan, created_at) VALUES ($1, $1, 'pro', 0)`, [tenantId]);
  await createChannel(database, {
    id: channelId,
    tenantId,
    type,
    name: 'Pager',
    status: 'connected',
    allMonitors: true,
    monitorIds: [],
    webhook: { url, signingSecret, format },
    nowMs: 0,
    author: null,
  });
  return { id: await addDeliveryTo({ tenantId, channelId }), tenantId, channelId, signingSecret };
}

async function addDeliveryTo(
  { tenantId, channelId }: { tenantId: string; channelId: string },
  monitorId?: string,
): Promise<string> {
  made += 1;
  const id = `dlv_${made}`;
  // Deliveries are due in the order of their creation.
  const createdAtMs = START_MS - 10_000 + made;
  await insertDeliveries(runOn(database.pool), [
    { id, tenantId, channelId, monitorId: monitorId ?? `mon_of_${id}`, message: MESSAGE, createdAtMs },
  ]);
  return id;
}

async function deliveryOf(id: string) {
  const { rows } = await database.pool.query(
    'SELECT outcome, attempts, claimed_until, next_attempt_at FROM deliveries WHERE id = $1',
    [id],
  );
  return rows[0];
}

async function attemptsOf(id: string) {
  const { rows } = await database.pool.query(
    'SELECT attempt, outcome, status_code, error, response FROM delivery_attempts WHERE delivery_id = $1 ORDER ' +
      'BY attempt',
    [id],
  );
  return rows;
}
