import { randomBytes } from 'node:crypto';
import { json } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { buildTestMessage, type MonitorMessage } from '../../../core/alerts/envelope.ts';
import { createChannel } from '../../../models/alerts/channels.ts';
import { insertDeliveries } from '../../../models/alerts/deliveries.ts';
import { inTransaction } from '../../../models/sql.ts';
import { generateSigningSecret } from '../../../notifications/webhook/signature.ts';
import { startDeliver } from '../../../workers/processes/deliver.ts';
import type { Runtime } from '../../../workers/runtime.ts';
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
const MONITORS = 5;
let keys: KeyPair;

test.before(async () => {
  const authority = await TestAuthority.create();
  authority.trust();
  keys = await authority.issue({ hosts: ['127.0.0.1'] });
});

for (const backend of listQueueBackends()) {
  test(
    `${backend.name}: two processes of four lanes each deliver 300 events of five monitors, in order for ` +
      'each monitor',
    async (t) => {
      const runtime = await openTestRuntime(t, backend);
      const receiver = await startReceiver(t);
      await addChannel(runtime, receiver.url);
      const processes = [startDeliver(runtime, OPTIONS), startDeliver(runtime.open(), OPTIONS)];
      t.teardown(() => Promise.all(processes.map((process) => process.stop())));
      let written = 0;
      while (written < 300) {
        // Batches of all sizes, some with several events of one monitor, arrive while others are in flight.
        const size = 1 + (written % 23);
        await insertDeliveriesOf(runtime, { from: written, to: Math.min(300, written + size) });
        written = Math.min(300, written + size);
      }
      await until(() => receiver.received.length >= 300);
      await until(async () => (await pendingOf(runtime)) === 0);
      t.is(receiver.received.length, 300);
      for (let monitor = 0; monitor < MONITORS; monitor += 1) {
        t.deepEqual(
          receiver.received.filter((event) => event % MONITORS === monitor),
          Array.from({ length: 300 / MONITORS }, (_, index) => index * MONITORS + monitor),
        );
      }
      t.true(receiver.most() > 1, 'no two requests were concurrent');
      t.deepEqual(
        runtime.logLines.filter(({ level }) => level === 'error'),
        [],
      );
    },
  );
}

test("events waiting behind another process's pending request are sent as soon as it completes", async (t) => {
  const runtime = await openTestRuntime(t);
  const receiver = await startReceiver(t);
  await addChannel(runtime, receiver.url);
  const first = startDeliver(runtime, OPTIONS);
  receiver.hold();
  await insertDeliveriesOf(runtime, { from: 0, to: 1 });
  await until(() => receiver.underWay() === 1);
  // The first process finishes its deliveries and claims no more: the second one has to find the rest without a job.
  const stopped = first.stop();
  const second = startDeliver(runtime.open(), OPTIONS);
  t.teardown(() => second.stop());
  await insertDeliveriesOf(runtime, { from: MONITORS, to: MONITORS + 1 });
  await insertDeliveriesOf(runtime, { from: 1, to: 2 });
  await until(() => receiver.underWay() === 2);
  receiver.release();
  const releasedAtMs = performance.now();
  await until(() => receiver.received.length === 3);
  // Far less than the first process's claim lasts.
  t.true(performance.now() - releasedAtMs < 30_000, `${performance.now() - releasedAtMs} ms`);
  t.is(receiver.received.at(-1), MONITORS);
  await stopped;
});

/**
 * Starts a receiver that records the numbers of its responses in order. It responds after some milliseconds, or when
 * released.
 */
async function startReceiver(t: ExecutionContext) {
  const received: number[] = [];
  let [underWay, most] = [0, 0];
  let held = Promise.withResolvers<void>();
  held.resolve();
  const { port } = await startHttpServer(
    t,
    async (request, response) => {
      underWay += 1;
      most = Math.max(most, underWay);
      const { detail } = (await json(request)) as MonitorMessage;
      await delay((detail.sequence * 7) % 11);
      await held.promise;
      received.push(detail.sequence);
      underWay -= 1;
      response.end();
    },
    keys,
  );
  return {
    url: `https://127.0.0.1:${port}/`,
    received,
    underWay: () => underWay,
    most: () => most,
    hold: () => void (held = Promise.withResolvers<void>()),
    release: () => held.resolve(),
  };
}

async function addChannel({ database, tenantId }: TestRuntime, url: string): Promise<void> {
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
}

/** Inserts numbered events, of the monitors in turn, like the evaluator: the rows, then their job. */
async function insertDeliveriesOf(
  { database, tenantId, queues, newId, now }: TestRuntime,
  { from, to }: { from: number; to: number },
): Promise<void> {
  const createdAtMs = now();
  const template = buildTestMessage({ nowMs: createdAtMs, publicUrl: 'https://spotcheck.example' });
  const deliveries = Array.from({ length: to - from }, (_, index) => {
    const sequence = from + index;
    const message = { ...template, detail: { ...template.detail, sequence } };
    return {
      id: newId('dlv'),
      tenantId,
      channelId: 'nch_1',
      monitorId: `mon_${sequence % MONITORS}`,
      message,
      createdAtMs,
    };
  });
  await inTransaction(database, (run) => insertDeliveries(run, deliveries));
  await queues.enqueueAttempts(
    deliveries.map(({ id }) => ({ deliveryId: id, channelId: 'nch_1', attempt: 1, dueAtMs: createdAtMs })),
  );
}

async function pendingOf({ database }: Runtime): Promise<number> {
  const { rows } = await database.pool.query(`SELECT count(*) AS pending FROM deliveries WHERE outcome = 'pending'`);
  return rows[0].pending;
}
