import { verify } from '@octokit/webhooks-methods';
import type { ExecutionContext } from 'ava';
import { Webhook } from 'standardwebhooks';
import { apiClient } from '../helpers/api-client.ts';
import { createTestDatabase } from '../helpers/database.ts';
import { startFleet } from '../helpers/fleet.ts';
import { openLiveStream } from '../helpers/live-stream.ts';
import { PATIENTLY } from '../helpers/story.ts';
import { startTarget } from '../helpers/target.ts';
import { until } from '../helpers/until.ts';
import { startReceiver, type Received, type Receiver } from '../helpers/webhook-receiver.ts';

/** Plays the main story of the product: a monitor goes down and recovers, and its owner's webhook reports both. */
export async function runStory(
  t: ExecutionContext,
  { url, token }: { url: string; token: string },
  receiver: Receiver,
): Promise<void> {
  const call = apiClient(url, token);
  const target = await startTarget(t);
  const live = await openLiveStream(t, url, { Authorization: `Bearer ${token}` });
  const channel = await call('POST', '/channels', { type: 'webhook', name: 'On call', url: receiver.url });
  t.is(channel.status, 201, JSON.stringify(channel.json));
  const secret = String(channel.json['signing_secret']);
  t.like(receiver.received[0]?.json, { event: 'monitor.up', test: true });

  const monitor = await call('POST', '/monitors', { name: 'Shop', target: target.url(), ...PATIENTLY });
  t.is(monitor.status, 201, JSON.stringify(monitor.json));
  const id = String(monitor.json['id']);
  const arrived = (event: string) =>
    until(() => receiver.received.find((message) => message.event === event && message.json['test'] !== true));

  await arrived('monitor.up');
  target.health.status = 503;
  const down = await arrived('monitor.down');
  t.like(down.json, {
    version: '1',
    state: 'down',
    reason: 'HTTP 503 instead of 2xx',
    monitor: { id, name: 'Shop', type: 'http', target: target.url() },
  });
  t.is((await call('GET', `/monitors/${id}`)).json['status'], 'down');
  await live.next('monitor', { id, status: 'down' });
  await live.next('incident', { monitor_id: id, status: 'open' });
  const [incident] = await until(async () => {
    const incidents = (await call('GET', `/monitors/${id}/incidents`)).json['incidents'];
    return incidents.length > 0 && incidents;
  });
  t.like(incident, {
    status: 'open',
    state: 'down',
    id: (down.json['detail'] as Record<string, unknown>)['incident_id'],
  });

  receiver.received.splice(0, receiver.received.length, down);
  target.health.status = 200;
  const up = await arrived('monitor.up');
  t.like(up.json, { state: 'up', detail: { previous_state: 'down', incident_id: incident?.id } });
  t.is((await call('GET', '/incidents?status=open')).json['incidents'].length, 0);
  await live.next('incident', { id: incident?.id, status: 'resolved' });
  for (const message of [down, up]) await verifyTwice(t, message, secret);

  const tried = await call('POST', '/trials', { monitor: { target: target.url(), body_match: 'nothing of the kind' } });
  t.like(tried.json, { verdict: 'down', cause: 'body_mismatch', answer: { body: 'ok' } }, JSON.stringify(tried.json));
}

async function verifyTwice(t: ExecutionContext, message: Received, secret: string): Promise<void> {
  t.true(await verify(secret, message.body, String(message.headers['x-service-signature'])));
  t.notThrows(() => new Webhook(secret).verify(message.body, message.headers as Record<string, string>));
  t.is(message.headers['x-service-delivery'], String(message.json['delivery_id']));
}

/** Plays the same story in a fleet of the Procfile's processes, with queues in Redis if `redisUrl` is given. */
export async function runStoryInFleet(t: ExecutionContext, redisUrl: string | null): Promise<void> {
  const { databaseUrl, drop } = await createTestDatabase();
  t.teardown(drop);
  const receiver = await startReceiver(t);
  const fleet = await startFleet(t, {
    DATABASE_URL: databaseUrl,
    NODE_EXTRA_CA_CERTS: receiver.caFile,
    ...(redisUrl !== null && { REDIS_URL: `${redisUrl}/1` }),
  });
  await runStory(t, fleet, receiver);
  for (const program of fleet.programs) t.is(await program.stop(), 0, program.output());
}
