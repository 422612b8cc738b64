import { randomBytes } from 'node:crypto';
import { verify } from '@octokit/webhooks-methods';
import test from 'ava';
import type { Client } from 'pg';
import { rotateKeys } from '../../cli/commands/keys.ts';
import { beginSecondFactor, findSecondFactor } from '../../models/accounts/second-factor.ts';
import { findUserByEmail } from '../../models/accounts/users.ts';
import { closeDatabase, openDatabase } from '../../models/database.ts';
import { createSecretBox } from '../../models/secrets/secret-box.ts';
import { readAllRows } from '../helpers/all-rows.ts';
import { runSpotcheck, type CommandResult } from '../helpers/command.ts';
import { createTestDatabase } from '../helpers/database.ts';
import { startHttpServer } from '../helpers/http-server.ts';
import { startInstallation } from '../helpers/own-agent.ts';
import { outputMatching, startProgram } from '../helpers/program.ts';
import { SLACK_CLIENT_ID, startSlackServer } from '../helpers/slack-server.ts';
import { nextEvent } from '../helpers/story.ts';
import { until } from '../helpers/until.ts';
import { startReceiver } from '../helpers/webhook-receiver.ts';
import { withClient } from '../helpers/with-client.ts';

const [OLD, NEW, UNKNOWN, LOST] = ['k1', 'k2', 'k3', 'k0'].map((id) => ({ id, key: randomBytes(32) })) as [
  Key,
  Key,
  Key,
  Key,
];
type Key = { id: string; key: Buffer };

const ringOf = (...keys: Key[]) => keys.map(({ id, key }) => `${id}:${key.toString('base64')}`).join(',');
const PATIENCE = { timeoutMs: 120_000 };
/** Number of monitors: more than two batches. */
const CROWD = 450;

const boxOf = (...keys: Key[]) => createSecretBox(keys);
const contextOf = (monitorId: string) => `monitor:${monitorId}:secrets`;
const sealedHeader = (key: Key, monitorId: string, value: string) =>
  boxOf(key).seal(JSON.stringify({ secretHeaders: { 'X-Key': value } }), contextOf(monitorId));

/** Counts the sealed values under each key, in all columns of all tables. */
async function keysInUse(databaseUrl: string): Promise<Record<string, number>> {
  const used: Record<string, number> = {};
  for (const text of (await readAllRows(databaseUrl)).values()) {
    for (const [, key = ''] of text.matchAll(/v1\.([A-Za-z0-9_-]+)\.[A-Za-z0-9_-]{38,}/g))
      used[key] = (used[key] ?? 0) + 1;
  }
  return used;
}

/** Adds disabled monitors, which are not checked, so that a rotation takes several batches. */
async function addCrowd(client: Client, tenantId: string, key: Key): Promise<void> {
  const ids = Array.from({ length: CROWD }, (_, index) => `mon_crowd${String(index).padStart(4, '0')}`);
  await client.query(
    `INSERT INTO monitors (id, tenant_id, name, type, target, interval_seconds, timeout_ms, follow_redirects,
     down_after_failures, up_after_successes, down_min_sources,
                           sealed_secrets, enabled, state, state_since, created_at, updated_at)
     SELECT c.id, $1, c.id, 'http', 'http://127.0.0.1:9/', 60, 1000, true, 2, 1, 1, c.sealed, false, 'paused', 0, 0, 0
       FROM unnest($2::text[], $3::text[]) AS c (id, sealed)`,
    [tenantId, ids, ids.map((id) => sealedHeader(key, id, id))],
  );
}

/**
 * Reports whether the rotation waits for a lock. Each call needs a new connection: within a transaction
 * pg_stat_activity does not change after its first read.
 */
const isWaiting = (databaseUrl: string) =>
  withClient(
    databaseUrl,
    async (client) =>
      (
        await client.query(
          `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
           AND query LIKE 'WITH held AS%'`,
        )
      ).rowCount !== 0,
  );

