import test from 'ava';
import { Registry } from 'prom-client';
import { serveMetrics } from '../../../workers/system/metrics-server.ts';
import { openTestRuntime } from '../../helpers/runtime.ts';

test('a worker process is ready until it is stopped, and healthy to its end', async (t) => {
  const runtime = await openTestRuntime(t);
  const stopping = new AbortController();
  const server = await serveMetrics(runtime, {
    registry: new Registry(),
    port: 0,
    host: '127.0.0.1',
    stopping: stopping.signal,
  });
  t.teardown(server.stop);
  const address = runtime.logLines.find(({ msg }) => msg === 'metrics.listening')?.['address'] as {
    address: string;
    port: number;
  };
  t.is(address.address, '127.0.0.1', 'it listens where it is told to, and nowhere else');
  const get = async (path: string) => {
    const response = await fetch(`http://127.0.0.1:${address.port}${path}`);
    return { status: response.status, body: await response.json() };
  };
  t.deepEqual(await get('/readyz'), { status: 200, body: { status: 'ready', database: true, queue: true } });
  stopping.abort();
  t.deepEqual(await get('/readyz'), { status: 503, body: { status: 'stopping', database: true, queue: true } });
  t.is((await get('/healthz')).status, 200);
});
