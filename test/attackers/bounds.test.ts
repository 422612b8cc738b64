import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import anyTest, { type TestFn } from 'ava';
import { createPartitions } from '../../models/system/partitions.ts';
import { withApiServer, type ApiServer } from '../api/api-server.ts';
import { lengthenPeriods } from '../api/rate-limit.ts';
import { ACCOUNT_WALKERS } from './bounds/accounts.ts';
import { NOTIFYING_WALKERS } from './bounds/notifying.ts';
import { READING_WALKERS } from './bounds/reading.ts';
import { WATCHING_WALKERS } from './bounds/watching.ts';

const test = anyTest as TestFn<{ api: ApiServer }>;
withApiServer(test);

const ROOT = new URL('../../', import.meta.url);
const WALKERS = { ...ACCOUNT_WALKERS, ...WATCHING_WALKERS, ...READING_WALKERS, ...NOTIFYING_WALKERS };

type Row = { bound: string; tables: string[]; cause: string; limit: string; files: string[] };

/** Returns the rows of the table in SECURITY.md. */
function readRows(): Row[] {
  const [, section = ''] = readFileSync(new URL('SECURITY.md', ROOT), 'utf8').split(/^## Limits$/m);
  const [table = ''] = section.split(/^## /m);
  const lines = table
    .split('\n')
    .filter((line) => line.startsWith('| '))
    .slice(1);
  const quoted = (cell = '') => [...cell.matchAll(/`([^`]+)`/g)].map(([, text = '']) => text);
  return lines.map((line) => {
    const [, bound = '', tables, cause = '', limit = '', files] = line.split('|').map((cell) => cell.trim());
    return { bound, tables: quoted(tables), cause, limit, files: quoted(files) };
  });
}

const ROWS = readRows();

test('each row has a number and the files that enforce it, and exactly one walker', (t) => {
  t.true(ROWS.length > 20);
  t.deepEqual(ROWS.map(({ bound }) => bound).toSorted(), Object.keys(WALKERS).toSorted());
  for (const { bound, cause, limit, files } of ROWS) {
    t.regex(limit, /\d|one/, bound);
    t.not(cause, '', bound);
    t.true(files.length > 0, bound);
    for (const file of files) t.true(existsSync(fileURLToPath(new URL(file, ROOT))), `${bound}: ${file}`);
  }
});

test('every table of the database is in exactly one row', async (t) => {
  const { rows } = await t.context.api.database.pool.query<{ name: string }>(
    `SELECT c.relname AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'public'
     AND c.relkind IN ('r', 'p') AND NOT c.relispartition ORDER BY 1`,
  );
  t.deepEqual(ROWS.flatMap(({ tables }) => tables).toSorted(), rows.map(({ name }) => name).toSorted());
});

for (const { bound } of ROWS) {
  // Serial, because walkers share addresses and one process's budget, and must not be refused for another's requests.
  test.serial(`${bound}: the bound holds`, async (t) => {
    await createPartitions(t.context.api.database, Date.now());
    await lengthenPeriods(t.context.api);
    const walk = WALKERS[bound];
    if (walk === undefined) throw new Error(`No walker tries ${bound}`);
    await walk(t);
  });
}
