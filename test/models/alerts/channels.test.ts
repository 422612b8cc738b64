import { randomBytes } from 'node:crypto';
import test from 'ava';
import { buildTestMessage } from '../../../core/alerts/envelope.ts';
import {
  createChannel,
  deleteChannel,
  findChannel,
  listChannels,
  updateChannel,
  type NewChannel,
} from '../../../models/alerts/channels.ts';
import { insertDeliveries } from '../../../models/alerts/deliveries.ts';
import { listRoutes } from '../../../models/alerts/routes.ts';
import { openWebhook } from '../../../models/alerts/webhook-secrets.ts';
import { closeDatabase, type Database } from '../../../models/database.ts';
import { inTransaction, runOn } from '../../../models/sql.ts';
import { createTestDatabase, openTestDatabase, type TestDatabase } from '../../helpers/database.ts';
import { until } from '../../helpers/until.ts';

const URL_WITH_SECRET = 'https://hooks.example:8443/in/s3cret-path';
const WEBHOOK = { url: URL_WITH_SECRET, signingSecret: 'whsec_c2VjcmV0', headers: { 'X-Key': 's3cret-header' } };

let testDatabase: TestDatabase;
let database: Database;
let made = 0;

test.before(async () => {
  testDatabase = await createTestDatabase();
  database = openTestDatabase(testDatabase.databaseUrl);
});

test.after.always(async () => {
  await closeDatabase(database);
  await testDatabase.drop();
});

test('a stored webhook channel is returned without its URL and secret', async (t) => {
  const tenantId = await addTenant();
  const created = await addChannel(tenantId, { webhook: WEBHOOK });
  const found = await findChannel(database, { tenantId, id: created.id });
  t.deepEqual(found, created);
  t.deepEqual(found, {
    id: created.id,
    tenantId,
    type: 'webhook',
    name: 'Pager',
    enabled: true,
    status: 'connected',
    allMonitors: true,
    monitorIds: [],
    monitorTags: null,
    followsMaintenance: false,
    rules: null,
    groupSeconds: 0,
    summarizesFlapping: false,
    urlHost: 'hooks.example:8443',
    headerNames: ['X-Key'],
    format: null,
    teamName: null,
    channelName: null,
    address: null,
    wantsReports: false,
    reportTimezone: null,
    lastError: null,
    createdAt: 1_700_000_000,
  });
});

test('URL, headers and secret are sealed in the row and open only for their own channel and field', async (t) => {
  const tenantId = await addTenant();
  const { id } = await addChannel(tenantId, { webhook: WEBHOOK });
  const { rows } = await database.pool.query<{
    row: string;
    sealed_url: string;
    sealed_headers: string;
    sealed_signing_secret: string;
  }>('SELECT c::text AS row, sealed_url, sealed_headers, sealed_signing_secret FROM channels c WHERE id = $1', [id]);
  const [row] = rows;
  t.truthy(row);
  if (row === undefined) return;
  t.notRegex(row.row, /s3cret|whsec_/);
  const sealed = {
    channelId: id,
    url: row.sealed_url,
    headers: row.sealed_headers,
    signingSecret: row.sealed_signing_secret,
    previousSecret: null,
    format: null,
  };
  t.deepEqual(openWebhook(database, sealed), { ...WEBHOOK, previousSecret: null, format: null });
  t.throws(() => openWebhook(database, { ...sealed, channelId: 'nch_other' }));
  t.throws(() => openWebhook(database, { ...sealed, signingSecret: row.sealed_url }));
  t.throws(() => openWebhook(database, { ...sealed, headers: row.sealed_url }));
});

