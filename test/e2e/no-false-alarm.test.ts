import test from 'ava';
import { startListener } from '../helpers/listener.ts';
import { newPreparedDataDir, startService } from '../helpers/running-service.ts';
import { startTarget } from '../helpers/target.ts';
import { until } from '../helpers/until.ts';

test('npm start detects an outage before the next tick, and reports none while its own network is down', async (t) => {
  const [reference, target, shop] = [await startListener(t), await startListener(t), await startTarget(t)];
  const { program, call } = await startService(t, {
    DATA_DIR: await newPreparedDataDir(t),
    SELF_CHECK_HOSTS: `${reference.host}:${reference.port}`,
  });
  const create = async (body: object) => (await call('POST', '/monitors', body)).json['id'];
  const shopId = await create({ name: 'Shop', target: shop.url(), interval_seconds: 86_400, down_after_failures: 2 });
  const targetId = await create({
    name: 'Mail',
    type: 'tcp',
    target: `${target.host}:${target.port}`,
    interval_seconds: 1,
    timeout_ms: 500,
    down_after_failures: 1,
  });
  const isIn = (id: string, status: string) =>
    until(async () => (await call('GET', `/monitors/${id}`)).json['status'] === status, { intervalMs: 50 });
  const incidentsOf = async (id: string) => (await call('GET', `/monitors/${id}/incidents`)).json['incidents'];
  const countLogged = (message: string) => program.output().split(message).length - 1;
  await Promise.all([isIn(shopId, 'up'), isIn(targetId, 'up')]);

  await reference.close();
  await target.close();
  await isIn(targetId, 'pending');
  t.deepEqual(await incidentsOf(targetId), []);
  t.is(countLogged('self_check.failed'), 1);

  await reference.open();
  await target.open();
  await isIn(targetId, 'up');
  await until(() => countLogged('self_check.passed') === 1);

  shop.health.status = 503;
  t.is((await call('POST', `/monitors/${shopId}/check`)).status, 202);
  await target.close();
  await Promise.all([isIn(targetId, 'down'), isIn(shopId, 'down')]);
  t.is(countLogged('self_check.failed'), 1);
  const [incident] = await incidentsOf(shopId);
  const delaySeconds = (incident?.detected_at ?? 0) - (incident?.started_at ?? 0);
  t.true(delaySeconds >= 20, `${delaySeconds} s`);
  t.is(await program.stop(), 0);
});
