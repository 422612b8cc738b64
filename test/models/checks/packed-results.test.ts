import test, { type ExecutionContext } from 'ava';
import * as fc from 'fast-check';
import { DAY_MS, HOUR_MS } from '../../../core/time.ts';
import {
  listChecks,
  storeResults,
  type MeasuredResult,
  type StoredCheck,
} from '../../../models/checks/check-results.ts';
import { beginPacking, beginPackingAt, packNextHour } from '../../../models/checks/packed-results.ts';
import {
  RecentResultsLost,
  decodeBatch,
  encodeBatch,
  isSteady,
  requireRecentResults,
  restoreRecentResults,
  type SteadyResult,
} from '../../../models/checks/recent-results.ts';
import type { Database } from '../../../models/database.ts';
import { inTransaction, runOn } from '../../../models/sql.ts';
import { pullBackTimes } from '../../../models/system/future-times.ts';
import { createPartitions } from '../../../models/system/partitions.ts';
import { recordProcess } from '../../../models/system/processes.ts';
import { openTestRuntime } from '../../helpers/runtime.ts';

/** Start of an hour that is old enough to be packed. */
const HOUR = Math.floor(Date.now() / HOUR_MS) * HOUR_MS - 3 * HOUR_MS;

const ms = fc.option(fc.integer({ min: 0, max: 32_767 }), { nil: null });
const steadyResult: fc.Arbitrary<SteadyResult> = fc.record({
  monitorNo: fc.integer({ min: 1, max: 2 ** 31 - 1 }),
  agentNo: fc.oneof(fc.constant(2), fc.integer({ min: 1, max: 2 ** 31 - 1 })),
  dueAtMs: fc.integer({ min: HOUR - 3 * HOUR_MS, max: HOUR }),
  latencyMs: ms,
  httpStatus: fc.option(fc.constantFrom(200, 204, 301), { nil: null }),
  phases: fc.option(fc.record({ dnsMs: ms, connectMs: ms, tlsMs: ms, firstByteMs: ms, downloadMs: ms }), { nil: null }),
});

test('a batch decodes to what was encoded, in the order of its monitors', (t) => {
  fc.assert(
    fc.property(fc.array(steadyResult, { maxLength: 50 }), (results) => {
      const inOrder = results.toSorted((a, b) => a.monitorNo - b.monitorNo);
      t.deepEqual(decodeBatch(encodeBatch(results, HOUR), HOUR), inOrder);
    }),
  );
});

test('a steady result takes about six bytes of a batch', (t) => {
  const results = Array.from({ length: 500 }, (_, index) => ({
    monitorNo: 1 + index * 40,
    agentNo: 2,
    dueAtMs: HOUR - ((index * 7919) % 3000),
    latencyMs: 20 + (index % 200),
    httpStatus: 200,
    phases: index % 10 === 0 ? { dnsMs: 4, connectMs: 11, tlsMs: 23, firstByteMs: 22, downloadMs: null } : null,
  }));
  t.true(encodeBatch(results, HOUR).length <= 500 * 6.5);
});

function resultOf(given: Partial<MeasuredResult> & { dueAtMs: number }): MeasuredResult {
  return {
    monitorNo: 7,
    agentNo: 2,
    checksVersion: 1,
    verdict: 'up',
    cause: null,
    reason: null,
    httpStatus: 200,
    latencyMs: 40,
    phases: null,
    answer: null,
    ...given,
  };
}

/**
 * Returns an hour of two sources at a one-minute interval: some results with timings, a failure, a check between ticks,
 * another status.
 */
function hourOfResults(): MeasuredResult[] {
  const timings = { dnsMs: 1, connectMs: 2, tlsMs: null, firstByteMs: 30, downloadMs: 4 };
  const ticks = Array.from({ length: 60 }, (_, minute) => minute).flatMap((minute) =>
    [2, 3].map((agentNo) =>
      resultOf({
        agentNo,
        dueAtMs: HOUR + minute * 60_000 + 1234 + agentNo,
        latencyMs: minute === 5 ? null : 20 + minute,
        httpStatus: minute === 30 ? 204 : 200,
        phases: minute % 10 === 0 ? timings : null,
      }),
    ),
  );
  const down = { verdict: 'down', cause: 'status_503', reason: 'HTTP 503 instead of 2xx', httpStatus: 503 } as const;
  const failed = ticks.map((tick, index) => (index === 40 ? { ...tick, ...down } : tick));
  // One tick is missing, and one check was between two ticks.
  return [...failed.filter((_, index) => index !== 21), resultOf({ dueAtMs: HOUR + 90_777 })];
}

async function prepare(t: ExecutionContext): Promise<Database> {
  const { database } = await openTestRuntime(t);
  for (const atMs of [HOUR, HOUR + HOUR_MS]) await createPartitions(database, atMs);
  await beginPackingAt(runOn(database.pool), HOUR);
  return database;
}

