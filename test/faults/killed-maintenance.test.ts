import test, { type ExecutionContext } from 'ava';
import { FLEET, type ProcessName } from '../../config/processes.ts';
import { createChannel } from '../../models/alerts/channels.ts';
import { closeDatabase } from '../../models/database.ts';
import { createTestDatabase, openTestDatabase } from '../helpers/database.ts';
import { startFleet, type Fleet } from '../helpers/fleet.ts';
import { pendingDeliveries } from '../helpers/history.ts';
import { listQueueBackends, type QueueBackend } from '../helpers/queue-backend.ts';
import { eventsAt, PATIENTLY } from '../helpers/story.ts';
import { startTarget } from '../helpers/target.ts';
import { startTelegramServer } from '../helpers/telegram-server.ts';
import { until } from '../helpers/until.ts';
import { startReceiver, type Receiver } from '../helpers/webhook-receiver.ts';

const CHAT = -1_009_876_543_210;

/** Longest delay of an alert by kills, in milliseconds: expired claims and locks, and a busy machine. */
const DELAY_MS = 120_000;

/** Delay of alerts after the window's end, in seconds: enough to kill every process before they are due. */
const SETTLE_SECONDS = 5;

const PROCESSES = Object.keys(FLEET).filter((name): name is ProcessName => name !== 'release');

/** Alerts that are sent in any case: everything to the webhook, and to the chat the monitors down at the end. */
const ALERTS = {
  webhook: ['Database', 'Queue', 'Shop'].flatMap((name) => [`${name}: down`, `${name}: up`, `${name}: up`]),
  chat: ['2 monitors: 2 down', 'Recovered: Database', 'Recovered: Shop'],
};

test('an uninterrupted maintenance window ends with one chat summary of the monitors that are down', async (t) => {
  await runThroughMaintenance(t, { backend: listQueueBackends()[0], interrupt: () => Promise.resolve() });
});

for (const backend of listQueueBackends()) {
  test(`kill -9 of every process during maintenance with queues in ${backend.name} changes no alert`, async (t) => {
    await runThroughMaintenance(t, {
      backend,
      async interrupt(fleet, meanwhile) {
        await Promise.all(PROCESSES.map(fleet.kill));
        await meanwhile();
        await Promise.all(PROCESSES.map(fleet.start));
      },
    });
  });
}

type Run = {
  backend: QueueBackend | undefined;
  /** Interrupts the processes until `meanwhile` is over. */
  interrupt: (fleet: Fleet, meanwhile: () => Promise<unknown>) => Promise<void>;
};

async function runThroughMaintenance(t: ExecutionContext, { backend, interrupt }: Run): Promise<void> {
  const { databaseUrl, drop } = await createTestDatabase();
  t.teardown(drop);
  const receiver = await startReceiver(t);
  const telegram = await startTelegramServer(t);
  telegram.open(CHAT);
  const [lasting, passing] = [await startTarget(t), await startTarget(t)];
  const fleet = await startFleet(t, {
    DATABASE_URL: databaseUrl,
    NODE_EXTRA_CA_CERTS: receiver.caFile,
    TELEGRAM_BOT_TOKEN: telegram.token,
    TELEGRAM_BOT_NAME: 'spotcheck_test_bot',
    TELEGRAM_API_URL: telegram.url,
    ...(typeof backend?.redisUrl === 'string' && { REDIS_URL: `${backend.redisUrl}/5` }),
  });
  const send = async (path: string, body: object) => {
    const { status, json } = await fleet.call('POST', path, body);
    if (status >= 300) throw new Error(`${path}: ${status} ${JSON.stringify(json)}`);
    return json;
  };
  await send('/channels', { type: 'webhook', name: 'On call', url: receiver.url });
  await connectChat(databaseUrl);
  const targets = { Shop: lasting, Database: lasting, Queue: passing };
  for (const [name, target] of Object.entries(targets))
    await send('/monitors', { name, target: target.url(), ...PATIENTLY });
  const heard = () => alertsAt(receiver);
  const waitFor = (condition: () => unknown) => until(condition, { timeoutMs: DELAY_MS, intervalMs: 100 });
  await waitFor(() => heard().length === 3);

  const startsAt = Math.ceil(Date.now() / 1000) + 2;
  const window = { name: 'Upgrade', all_monitors: true, starts_at: startsAt, duration_seconds: 3600 };
  const { id } = await send('/maintenance-windows', { ...window, settle_seconds: SETTLE_SECONDS });
  await interrupt(fleet, () => waitFor(() => Date.now() > startsAt * 1000));
  await waitFor(() => Date.now() > startsAt * 1000);
  const { monitors } = (await fleet.call('GET', '/monitors')).json as { monitors: { maintenance: object | null }[] };
  t.is(monitors.filter(({ maintenance }) => maintenance !== null).length, 3);

  for (const target of [lasting, passing]) target.health.status = 503;
  await passing.nextHit('/', DELAY_MS);
  await interrupt(fleet, () => Promise.resolve());
  await waitFor(() => heard().length === 6);
  passing.health.status = 200;
  await waitFor(() => heard().length === 7);
  t.deepEqual(telegram.sent, [], 'alerts to the chat are held');

  const dueAtMs = Date.now() + SETTLE_SECONDS * 1000;
  await send(`/maintenance-windows/${id}/end`, {});
  await interrupt(fleet, () => waitFor(() => Date.now() > dueAtMs));
  await waitFor(() => telegram.sent.length > 0);
  t.true(Date.now() >= dueAtMs - 1000, 'not before the settle time has passed');
  lasting.health.status = 200;
  await waitFor(() => heard().length === 9 && telegram.sent.length >= 3);
  await waitFor(async () => (await pendingDeliveries(databaseUrl)) === 0);
  t.deepEqual(heard().toSorted(), ALERTS.webhook);
  t.deepEqual(telegram.sent.map(({ text }) => /<b>(.*)<\/b>/.exec(text)?.[1] ?? text).toSorted(), ALERTS.chat);
}

/** Returns a receiver's alerts without repeats. */
function alertsAt(receiver: Receiver): string[] {
  const byId = new Map(eventsAt(receiver).map(({ json }) => [json['delivery_id'], json as AlertBody]));
  return [...byId.values()].map(({ monitor, state }) => `${monitor.name}: ${state}`);
}

type AlertBody = { monitor: { name: string }; state: string };

/** Creates a chat for all events, as if users had connected it. */
async function connectChat(databaseUrl: string): Promise<void> {
  const database = openTestDatabase(databaseUrl);
  const { rows } = await database.pool.query<{ id: string }>('SELECT id FROM tenants');
  const { id } = await createChannel(database, {
    id: 'nch_chat',
    tenantId: rows[0]?.id ?? '',
    type: 'telegram',
    name: 'Team',
    status: 'connected',
    allMonitors: true,
    monitorIds: [],
    nowMs: Date.now(),
    author: null,
  });
  await database.pool.query('UPDATE channels SET chat_id = $2 WHERE id = $1', [id, String(CHAT)]);
  await closeDatabase(database);
}
