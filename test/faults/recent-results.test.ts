import { randomBytes } from 'node:crypto';
import test from 'ava';
import { startEmbeddedPostgres } from '../../cli/embedded-postgres/start.ts';
import { HOUR_MS } from '../../core/time.ts';
import { storeResults, type MeasuredResult } from '../../models/checks/check-results.ts';
import { beginPackingAt } from '../../models/checks/packed-results.ts';
import { isSteady, restoreRecentResults } from '../../models/checks/recent-results.ts';
import { closeDatabase, openDatabase } from '../../models/database.ts';
import { migrate } from '../../models/migrate.ts';
import { createSecretBox } from '../../models/secrets/secret-box.ts';
import { runOn } from '../../models/sql.ts';
import { createPartitions } from '../../models/system/partitions.ts';
import { postmasterPid } from '../helpers/running-service.ts';
import { temporaryFolder } from '../helpers/temporary-folder.ts';

const HOUR = Math.floor(Date.now() / HOUR_MS) * HOUR_MS;

test('steady results survive a kill of PostgreSQL', async (t) => {
  const dataDir = await temporaryFolder(t);
  const start = async () => {
    const postgres = await startEmbeddedPostgres({ dataDir, onProgress: () => undefined });
    const database = openDatabase({
      databaseUrl: postgres.databaseUrl,
      secrets: createSecretBox([{ id: 'test', key: randomBytes(32) }]),
    });
    return { ...postgres, database, run: runOn(database.pool) };
  };
  const before = await start();
  await migrate(before.databaseUrl);
  await createPartitions(before.database, HOUR);
  await beginPackingAt(before.run, HOUR);
  const results = Array.from({ length: 2000 }, (_, index): MeasuredResult => {
    const [monitorNo, tick] = [1 + (index % 100), Math.floor(index / 100)];
    return {
      monitorNo,
      agentNo: 2,
      dueAtMs: HOUR + tick * 1000 + monitorNo,
      checksVersion: 1,
      verdict: 'up',
      cause: null,
      reason: null,
      httpStatus: 200,
      latencyMs: index % 7 === 0 ? null : index,
      phases: index % 9 === 0 ? { dnsMs: 1, connectMs: 2, tlsMs: null, firstByteMs: 3, downloadMs: 4 } : null,
      answer: null,
    };
  });
  for (let first = 0; first < results.length; first += 500)
    await storeResults(before.run, results.slice(first, first + 500), isSteady);
  const ALL = 'SELECT * FROM recent_results ORDER BY monitor_no, due_at';
  const stored = await before.run(ALL);
  t.is(stored.length, 2000);

  process.kill(await postmasterPid(dataDir), 'SIGKILL');
  await closeDatabase(before.database);
  await before.stop();
  const after = await start();
  t.teardown(after.stop);
  t.teardown(() => closeDatabase(after.database));

  t.is((await after.run(ALL)).length, 0, 'a crash empties unlogged tables');
  await restoreRecentResults(after.database);
  t.deepEqual(await after.run(ALL), stored);
});