async function store(database: Database, results: readonly MeasuredResult[]): Promise<Set<string>> {
  return await storeResults(runOn(database.pool), results, isSteady);
}

async function countIn(database: Database, table: string): Promise<number> {
  const [row] = await runOn(database.pool)<{ count: number }>(`SELECT count(*) FROM ${table}`);
  return row?.count ?? 0;
}

/** Returns all pages of a query, so that pages begin anywhere within an hour. */
async function listPages(database: Database, query: Partial<Parameters<typeof listChecks>[1]>): Promise<StoredCheck[]> {
  const all: StoredCheck[] = [];
  for (;;) {
    const last = all.at(-1);
    const page = await listChecks(database, {
      monitorNo: 7,
      fromMs: HOUR - 40 * DAY_MS,
      toMs: HOUR + HOUR_MS,
      limit: 7,
      ...query,
      ...(last && { before: { atMs: last.atMs, agentNo: last.agentNo } }),
    });
    all.push(...page);
    if (page.length < (query.limit ?? 7)) return all;
  }
}

const QUERIES = [
  {},
  { limit: 1000 },
  { agentNo: 3 },
  { verdict: 'up' },
  { verdict: 'down' },
  { fromMs: HOUR + 600_500, toMs: HOUR + 1_200_500 },
] as const;

test('lists of results are the same before and after packing, page by page', async (t) => {
  const database = await prepare(t);
  const plain = await openTestRuntime(t);
  for (const atMs of [HOUR, HOUR + HOUR_MS]) await createPartitions(plain.database, atMs);
  const results = hourOfResults();
  await store(database, results);
  await storeResults(runOn(plain.database.pool), results);
  const expected = await Promise.all(QUERIES.map((query) => listPages(plain.database, query)));
  t.is(expected[0]?.length, 120);
  const read = () => Promise.all(QUERIES.map((query) => listPages(database, query)));

  t.deepEqual(await read(), expected);
  t.is(await countIn(database, 'recent_results'), 119);
  t.true(await packNextHour(database, HOUR + 2 * HOUR_MS + 90_000));

  t.deepEqual(await read(), expected);
  t.is(await countIn(database, 'recent_results'), 0);
  t.is(await countIn(database, 'result_batches'), 0);
  // The ticks of each source are one row, with another for the other status and for the check between ticks.
  t.is(await countIn(database, 'packed_results'), 5);
});

test('a result is stored once, packed or not, even if the repeat has another verdict', async (t) => {
  const database = await prepare(t);
  const results = hourOfResults();
  t.is((await store(database, results)).size, results.length);
  t.is((await store(database, results)).size, 0);
  const turned = results.map((result): MeasuredResult =>
    result.verdict === 'up' ? { ...result, verdict: 'down', cause: 'timeout' } : { ...result, verdict: 'up' },
  );
  t.is((await store(database, turned)).size, 0);
  await packNextHour(database, HOUR + 3 * HOUR_MS);
  t.is((await storeResults(runOn(database.pool), results)).size, 0);
  t.is((await storeResults(runOn(database.pool), turned)).size, 0);
});

test('the newest result of a source is found, in whichever row of its hour it was packed', async (t) => {
  const database = await prepare(t);
  const run = runOn(database.pool);
  await store(database, hourOfResults());
  await packNextHour(database, HOUR + 3 * HOUR_MS);
  const newest = (agentNo: number, sinceMs: number) =>
    run('SELECT due_at AS at FROM newest_result(7, $1, $2, $3)', [agentNo, sinceMs, HOUR + 3 * HOUR_MS]);
  const [last, other] = [HOUR + 59 * 60_000 + 1236, HOUR + 59 * 60_000 + 1237];

  t.deepEqual(await newest(2, HOUR - 2 * DAY_MS), [{ at: last }]);
  t.deepEqual(await newest(3, HOUR - 2 * DAY_MS), [{ at: other }]);
  t.deepEqual(await newest(2, last), [{ at: last }]);
  t.deepEqual(await newest(2, last + 1), []);
  t.deepEqual(await newest(4, HOUR - 2 * DAY_MS), []);
});

test('an hour is packed an hour after its end, but not while a transaction may add to it', async (t) => {
  const database = await prepare(t);
  await store(database, hourOfResults());
  t.false(await packNextHour(database, HOUR + 2 * HOUR_MS));
  const hourMs = Math.floor(Date.now() / HOUR_MS) * HOUR_MS;
  const client = await database.pool.connect();
  await client.query('BEGIN');
  await client.query('SELECT 1');
  await runOn(database.pool)(`UPDATE service_marks SET at = $1 WHERE name = 'packed_results'`, [hourMs - HOUR_MS]);
  const nowMs = hourMs + HOUR_MS + 90_000;
  t.false(await packNextHour(database, nowMs));
  await client.query('ROLLBACK');
  client.release();
  t.true(await packNextHour(database, nowMs));
});

