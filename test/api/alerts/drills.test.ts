import anyTest, { type TestFn } from 'ava';
import { buildTestMessage } from '../../../core/alerts/envelope.ts';
import { createChannel } from '../../../models/alerts/channels.ts';
import { insertDeliveries } from '../../../models/alerts/deliveries.ts';
import { lockOpenDrill, updateDrill } from '../../../models/alerts/drills.ts';
import { inTransaction, runOn } from '../../../models/sql.ts';
import { agentCaller } from '../agents/agent-caller.ts';
import { isError, withApiServer, type Account, type ApiServer } from '../api-server.ts';

const test = anyTest as TestFn<{ api: ApiServer }>;
withApiServer(test);

/** Creates a monitor that an agent checks, and a channel that receives its alerts. */
async function prepare(api: ApiServer, account: Account) {
  const agent = await agentCaller(api, account, 'home-lab');
  const body = { name: 'Shop', target: 'https://shop.example', agent_sources: [agent.id] };
  const { json, status, text } = await account.owner('POST', '/v1/monitors', body);
  if (status !== 201) throw new Error(text);
  return { id: json.id, channelId: await addChannel(api, account, 'Pager'), agent };
}

async function addChannel(api: ApiServer, { tenantId }: Account, name: string): Promise<string> {
  const id = api.makeId('nch');
  await createChannel(api.database, {
    id,
    tenantId,
    type: 'webhook',
    name,
    status: 'connected',
    allMonitors: true,
    monitorIds: [],
    webhook: { url: 'https://hooks.example/', signingSecret: 'whsec_AAAA' },
    nowMs: Date.now(),
    author: null,
  });
  return id;
}

test('a drill starts with a job for each location, is visible to readers, and excludes a second one', async (t) => {
  const { api } = t.context;
  const [account, other] = [await api.account(), await api.account()];
  const { id, agent } = await prepare(api, account);
  isError(t, await account.reader('POST', `/v1/monitors/${id}/drill`), { status: 403, error: /write/ });
  isError(t, await other.owner('POST', `/v1/monitors/${id}/drill`), { status: 404, error: /monitor/ });
  const begun = await account.owner('POST', `/v1/monitors/${id}/drill`);
  t.is(begun.status, 202, begun.text);
  const { json } = begun;
  t.regex(json.id, /^drl_/);
  t.regex(json.incident_id, /^inc_/);
  t.like(json, {
    monitor_id: id,
    monitor_name: 'Shop',
    trigger: 'request',
    status: 'failing',
    deliveries: [],
    skipped: [],
  });
  t.deepEqual(json.locations, [{ name: 'home-lab', answered_ms: null }]);
  t.deepEqual(
    api.enqueuedDrills.filter(({ drillId }) => drillId === json.id),
    [{ drillId: json.id, agentNo: agent.no, verdict: 'down' }],
  );
  t.deepEqual((await account.reader('GET', `/v1/drills/${json.id}`)).json, json);
  t.deepEqual((await account.reader('GET', `/v1/monitors/${id}/drills`)).json.drills, [json]);
  isError(t, await other.owner('GET', `/v1/drills/${json.id}`), { status: 404, error: /drill/ });
  isError(t, await other.owner('GET', `/v1/monitors/${id}/drills`), { status: 404, error: /monitor/ });
  isError(t, await account.owner('POST', `/v1/monitors/${id}/drill`), {
    status: 409,
    error: /^drill drl_\w+ of monitor mon_\w+ is in progress: wait until it has ended/,
  });
  t.is((await account.owner('GET', `/v1/incidents/${json.incident_id}`)).status, 404, 'it is not an incident');
});

