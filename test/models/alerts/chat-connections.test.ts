import { randomBytes } from 'node:crypto';
import test from 'ava';
import type { ChannelType } from '../../../core/alerts/channel.ts';
import { createTenant } from '../../../models/accounts/tenants.ts';
import { createChannel, findChannel, updateChannel } from '../../../models/alerts/channels.ts';
import {
  applyChatUpdate,
  disconnectChannel,
  findConnection,
  takeConnectCode,
} from '../../../models/alerts/chat-connections.ts';
import { deleteOldUpdates, findNextUpdate, passUpdate, takeUpdate } from '../../../models/alerts/telegram-updates.ts';
import { closeDatabase, type Database } from '../../../models/database.ts';
import { createIdSource } from '../../../models/secrets/ids.ts';
import { inTransaction, runOn } from '../../../models/sql.ts';
import { createTestDatabase, openTestDatabase, type TestDatabase } from '../../helpers/database.ts';

const NOW_MS = 1_800_000_000_000;
const HOUR = 3600;
const TOOLS = { newId: createIdSource(), publicUrl: 'https://spotcheck.example', nowMs: NOW_MS };

let testDatabase: TestDatabase;
let database: Database;

test.before(async () => {
  testDatabase = await createTestDatabase();
  database = openTestDatabase(testDatabase.databaseUrl);
  for (const id of ['ten_1', 'ten_2'])
    await createTenant(database, { id, name: id, plan: 'pro', nowMs: NOW_MS, author: null });
});

test.after.always(async () => {
  await closeDatabase(database);
  await testDatabase.drop();
});

test('a connect code works once, and later attempts learn which channel used it', async (t) => {
  const fingerprint = await addChannel('nch_once');
  t.like(await take(fingerprint), {
    outcome: 'taken',
    channel: { id: 'nch_once', tenantId: 'ten_1', name: 'Phone', connection: null },
  });
  t.like(await take(fingerprint), { outcome: 'used', channel: { id: 'nch_once' } });
});

test('a connect code is valid until its exact expiry, and only for its own type of channel', async (t) => {
  const fingerprint = await addChannel('nch_edge');
  t.deepEqual(await take(fingerprint, { nowMs: NOW_MS + HOUR * 1000 }), { outcome: 'expired' });
  t.deepEqual(await take(fingerprint, { type: 'slack' }), { outcome: 'unknown' });
  t.like(await take(fingerprint, { nowMs: NOW_MS + HOUR * 1000 - 1 }), { outcome: 'taken' });
});

test('a connect code taken in a rolled-back transaction remains usable', async (t) => {
  const fingerprint = await addChannel('nch_broken');
  await t.throwsAsync(
    inTransaction(database, async (run) => {
      await takeConnectCode(run, { fingerprint, type: 'telegram', nowMs: NOW_MS });
      throw new Error('the process fails here');
    }),
  );
  t.like(await take(fingerprint), { outcome: 'taken' });
});

test('a lost chat leaves its channel pending with the reason, unless it was reconnected since', async (t) => {
  const fingerprint = await addChannel('nch_lost');
  await start('100', fingerprint);
  t.is(await findConnection(database, { tenantId: 'ten_1', id: 'nch_lost' }), '100');
  t.is(await findConnection(database, { tenantId: 'ten_2', id: 'nch_lost' }), null);
  t.is(
    await disconnectChannel(database, { channelId: 'nch_lost', connection: '99', problem: 'Too late' }, TOOLS),
    null,
  );
  t.truthy(await disconnectChannel(database, { channelId: 'nch_lost', connection: '100', problem: 'Blocked' }, TOOLS));
  t.is(await disconnectChannel(database, { channelId: 'nch_lost', connection: '100', problem: 'Again' }, TOOLS), null);
  t.like(await findChannel(database, { tenantId: 'ten_1', id: 'nch_lost' }), {
    status: 'pending',
    enabled: true,
    lastError: { text: 'Blocked', at: NOW_MS / 1000 },
  });
  t.is(await findConnection(database, { tenantId: 'ten_1', id: 'nch_lost' }), null);
  t.like(await apply({ kind: 'start', chatId: '100', fingerprint: null }), {
    outcome: 'listed',
    channels: [{ name: 'Phone', enabled: true }],
  });
  t.like(await findChannel(database, { tenantId: 'ten_1', id: 'nch_lost' }), { status: 'connected', lastError: null });
});