test('another account cannot find, list, change or delete a channel', async (t) => {
  const [owner, stranger] = [await addTenant(), await addTenant()];
  const { id } = await addChannel(owner, {});
  t.is(await findChannel(database, { tenantId: stranger, id }), null);
  t.deepEqual(await listChannels(database, { tenantId: stranger }), []);
  t.is(await updateChannel(database, { tenantId: stranger, id, author: null }, { name: 'Mine now' }), null);
  t.false(await deleteChannel(database, { tenantId: stranger, id, author: null }));
  t.is((await findChannel(database, { tenantId: owner, id }))?.name, 'Pager');
});

test("routing keeps only the monitors of the channel's own account, sorted", async (t) => {
  const [tenantId, stranger] = [await addTenant(), await addTenant()];
  const [b, a, foreign] = [await addMonitor(tenantId), await addMonitor(tenantId), await addMonitor(stranger)];
  const { id } = await addChannel(tenantId, { allMonitors: false, monitorIds: [b, foreign, a, b] });
  t.deepEqual((await findChannel(database, { tenantId, id }))?.monitorIds, [a, b].toSorted());
});

test('an update replaces the whole routing and leaves fields that are not given unchanged', async (t) => {
  const tenantId = await addTenant();
  const [a, b] = [await addMonitor(tenantId), await addMonitor(tenantId)];
  const { id } = await addChannel(tenantId, { allMonitors: false, monitorIds: [a] });
  const renamed = await updateChannel(database, { tenantId, id, author: null }, { name: 'Night shift' });
  t.is(renamed?.name, 'Night shift');
  t.deepEqual(renamed?.monitorIds, [a]);
  const rerouted = await updateChannel(database, { tenantId, id, author: null }, { enabled: false, monitorIds: [b] });
  t.deepEqual(rerouted?.monitorIds, [b]);
  t.deepEqual(await findChannel(database, { tenantId, id }), rerouted);
  t.deepEqual((await updateChannel(database, { tenantId, id, author: null }, { monitorIds: [] }))?.monitorIds, []);
});

test('channels are listed by creation and id, page by page, and by type', async (t) => {
  const tenantId = await addTenant();
  const late = await addChannel(tenantId, { nowMs: 1_700_000_002_000 });
  const early = await addChannel(tenantId, { nowMs: 1_700_000_001_000, type: 'telegram', status: 'pending' });
  const twin = await addChannel(tenantId, { nowMs: 1_700_000_002_000 });
  const ids = (channels: { id: string }[]): string[] => channels.map((channel) => channel.id);
  t.deepEqual(ids(await listChannels(database, { tenantId })), [early.id, late.id, twin.id]);
  t.deepEqual(ids(await listChannels(database, { tenantId, limit: 2 })), [early.id, late.id]);
  t.deepEqual(ids(await listChannels(database, { tenantId, limit: 2, after: late })), [twin.id]);
  t.deepEqual(ids(await listChannels(database, { tenantId, type: 'telegram' })), [early.id]);
});

test('events of a monitor are routed to channels for all monitors and to those that list it', async (t) => {
  const tenantId = await addTenant();
  const [routed, other] = [await addMonitor(tenantId), await addMonitor(tenantId)];
  const forAll = await addChannel(tenantId, {});
  const forOne = await addChannel(tenantId, { allMonitors: false, monitorIds: [routed] });
  await addChannel(tenantId, { allMonitors: false });
  t.deepEqual(await routesOf([routed]), [forAll.id, forOne.id]);
  t.deepEqual(await routesOf([other]), [forAll.id]);
  t.is((await listRoutes(runOn(database.pool), [routed, other])).length, 3);
});

test('a disabled or pending channel and that of another account get no events', async (t) => {
  const [tenantId, stranger] = [await addTenant(), await addTenant()];
  const monitorId = await addMonitor(tenantId);
  const disabled = await addChannel(tenantId, {});
  await updateChannel(database, { tenantId, id: disabled.id, author: null }, { enabled: false });
  await addChannel(tenantId, { type: 'slack', status: 'pending' });
  await addChannel(stranger, {});
  t.deepEqual(await routesOf([monitorId]), []);
  t.deepEqual(await routesOf([]), []);
});