test('a drill that could alert no channel is refused with a 409 that says what to do first', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  const { id, channelId } = await prepare(api, account);
  const refusal = async (error: RegExp) =>
    isError(t, await account.owner('POST', `/v1/monitors/${id}/drill`), { status: 409, error });
  await account.owner('PATCH', `/v1/channels/${channelId}`, { enabled: false });
  await refusal(/notifies no channel: enable and connect one/);
  await account.owner('PATCH', `/v1/channels/${channelId}`, { enabled: true });
  await account.owner('POST', `/v1/monitors/${id}/pause`);
  await refusal(/is paused: resume it first/);
  await account.owner('POST', `/v1/monitors/${id}/resume`);
  const incident = api.makeId('inc');
  await api.database.pool.query(
    `INSERT INTO incidents (id, tenant_id, monitor_id, monitor_name, state, reason, sources_down, started_at,
       detected_at)
     VALUES ($1, $2, $3, 'Shop', 'down', 'No answer', '{}', 1, 1)`,
    [incident, account.tenantId, id],
  );
  await refusal(/has an open incident/);
  await api.database.pool.query('DELETE FROM incidents WHERE id = $1', [incident]);
  await api.database.pool.query(
    'DELETE FROM monitor_sources WHERE monitor_no = (SELECT no FROM monitors WHERE id = $1)',
    [id],
  );
  await refusal(/is checked from nowhere/);
});

test('requests with the same idempotency key start one drill, and another monitor needs another key', async (t) => {
  const { api } = t.context;
  const [account, other] = [await api.account(), await api.account()];
  const { id } = await prepare(api, account);
  const second = (await account.owner('POST', '/v1/monitors', { name: 'Blog', target: 'https://blog.example' })).json;
  const headers = { 'Idempotency-Key': 'the-same' };
  const start = (monitorId: string) => account.owner('POST', `/v1/monitors/${monitorId}/drill`, undefined, headers);
  const answers = await Promise.all([start(id), start(id), start(id)]);
  t.deepEqual(
    answers.map(({ status, json }) => [status, json.id]),
    Array.from({ length: 3 }, () => [202, answers[0]?.json.id]),
  );
  await api.database.pool.query('UPDATE drills SET ended_at = started_at WHERE monitor_id = $1', [id]);
  t.is((await start(id)).json.id, answers[0]?.json.id, 'even after its end');
  isError(t, await start(second.id), { status: 409, error: /use a new key/ });
  const theirs = await prepare(api, other);
  t.is((await other.owner('POST', `/v1/monitors/${theirs.id}/drill`, undefined, headers)).status, 202);
  isError(
    t,
    await account.owner('POST', `/v1/monitors/${id}/drill`, undefined, { 'Idempotency-Key': 'x'.repeat(256) }),
    {
      status: 400,
      error: /idempotency-key/,
    },
  );
});