test('the used connect code of a lost chat reconnects that chat, and no other', async (t) => {
  const fingerprint = await addChannel('nch_again');
  await start('110', fingerprint);
  await disconnectChannel(database, { channelId: 'nch_again', connection: '110', problem: 'Blocked' }, TOOLS);
  t.like(await apply({ kind: 'start', chatId: '111', fingerprint }), { outcome: 'code_used' });
  t.is(await findConnection(database, { tenantId: 'ten_1', id: 'nch_again' }), null);
  t.like(await apply({ kind: 'start', chatId: '110', fingerprint }), {
    outcome: 'listed',
    channels: [{ name: 'Phone', enabled: true }],
  });
  t.like(await findChannel(database, { tenantId: 'ten_1', id: 'nch_again' }), { status: 'connected', lastError: null });
});

test('/stop and removing the bot disable the channels of that chat in every account, and no others', async (t) => {
  await start('200', await addChannel('nch_a'));
  await start('200', await addChannel('nch_b', 'ten_2'));
  await start('201', await addChannel('nch_c'));
  t.like(await apply({ kind: 'stop', chatId: '200' }), {
    outcome: 'stopped',
    channels: [{ name: 'Phone' }, { name: 'Phone' }],
  });
  t.like(await apply({ kind: 'stop', chatId: '200' }), { outcome: 'stopped', channels: [] });
  const enabled = async (tenantId: string, id: string) => (await findChannel(database, { tenantId, id }))?.enabled;
  t.deepEqual(
    [await enabled('ten_1', 'nch_a'), await enabled('ten_2', 'nch_b'), await enabled('ten_1', 'nch_c')],
    [false, false, true],
  );
  t.deepEqual(await apply({ kind: 'removed', chatId: '201' }), { outcome: 'silent' });
  t.is(await enabled('ten_1', 'nch_c'), false);
});

test('the reason why a chat gets nothing survives disabling and enabling, until it is reconnected', async (t) => {
  const key = { tenantId: 'ten_1', id: 'nch_why' };
  await start('250', await addChannel(key.id));
  const reasonAfterToggling = async () => {
    for (const enabled of [false, true]) await updateChannel(database, { ...key, author: null }, { enabled });
    return (await findChannel(database, key))?.lastError?.text;
  };
  await apply({ kind: 'stop', chatId: '250' });
  t.is(await reasonAfterToggling(), 'A member sent /stop in the chat');
  await apply({ kind: 'removed', chatId: '250' });
  t.is(await reasonAfterToggling(), 'The bot was blocked in the chat or removed from it');
  await disconnectChannel(database, { channelId: key.id, connection: '250', problem: 'Blocked' }, TOOLS);
  t.is(await reasonAfterToggling(), 'Blocked');
  t.like(await findChannel(database, key), { status: 'pending', enabled: true });
  await apply({ kind: 'start', chatId: '250', fingerprint: null });
  t.like(await findChannel(database, key), { status: 'connected', enabled: true, lastError: null });
});

test("a lost chat is reported once to the owner's other usable chats, not to itself or a webhook", async (t) => {
  const { first, others } = await addChats('ten_lost', '400');
  const lost = { channelId: first, connection: '400', problem: 'Telegram responded with 403' };
  const results = await Promise.all(Array.from({ length: 4 }, () => disconnectChannel(database, lost, TOOLS)));
  t.is(results.filter((result) => result !== null).length, 1);
  const deliveries = await listDeliveriesAbout(first);
  t.deepEqual(deliveries.map(({ channel_id: id }) => id).toSorted(), others);
  t.like(deliveries[0], {
    state: 'lost',
    reason: 'Alerts are not reaching the channel first: its chat is unavailable. Reconnect it to receive alerts again',
  });
  t.deepEqual(
    results
      .find((result) => result !== null)
      ?.map(({ channelId }) => channelId)
      .toSorted(),
    others,
  );
  // The channel was lost already, so its chat's block of the bot changes nothing.
  await apply({ kind: 'removed', chatId: '400' });
  t.is((await listDeliveriesAbout(first)).length, 2);
  await apply({ kind: 'start', chatId: '400', fingerprint: null });
  await updateChannel(database, { tenantId: 'ten_lost', id: first, author: null }, { enabled: true });
  await disconnectChannel(database, lost, TOOLS);
  t.is((await listDeliveriesAbout(first)).length, 4);
});

