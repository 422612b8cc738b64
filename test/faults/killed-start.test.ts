import { readdir } from 'node:fs/promises';
import test from 'ava';
import { identifyProcess } from '../../config/processes.ts';
import { listOf } from '../helpers/api-client.ts';
import { newPreparedDataDir, postmasterPid, startService } from '../helpers/running-service.ts';
import { startTarget } from '../helpers/target.ts';
import { until } from '../helpers/until.ts';

test('a start after kill -9 ignores stale pid and lock files, or adopts the orphaned database', async (t) => {
  const dataDir = await newPreparedDataDir(t);
  const target = await startTarget(t);
  const first = await startService(t, { DATA_DIR: dataDir });
  await first.program.stop('SIGKILL');
  const killed = await postmasterPid(dataDir);
  process.kill(killed, 'SIGKILL');
  await until(async () => (await identifyProcess(killed)) === null);
  t.deepEqual((await readdir(dataDir)).filter((name) => name.endsWith('.json')).toSorted(), [
    'owner.json',
    'runtime.json',
  ]);

  const second = await startService(t, { DATA_DIR: dataDir }, first.token);
  const monitor = { name: 'Shop', target: target.url(), interval_seconds: 1 };
  t.is((await second.call('POST', '/monitors', monitor)).status, 201);
  await target.nextHit('/');
  const orphan = await postmasterPid(dataDir);
  await second.program.stop('SIGKILL');
  t.not(await identifyProcess(orphan), null);

  const third = await startService(t, { DATA_DIR: dataDir }, first.token);
  t.is(await postmasterPid(dataDir), orphan);
  await target.nextHit('/');
  await until(async () => listOf(await third.call('GET', '/monitors'))[0]?.['status'] === 'up');
  t.is(await third.program.stop(), 0, third.program.output());
  t.is(await identifyProcess(orphan), null);
});