test('while deliveries are being written, their channel can be changed but not deleted', async (t) => {
  const tenantId = await addTenant();
  const monitorId = await addMonitor(tenantId);
  const { id } = await addChannel(tenantId, {});
  const deleted = await inTransaction(database, async (run) => {
    const [route] = await listRoutes(run, [monitorId]);
    t.is(route?.channelId, id);
    t.is((await updateChannel(database, { tenantId, id, author: null }, { name: 'Renamed' }))?.name, 'Renamed');
    const deletion = deleteChannel(database, { tenantId, id, author: null });
    await until(isDeletionWaiting);
    const message = buildTestMessage({ nowMs: 0, publicUrl: 'https://spotcheck.example' });
    await insertDeliveries(run, [{ id: 'dlv_1', tenantId, channelId: id, monitorId, message, createdAtMs: 0 }]);
    return { deletion };
  });
  t.true(await deleted.deletion);
  t.is((await database.pool.query('SELECT id FROM deliveries WHERE channel_id = $1', [id])).rowCount, 0);
});

test('a connect code is stored as a fingerprint and deleted with its channel', async (t) => {
  const tenantId = await addTenant();
  const fingerprint = randomBytes(32);
  const { id } = await addChannel(tenantId, {
    type: 'telegram',
    status: 'pending',
    connectCode: { fingerprint, expiresAtSeconds: 1_700_003_600 },
  });
  const codes = async () =>
    (
      await database.pool.query('SELECT fingerprint, expires_at, used_at FROM connect_codes WHERE channel_id = $1', [
        id,
      ])
    ).rows;
  t.deepEqual(await codes(), [{ fingerprint, expires_at: 1_700_003_600, used_at: null }]);
  t.true(await deleteChannel(database, { tenantId, id, author: null }));
  t.deepEqual(await codes(), []);
});

test('a channel whose connect code cannot be stored is not stored either', async (t) => {
  const tenantId = await addTenant();
  const connectCode = { fingerprint: randomBytes(32), expiresAtSeconds: 1_700_003_600 };
  await addChannel(tenantId, { connectCode });
  await t.throwsAsync(addChannel(tenantId, { connectCode }));
  t.is((await listChannels(database, { tenantId })).length, 1);
});

async function isDeletionWaiting(): Promise<boolean> {
  const { rows } = await database.pool.query(
    `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
     AND query ILIKE 'DELETE FROM "channels"%'`,
  );
  return rows.length > 0;
}

async function routesOf(monitorIds: string[]): Promise<string[]> {
  return (await listRoutes(runOn(database.pool), monitorIds)).map((route) => route.channelId);
}

async function addChannel(tenantId: string, overrides: Partial<NewChannel>) {
  made += 1;
  const id = `nch_${String(made).padStart(4, '0')}`;
  return await createChannel(database, {
    id,
    tenantId,
    type: 'webhook',
    name: 'Pager',
    status: 'connected',
    allMonitors: true,
    monitorIds: [],
    nowMs: 1_700_000_000_000,
    ...overrides,
    author: null,
  });
}

async function addTenant(): Promise<string> {
  made += 1;
  const id = `ten_${made}`;
  await database.pool.query(`INSERT INTO tenants (id, name, plan, created_at) VALUES ($1, $1, 'pro', 0)`, [id]);
  return id;
}

async function addMonitor(tenantId: string): Promise<string> {
  made += 1;
  const id = `mon_${randomBytes(4).toString('hex')}`;
  await database.pool.query(
    `INSERT INTO monitors (id, tenant_id, name, type, interval_seconds, timeout_ms, follow_redirects,
     down_after_failures, up_after_successes, down_min_sources, state_since, created_at, updated_at)
     VALUES ($1, $2, 'Shop', 'http', 60, 10000, true, 2, 1, 1, 0, 0, 0)`,
    [id, tenantId],
  );
  return id;
}
