import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { setInterval as ticks } from 'node:timers/promises';
import test from 'ava';
import { findEmbeddedPostgres } from '../../cli/embedded-postgres/connection.ts';
import { pingTokenOf, type ApiClient } from '../helpers/api-client.ts';
import { boundedDisk } from '../helpers/bounded-disk.ts';
import { runSpotcheck } from '../helpers/command.ts';
import { prepareDataDir } from '../helpers/prepared-data-dir.ts';
import { startService } from '../helpers/running-service.ts';
import { until } from '../helpers/until.ts';
import { withClient } from '../helpers/with-client.ts';

/** Size of the disk: the cluster, its WAL of up to 256 MiB, and some room. */
const DISK_MIB = 400;

/** Size of a job's report; PostgreSQL cannot compress it. */
const REPORT_BYTES = 6000;

/** Duration of the full disk, in milliseconds: long enough for a miss to be reported. */
const FULL_FOR_MS = 25_000;

/** Creates a heartbeat, whose pings come from this process: it may miss some for 15 s if the machine stands still. */
async function createHeartbeat(call: ApiClient, name: string): Promise<{ id: string; token: string }> {
  const created = await call('POST', '/monitors', { name, type: 'heartbeat', interval_seconds: 15, grace_seconds: 5 });
  const id = String(created.json['id']);
  const token = pingTokenOf(await call('GET', `/monitors/${id}`));
  return { id, token };
}

test('on a full disk writes get a 503 and no ping counts as missed, and freed space is enough to resume', async (t) => {
  const disk = await boundedDisk(t, DISK_MIB);
  if (disk === null) return t.pass();
  const dataDir = join(disk.path, 'data');
  await prepareDataDir(dataDir);
  const { program, url, call } = await startService(t, { DATA_DIR: dataDir });
  const databaseUrl = (await findEmbeddedPostgres(dataDir)) ?? '';
  const [job, stopped] = [await createHeartbeat(call, 'Job'), await createHeartbeat(call, 'Stopped job')];
  const statuses: number[] = [];
  const ping = async ({ token }: { token: string }) => {
    const { status } = await fetch(`${url}/ping/${token}`, {
      method: 'POST',
      body: randomBytes(REPORT_BYTES).toString('base64'),
    });
    statuses.push(status);
    return status;
  };
  const readiness = async () => (await (await fetch(`${url}/readyz`)).json()) as { status: string; database: boolean };
  let isOver = false;
  const jobRuns = (async () => {
    for await (const _tick of ticks(500)) {
      if (isOver) return;
      await ping(job);
    }
  })();
  // One ping counts for 20 seconds only, which both may need to come up.
  await until(
    async () => {
      t.is(await ping(stopped), 200);
      return (await call('GET', '/overview')).json['up'] === 2;
    },
    { intervalMs: 500 },
  );

  await disk.fill();
  await until(() => statuses.at(-1) === 503);
  const sinceMs = Date.now();
  await until(
    async () => {
      // PostgreSQL sometimes frees space after it has stopped.
      await disk.fill();
      return Date.now() - sinceMs > FULL_FOR_MS;
    },
    { timeoutMs: FULL_FOR_MS * 2, intervalMs: 500 },
  );
  t.like(await readiness(), { status: 'not ready', database: false });
  const writes: number[] = [];
  // Writes that fit into allocated pages still succeed.
  await until(
    async () =>
      writes.push((await call('POST', '/monitors', { name: randomBytes(120).toString('hex') })).status) > 0 &&
      writes.at(-1) !== 201,
  );
  t.is(writes.at(-1), 503);
  await disk.free();

  await until(async () => (await readiness()).status === 'ready', { intervalMs: 500 });
  await until(() => statuses.at(-1) === 200);
  const stateOf = async ({ id }: { id: string }) => (await call('GET', `/monitors/${id}`)).json['status'];
  await until(async () => (await stateOf(stopped)) === 'down');
  isOver = true;
  await jobRuns;
  const { rows } = await withClient(databaseUrl, (client) =>
    client.query(
      'SELECT m.name, t.to_state FROM transitions t JOIN monitors m ON m.id = t.monitor_id ORDER BY t.detected_at',
    ),
  );
  t.deepEqual(
    rows.filter(({ name }) => name === 'Job').map(({ to_state: to }) => to),
    ['up'],
    JSON.stringify(rows),
  );
  t.deepEqual(
    [...new Set(statuses)].toSorted((a, b) => a - b),
    [200, 503],
  );
  t.is(await program.stop(), 0, program.output());
});

test('a start on a full disk ends at once with a clear error', async (t) => {
  const disk = await boundedDisk(t, 1);
  if (disk === null) return t.pass();
  await disk.fill();
  const { status, stderr } = await runSpotcheck(['start'], { DATA_DIR: join(disk.path, 'data'), PORT: '0' });
  t.is(status, 1);
  t.regex(stderr, /^The disk is full: free some space and try again \(ENOSPC/m);
});
