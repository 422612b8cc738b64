import anyTest, { type TestFn } from 'ava';
import { watchMaintenance } from '../../../workers/maintenance/plan.ts';
import { openLiveStream } from '../../helpers/live-stream.ts';
import { until } from '../../helpers/until.ts';
import { withApiServer, type ApiServer } from '../api-server.ts';

const test = anyTest as TestFn<{ api: ApiServer }>;
withApiServer(test);

const WINDOWS = '/v1/maintenance-windows';

test('a window is streamed from its creation to its end, to its own account only', async (t) => {
  const { api } = t.context;
  const { database } = api;
  const { owner, readerToken } = await api.account();
  const stranger = await api.account();
  const watch = (token: string) => openLiveStream(t, api.url, { Authorization: `Bearer ${token}` });
  const [stream, foreign] = [await watch(readerToken), await watch(stranger.readerToken)];
  const seen = () => stream.events.filter(({ event }) => event === 'maintenance').map(({ data }) => data);
  /** Makes a change and returns the data of the next event. */
  const after = async (change: () => Promise<unknown>) => {
    const before = seen().length;
    await change();
    return await until(() => seen()[before]);
  };
  await owner('POST', '/v1/monitors', { name: 'Shop', target: 'https://shop.example/' });
  const startMs = (Math.floor(Date.now() / 1000) + 600) * 1000;
  const body = { name: 'Upgrade', all_monitors: true, starts_at: startMs / 1000, duration_seconds: 600 };
  const planned = await after(() => owner('POST', WINDOWS, body));
  t.like(planned, { name: 'Upgrade', status: 'scheduled', next: { starts_at: startMs / 1000 } });
  const path = `${WINDOWS}/${String(planned['id'])}`;
  t.like(await after(() => owner('PATCH', path, { name: 'Move' })), { name: 'Move' });

  const watchAt = (nowMs: number) => watchMaintenance({ database, now: () => nowMs });
  const announced = await after(async () => {
    await watchAt(startMs - 1);
    await Promise.all([watchAt(startMs), watchAt(startMs)]);
    await watchAt(startMs + 1000);
  });
  t.like(announced, { name: 'Move' });
  await after(() => watchAt(startMs + 600_000));
  await watchAt(startMs + 600_000 + 3_600_000);
  const { rows } = await database.pool.query('SELECT FROM current_occurrences');
  t.is(rows.length, 0);
  t.is(seen().length, 4, 'each once');

  const running = await after(() => owner('POST', WINDOWS, { ...body, starts_at: undefined }));
  t.like(running, { status: 'active' });
  const runningPath = `${WINDOWS}/${String(running['id'])}`;
  const end = Number((running['current'] as { ends_at: number }).ends_at);
  const extended = await after(() => owner('POST', `${runningPath}/extend`, { duration_seconds: 60 }));
  t.like(extended, { current: { ends_at: end + 60 } });
  t.like(await after(() => owner('POST', `${runningPath}/end`, {})), { status: 'ended' });
  const recurring = await after(() => owner('POST', WINDOWS, { ...body, cron: '0 3 * * *' }));
  t.like(await after(() => owner('POST', `${WINDOWS}/${String(recurring['id'])}/skip`)), { id: recurring['id'] });
  t.like(await after(() => owner('DELETE', path)), { deleted: true });
  t.deepEqual(
    foreign.events.map(({ event }) => event),
    ['ready'],
  );
});
