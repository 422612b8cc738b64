import anyTest, { type TestFn } from 'ava';
import { buildTestMessage } from '../../../core/alerts/envelope.ts';
import { createChannel } from '../../../models/alerts/channels.ts';
import { insertDeliveries } from '../../../models/alerts/deliveries.ts';
import { runOn } from '../../../models/sql.ts';
import { claimNextDelivery, recordAttempt } from '../../helpers/deliveries.ts';
import { isError, nextPage, withApiServer, type Account, type ApiServer } from '../api-server.ts';

const test = anyTest as TestFn<{ api: ApiServer }>;
withApiServer(test);

const START_MS = Date.now() - 3_600_000;
const START = Math.floor(START_MS / 1000);
const MESSAGE = buildTestMessage({ nowMs: START_MS, publicUrl: 'https://spotcheck.example' });
const WEBHOOK = { url: 'https://hooks.example/s3cret-path', signingSecret: 'whsec_c2VjcmV0' };

test('deliveries are listed newest first, by outcome, event and page, with attempts, error and times', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  const channelId = await addChannel(api, account);
  const [failed, delivered, pending] = [
    await addFinished(api, account, { channelId, outcome: 'failed' }),
    await addFinished(api, account, { channelId, outcome: 'delivered' }),
    await addDelivery(api, account, { channelId }),
  ];
  const list = async (query = '') => await account.reader('GET', `/v1/channels/${channelId}/deliveries${query}`);
  const ids = async (query = '') => (await list(query)).json['deliveries'].map(({ id }) => id);
  t.deepEqual(await ids(), [pending, delivered, failed]);
  t.deepEqual((await list('?outcome=failed')).json['deliveries'][0], {
    id: failed,
    channel_id: channelId,
    monitor_id: 'mon_1',
    monitor_name: 'Test delivery',
    event: 'monitor.up',
    outcome: 'failed',
    attempt_count: 1,
    last_error: 'The endpoint responded with 404',
    created_at: START,
    next_attempt_at: null,
    finished_at: START + 1,
  });
  t.deepEqual(await ids('?event=monitor.up&outcome=delivered'), [delivered]);
  t.deepEqual(await ids('?event=monitor.down'), []);
  t.deepEqual(await ids('?outcome=superseded'), []);
  const path = `/v1/channels/${channelId}/deliveries` as const;
  const next = nextPage(await list('?limit=2&event=monitor.up'), path) ?? path;
  t.deepEqual(
    (await account.reader('GET', next)).json['deliveries'].map(({ id }) => id),
    [failed],
  );
  isError(t, await list('?outcome=lost'), {
    status: 400,
    error: /^outcome must be one of pending, delivered, failed, superseded, got "lost"/,
  });
  isError(t, await list('?outcome='), {
    status: 400,
    error: 'outcome must be one of pending, delivered, failed, superseded, got ""',
  });
  isError(t, await list('?event='), { status: 400, error: /^event must be one of monitor\.down, .*, got ""$/ });
  isError(t, await list('?event=monitor.sideways'), { status: 400, error: /^event must be one of/ });
  isError(t, await list('?since=1'), { status: 400, error: /since/ });
});

test('one delivery shows its message and every attempt, and never the address or a secret', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  const channelId = await addChannel(api, account);
  const id = await addFinished(api, account, { channelId, outcome: 'failed' });
  const answer = await account.reader('GET', `/v1/deliveries/${id}`);
  t.is(answer.status, 200, answer.text);
  t.deepEqual(answer.json['message'], JSON.parse(JSON.stringify(MESSAGE)));
  t.deepEqual(answer.json['attempts'], [
    {
      attempt: 1,
      started_at: START,
      duration_ms: 40,
      outcome: 'failed',
      status_code: 404,
      error: 'The endpoint responded with 404',
      response: 'nobody here',
    },
  ]);
  t.false(answer.text.includes('s3cret') || answer.text.includes('whsec_'));
  isError(t, await account.reader('GET', '/v1/deliveries/dlv_nowhere'), {
    status: 404,
    error: 'delivery dlv_nowhere does not exist',
  });
});

test('a redelivery is pending under its old id and gets a job, and a second one is refused', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  for (const outcome of ['failed', 'delivered'] as const) {
    const channelId = await addChannel(api, account);
    const id = await addFinished(api, account, { channelId, outcome });
    const answer = await account.owner('POST', `/v1/deliveries/${id}/redeliver`);
    t.is(answer.status, 202, answer.text);
    t.deepEqual(answer.json, { id, outcome: 'pending' });
    t.like(
      api.enqueuedAttempts.find(({ deliveryId }) => deliveryId === id),
      { channelId, attempt: 2 },
    );
    t.like((await account.reader('GET', `/v1/deliveries/${id}`)).json, {
      outcome: 'pending',
      attempt_count: 1,
      finished_at: null,
    });
    isError(t, await account.owner('POST', `/v1/deliveries/${id}/redeliver`), {
      status: 409,
      error: `delivery ${id} is pending: it is being sent, or waits for its next attempt`,
    });
  }
});