test('a key rotation under a running service survives a kill and changes, and retires the old key', async (t) => {
  const [slack, receiver] = await Promise.all([startSlackServer(t), startReceiver(t)]);
  const arrived = new Set<string>();
  let status = 200;
  const target = await startHttpServer(t, (request, response) => {
    arrived.add(`${request.url} ${request.headers['x-key']}`);
    response.writeHead(request.url === '/shop' ? status : 200).end();
  });
  const both = ringOf(NEW, OLD);
  const installation = await startInstallation(t, {
    SECRET_KEYS: both,
    NODE_EXTRA_CA_CERTS: receiver.caFile,
    SLACK_CLIENT_ID,
    SLACK_CLIENT_SECRET: slack.clientSecret,
    SLACK_API_URL: slack.apiUrl,
  });
  const { databaseUrl } = installation;
  const create = async (path: string, body?: object) => {
    const { status: code, json } = await installation.service.call('POST', path, body);
    t.true(code < 300, JSON.stringify(json));
    return json;
  };
  const rotate = (keys = both): Promise<CommandResult> =>
    runSpotcheck(['keys', 'rotate', '--json'], { DATABASE_URL: databaseUrl, SECRET_KEYS: keys });

  const slackChannel = await create('/channels', { type: 'slack', name: 'Team' });
  const back = new URL(slack.approve(String(slackChannel['authorize_url'])));
  t.is((await fetch(`${installation.service.url}${back.pathname}${back.search}`)).status, 200);
  const webhook = await create('/channels', {
    type: 'webhook',
    url: receiver.url,
    headers: { Authorization: 'Bearer of the receiver' },
  });
  const { signing_secret: secret } = await create(`/channels/${String(webhook['id'])}/rotate-secret`);
  const agent = await installation.startAgent('lab');
  const watch = (path: string, more: object = {}) =>
    create('/monitors', {
      name: path,
      target: `http://127.0.0.1:${target.port}${path}`,
      interval_seconds: 1,
      timeout_ms: 999,
      check_spec: { request: { secretHeaders: { 'X-Key': 'first' } } },
      ...more,
    });
  const shop = String((await watch('/shop'))['id']);
  const intranet = String((await watch('/intranet', { agent_sources: [agent.id] }))['id']);
  await until(() => arrived.has('/shop first') && arrived.has('/intranet first'), PATIENCE);

  // Restores the state before the new key: everything that the service has made so far is sealed with the old one
  // again.
  const before = openDatabase({ databaseUrl, secrets: boxOf(OLD, NEW), poolSize: 1 });
  const person = await findUserByEmail(before, 'admin@localhost');
  const early = openDatabase({ databaseUrl, secrets: boxOf(NEW), poolSize: 1 });
  t.true(await beginSecondFactor(early, { userId: person?.id ?? '', secret: 'TOTPSECRET', author: null }));
  await closeDatabase(early);
  const turnedBack = await rotateKeys(before, { nowMs: Date.now(), onProgress: () => {}, author: null });
  t.deepEqual(turnedBack.resealed, {
    monitor_secrets: 2,
    webhook_url: 1,
    webhook_headers: 1,
    signing_secret: 1,
    previous_secret: 1,
    slack_webhook: 1,
    totp_secret: 1,
    bulk_patch: 0,
    ping_key: 0,
  });
  await withClient(databaseUrl, async (client) => {
    const { rows } = await client.query<{ tenant_id: string }>('SELECT tenant_id FROM monitors LIMIT 1');
    await addCrowd(client, rows[0]?.tenant_id ?? '', OLD);
  });
  t.deepEqual(await keysInUse(databaseUrl), { k1: CROWD + 8 });

  const refusal = (complaint: RegExp, { status: code, stdout, stderr }: CommandResult) => {
    t.deepEqual([code, stdout], [1, ''], stderr);
    t.regex(stderr, complaint);
  };
  refusal(/^A running process has the key "k2" but encrypts with another one: [^\n]+\n$/, await rotate());
  await closeDatabase(before);
  refusal(/^A running process does not have the key "k3" and [^\n]+\n$/, await rotate(ringOf(UNKNOWN, NEW, OLD)));
  t.deepEqual(await keysInUse(databaseUrl), { k1: CROWD + 8 }, 'refused before anything was changed');

  await withClient(databaseUrl, async (client) => {
    await client.query('BEGIN');
    await client.query(
      'SELECT 1 FROM monitors WHERE id = (SELECT id FROM monitors ORDER BY id OFFSET 300 LIMIT 1) FOR UPDATE',
    );
    const killed = startProgram(t, ['cli/spotcheck.ts', 'keys', 'rotate'], {
      DATABASE_URL: databaseUrl,
      SECRET_KEYS: both,
    });
    await outputMatching(killed, /monitor_secrets: 200 of 452 read, 200 encrypted again/);
    await until(() => isWaiting(databaseUrl));
    await killed.stop('SIGKILL');
    await client.query('ROLLBACK');
  });
  const half = await keysInUse(databaseUrl);
  t.true((half['k1'] ?? 0) > 0 && (half['k2'] ?? 0) >= 200, JSON.stringify(half));

  // During the second run an outdated process writes with the old key, the service with the new one, and a row has a
  // lost key.
  const { running } = await withClient(databaseUrl, async (client) => {
    await client.query('UPDATE monitors SET sealed_secrets = $1 WHERE id = $2', [
      sealedHeader(LOST, 'mon_crowd0007', 'lost'),
      'mon_crowd0007',
    ]);
    await client.query('UPDATE monitors SET sealed_secrets = $1 WHERE id = $2', [
      sealedHeader(OLD, shop, 'read by the rotation'),
      shop,
    ]);
    await client.query('BEGIN');
    await client.query('UPDATE monitors SET sealed_secrets = $1 WHERE id = $2', [
      sealedHeader(OLD, shop, 'meanwhile'),
      shop,
    ]);
    const rotation = rotate();
    await until(() => isWaiting(databaseUrl));
    const settings = { check_spec: { request: { secretHeaders: { 'X-Key': 'patched' } } } };
    t.is((await installation.service.call('PATCH', `/monitors/${intranet}`, settings)).status, 200);
    await client.query('COMMIT');
    return { running: rotation };
  });
  const again = await running;
  t.is(again.status, 1, again.stderr);
  t.regex(again.stderr, /1 secret was not encrypted again, because SECRET_KEYS lacks the key "k0"/);
  t.like(JSON.parse(again.stdout), {
    key: 'k2',
    unopened: [{ kind: 'monitor_secrets', id: 'mon_crowd0007', key: 'k0' }],
    needed: [],
    not_needed: ['k1'],
  });
  t.deepEqual(await keysInUse(databaseUrl), { k2: CROWD + 7, k0: 1 });

  await withClient(databaseUrl, (client) => client.query(`DELETE FROM monitors WHERE id = 'mon_crowd0007'`));
  const nothing = await rotate();
  t.is(nothing.status, 0, nothing.stderr);
  const none = {
    monitor_secrets: 0,
    webhook_url: 0,
    webhook_headers: 0,
    signing_secret: 0,
    previous_secret: 0,
    slack_webhook: 0,
    totp_secret: 0,
    bulk_patch: 0,
    ping_key: 0,
  };
  t.like(JSON.parse(nothing.stdout), {
    resealed: none,
    sealed: {
      ...none,
      monitor_secrets: CROWD + 1,
      webhook_url: 1,
      webhook_headers: 1,
      signing_secret: 1,
      previous_secret: 1,
      slack_webhook: 1,
      totp_secret: 1,
    },
    unopened: [],
  });

  const { rows: recorded } = await withClient(databaseUrl, (client) =>
    client.query(`SELECT actor_kind, object_kind, changes FROM audit_log WHERE action = 'account.keys_rotated'`),
  );
  t.deepEqual(
    recorded,
    Array.from({ length: 2 }, () => ({
      actor_kind: 'operator',
      object_kind: 'account',
      changes: { secrets: 'changed' },
    })),
    'one for each run that changed something, killed or not',
  );

  const late = openDatabase({ databaseUrl, secrets: boxOf(NEW), poolSize: 1 });
  t.is((await findSecondFactor(late, person?.id ?? ''))?.secret, 'TOTPSECRET');
  await closeDatabase(late);
  t.is(await installation.service.program.stop(), 0);
  await installation.restart({ SECRET_KEYS: ringOf(NEW) });
  await until(() => arrived.has('/shop meanwhile') && arrived.has('/intranet patched'), PATIENCE);
  status = 500;
  const down = await nextEvent(receiver, 'monitor.down', PATIENCE.timeoutMs);
  t.true(await verify(String(secret), down.body, String(down.headers['x-service-signature'])));
  t.is(down.headers.authorization, 'Bearer of the receiver');
  t.is(String(down.headers['webhook-signature']).split(' ').length, 2, 'the previous secret signs, too');
  await until(() => slack.posts.some(({ json }) => /Down: \/shop/.test(String(json['text']))), PATIENCE);
  const changed = await installation.service.call('PATCH', `/monitors/${intranet}`, {
    check_spec: { request: { secretHeaders: { 'X-Key': 'after' } } },
  });
  t.is(changed.status, 200, JSON.stringify(changed.json));
  await until(() => arrived.has('/intranet after'), PATIENCE);
  t.deepEqual(await keysInUse(databaseUrl), { k2: CROWD + 7 });
});

test('the columns with sealed values are exactly those that a rotation covers', async (t) => {
  const { databaseUrl, drop } = await createTestDatabase();
  t.teardown(drop);
  const columns = await withClient(
    databaseUrl,
    async (client) =>
      (
        await client.query<{ name: string }>(
          `SELECT table_name || '.' || column_name AS name FROM information_schema.columns WHERE table_schema = 'public'
           AND column_name LIKE 'sealed%' ORDER BY 1`,
        )
      ).rows,
  );
  t.deepEqual(
    columns.map(({ name }) => name),
    [
      'bulk_changes.sealed_patch',
      'channels.sealed_headers',
      'channels.sealed_previous_secret',
      'channels.sealed_signing_secret',
      'channels.sealed_url',
      'monitors.sealed_secrets',
      'ping_keys.sealed_key',
      'users.sealed_totp_secret',
    ],
  );
});