test('results lost in a crash are restored from the batches, once, without packed ones', async (t) => {
  const database = await prepare(t);
  const run = runOn(database.pool);
  const later = hourOfResults().map((result) => ({ ...result, dueAtMs: result.dueAtMs + HOUR_MS }));
  await store(database, hourOfResults());
  await store(database, later);
  await packNextHour(database, HOUR + 2 * HOUR_MS + 90_000);
  const before = await run('SELECT * FROM recent_results ORDER BY agent_no, due_at');
  await run('TRUNCATE recent_results, recent_results_whole');

  await t.throwsAsync(requireRecentResults(run), { instanceOf: RecentResultsLost });
  await Promise.all([restoreRecentResults(database), restoreRecentResults(database)]);

  await t.notThrowsAsync(requireRecentResults(run));
  t.deepEqual(await run('SELECT * FROM recent_results ORDER BY agent_no, due_at'), before);
  t.is(before.length, 119);
});

test('nothing is packed while results are lost, and those of a clock that was ahead are not restored', async (t) => {
  const database = await prepare(t);
  const run = runOn(database.pool);
  const aheadMs = Date.now() + 600_000;
  await store(database, hourOfResults());
  await store(database, [resultOf({ dueAtMs: aheadMs })]);
  await run('TRUNCATE recent_results, recent_results_whole');

  await t.throwsAsync(packNextHour(database, HOUR + 2 * HOUR_MS + 90_000), { instanceOf: RecentResultsLost });
  await restoreRecentResults(database);

  t.is(await countIn(database, 'recent_results'), 119);
  t.true(await packNextHour(database, HOUR + 2 * HOUR_MS + 90_000));
  t.is(await countIn(database, 'packed_results'), 5);
});

test('setting the clock back keeps only the due results of a packed hour, which is then packed again', async (t) => {
  const database = await prepare(t);
  const run = runOn(database.pool);
  const results = hourOfResults();
  await store(database, results);
  t.true(await packNextHour(database, HOUR + 3 * HOUR_MS));
  const nowMs = HOUR + 1_800_000;
  const measured = (await listPages(database, { limit: 1000 })).filter(({ atMs }) => atMs <= nowMs);

  await inTransaction(database, (_, client) => pullBackTimes(client, { nowMs, backMs: 3 * HOUR_MS }));

  t.deepEqual(await listPages(database, { limit: 1000 }), measured);
  t.deepEqual(await run(`SELECT at FROM service_marks WHERE name = 'packed_results'`), [{ at: HOUR }]);
  t.is((await store(database, results)).size, results.length - measured.length);
  t.true(await packNextHour(database, HOUR + 3 * HOUR_MS));
  t.is((await listPages(database, {})).length, results.length);
});

test('an hour of a day whose partition was dropped is still packed', async (t) => {
  const { database } = await openTestRuntime(t);
  const oldMs = HOUR - 100 * DAY_MS;
  await beginPackingAt(runOn(database.pool), oldMs);
  await createPartitions(database, HOUR);
  await runOn(database.pool)(
    'INSERT INTO recent_results (due_at, monitor_no, agent_no, latency_ms) VALUES ($1, 7, 2, 20)',
    [oldMs],
  );

  t.true(await packNextHour(database, HOUR));

  t.is(await countIn(database, 'recent_results'), 0);
  t.is(await countIn(database, 'packed_results'), 1);
});

test('packing does not wait for a backup that reads the batches', async (t) => {
  const database = await prepare(t);
  await store(database, hourOfResults());
  const backup = await database.pool.connect();
  await backup.query('BEGIN');
  await backup.query('SELECT FROM result_batches');

  t.true(await packNextHour(database, HOUR + 3 * HOUR_MS - 600_000));
  t.is(await countIn(database, 'recent_results'), 0);
  t.not(await countIn(database, 'result_batches'), 0);
  await backup.query('ROLLBACK');
  backup.release();
});

test('a result with a negative or too large time is not steady', (t) => {
  t.true(isSteady(resultOf({ dueAtMs: HOUR, latencyMs: 0 })));
  t.false(isSteady(resultOf({ dueAtMs: HOUR, latencyMs: -2 })));
  t.false(isSteady(resultOf({ dueAtMs: HOUR, latencyMs: 2 ** 15 })));
});

test('nothing is packed while a process of the previous release is running', async (t) => {
  const { database } = await openTestRuntime(t);
  const run = runOn(database.pool);
  t.false(await beginPacking(run, Date.now()));
  const record = recordProcess(database, { kind: 'web', version: '1', readFigures: null, onFailure: t.log });
  await run(
    `INSERT INTO processes (id, kind, version, host, pid, started_at, seen_at)
     VALUES ('old', 'web', '0', 'h', 1, 1, $1)`,
    [Math.floor(Date.now() / 1000)],
  );
  t.teardown(record.stop);
  t.false(await beginPacking(run, Date.now()));
  await run(`DELETE FROM processes WHERE id = 'old'`);
  while ((await countIn(database, 'processes')) === 0);
  t.true(await beginPacking(run, Date.now()));
});