test('of concurrent redelivery requests only one is accepted', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  const id = await addFinished(api, account, { channelId: await addChannel(api, account), outcome: 'failed' });
  const answers = await Promise.all(
    Array.from({ length: 6 }, () => account.owner('POST', `/v1/deliveries/${id}/redeliver`)),
  );
  t.deepEqual(answers.map(({ status }) => status).toSorted(), [202, 409, 409, 409, 409, 409]);
  t.is(api.enqueuedAttempts.filter(({ deliveryId }) => deliveryId === id).length, 1);
});

test('a delivery with 100 attempts cannot be redelivered', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  const id = await addFinished(api, account, { channelId: await addChannel(api, account), outcome: 'failed' });
  await api.database.pool.query('UPDATE deliveries SET attempts = 100 WHERE id = $1', [id]);
  isError(t, await account.owner('POST', `/v1/deliveries/${id}/redeliver`), {
    status: 409,
    error: `delivery ${id} has reached the limit of 100 attempts and cannot be sent again`,
  });
});

test('a disabled or disconnected channel refuses redelivery and replay, and the error says what to do', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  const channelId = await addChannel(api, account);
  const id = await addFinished(api, account, { channelId, outcome: 'failed' });
  const refusals = async (error: string) => {
    isError(t, await account.owner('POST', `/v1/deliveries/${id}/redeliver`), { status: 409, error });
    isError(t, await account.owner('POST', `/v1/channels/${channelId}/replay`, { since: START }), {
      status: 409,
      error,
    });
  };
  await account.owner('PATCH', `/v1/channels/${channelId}`, { enabled: false });
  await refusals(`channel ${channelId} is disabled: set enabled to true first`);
  await account.owner('PATCH', `/v1/channels/${channelId}`, { enabled: true });
  await api.database.pool.query(`UPDATE channels SET status = 'pending' WHERE id = $1`, [channelId]);
  await refusals(`channel ${channelId} is not connected: connect it first`);
  t.like((await account.reader('GET', `/v1/deliveries/${id}`)).json, { outcome: 'failed' });
});

test('a replay resends each failed delivery of its period once, with one job, even if requested twice', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  const channelId = await addChannel(api, account);
  const ids: string[] = [];
  for (let second = 0; second < 4; second += 1)
    ids.push(
      await addFinished(api, account, {
        channelId,
        outcome: second === 1 ? 'delivered' : 'failed',
        createdAtMs: START_MS + second * 1000,
      }),
    );
  const replay = async (body: object) => (await account.owner('POST', `/v1/channels/${channelId}/replay`, body)).json;
  t.deepEqual(await replay({ since: START + 100 }), { replayed: 0 });
  const both = await Promise.all([
    replay({ since: START, until: START + 2 }),
    replay({ since: START, until: START + 2 }),
  ]);
  t.is(
    both.reduce((sum, { replayed }) => sum + Number(replayed), 0),
    2,
  );
  t.deepEqual(
    api.enqueuedAttempts.filter((due) => due.channelId === channelId).map(({ deliveryId }) => deliveryId),
    [ids[0]],
  );
  t.deepEqual(await replay({ since: START }), { replayed: 1 });
  const { json } = await account.reader('GET', `/v1/channels/${channelId}/deliveries`);
  t.deepEqual(
    json['deliveries'].map(({ outcome }) => outcome),
    ['pending', 'pending', 'delivered', 'pending'],
  );
});

test('a redelivery survives a queue failure, because its row is written before its job', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  const id = await addFinished(api, account, { channelId: await addChannel(api, account), outcome: 'failed' });
  const base = await api.another({ enqueueAttempts: () => Promise.reject(new Error('queue away')) });
  const answer = await account.owner('POST', `/v1/deliveries/${id}/redeliver`, undefined, {}, base);
  t.is(answer.status, 202, answer.text);
  t.like((await account.reader('GET', `/v1/deliveries/${id}`)).json, { outcome: 'pending' });
  t.true(api.logLines.some((line) => line['msg'] === 'delivery.not_queued' && line['delivery_id'] === id));
});

