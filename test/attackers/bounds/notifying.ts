import { PingsUnderWay, PingTokens } from '../../../api/heartbeats/pings.ts';
import { buildTestMessage } from '../../../core/alerts/envelope.ts';
import { periodAround } from '../../../core/statistics/reports/periods.ts';
import { recordAttempts } from '../../../models/alerts/delivery-attempts.ts';
import { insertTestDelivery } from '../../../models/alerts/delivery-record.ts';
import { runOn } from '../../../models/sql.ts';
import { composeReport } from '../../../models/statistics/period-facts.ts';
import { buildEmail } from '../../../notifications/email/alert.ts';
import { openMailSending } from '../../../notifications/email/sending.ts';
import type { Account, ApiServer } from '../../api/api-server.ts';
import { pingTokenOf } from '../../helpers/api-client.ts';
import { openLiveStream } from '../../helpers/live-stream.ts';
import { startMailServer } from '../../helpers/smtp-server.ts';
import { made, numberOf, statusesOf, thenRefused, type Walker } from './walker.ts';
import { watched } from './watching.ts';

async function createHeartbeat({ owner }: Account): Promise<{ id: string; token: string }> {
  const id = await made(owner('POST', '/v1/monitors', { name: 'x', type: 'heartbeat', interval_seconds: 3600 }));
  return { id, token: pingTokenOf(await owner('GET', `/v1/monitors/${id}`)) };
}

const pings: Walker = async (t) => {
  const { api } = t.context;
  const { id, token } = await createHeartbeat(await api.account());
  await statusesOf(90, (no) =>
    api.anonymous('POST', `/ping/${token}${no % 2 === 0 ? '/fail' : ''}`, 'x'.repeat(20_000)),
  );
  const of = 'FROM heartbeat_pings p JOIN monitors m ON m.no = p.monitor_no WHERE m.id = $1';
  t.true((await numberOf(api, `SELECT count(*) ${of}`, [id])) <= 63);
  t.true((await numberOf(api, `SELECT sum(length(p.body)) ${of}`, [id])) <= 65_536 + 63 * 200);
  t.true(
    (await numberOf(
      api,
      'SELECT count(*) FROM heartbeat_observations o JOIN monitors m ON m.no = o.monitor_no WHERE m.id = $1',
      [id],
    )) <= 63,
  );
  await boundAccountPings(t);
};

/** Checks the limits on an account's undecided pings, and on those in flight. */
async function boundAccountPings(t: Parameters<Walker>[0]): Promise<void> {
  const { api } = t.context;
  const account = await api.account();
  const [flooding, other] = [await createHeartbeat(account), await createHeartbeat(account)];
  await api.database.pool.query(
    `INSERT INTO heartbeat_observations (at, monitor_no, sight)
     SELECT i, m.no, 'fail' FROM monitors m, generate_series(1, 3000) i WHERE m.id = $1`,
    [flooding.id],
  );
  t.deepEqual(await statusesOf(2, (no) => api.anonymous('POST', `/ping/${other.token}/${no + 1}`)), [200, 429]);
  t.is((await api.anonymous('POST', `/ping/${flooding.token}/fail`)).status, 429);
  const underWay = new PingsUnderWay();
  const take = (no: number, tenantId: string) =>
    underWay.take({ heartbeat: String(no), tenantId, isMade: true }, () => new Promise(() => undefined));
  for (let no = 0; no < 300; no += 1) void take(0, 'ten_1');
  await t.throwsAsync(take(0, 'ten_1'), { message: /^300 pings of this heartbeat/ });
  for (let no = 1; no <= 700; no += 1) void take(no, 'ten_1');
  await t.throwsAsync(take(1, 'ten_1'), { message: /^1000 pings of this account/ });
}

