import { randomBytes } from 'node:crypto';
import { verify } from '@octokit/webhooks-methods';
import test from 'ava';
import { Webhook } from 'standardwebhooks';
import type { MonitorDetail } from '../../core/alerts/envelope.ts';
import { createTestDatabase } from '../helpers/database.ts';
import { areDeliveredOnce } from '../helpers/history.ts';
import { startHttpServer } from '../helpers/http-server.ts';
import { startService } from '../helpers/running-service.ts';
import { eventsAt } from '../helpers/story.ts';
import { until } from '../helpers/until.ts';
import { startReceiver, type Received } from '../helpers/webhook-receiver.ts';
import { withClient } from '../helpers/with-client.ts';

const MONITORS = 20;

/**
 * Time for which each target answers well and badly in turns, in milliseconds; the targets change at different times.
 */
const TURN_MS = 2000;

/** Events awaited per monitor: a minute of them. */
const EVENTS_EACH = 30;

test('twenty monitors that flap for a minute send one signed event per transition, in order per monitor', async (t) => {
  const { databaseUrl, drop } = await createTestDatabase();
  t.teardown(drop);
  const receiver = await startReceiver(t);
  let isFlapping = true;
  const { port } = await startHttpServer(t, (request, response) => {
    const index = Number(request.url?.slice(1));
    const isBad = isFlapping && Math.floor((Date.now() + (index * TURN_MS) / MONITORS) / TURN_MS) % 2 === 1;
    response.writeHead(isBad ? 503 : 200).end();
  });
  const { call } = await startService(t, {
    DATABASE_URL: databaseUrl,
    SECRET_KEYS: `test:${randomBytes(32).toString('base64')}`,
    ALLOW_PRIVATE_NETWORK: 'true',
    NODE_EXTRA_CA_CERTS: receiver.caFile,
  });
  const channel = await call('POST', '/channels', { type: 'webhook', name: 'On call', url: receiver.url });
  t.is(channel.status, 201, JSON.stringify(channel.json));
  const secret = String(channel.json['signing_secret']);
  const ids: string[] = [];
  for (let index = 0; index < MONITORS; index += 1) {
    const monitor = await call('POST', '/monitors', {
      name: `Shop ${index}`,
      target: `http://127.0.0.1:${port}/${index}`,
      interval_seconds: 1,
      timeout_ms: 999,
      down_after_failures: 1,
    });
    t.is(monitor.status, 201, JSON.stringify(monitor.json));
    ids.push(String(monitor.json['id']));
  }

  await until(() => ids.every((id) => sequencesOf(receiver.received, id).length >= EVENTS_EACH), {
    timeoutMs: 180_000,
  });
  isFlapping = false;
  // Waits until all have recovered, nothing is pending, and nothing has changed for a second and a half. The database
  // is final then.
  let before = '';
  const last = await until(
    async () => {
      const recovered = await withClient(
        databaseUrl,
        async (client) =>
          (
            await client.query<{ id: string; sequence: number }>(
              `SELECT id, sequence FROM monitors WHERE state = 'up' AND NOT EXISTS (SELECT FROM deliveries
               WHERE outcome = 'pending') ORDER BY id`,
            )
          ).rows,
      );
      const isQuiet = before === JSON.stringify(recovered);
      before = JSON.stringify(recovered);
      return isQuiet && recovered.length === MONITORS && recovered;
    },
    { intervalMs: 1500 },
  );

  for (const { id, sequence } of last)
    t.deepEqual(
      sequencesOf(receiver.received, id),
      Array.from({ length: sequence }, (_, index) => index + 1),
      id,
    );
  const messages = eventsAt(receiver);
  await areDeliveredOnce(t, databaseUrl, messages);
  const verifier = new Webhook(secret);
  for (const { body, headers } of messages) {
    t.true(await verify(secret, body, String(headers['x-service-signature'])));
    t.notThrows(() => verifier.verify(body, headers as Record<string, string>));
  }
});

/** Returns the sequences of a monitor's events in order of their first arrival. */
function sequencesOf(received: readonly Received[], monitorId: string): number[] {
  const ours = received.filter(
    ({ json }) => json['test'] !== true && (json['monitor'] as { id: string } | null)?.id === monitorId,
  );
  const arrived = new Map(ours.map(({ json }) => [json['delivery_id'], (json['detail'] as MonitorDetail).sequence]));
  return [...arrived.values()];
}
