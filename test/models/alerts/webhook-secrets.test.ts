import { randomBytes } from 'node:crypto';
import test from 'ava';
import { ChannelRefusal } from '../../../models/alerts/channel-limits.ts';
import { createChannel, updateChannel } from '../../../models/alerts/channels.ts';
import {
  findWebhook,
  openWebhook,
  PREVIOUS_SECRET_MS,
  replaceAddress,
  rotateSigningSecret,
} from '../../../models/alerts/webhook-secrets.ts';
import { closeDatabase, type Database } from '../../../models/database.ts';
import { createSecretBox } from '../../../models/secrets/secret-box.ts';
import { createTestDatabase, openTestDatabase, type TestDatabase } from '../../helpers/database.ts';

const NOW_MS = 1_700_000_000_000;
const URL_WITH_SECRET = 'https://hooks.example/in/s3cret-path';
const OLD_KEY = { id: 'k1', key: randomBytes(32) };

let testDatabase: TestDatabase;
let database: Database;
let made = 0;

test.before(async () => {
  testDatabase = await createTestDatabase();
  database = openTestDatabase(testDatabase.databaseUrl, { secrets: createSecretBox([OLD_KEY]) });
});

test.after.always(async () => {
  await closeDatabase(database);
  await testDatabase.drop();
});

test('a new secret signs at once, and the previous one alongside it for exactly a day', async (t) => {
  const key = await addChannel();
  const address = { url: URL_WITH_SECRET, headers: {}, format: null };
  t.deepEqual(await openAt(key, NOW_MS), { ...address, signingSecret: 'whsec_first', previousSecret: null });
  t.true(
    await rotateSigningSecret(database, { ...key, author: null }, { signingSecret: 'whsec_second', nowMs: NOW_MS }),
  );
  const both = { ...address, signingSecret: 'whsec_second', previousSecret: 'whsec_first' };
  t.deepEqual(await openAt(key, NOW_MS), both);
  t.deepEqual(await openAt(key, NOW_MS + PREVIOUS_SECRET_MS - 1), both);
  t.deepEqual(await openAt(key, NOW_MS + PREVIOUS_SECRET_MS), { ...both, previousSecret: null });
});

test('a second rotation within the day keeps the newest previous secret for a day of its own', async (t) => {
  const key = await addChannel();
  await rotateSigningSecret(database, { ...key, author: null }, { signingSecret: 'whsec_second', nowMs: NOW_MS });
  await rotateSigningSecret(database, { ...key, author: null }, { signingSecret: 'whsec_third', nowMs: NOW_MS + 1000 });
  t.like(await openAt(key, NOW_MS + PREVIOUS_SECRET_MS + 999), {
    signingSecret: 'whsec_third',
    previousSecret: 'whsec_second',
  });
});

test('of two concurrent rotations the later one keeps the other as the previous secret', async (t) => {
  const key = await addChannel();
  await Promise.all(
    ['whsec_a', 'whsec_b'].map((signingSecret) =>
      rotateSigningSecret(database, { ...key, author: null }, { signingSecret, nowMs: NOW_MS }),
    ),
  );
  const opened = await openAt(key, NOW_MS);
  t.deepEqual([opened?.signingSecret, opened?.previousSecret].toSorted(), ['whsec_a', 'whsec_b']);
});

test('a previous secret whose key has left the ring is ignored', async (t) => {
  const key = await addChannel();
  const newKey = { id: 'k2', key: randomBytes(32) };
  const both: Database = { ...database, secrets: createSecretBox([newKey, OLD_KEY]) };
  await rotateSigningSecret(both, { ...key, author: null }, { signingSecret: 'whsec_second', nowMs: NOW_MS });
  const sealed = await findWebhook(database, key, NOW_MS);
  if (sealed === null) return t.fail('no webhook');
  // The URL is sealed with the old key, too; only the previous secret may be lost.
  const onlyNew = { ...sealed, url: both.secrets.seal(URL_WITH_SECRET, `channel:${key.id}:url`) };
  t.deepEqual(openWebhook({ ...database, secrets: createSecretBox([newKey]) }, onlyNew), {
    url: URL_WITH_SECRET,
    headers: {},
    format: null,
    signingSecret: 'whsec_second',
    previousSecret: null,
  });
});