const slugs: Walker = async (t) => {
  const { api } = t.context;
  const { owner, tenantId } = await api.account('free');
  const { ping_key: replaced } = (await owner('POST', '/v1/ping-key')).json as { ping_key: { key: string } };
  await owner('POST', '/v1/ping-key');
  t.is(await numberOf(api, 'SELECT count(*) FROM ping_keys WHERE tenant_id = $1', [tenantId]), 1);
  t.is((await api.anonymous('GET', `/ping/${replaced.key}/job?create=1`)).status, 404);
  const { ping_key: current } = (await owner('GET', '/v1/ping-key')).json as { ping_key: { key: string } };
  const ask = (slug: string) => api.anonymous('GET', `/ping/${current.key}/${slug}?create=1`);
  t.deepEqual(await statusesOf(21, (no) => ask(`job-${no}`)), thenRefused(20, 200, 400));
  t.is((await ask('x'.repeat(65))).status, 400);
  t.is(await numberOf(api, 'SELECT count(*) FROM heartbeat_slugs WHERE tenant_id = $1', [tenantId]), 20);
  t.is(await numberOf(api, 'SELECT count(*) FROM monitors WHERE tenant_id = $1', [tenantId]), 20);
  await api.database.pool.query('UPDATE rate_limits SET points = 2000 WHERE key = $1', [`spotcheck-slug:${tenantId}`]);
  t.is((await ask('beyond-the-rate')).status, 429);
};

const unknownTokens: Walker = async (t) => {
  const { api } = t.context;
  const { token } = await createHeartbeat(await api.account());
  let queries = 0;
  const tokens = new PingTokens(Date.now);
  const ask = (no: number, form = token.slice(0, -8)) =>
    tokens.take(`${form}${String(no).padStart(8, '0')}`, '2001:db8::1', async () => {
      queries += 1;
      return { outcome: 'unknown', tenantId: null };
    });
  for (let no = 0; no < 300; no += 1) await ask(no);
  for (let no = 0; no < 300; no += 1) await ask(no % 2 === 0 ? no : 1, no % 2 === 0 ? 'nothing-' : token.slice(0, -8));
  t.is(queries, 300);
  await t.throwsAsync(async () => await ask(1000), { message: /too many pings with unknown tokens/ });
};

const channels: Walker = async (t) => {
  const { api } = t.context;
  const { owner, tenantId } = await api.account();
  await fillChannels(api, tenantId, 999);
  t.deepEqual(await statusesOf(2, () => owner('POST', '/v1/channels', { type: 'slack' })), [201, 400]);
  const routes = Array.from({ length: 1001 }, (_, no) => `mon_${no}`);
  for (const path of ['/v1/channels', `/v1/channels/nch_${tenantId}1`]) {
    const refused = await owner(path === '/v1/channels' ? 'POST' : 'PATCH', path, { monitor_ids: routes });
    t.regex(String(refused.json['error']), /monitor_ids must (be|have).*1000/, refused.text);
  }
  await boundTemplates(t);
};

/**
 * Checks the limit of a hundred webhooks with a template per account, because channel lists include templates in full.
 */
async function boundTemplates(t: Parameters<Walker>[0]): Promise<void> {
  const { api } = t.context;
  const { owner, tenantId } = await api.account();
  await fillChannels(api, tenantId, 99);
  await api.database.pool.query(
    `UPDATE channels SET format = '{"template": {"method": "POST", "contentType": "text/plain", "body": "x"}}'
     WHERE tenant_id = $1`,
    [tenantId],
  );
  const webhook = (format: object) => ({ type: 'webhook', url: 'https://templates.example/', ...format });
  const template = { content_type: 'text/plain', body: 'x' };
  t.is((await owner('POST', '/v1/channels', webhook({ template }))).status, 201);
  const { json } = await owner('POST', '/v1/channels', webhook({}));
  const sent = api.testDeliveries.length;
  for (const refused of [
    await owner('POST', '/v1/channels', webhook({ template })),
    await owner('PATCH', `/v1/channels/${json.id}/webhook`, { template }),
  ]) {
    t.is(refused.status, 400, refused.text);
    t.regex(String(refused.json['error']), /^template must be left out: .* at most 100 webhooks with a template$/);
  }
  t.is(api.testDeliveries.length, sent);
  t.is((await owner('PATCH', `/v1/channels/${json.id}/webhook`, { preset: 'teams' })).status, 200);
}

async function fillChannels({ database }: ApiServer, tenantId: string, count: number): Promise<void> {
  await database.pool.query(
    `INSERT INTO channels (id, tenant_id, type, name, status, all_monitors, created_at)
     SELECT 'nch_' || $1 || n, $1, 'webhook', 'x', 'connected', true, 0 FROM generate_series(1, $2::int) n`,
    [tenantId, count],
  );
}