test('/stop and removal are reported for each channel with their cause; a later failure adds nothing', async (t) => {
  for (const [kind, state, words] of [
    ['stop', 'stopped', /^A member sent \/stop in the chat of the channel (first|twin)\. It is disabled/],
    ['removed', 'removed', /^The bot was blocked in the chat of the channel (first|twin), or removed/],
  ] as const) {
    const { first, twin, others } = await addChats(`ten_${kind}`, kind === 'stop' ? '500' : '600');
    const chatId = kind === 'stop' ? '500' : '600';
    await apply({ kind, chatId });
    await apply({ kind, chatId });
    for (const id of [first, twin]) {
      const deliveries = await listDeliveriesAbout(id);
      t.deepEqual(deliveries.map((one) => one.channel_id).toSorted(), others);
      t.true(
        deliveries.every((one) => one.state === state && words.test(one.reason)),
        JSON.stringify(deliveries),
      );
    }
    t.deepEqual(
      await disconnectChannel(database, { channelId: first, connection: chatId, problem: 'Blocked' }, TOOLS),
      [],
    );
    t.is((await listDeliveriesAbout(first)).length, 2);
  }
});

test('a loss whose deliveries cannot be written is rolled back and detected again', async (t) => {
  const { first } = await addChats('ten_broken', '700');
  const lost = { channelId: first, connection: '700', problem: 'Blocked' };
  await t.throwsAsync(
    disconnectChannel(database, lost, {
      ...TOOLS,
      newId: () => {
        throw new Error('the process fails here');
      },
    }),
  );
  t.like(await findChannel(database, { tenantId: 'ten_broken', id: first }), { status: 'connected', lastError: null });
  t.is((await disconnectChannel(database, lost, TOOLS))?.length, 2);
});

test('two chats of one owner lost at the same time do not block each other', async (t) => {
  const { first, others } = await addChats('ten_both', '800');
  await Promise.all(
    [
      [first, '800'],
      [others[0], '8001'],
    ].map(([channelId = '', connection = '']) =>
      disconnectChannel(database, { channelId, connection, problem: 'Blocked' }, TOOLS),
    ),
  );
  for (const id of [first, others[0] ?? ''])
    t.like(await findChannel(database, { tenantId: 'ten_both', id }), { status: 'pending' });
});

test('a channel follows its chat to a new id', async (t) => {
  await start('-300', await addChannel('nch_move'));
  await apply({ kind: 'moved', chatId: '-300', to: '-100300' });
  t.is(await findConnection(database, { tenantId: 'ten_1', id: 'nch_move' }), '-100300');
});

test('the polling mark only moves forward', async (t) => {
  const run = runOn(database.pool);
  const at = (updateId: number, nowMs = NOW_MS) => ({ bot: 'bot_1', updateId, nowMs });
  t.is(await findNextUpdate(run, { bot: 'bot_1', nowMs: NOW_MS }), null);
  t.deepEqual(
    [
      await passUpdate(run, at(7)),
      await passUpdate(run, at(7)),
      await passUpdate(run, at(6)),
      await passUpdate(run, at(9)),
    ],
    [true, false, false, true],
  );
  t.is(await findNextUpdate(run, { bot: 'bot_1', nowMs: NOW_MS }), 10);
  t.is(await findNextUpdate(run, { bot: 'bot_2', nowMs: NOW_MS }), null);
});

test('the polling mark expires after a day, because Telegram may restart its numbering anywhere', async (t) => {
  const run = runOn(database.pool);
  const dayLaterMs = NOW_MS + 24 * HOUR * 1000;
  t.true(await passUpdate(run, { bot: 'bot_3', updateId: 900, nowMs: NOW_MS }));
  t.is(await findNextUpdate(run, { bot: 'bot_3', nowMs: dayLaterMs - 1 }), 901);
  t.false(await passUpdate(run, { bot: 'bot_3', updateId: 5, nowMs: dayLaterMs - 1 }));
  t.is(await findNextUpdate(run, { bot: 'bot_3', nowMs: dayLaterMs }), null);
  t.true(await passUpdate(run, { bot: 'bot_3', updateId: 5, nowMs: dayLaterMs }));
  t.is(await findNextUpdate(run, { bot: 'bot_3', nowMs: dayLaterMs }), 6);
});

test('an update is taken once, in any order and separately for each bot', async (t) => {
  const run = runOn(database.pool);
  const taken: boolean[] = [];
  for (const [bot, updateId] of [
    ['bot_4', 7],
    ['bot_4', 9],
    ['bot_4', 8],
    ['bot_4', 7],
    ['bot_4', 8],
    ['bot_5', 8],
  ] as const)
    taken.push(await takeUpdate(run, { bot, updateId, nowMs: NOW_MS }));
  t.deepEqual(taken, [true, true, true, false, false, true]);
});

