import test from 'ava';
import { ClusterNodes, connectorTo } from '../../queues/cluster-node.ts';
import { openQueueBackend } from '../../queues/connection.ts';
import { createTestDatabase } from '../helpers/database.ts';
import { until } from '../helpers/until.ts';
import { PATIENCE_MS, withClient } from '../helpers/with-client.ts';

/** A BullMQ migration that runs under a process of the previous release: a function returns an additional column. */
const UPGRADE = `
  ALTER FUNCTION bullmq.move_to_completed_fetch RENAME TO finish_before;
  CREATE VIEW bullmq.longer_job AS SELECT *, 1 AS more FROM bullmq.job;
  DO $$ BEGIN
    EXECUTE format(
      'CREATE FUNCTION bullmq.move_to_completed_fetch(%s) RETURNS SETOF bullmq.longer_job LANGUAGE sql AS
         ''SELECT *, 1 FROM bullmq.finish_before($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)''',
      pg_get_function_identity_arguments('bullmq.finish_before'::regproc));
  END $$`;

test('no job fails when an upgrade makes a function return another column', async (t) => {
  const { databaseUrl, drop } = await createTestDatabase();
  const errors: string[] = [];
  const failed: string[] = [];
  const backend = openQueueBackend({
    databaseUrl,
    redisUrl: null,
    commandTimeoutMs: PATIENCE_MS,
    onError: ({ message }) => errors.push(message),
  });
  const queue = backend.createQueue<{ number: number }>('upgraded');
  const done: number[] = [];
  const worker = backend.createWorker<{ number: number }>('upgraded', async ({ data }) => done.push(data.number), {
    concurrency: 1,
    lockDurationMs: 15_000,
    onFailed: (_job, { message }) => failed.push(message),
  });
  t.teardown(async () => {
    await worker.close();
    await queue.close();
    await backend.close();
    await drop();
  });
  const complete = async (numbers: readonly number[]) => {
    for (const number of numbers) await queue.add('job', { number });
    await until(async () => numbers.every((number) => done.includes(number)) && (await queue.getActiveCount()) === 0);
  };

  await complete([1, 2, 3]);
  await withClient(databaseUrl, (client) => client.query(UPGRADE));
  await complete([4, 5, 6]);
  t.deepEqual(done, [1, 2, 3, 4, 5, 6]);
  t.deepEqual([...failed, ...errors], []);
});

test.serial('a clock that is set back does not delay connections to a cluster', async (t) => {
  const nodes = new ClusterNodes([{ host: '127.0.0.1', port: 1 }], { isSecure: false });
  const connector = new (connectorTo(nodes, 0))({});
  await connector.connect(() => undefined);
  const { now } = Date;
  t.teardown(() => (Date.now = now));
  Date.now = () => now() - 3_600_000;
  const connected = connector.connect(() => undefined).then(() => 'connected');
  const late = new Promise((resolve) => setTimeout(resolve, 30_000, 'late').unref());
  t.is(await Promise.race([connected, late]), 'connected');
});