const deliveries: Walker = async (t) => {
  const { api } = t.context;
  const account = await api.account();
  const { tenantId } = account;
  await fillChannels(api, tenantId, 100);
  const { id, startMs, evaluate } = await watched(api, account);
  for (let second = 0; second < 20; second += 1) await evaluate(second, second % 2 === 0 ? 'down' : 'up');
  t.true((await numberOf(api, 'SELECT count(*) FROM transitions WHERE monitor_id = $1', [id])) >= 19);
  // 440 at once, one a second, and one pending for each channel.
  t.true((await numberOf(api, 'SELECT count(*) FROM deliveries WHERE tenant_id = $1', [tenantId])) <= 440 + 20 + 100);
  t.true(
    (await numberOf(api, 'SELECT count(*) FROM deliveries WHERE tenant_id = $1 AND next_attempt_at <= $2', [
      tenantId,
      startMs + 20_000,
    ])) <=
      440 + 20,
  );
};

const rules: Walker = async (t) => {
  const { api } = t.context;
  const account = await api.account();
  const { owner, tenantId } = account;
  const tags = (count: number) => Array.from({ length: count }, (_, no) => `t${no}`);
  const tooMuch = [
    tags(11).map((tag) => ({ tags: [tag] })),
    [{ tags: tags(21) }],
    [{ repeat_seconds: 60, repeat_max: 21 }],
    [{ repeat_seconds: 59 }],
    [{ after_seconds: 1_000_000 }],
  ];
  for (const refused of tooMuch) t.is((await owner('POST', '/v1/channels', { rules: refused })).status, 400);
  await fillChannels(api, tenantId, 1);
  await api.database.pool.query(`UPDATE channels SET rules = '[{"repeat_seconds": 60}]' WHERE tenant_id = $1`, [
    tenantId,
  ]);
  const { id, startMs, evaluate } = await watched(api, account);
  for (let second = 0; second < 20; second += 1) await evaluate(second, second % 2 === 0 ? 'down' : 'up');
  const waiting = `SELECT count(*) FROM reminders r JOIN deliveries d ON d.id = r.delivery_id
     WHERE d.tenant_id = $1 AND d.outcome = 'pending'`;
  t.true((await numberOf(api, waiting, [tenantId])) <= 1);
  await evaluate(20, 'down');
  t.is(await numberOf(api, waiting, [tenantId]), 1);

  const inDays = (days: number) => ({ until: Math.floor(Date.now() / 1000) + days * 86_400 });
  const mute = (days: number) => owner('POST', `/v1/monitors/${id}/mute`, inDays(days));
  t.deepEqual([(await mute(31)).status, (await mute(29)).status, (await mute(28)).status], [400, 200, 200]);
  t.is(await numberOf(api, 'SELECT count(*) FROM monitor_mutes WHERE tenant_id = $1', [tenantId]), 1);
  const [incident] = (await owner('GET', `/v1/incidents?since=${Math.floor(startMs / 1000) - 60}`)).json['incidents'];
  const snooze = (days: number) => owner('POST', `/v1/incidents/${incident?.id}/snooze`, inDays(days));
  t.deepEqual([(await snooze(8)).status, (await snooze(6)).status], [400, 200]);
  t.deepEqual(
    await statusesOf(11, () => owner('POST', `/v1/channels/nch_${tenantId}1/rules/preview`, {})),
    thenRefused(10, 200, 429),
  );
};

/** Checks that a grouping channel sends few messages for any number of changes: eleven causes make eleven groups. */
const deliveriesOfGroups: Walker = async (t) => {
  const { api } = t.context;
  const account = await api.account();
  const { tenantId } = account;
  await fillChannels(api, tenantId, 51);
  await api.database.pool.query('UPDATE channels SET group_seconds = 1 WHERE tenant_id = $1 AND id <> $2', [
    tenantId,
    `nch_${tenantId}51`,
  ]);
  t.is((await account.owner('PATCH', `/v1/channels/nch_${tenantId}2`, { name: 'y', group_seconds: 0 })).status, 200);
  t.is((await account.owner('PATCH', `/v1/channels/nch_${tenantId}2`, { group_seconds: 2 })).status, 200);
  t.is((await account.owner('PATCH', `/v1/channels/nch_${tenantId}51`, { group_seconds: 2 })).status, 400);
  await api.database.pool.query(
    `UPDATE channels SET type = 'slack', sealed_url = 'x', group_seconds = 300 WHERE tenant_id = $1`,
    [tenantId],
  );
  for (const seconds of [301, -1, 1.5])
    t.is((await account.owner('PATCH', `/v1/channels/nch_${tenantId}1`, { group_seconds: seconds })).status, 400);
  const { evaluate } = await watched(api, account);
  for (let second = 0; second < 40; second += 1) await evaluate(second, second % 2 === 0 ? 'down' : 'up');
  t.true(
    (await numberOf(api, 'SELECT count(*) FROM alert_groups g JOIN deliveries d ON d.id = g.id WHERE tenant_id = $1', [
      tenantId,
    ])) <=
      11 * 51,
  );
  t.true((await numberOf(api, 'SELECT count(*) FROM deliveries WHERE tenant_id = $1', [tenantId])) <= 4 * 51);
};