test('a webhook that began to group during its test does not get a receiver format', async (t) => {
  const key = await addChannel();
  const sealed = await findWebhook(database, key, NOW_MS);
  if (sealed === null) return t.fail('no webhook');
  await database.pool.query('UPDATE channels SET group_seconds = 60 WHERE id = $1', [key.id]);
  const before = { url: URL_WITH_SECRET, headers: {}, format: null };
  const replace = (format: { preset: 'discord' } | null) =>
    replaceAddress(database, { ...key, author: null }, { sealed, before, after: { ...before, format } });
  t.false(await replace({ preset: 'discord' }));
  t.true(await replace(null));
});

test('a webhook that has a receiver format cannot begin to group', async (t) => {
  const key = { ...(await addChannel()), author: null };
  await database.pool.query(`UPDATE channels SET format = '{"preset": "discord"}' WHERE id = $1`, [key.id]);
  const refused = await t.throwsAsync(updateChannel(database, key, { groupSeconds: 60 }), {
    instanceOf: ChannelRefusal,
  });
  t.is(refused?.reason, 'grouped_format');
  t.truthy(await updateChannel(database, key, { groupSeconds: 0, name: 'Discord' }));
});

test('a new address ends the pause that the previous receiver asked for', async (t) => {
  const key = { ...(await addChannel()), author: null };
  const sealed = await findWebhook(database, key, NOW_MS);
  if (sealed === null) return t.fail('no webhook');
  await database.pool.query('UPDATE channels SET quiet_until = $2 WHERE id = $1', [key.id, NOW_MS + 1000]);
  const before = { url: URL_WITH_SECRET, headers: {}, format: null };
  t.true(await replaceAddress(database, key, { sealed, before, after: { ...before, url: 'https://a.example/' } }));
  const { rows } = await database.pool.query('SELECT quiet_until FROM channels WHERE id = $1', [key.id]);
  t.deepEqual(rows, [{ quiet_until: null }]);
});

test('of two concurrent URL changes one is stored and the other is refused', async (t) => {
  const key = { ...(await addChannel()), author: null };
  const sealed = await findWebhook(database, key, NOW_MS);
  if (sealed === null) return t.fail('no webhook');
  const before = { url: URL_WITH_SECRET, headers: {}, format: null };
  const move = (url: string) =>
    replaceAddress(database, key, { sealed, before, after: { url, headers: { 'X-Key': url }, format: null } });
  const moved = await Promise.all([move('https://a.example/'), move('https://b.example/')]);
  t.deepEqual(moved.toSorted(), [false, true]);
  const opened = await openAt(key, NOW_MS);
  t.is(opened?.url, moved[0] ? 'https://a.example/' : 'https://b.example/');
  t.deepEqual(opened?.headers, { 'X-Key': opened?.url });
  t.is(opened?.signingSecret, 'whsec_first');
});

test("the secret of another account's webhook cannot be changed or found, and a chat has none", async (t) => {
  const [key, chat] = [await addChannel(), await addChannel('telegram')];
  for (const wrong of [{ ...key, tenantId: chat.tenantId }, chat]) {
    t.false(
      await rotateSigningSecret(database, { ...wrong, author: null }, { signingSecret: 'whsec_other', nowMs: NOW_MS }),
    );
    t.is(await findWebhook(database, wrong, NOW_MS), null);
  }
  t.like(await openAt(key, NOW_MS), { signingSecret: 'whsec_first', previousSecret: null });
});

async function openAt(key: { tenantId: string; id: string }, nowMs: number) {
  const sealed = await findWebhook(database, key, nowMs);
  return sealed === null ? null : openWebhook(database, sealed);
}

async function addChannel(type: 'webhook' | 'telegram' = 'webhook') {
  made += 1;
  const [tenantId, id] = [`ten_${made}`, `nch_${made}`];
  await database.pool.query(`INSERT INTO tenants (id, name, plan, created_at) VALUES ($1, $1, 'pro', 0)`, [tenantId]);
  const webhook = { url: URL_WITH_SECRET, signingSecret: 'whsec_first' };
  await createChannel(database, {
    id,
    tenantId,
    type,
    name: 'Pager',
    status: 'connected',
    allMonitors: true,
    monitorIds: [],
    ...(type === 'webhook' && { webhook }),
    nowMs: NOW_MS,
    author: null,
  });
  return { tenantId, id };
}
