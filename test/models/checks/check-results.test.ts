import test from 'ava';
import { DAY_MS } from '../../../core/time.ts';
import { listChecks, storeResults } from '../../../models/checks/check-results.ts';
import { listPings } from '../../../models/heartbeats/ping-record.ts';
import { inTransaction, runOn } from '../../../models/sql.ts';
import { createPartitions } from '../../../models/system/partitions.ts';
import { openTestRuntime } from '../../helpers/runtime.ts';

type PlanNode = { 'Node Type': string; 'Relation Name'?: string; 'Index Name'?: string; Plans?: PlanNode[] };

const TODAY = Math.floor(Date.now() / DAY_MS) * DAY_MS;

function nodesOf(node: PlanNode): PlanNode[] {
  return [node, ...(node.Plans ?? []).flatMap(nodesOf)];
}

test('a page of results opens only the newest day if that is enough, and scans no whole table', async (t) => {
  const { database } = await openTestRuntime(t);
  const run = runOn(database.pool);
  for (let day = 0; day < 10; day += 1) await createPartitions(database, TODAY - day * DAY_MS);
  await run(
    `INSERT INTO check_results (due_at, monitor_no, agent_no, verdict)
     SELECT $1::bigint + i * 60000, monitor, agent, CASE WHEN i % 200 = 0 THEN 3 ELSE 1 END
       FROM generate_series(-1440 * 3, 600) i, generate_series(1, 20) monitor, generate_series(1, 3) agent ORDER BY i`,
    [TODAY],
  );
  await run(
    `INSERT INTO heartbeat_pings (at, monitor_no, kind) SELECT $1::bigint + i * 60000, monitor, 'success'
     FROM generate_series(0, 1400) i, generate_series(1, 50) monitor ORDER BY i`,
    [TODAY],
  );
  await run('ANALYZE');
  const nodes: PlanNode[] = [];
  const query = async ({ text, values }: { text: string; values: unknown[] }) => {
    const [row] = await run<{ 'QUERY PLAN': { Plan: PlanNode }[] }>(`EXPLAIN (FORMAT JSON) ${text}`, values);
    nodes.push(...(row?.['QUERY PLAN'] ?? []).flatMap(({ Plan }) => nodesOf(Plan)));
    return { rows: await run(text, values) };
  };
  const spied = { pool: Object.assign(Object.create(database.pool), { query }) };
  const read = () => {
    const big = nodes
      .splice(0)
      .filter(
        (node) =>
          node['Relation Name']?.startsWith('check_results_') || node['Relation Name']?.startsWith('heartbeat_pings_'),
      );
    t.deepEqual(
      big.filter((node) => node['Node Type'] === 'Seq Scan'),
      [],
    );
    return new Set(big.map((node) => node['Relation Name']));
  };
  const range = { monitorNo: 7, fromMs: TODAY - 90 * DAY_MS, toMs: TODAY + DAY_MS };

  t.is((await listChecks(spied, { ...range, limit: 100 })).length, 100);
  t.is(read().size, 1);
  t.is((await listChecks(spied, { ...range, agentNo: 2, limit: 100 })).length, 100);
  t.is(read().size, 1);
  const failures = await listChecks(spied, { ...range, verdict: 'down', limit: 20 });
  t.deepEqual(failures.map(({ atMs, agentNo }) => [(atMs - TODAY) / 60_000, agentNo]).slice(0, 4), [
    [600, 3],
    [600, 2],
    [600, 1],
    [400, 3],
  ]);
  t.true(read().size <= 5);
  await listPings(spied, { monitorNo: 7, fromMs: TODAY, toMs: TODAY + DAY_MS, limit: 50, withOutput: true });
  t.is(read().size, 2);
});

test('pings are read without their output if it is not shown, failures with its first line', async (t) => {
  const { database } = await openTestRuntime(t);
  await createPartitions(database, TODAY);
  const run = runOn(database.pool);
  await run(
    `INSERT INTO heartbeat_pings (at, monitor_no, kind, body)
     VALUES ($1, 7, 'success', '1412 files'), ($1 + 1, 7, 'fail', E'disk full \\nat line 7')`,
    [TODAY],
  );
  const texts: unknown[] = [];
  const query = async ({ text, values }: { text: string; values: unknown[] }) => {
    const rows = await run<Record<string, unknown>>(text, values);
    texts.push(...rows.flatMap((row) => Object.values(row).filter((value) => typeof value === 'string')));
    return { rows };
  };
  const spied = { pool: Object.assign(Object.create(database.pool), { query }) };
  const range = { monitorNo: 7, fromMs: TODAY, toMs: TODAY + DAY_MS, limit: 50 };
  const found = await listPings(spied, { ...range, withOutput: false });
  t.deepEqual(
    found.map(({ reason, output }) => [reason, output]),
    [
      ['disk full', null],
      [null, null],
    ],
  );
  t.deepEqual(texts, ['fail', 'disk full ', 'success']);
});

test('of duplicate results in a batch the first is stored, whatever the query plan', async (t) => {
  const { database } = await openTestRuntime(t);
  await createPartitions(database, TODAY);
  const results = Array.from({ length: 300 }, (_, index) => ({
    monitorNo: 1,
    agentNo: 1,
    dueAtMs: TODAY + ((index * 7) % 30),
    checksVersion: 1,
    verdict: 'down' as const,
    cause: 'timeout',
    reason: null,
    latencyMs: index,
    httpStatus: null,
    phases: null,
    answer: null,
  }));
  const stored = await inTransaction(database, async (run) => {
    // Only merge joins remain, which sort.
    for (const way of ['hashjoin', 'nestloop', 'material']) await run(`SET LOCAL enable_${way} = off`);
    return await storeResults(run, results);
  });
  t.is(stored.size, 30);
  const rows = await runOn(database.pool)<{ ms: number }>('SELECT latency_ms AS ms FROM check_results ORDER BY 1');
  t.deepEqual(
    rows.map(({ ms }) => ms),
    Array.from({ length: 30 }, (_, index) => index),
  );
});