const sentAgain: Walker = async (t) => {
  const { api } = t.context;
  const { owner, tenantId } = await api.account();
  await fillChannels(api, tenantId, 1);
  await api.database.pool.query(
    `INSERT INTO deliveries (id, tenant_id, channel_id, monitor_id, event, message, outcome, next_attempt_at,
     created_at, finished_at)
     SELECT 'dlv_' || $1 || n, $1, 'nch_' || $1 || '1', 'mon_1', 'monitor.down', '{}', 'failed', 0, 0, 0
       FROM generate_series(1, 61) n`,
    [tenantId],
  );
  t.deepEqual(
    await statusesOf(61, (no) => owner('POST', `/v1/deliveries/dlv_${tenantId}${no + 1}/redeliver`)),
    thenRefused(60, 202, 429),
  );
  t.deepEqual(
    await statusesOf(7, () => owner('POST', `/v1/channels/nch_${tenantId}1/replay`, { since: 1 })),
    thenRefused(6, 200, 429),
  );
};

const testDeliveries: Walker = async (t) => {
  const { api } = t.context;
  const { owner, tenantId } = await api.account();
  const url = (no: number) => `https://test.example/${tenantId}/${no}`;
  t.deepEqual(
    await statusesOf(61, (no) => owner('POST', '/v1/channels', { type: 'webhook', url: url(no) })),
    thenRefused(60, 201, 429),
  );
  t.is(api.testDeliveries.filter((sent) => sent.url.includes(tenantId)).length, 60);
  await boundErrors(t);
};

/** Checks that a stored error has a limited length. */
async function boundErrors(t: Parameters<Walker>[0]): Promise<void> {
  const { database, account } = t.context.api;
  const { tenantId } = await account();
  const [id, channelId, error] = [`dlv_long${tenantId}`, `nch_${tenantId}1`, 'x'.repeat(262_144)];
  await fillChannels(t.context.api, tenantId, 1);
  const result = { statusCode: null, durationMs: 1, error, response: null };
  const message = buildTestMessage({ nowMs: 0, publicUrl: 'https://spotcheck.example' });
  await insertTestDelivery(runOn(database.pool), { id, channelId, message, startedAtMs: 0, attempt: result });
  const longest = 'SELECT max(length(error)) FROM delivery_attempts WHERE delivery_id = $1';
  t.is(await numberOf(t.context.api, longest, [id]), 1000);
  await database.pool.query('UPDATE delivery_attempts SET error = NULL WHERE delivery_id = $1', [id]);
  const attempt = { ...result, deliveryId: id, attempt: 1, finishedAtMs: 1, nextAttemptAtMs: null };
  await recordAttempts(database, [{ ...attempt, outcome: 'failed' }]);
  t.is(await numberOf(t.context.api, longest, [id]), 1000);
}