test('only one concurrent transaction takes an update, and another one if that rolls back', async (t) => {
  const update = { bot: 'bot_6', updateId: 1, nowMs: NOW_MS };
  const failed = inTransaction(database, async (run) => {
    t.true(await takeUpdate(run, update));
    const others = Array.from({ length: 3 }, () => inTransaction(database, (other) => takeUpdate(other, update)));
    throw Object.assign(new Error('the process fails here'), { others });
  });
  const { others } = await t.throwsAsync<Error & { others: Promise<boolean>[] }>(failed);
  t.deepEqual((await Promise.all(others)).filter(Boolean), [true]);
});

test('a taken update is remembered for two days and then forgotten', async (t) => {
  const run = runOn(database.pool);
  // Long ago, so that other tests' marks stay.
  const thenMs = NOW_MS - 1000 * HOUR * 1000;
  const twoDaysLaterMs = thenMs + 48 * HOUR * 1000;
  t.true(await takeUpdate(run, { bot: 'bot_7', updateId: 1, nowMs: thenMs }));
  t.true(await takeUpdate(run, { bot: 'bot_7', updateId: 2, nowMs: thenMs + 1 }));
  t.false(await takeUpdate(run, { bot: 'bot_7', updateId: 1, nowMs: twoDaysLaterMs - 1 }));
  t.true((await deleteOldUpdates(database, twoDaysLaterMs)) >= 1);
  t.deepEqual(await run('SELECT update_id AS id FROM telegram_updates WHERE bot = $1', ['bot_7']), [{ id: 2 }]);
  t.true(await takeUpdate(run, { bot: 'bot_7', updateId: 2, nowMs: twoDaysLaterMs + 1 }));
});

async function addChannel(id: string, tenantId = 'ten_1'): Promise<Buffer> {
  const fingerprint = randomBytes(32);
  const connectCode = { fingerprint, expiresAtSeconds: NOW_MS / 1000 + HOUR };
  await createChannel(database, {
    id,
    tenantId,
    type: 'telegram',
    name: 'Phone',
    status: 'pending',
    allMonitors: true,
    monitorIds: [],
    connectCode,
    nowMs: NOW_MS,
    author: null,
  });
  return fingerprint;
}

async function take(
  fingerprint: Buffer,
  { type = 'telegram', nowMs = NOW_MS }: { type?: 'telegram' | 'slack'; nowMs?: number } = {},
) {
  return await inTransaction(database, (run) => takeConnectCode(run, { fingerprint, type, nowMs }));
}

async function start(chatId: string, fingerprint: Buffer): Promise<void> {
  const { outcome } = await apply({ kind: 'start', chatId, fingerprint });
  if (outcome !== 'connected') throw new Error(outcome);
}

async function apply(update: Parameters<typeof applyChatUpdate>[1]) {
  return (await inTransaction(database, (run) => applyChatUpdate(run, update, TOOLS))).outcome;
}

/** Creates a tenant with chats, the first two in one Telegram chat, and channels that must not be notified of them. */
async function addChats(tenantId: string, chatId: string) {
  await createTenant(database, { id: tenantId, name: tenantId, plan: 'pro', nowMs: NOW_MS, author: null });
  const add = async (
    name: string,
    {
      type = 'telegram',
      chat = null,
      change = {},
    }: { type?: ChannelType; chat?: string | null; change?: { enabled?: boolean; status?: string } },
  ) => {
    const id = `nch_${tenantId}_${name}`;
    await createChannel(database, {
      id,
      tenantId,
      type,
      name,
      status: 'connected',
      allMonitors: true,
      monitorIds: [],
      nowMs: NOW_MS,
      author: null,
    });
    await database.pool.query('UPDATE channels SET chat_id = $2, enabled = $3, status = $4 WHERE id = $1', [
      id,
      chat,
      change.enabled ?? true,
      change.status ?? 'connected',
    ]);
    return id;
  };
  const [first, twin] = [await add('first', { chat: chatId }), await add('twin', { chat: chatId })];
  const others = [await add('phone', { chat: `${chatId}1` }), await add('team', { type: 'slack' })];
  await add('hook', { type: 'webhook' });
  await add('disabled', { chat: `${chatId}2`, change: { enabled: false } });
  await add('pending', { type: 'slack', change: { status: 'pending' } });
  return { first, twin, others: others.toSorted() };
}

/** Returns the channels that were notified of a channel's loss, with its state and reason. */
async function listDeliveriesAbout(
  channelId: string,
): Promise<{ channel_id: string; state: string; reason: string }[]> {
  const { rows } = await database.pool.query(
    `SELECT channel_id, message ->> 'state' AS state, message ->> 'reason' AS reason FROM deliveries
     WHERE event = 'channel.disconnected' AND message -> 'channel' ->> 'id' = $1 ORDER BY no`,
    [channelId],
  );
  return rows;
}