const BAD_REPLAYS: [unknown, string | RegExp][] = [
  [undefined, 'the body is required'],
  [{}, 'since is required'],
  [{ until: 5 }, 'since is required'],
  [{ since: 'yesterday' }, /^since must be a whole number from 0 to 99999999999, got "yesterday"/],
  [{ since: -1 }, /^since must be a whole number/],
  [{ since: 1.5 }, /^since must be a whole number/],
  [{ since: null }, /^since must be a whole number/],
  [{ since: 1e20 }, /^since must be a whole number/],
  [{ since: 10, until: 9 }, 'until must be 10 (since) or later, got 9'],
  [{ since: 10, before: 9 }, 'before is not a known field'],
  [[], /must be an object/],
];
for (const [index, [body, error]] of BAD_REPLAYS.entries()) {
  test(`invalid replay ${index} is a 400 and sends nothing: ${JSON.stringify(body)}`, async (t) => {
    const { api } = t.context;
    const account = await api.account();
    const channelId = await addChannel(api, account);
    const id = await addFinished(api, account, { channelId, outcome: 'failed' });
    isError(t, await account.owner('POST', `/v1/channels/${channelId}/replay`, body), { status: 400, error });
    t.like((await account.reader('GET', `/v1/deliveries/${id}`)).json, { outcome: 'failed' });
  });
}

test('redelivery and replay refuse a read-only token, and another account gets a 404', async (t) => {
  const { api } = t.context;
  const [mine, stranger] = [await api.account(), await api.account()];
  const channelId = await addChannel(api, mine);
  const id = await addFinished(api, mine, { channelId, outcome: 'failed' });
  const writes: [string, unknown, string][] = [
    [`/v1/deliveries/${id}/redeliver`, undefined, `delivery ${id}`],
    [`/v1/channels/${channelId}/replay`, { since: 0 }, `channel ${channelId}`],
  ];
  for (const [path, body, what] of writes) {
    isError(t, await mine.reader('POST', path, body), { status: 403, error: 'this token lacks the scope write' });
    isError(t, await stranger.owner('POST', path, body), { status: 404, error: `${what} does not exist` });
    isError(t, await api.anonymous('POST', path, body), { status: 401, error: /Authorization/ });
  }
  isError(t, await stranger.owner('GET', `/v1/deliveries/${id}`), {
    status: 404,
    error: `delivery ${id} does not exist`,
  });
  isError(t, await stranger.owner('GET', `/v1/channels/${channelId}/deliveries`), {
    status: 404,
    error: `channel ${channelId} does not exist`,
  });
  t.like((await mine.reader('GET', `/v1/deliveries/${id}`)).json, { outcome: 'failed' });
});

test('a channel with failing deliveries shows the last error and its time until one succeeds', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  const channelId = await addChannel(api, account);
  const shown = async () => (await account.reader('GET', `/v1/channels/${channelId}`)).json;
  t.false('last_error' in (await shown()));
  await api.database.pool.query(
    `UPDATE channels SET failures = 1, failing_since = $2, last_error_at = $2,
            last_error = 'The endpoint responded with 500'
     WHERE id = $1`,
    [channelId, START_MS],
  );
  t.like(await shown(), {
    last_error: 'The endpoint responded with 500',
    last_error_at: START,
    enabled: true,
    status: 'connected',
  });
  await addFinished(api, account, { channelId, outcome: 'delivered' });
  t.false('last_error' in (await shown()));
});

async function addChannel(api: ApiServer, { tenantId }: Account): Promise<string> {
  const id = api.makeId('nch');
  await createChannel(api.database, {
    id,
    tenantId,
    type: 'webhook',
    name: 'Pager',
    status: 'connected',
    allMonitors: true,
    monitorIds: [],
    webhook: WEBHOOK,
    nowMs: START_MS,
    author: null,
  });
  return id;
}

async function addDelivery(
  api: ApiServer,
  { tenantId }: Account,
  { channelId, createdAtMs = START_MS }: { channelId: string; createdAtMs?: number },
): Promise<string> {
  const id = api.makeId('dlv');
  await insertDeliveries(runOn(api.database.pool), [
    { id, tenantId, channelId, monitorId: 'mon_1', message: MESSAGE, createdAtMs },
  ]);
  return id;
}

type Finished = { channelId: string; outcome: 'delivered' | 'failed'; createdAtMs?: number };

async function addFinished(
  api: ApiServer,
  account: Account,
  { channelId, outcome, createdAtMs = START_MS }: Finished,
): Promise<string> {
  const id = await addDelivery(api, account, { channelId, createdAtMs });
  await claimNextDelivery(api.database, channelId, { nowMs: createdAtMs, claimMs: 1000 });
  const [statusCode, error, response] =
    outcome === 'failed' ? [404, 'The endpoint responded with 404', 'nobody here'] : [204, null, null];
  await recordAttempt(api.database, {
    deliveryId: id,
    attempt: 1,
    outcome,
    statusCode,
    durationMs: 40,
    error,
    response,
    finishedAtMs: createdAtMs + 1000,
    nextAttemptAtMs: null,
  });
  return id;
}