const previews: Walker = async (t) => {
  const { owner } = await t.context.api.account();
  const ways = [
    (no: number) => owner('POST', '/v1/trials', { monitor: { target: `https://shop.example/${no}` } }),
    (no: number) =>
      owner('POST', '/v1/monitors', { name: 'x', type: 'vendor', target: `https://status.example/${no}` }),
    (no: number) =>
      owner('GET', `/v1/vendors/components?target=${encodeURIComponent(`https://status.example/c${no}`)}`),
  ] as const;
  for (let no = 0; no < 10; no += 1) t.not((await ways[no % 3]?.(no))?.status, 429);
  for (const way of ways) t.is((await way(20)).status, 429);
};

const liveStreams: Walker = async (t) => {
  const { api } = t.context;
  const { ownerToken, owner } = await api.account();
  for (let no = 0; no < 20; no += 1) await openLiveStream(t, api.url, { Authorization: `Bearer ${ownerToken}` });
  t.is((await owner('GET', '/v1/live')).status, 429);
};

const triesToConnect: Walker = async (t) => {
  const { api } = t.context;
  const account = await api.account();
  let requests = 0;
  const url = await api.another({
    config: {
      publicUrl: api.url,
      planCountLimits: true,
      telegramBotName: null,
      slackClientId: 'client',
      trustedProxies: [],
    },
    async authorizeSlack() {
      requests += 1;
      return { outcome: 'stale', reason: 'The code is used' };
    },
  });
  const { json } = await account.owner('POST', '/v1/channels', { type: 'slack' }, {}, url);
  const state = encodeURIComponent(new URL(String(json['authorize_url'])).searchParams.get('state') ?? '');
  const statuses: number[] = [];
  for (let no = 0; no < 12; no += 1)
    statuses.push((await fetch(`${url}/connect/slack?code=guess${no}&state=${state}`)).status);
  t.deepEqual(statuses, [...thenRefused(10, 400, 429), 429]);
  t.is(requests, 10);
};

const confirmations: Walker = async (t) => {
  const { api } = t.context;
  const create = (account: Account, address: string) =>
    account.owner('POST', '/v1/channels', { type: 'email', address });
  const account = await api.account();
  t.deepEqual(
    await statusesOf(51, (no) => create(account, `${account.tenantId}-${no}@victim.example`)),
    thenRefused(50, 201, 429),
  );
  const accounts = [await api.account(), await api.account(), await api.account()];
  const address = `${account.tenantId}@victim.example`;
  const statuses = await statusesOf(6, (no) =>
    create(accounts[no % 3] ?? account, no % 2 === 0 ? address : address.toUpperCase()),
  );
  t.deepEqual(statuses, thenRefused(5, 201, 429));
  t.is(api.sentEmails.filter(({ to }) => to.toLowerCase() === address).length, 5);
};

const zoneReports: Walker = async (t) => {
  const { api } = t.context;
  const { owner, tenantId } = await api.account();
  const create = (no: number) =>
    owner('POST', '/v1/channels', {
      type: 'email',
      address: `${tenantId}-${no}@customer.example`,
      reports: true,
      report_timezone: `Etc/GMT+${no + 1}`,
    });
  t.deepEqual(await statusesOf(11, create), thenRefused(10, 201, 400));
};

const emailsInHand: Walker = async (t) => {
  const server = await startMailServer(t);
  const held = Promise.withResolvers<void>();
  server.hold = held.promise;
  const sending = openMailSending({ settings: server.settings, onTrouble: () => undefined, longestWaitMs: 600_000 });
  t.teardown(() => sending.close());
  const message = { tone: 'bad', title: 'x'.repeat(10_000), text: '<'.repeat(10_000), facts: [], link: null } as const;
  const send = (account: string, no: number) =>
    sending.send(
      buildEmail({
        account,
        to: 'a@customer.example',
        message,
        messageId: `dlv_${no}`,
        threadId: null,
        unsubscribeUrl: 'https://spotcheck.example',
      }),
    );
  const ofOne = Array.from({ length: 205 }, (_, no) => send('ten_1', no));
  const ofOthers = Array.from({ length: 105 }, (_, no) => send(`ten_${2 + (no % 2)}`, 300 + no));
  // To make room for the other accounts, the newest emails of the first one are dropped.
  t.deepEqual(
    (await Promise.all(ofOne.slice(95))).map(({ outcome }) => outcome),
    Array.from({ length: 110 }, () => 'retry'),
  );
  server.hold = null;
  held.resolve();
  t.true((await Promise.all([...ofOne.slice(0, 95), ...ofOthers])).every(({ outcome }) => outcome === 'delivered'));
  t.is(server.taken.length, 200);
  t.true(server.taken.every(({ raw }) => raw.length < 16_384));
};

const messagePreviews: Walker = async (t) => {
  const { api } = t.context;
  const prepare = async () => {
    const { owner, tenantId } = await api.account();
    await fillChannels(api, tenantId, 1);
    const path: `/v1/channels/${string}/previews` = `/v1/channels/nch_${tenantId}1/previews`;
    return { tenantId, read: () => owner('GET', path) };
  };
  t.deepEqual(await statusesOf(21, (await prepare()).read), thenRefused(20, 200, 429));
  const { tenantId, read } = await prepare();
  const body = '{% for i in (1..99999) %}{{ i }}{% endfor %}';
  await api.database.pool.query('UPDATE channels SET format = $2 WHERE tenant_id = $1', [
    tenantId,
    JSON.stringify({ template: { method: 'POST', contentType: 'text/plain', body } }),
  ]);
  const { json } = await read();
  t.true(json.previews.length <= 19);
  t.true(json.previews.every(({ requests }) => requests.every((request) => request.body.length <= 16_384)));
};

/** Checks that drills of many monitors count together, and that a monitor has one at a time. */
const drills: Walker = async (t) => {
  const { api } = t.context;
  const account = await api.account();
  const { owner, tenantId } = account;
  await fillChannels(api, tenantId, 1);
  const { id } = await watched(api, account);
  const start = () => owner('POST', `/v1/monitors/${id}/drill`);
  t.deepEqual(await statusesOf(5, start), [202, 409, 409, 409, 409]);
  const end = () => api.database.pool.query('UPDATE drills SET ended_at = started_at WHERE tenant_id = $1', [tenantId]);
  const statuses = await statusesOf(50, async () => {
    await end();
    return await start();
  });
  t.deepEqual(statuses, thenRefused(49, 202, 429));
  t.is(await numberOf(api, 'SELECT count(*) FROM drills WHERE tenant_id = $1', [tenantId]), 50);
};

const OURS = [
  'reports',
  'rdap_bootstrap',
  'service_marks',
  'service_gaps',
  'telegram_polls',
  'telegram_updates',
  'processes',
  'schema_migrations',
];

const ours: Walker = async (t) => {
  const { api } = t.context;
  const account = await api.account();
  const rows = async () =>
    await Promise.all(OURS.map(async (table) => [table, await numberOf(api, `SELECT count(*) FROM ${table}`)]));
  const before = await rows();
  const { id, token } = await createHeartbeat(account);
  for (const path of ['', '/start', '/fail']) await api.anonymous('POST', `/ping/${token}${path}`, 'x');
  for (const path of ['/v1/reports', '/v1/service/gaps', '/v1/usage', '/v1/overview']) await account.owner('GET', path);
  await fetch(`${api.url}/telegram/guess`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: '{"update_id":1}',
  });
  await account.owner('DELETE', `/v1/monitors/${id}`);
  t.deepEqual(await rows(), before);
  await boundReportedIncidents(t);
};

