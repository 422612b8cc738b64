import test from 'ava';
import { Webhook } from 'standardwebhooks';
import { listOf } from '../helpers/api-client.ts';
import { startHttpServer } from '../helpers/http-server.ts';
import { newPreparedDataDir, startService } from '../helpers/running-service.ts';
import { eventsAt, nextEvent, PATIENTLY } from '../helpers/story.ts';
import { until } from '../helpers/until.ts';
import { startReceiver, type Received } from '../helpers/webhook-receiver.ts';

test('refused deliveries are recorded, and resent on request in order with their ids and both secrets', async (t) => {
  const receiver = await startReceiver(t);
  const health = { status: 200 };
  const { port } = await startHttpServer(t, (_request, response) => void response.writeHead(health.status).end());
  const { call, program } = await startService(t, {
    DATA_DIR: await newPreparedDataDir(t),
    NODE_EXTRA_CA_CERTS: receiver.caFile,
  });
  const {
    json: { id, signing_secret: firstSecret },
  } = await call('POST', '/channels', { type: 'webhook', name: 'On call', url: receiver.url });
  const recordOf = async (query: string) => listOf(await call('GET', `/channels/${id}/deliveries${query}`));

  await call('POST', '/monitors', {
    name: 'Shop',
    target: `http://127.0.0.1:${port}/`,
    ...PATIENTLY,
  });
  await until(async () => (await recordOf('?outcome=delivered')).length === 1);
  receiver.answer.status = 404;
  for (const [status, event] of [
    [503, 'monitor.down'],
    [200, 'monitor.up'],
    [503, 'monitor.down'],
  ] as const) {
    const refused = nextEvent(receiver, event);
    health.status = status;
    await refused;
  }
  const failed = await until(async () => {
    const deliveries = await recordOf('?outcome=failed');
    return deliveries.length === 3 && deliveries;
  });
  t.deepEqual(
    failed.map(({ event }) => event),
    ['monitor.down', 'monitor.up', 'monitor.down'],
  );
  t.like(failed[0], { attempt_count: 1, last_error: 'The endpoint responded with 404', next_attempt_at: null });
  t.like((await call('GET', `/channels/${id}`)).json, {
    last_error: 'The endpoint responded with 404',
    enabled: true,
    status: 'connected',
  });

  receiver.answer.status = 204;
  const [newest, , oldest] = failed;
  const {
    json: { signing_secret: newSecret },
  } = await call('POST', `/channels/${id}/rotate-secret`);
  t.is((await call('POST', `/deliveries/${newest?.['id']}/redeliver`)).status, 202);
  const again = await until(() => eventsAt(receiver).filter(({ json }) => json['delivery_id'] === newest?.['id'])[1]);
  for (const secret of [firstSecret, newSecret]) t.notThrows(() => verified(again, String(secret)));
  await until(async () => (await call('GET', `/deliveries/${newest?.['id']}`)).json['outcome'] === 'delivered');
  const { attempts } = (await call('GET', `/deliveries/${newest?.['id']}`)).json;
  t.deepEqual(
    attempts.map(({ attempt, outcome, status_code }) => [attempt, outcome, status_code]),
    [
      [1, 'failed', 404],
      [2, 'delivered', 204],
    ],
  );
  t.false('last_error' in (await call('GET', `/channels/${id}`)).json);

  const before = eventsAt(receiver).length;
  const since = Number(oldest?.['created_at']);
  t.deepEqual((await call('POST', `/channels/${id}/replay`, { since })).json, { replayed: 2 });
  await until(
    async () => (await recordOf('?outcome=failed')).length + (await recordOf('?outcome=pending')).length === 0,
  );
  t.deepEqual(
    eventsAt(receiver)
      .slice(before)
      .map(({ json }) => json['delivery_id']),
    failed
      .slice(1)
      .toReversed()
      .map((delivery) => delivery['id']),
  );
  t.deepEqual((await call('POST', `/channels/${id}/replay`, { since })).json, { replayed: 0 });

  t.like((await call('POST', `/channels/${id}/test`)).json, { ok: true, status_code: 204 });
  t.true(receiver.received.at(-1)?.json['test']);
  t.is(await program.stop(), 0);
  for (const secret of [firstSecret, newSecret]) t.false(program.output().includes(String(secret).slice(6)));
});

function verified({ body, headers }: Received, secret: string): unknown {
  return new Webhook(secret).verify(body, headers as Record<string, string>);
}
