import { randomBytes } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import { buildTestMessage } from '../../../core/alerts/envelope.ts';
import { createChannel } from '../../../models/alerts/channels.ts';
import { insertDeliveries } from '../../../models/alerts/deliveries.ts';
import { runOn } from '../../../models/sql.ts';
import { generateSigningSecret } from '../../../notifications/webhook/signature.ts';
import type { DueAttempt } from '../../../queues/job-queues.ts';
import { QUEUES } from '../../../queues/payloads.ts';
import { startDeliver } from '../../../workers/processes/deliver.ts';
import type { Runtime } from '../../../workers/runtime.ts';
import { reconcile } from '../../../workers/system/reconcile.ts';
import { TestAuthority, type KeyPair } from '../../helpers/certificates.ts';
import { startHttpServer } from '../../helpers/http-server.ts';
import { listQueueBackends } from '../../helpers/queue-backend.ts';
import { openTestRuntime, type TestRuntime } from '../../helpers/runtime.ts';
import { until } from '../../helpers/until.ts';

const OPTIONS = {
  allowPrivateNetwork: true,
  webhookTimeoutSeconds: 60,
  deliveryRetrySeconds: [5],
  telegram: { botToken: null, botName: null, apiUrl: 'https://api.telegram.org' },
  slack: { apiUrl: 'https://slack.com/api' },
  mail: null,
};
let keys: KeyPair;

test.before(async () => {
  const authority = await TestAuthority.create();
  authority.trust();
  keys = await authority.issue({ hosts: ['127.0.0.1'] });
});

for (const backend of listQueueBackends()) {
  test(`${backend.name}: stopping finishes running deliveries, and another process sends the rest`, async (t) => {
    const runtime = await openTestRuntime(t, backend);
    const receiver = await startHeldReceiver(t);
    const attempts = await addDeliveries(runtime, { count: 10, url: receiver.url, dueAtMs: runtime.now() });
    const first = startDeliver(runtime, OPTIONS);
    await runtime.queues.enqueueAttempts(attempts);
    await until(() => receiver.held.length === 4);

    const stopped = first.stop();
    receiver.release();
    await stopped;
    t.is(receiver.requests(), 4);
    t.is(await pendingOf(runtime), 6);

    start(t, runtime.open());
    await until(async () => (await pendingOf(runtime)) === 0);
    t.is(receiver.requests(), 10);
  });

  test(`${backend.name}: a job that arrives early by this machine's clock waits until it is due`, async (t) => {
    const runtime = await openTestRuntime(t, backend);
    const receiver = await startHeldReceiver(t);
    receiver.release();
    const dueAtMs = Date.now() + 1500;
    await addDeliveries(runtime, { count: 1, url: receiver.url, dueAtMs });
    const queue = runtime.queues.all().find(({ name }) => name === QUEUES.deliver);
    await queue?.add('deliver', { channelIds: ['nch_1'], dueAtMs, deliveryIds: [] });
    start(t, runtime);
    const arrivedAtMs = await until(() => receiver.requests() === 1 && Date.now());
    t.true(arrivedAtMs >= dueAtMs, `${arrivedAtMs - dueAtMs} ms`);
  });

  test(`${backend.name}: reconcile enqueues deliveries whose jobs were lost`, async (t) => {
    const runtime = await openTestRuntime(t, backend);
    const receiver = await startHeldReceiver(t);
    receiver.release();
    await addDeliveries(runtime, { count: 10, url: receiver.url, dueAtMs: runtime.now() - 60_000 });
    start(t, runtime);
    t.is((await reconcile(runtime)).deliveries, 10);
    await until(async () => (await pendingOf(runtime)) === 0);
    t.is(receiver.requests(), 10);
    t.is((await reconcile(runtime)).deliveries, 0);
  });
}

function start(t: ExecutionContext, runtime: Runtime): void {
  const running = startDeliver(runtime, OPTIONS);
  t.teardown(() => running.stop());
}

/** Starts a receiver that holds all responses until released, and responds at once from then on. */
async function startHeldReceiver(t: ExecutionContext) {
  const held: (() => void)[] = [];
  let [requests, isReleased] = [0, false];
  const { port } = await startHttpServer(
    t,
    (_request, response) => {
      requests += 1;
      if (isReleased) response.end();
      else held.push(() => response.end());
    },
    keys,
  );
  return {
    url: `https://127.0.0.1:${port}/`,
    held,
    requests: () => requests,
    release() {
      isReleased = true;
      for (const answer of held) answer();
    },
  };
}

async function addDeliveries(
  { database, tenantId }: TestRuntime,
  { count, url, dueAtMs }: { count: number; url: string; dueAtMs: number },
): Promise<DueAttempt[]> {
  const webhook = { url, signingSecret: generateSigningSecret(randomBytes) };
  await createChannel(database, {
    id: 'nch_1',
    tenantId,
    type: 'webhook',
    name: 'Pager',
    status: 'connected',
    allMonitors: true,
    monitorIds: [],
    webhook,
    nowMs: 0,
    author: null,
  });
  const message = buildTestMessage({ nowMs: dueAtMs, publicUrl: 'https://spotcheck.example' });
  const ids = Array.from({ length: count }, (_, index) => `dlv_${index}`);
  await insertDeliveries(
    runOn(database.pool),
    ids.map((id) => ({ id, tenantId, channelId: 'nch_1', monitorId: `mon_${id}`, message, createdAtMs: dueAtMs })),
  );
  return ids.map((deliveryId) => ({ deliveryId, channelId: 'nch_1', attempt: 1, dueAtMs }));
}

async function pendingOf({ database }: Runtime): Promise<number> {
  const { rows } = await database.pool.query(`SELECT count(*) AS pending FROM deliveries WHERE outcome = 'pending'`);
  return rows[0].pending;
}