/** Checks the number of incidents in a report for a monitor that changed with each check. */
async function boundReportedIncidents(t: Parameters<Walker>[0]): Promise<void> {
  const { database } = t.context.api;
  const { owner, tenantId } = await t.context.api.account();
  const id = await made(owner('POST', '/v1/monitors', { name: 'x' }));
  const window = periodAround('week', Date.UTC(2026, 2, 4) / 1000);
  await database.pool.query('UPDATE monitors SET created_at = $2 WHERE id = $1', [id, window.startSeconds]);
  await database.pool.query(
    `INSERT INTO incidents (id, tenant_id, monitor_id, monitor_name, state, reason, sources_down, started_at,
       detected_at, resolved_at, resolution)
     SELECT $2 || '_' || i, $1, $2, 'x', 'down', 'x', '{}', $3::bigint + i * 2000, $3::bigint + i * 2000,
       $3::bigint + i * 2000 + 1000, 'recovered'
     FROM generate_series(1, 1001) AS i`,
    [tenantId, id, window.startSeconds * 1000],
  );
  const report = await composeReport(database, { tenantId, window, nowMs: Date.now() });
  t.is(report?.content.summary.incidents, 1001);
  t.is(report?.details.incidents.length, 1000);
}

/** Walkers of incoming requests and of outgoing messages. */
export const NOTIFYING_WALKERS: Readonly<Record<string, Walker>> = {
  pings,
  'heartbeats made by pings': slugs,
  'unknown tokens of pings': unknownTokens,
  channels,
  async deliveries(t) {
    await deliveries(t);
    await deliveriesOfGroups(t);
  },
  'rules, reminders, mutes': rules,
  'deliveries sent again': sentAgain,
  'test deliveries': testDeliveries,
  drills,
  'previews of messages': messagePreviews,
  'previews and own status pages': previews,
  'live streams': liveStreams,
  'tries to connect': triesToConnect,
  'confirmations of addresses': confirmations,
  'reports in other zones': zoneReports,
  'emails on their way': emailsInHand,
  'what no client can cause': ours,
};