test('drill times count from the first failing result, those of the recovery from the first good one', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  const { id, channelId, agent } = await prepare(api, account);
  const { json: begun } = await account.owner('POST', `/v1/monitors/${id}/drill`);
  const { database } = api;
  const startedAtMs = await inTransaction(database, async (run) => {
    const drill = await lockOpenDrill(run, begun.id);
    if (drill === null) throw new Error('There is no drill');
    const at = (ms: number) => drill.startedAtMs + ms;
    await updateDrill(run, {
      ...drill,
      status: 'ended',
      answers: [
        { agentNo: agent.no, verdict: 'down', atMs: at(14) },
        { agentNo: agent.no, verdict: 'up', atMs: at(30_110) },
      ],
      skipped: [{ channelId: 'nch_gone', event: 'monitor.down', reason: 'mute' }],
      alertedAtMs: at(78),
      endsAtMs: at(30_078),
      endedAtMs: at(30_150),
    });
    return drill.startedAtMs;
  });
  const message = {
    ...buildTestMessage({ nowMs: startedAtMs, publicUrl: api.url }),
    drill: { id: begun.id, ends_at: 1 },
  };
  const send = async (event: 'monitor.down' | 'monitor.up', [written, begins, ends]: [number, number, number]) => {
    const delivery = api.makeId('dlv');
    const createdAtMs = startedAtMs + written;
    await insertDeliveries(runOn(database.pool), [
      {
        id: delivery,
        tenantId: account.tenantId,
        channelId,
        monitorId: begun.id,
        message: { ...message, event },
        createdAtMs,
      },
    ]);
    await database.pool.query(
      `INSERT INTO delivery_attempts (delivery_id, attempt, started_at, duration_ms, outcome)
       VALUES ($1, 1, $2, 5, 'delivered')`,
      [delivery, startedAtMs + begins],
    );
    await database.pool.query(
      `UPDATE deliveries SET outcome = 'delivered', attempts = 1, finished_at = $2 WHERE id = $1`,
      [delivery, startedAtMs + ends],
    );
    return delivery;
  };
  const down = await send('monitor.down', [78, 90, 143]);
  const up = await send('monitor.up', [30_150, 30_160, 30_170]);
  const { json } = await account.reader('GET', `/v1/drills/${begun.id}`);
  t.like(json, { status: 'ended', first_failure_ms: 14, decided_ms: 64 });
  t.deepEqual(json.locations, [{ name: 'home-lab', answered_ms: 14 }]);
  t.deepEqual(json.skipped, [{ channel_id: 'nch_gone', channel_name: null, event: 'monitor.down', reason: 'mute' }]);
  const common = {
    channel_id: channelId,
    channel_name: 'Pager',
    channel_type: 'webhook',
    outcome: 'delivered',
    attempt_count: 1,
    last_error: null,
  } as const;
  t.deepEqual(json.deliveries, [
    { ...common, delivery_id: down, event: 'monitor.down', written_ms: 64, begun_ms: 76, delivered_ms: 129 },
    { ...common, delivery_id: up, event: 'monitor.up', written_ms: 40, begun_ms: 50, delivered_ms: 60 },
  ]);
  t.deepEqual((await account.reader('GET', `/v1/channels/${channelId}/drills`)).json.drills, [
    { ...json, skipped: [] },
  ]);
  const quiet = await addChannel(api, account, 'Quiet');
  const ofQuiet = async () => (await account.reader('GET', `/v1/channels/${quiet}/drills`)).json.drills;
  t.deepEqual(await ofQuiet(), []);
  await database.pool.query('UPDATE drills SET skipped = $2 WHERE id = $1', [
    begun.id,
    JSON.stringify([{ channelId: quiet, event: 'monitor.down', reason: 'rules' }]),
  ]);
  const left = { channel_id: quiet, channel_name: 'Quiet', event: 'monitor.down', reason: 'rules' } as const;
  t.deepEqual(await ofQuiet(), [{ ...json, deliveries: [], skipped: [left] }]);
  const other = await api.account();
  isError(t, await other.owner('GET', `/v1/channels/${quiet}/drills`), { status: 404, error: /channel/ });
  const log = (await account.reader('GET', `/v1/channels/${channelId}/deliveries`)).json.deliveries;
  t.deepEqual(
    log.map((delivery) => [delivery.id, delivery.drill_id, delivery.incident_id]),
    [
      [up, begun.id, undefined],
      [down, begun.id, undefined],
    ],
  );
  isError(t, await account.owner('POST', `/v1/deliveries/${down}/redeliver`), {
    status: 409,
    error: /belongs to a drill/,
  });
  await database.pool.query(`UPDATE deliveries SET outcome = 'failed' WHERE id = $1`, [down]);
  t.is((await account.owner('POST', `/v1/channels/${channelId}/replay`, { since: 0 })).json.replayed, 0);
});

test('the monthly drill is a monitor setting, off by default, and its next date is listed', async (t) => {
  const { api } = t.context;
  const account = await api.account();
  const { id } = await prepare(api, account);
  t.false((await account.reader('GET', `/v1/monitors/${id}`)).json.monthly_drill);
  t.is((await account.owner('PATCH', `/v1/monitors/${id}`, { monthly_drill: true })).status, 200);
  t.true((await account.reader('GET', `/v1/monitors/${id}`)).json.monthly_drill);
  t.true((await account.reader('GET', '/v1/overview')).json.monitors[0]?.monthly_drill);
  t.true((await account.reader('GET', '/v1/monitors')).json.monitors[0]?.monthly_drill);
  t.is((await account.owner('PATCH', `/v1/monitors/${id}`, { name: 'Shop 2' })).status, 200);
  t.true((await account.reader('GET', `/v1/monitors/${id}`)).json.monthly_drill, 'unchanged if left out');
  t.is((await account.reader('GET', `/v1/monitors/${id}/drills`)).json.next_at, null);
  await api.database.pool.query(
    'INSERT INTO monthly_drills (monitor_no, from_at, next_at) SELECT no, 1, 1795777200123 FROM monitors WHERE id = $1',
    [id],
  );
  t.is((await account.reader('GET', `/v1/monitors/${id}/drills`)).json.next_at, 1_795_777_200);
  isError(t, await account.owner('PATCH', `/v1/monitors/${id}`, { monthly_drill: 'yes' }), {
    status: 400,
    error: /monthly_drill/,
  });
});
