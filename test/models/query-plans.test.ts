import test, { type ExecutionContext } from 'ava';
import { fillWithResults } from '../../bench/harness/results.ts';
import { fillWithRollups } from '../../bench/harness/rollups.ts';
import { VERDICT_CODES } from '../../core/checks/verdict.ts';
import { freshnessMs } from '../../core/incidents/quorum.ts';
import { DAY_MS, HOUR_MS } from '../../core/time.ts';
import { listStoredDueTimes, type MonitorWindow } from '../../models/agents/protocol.ts';
import { listChecks, storeResults } from '../../models/checks/check-results.ts';
import type { Database } from '../../models/database.ts';
import { findNewestResults, lockMonitors } from '../../models/incidents/evaluation.ts';
import { readStateHistories } from '../../models/incidents/transitions.ts';
import { runOn, type Run } from '../../models/sql.ts';
import { rollDay, rollHour } from '../../models/statistics/make-rollups.ts';
import { readStatistics, sumTallies } from '../../models/statistics/statistics.ts';
import { createPartitions, indexNewTimes } from '../../models/system/partitions.ts';
import { fillTables } from '../helpers/database.ts';
import { openTestRuntime, resultOf } from '../helpers/runtime.ts';

const MONITORS = 100;
const DAYS = 40;

/**
 * Midnight before a day filled with results; the days before it have roll-ups, and the next day has partitions, too.
 */
const MIDNIGHT = Math.floor(Date.now() / DAY_MS) * DAY_MS - 2 * DAY_MS;

/** Tables that grow with time, which no query may read completely. */
const BIG =
  /^(check_results|packed_results|heartbeat_pings|hourly_rollups|daily_rollups)_|^(transitions|recent_results)$/;

type PlanNode = { 'Node Type': string; 'Relation Name'?: string; 'Index Cond'?: string; Plans?: PlanNode[] };

async function prepare(t: ExecutionContext): Promise<{ database: Database; monitorNo: number }> {
  const { database, tenantId, addAgent, addMonitor } = await openTestRuntime(t);
  const { no: monitorNo } = await addMonitor([await addAgent('local')]);
  const run = runOn(database.pool);
  await createPartitions(database, MIDNIGHT);
  await fillWithRollups(database, { monitors: MONITORS, days: DAYS, untilMs: MIDNIGHT });
  await fillWithResults(database, { monitors: MONITORS, perMonitor: 24 * 20, fromMs: MIDNIGHT, everyMs: 180_000 });
  await run(
    `INSERT INTO heartbeat_pings (at, monitor_no, kind) SELECT $1::bigint + i * 1000, 1 + i % 50, 'success'
     FROM generate_series(0, 86399) AS i`,
    [MIDNIGHT],
  );
  await fillTables(
    database,
    `INSERT INTO transitions (monitor_id, sequence, tenant_id, from_state, to_state, at, detected_at, evidence)
     SELECT 'mon_' || monitor, s, $1, 'up', 'down', $2::bigint + s * 3600000, 0, '{}'
       FROM generate_series(1, 200) AS monitor, generate_series(1, 200) AS s ORDER BY s`,
    [tenantId, MIDNIGHT - 20 * DAY_MS],
  );
  await fillWithPacked(database);
  await indexNewTimes(database, MIDNIGHT);
  await indexNewTimes(database, MIDNIGHT - DAY_MS);
  await run('ANALYZE');
  return { database, monitorNo };
}

/**
 * Adds results of ten times as many monitors: packed ones for the day and an hour before and after it, and recent ones.
 */
async function fillWithPacked(database: Database): Promise<void> {
  const run = runOn(database.pool);
  await run(
    `INSERT INTO packed_results (at, monitor_no, agent_no, http_status, first_second, last_second, latencies_ms)
     SELECT $1::bigint + hour * 3600000 + monitor % 1000, monitor, 2, 200, monitor % 180, 3420 + monitor % 180,
       (SELECT array_agg(20 + tick) FROM generate_series(1, 20) AS tick)
     FROM generate_series(-1, 24) AS hour, generate_series(1001, 2000) AS monitor ORDER BY hour, monitor`,
    [MIDNIGHT],
  );
  await run(
    `INSERT INTO recent_results (due_at, monitor_no, agent_no, latency_ms, http_status)
     SELECT $1::bigint + tick * 180000 + monitor, monitor, 2, 20, 200
     FROM generate_series(0, 39) AS tick, generate_series(1001, 2000) AS monitor`,
    [MIDNIGHT + DAY_MS],
  );
}

/** Explains every statement in addition to running it; `read` returns the big tables that were read, and how. */
function explaining(database: Database): {
  run: Run;
  spied: Pick<Database, 'pool'>;
  read: () => { tables: string[]; whole: string[] };
  conditions: (table: string) => string[];
} {
  const nodes: PlanNode[] = [];
  const plain = runOn(database.pool);
  const run: Run = async (sql, bind) => {
    const text = typeof sql === 'string' ? sql : sql.text;
    const [row] = await plain<{ 'QUERY PLAN': { Plan: PlanNode }[] }>(`EXPLAIN (FORMAT JSON) ${text}`, bind);
    nodes.push(...(row?.['QUERY PLAN'] ?? []).flatMap(({ Plan }) => nodesOf(Plan)));
    return await plain(sql, bind);
  };
  const query = async (statement: string | { text: string; values: unknown[] }, given: unknown[] = []) => ({
    rows: typeof statement === 'string' ? await run(statement, given) : await run(statement.text, statement.values),
  });
  const big = () => nodes.filter((node) => BIG.test(node['Relation Name'] ?? ''));
  return {
    run,
    spied: { pool: Object.assign(Object.create(database.pool), { query }) },
    read: () => ({
      tables: [...new Set(big().map((node) => node['Relation Name'] ?? ''))].toSorted(),
      whole: big()
        .filter((node) => node['Node Type'] === 'Seq Scan')
        .map((node) => node['Relation Name'] ?? ''),
    }),
    conditions: (table) =>
      nodes.flatMap((node) => (node['Relation Name'] === table ? (node['Index Cond'] ?? 'none') : [])),
  };
}

function nodesOf(node: PlanNode): PlanNode[] {
  return [node, ...(node.Plans ?? []).flatMap(nodesOf)];
}

function dayOf(table: string, atMs: number): string {
  return `${table}_${new Date(atMs).toISOString().slice(0, 10).replaceAll('-', '')}`;
}

/** Returns the months that a window touches. */
function monthsOf(table: string, fromMs: number, toMs: number): string[] {
  const days = Array.from({ length: (toMs - fromMs) / DAY_MS }, (_, day) => fromMs + day * DAY_MS);
  return [...new Set(days.map((atMs) => dayOf(table, atMs).slice(0, -2)))];
}

test('the hot queries read only the partitions of their window, by indexes', async (t) => {
  const { database, monitorNo } = await prepare(t);
  const nowMs = MIDNIGHT + DAY_MS;
  const raw = [
    ...['check_results', 'packed_results', 'heartbeat_pings'].map((table) => dayOf(table, MIDNIGHT)),
    'recent_results',
  ];
  const window = { fromMs: MIDNIGHT - DAYS * DAY_MS, toMs: MIDNIGHT, nowMs };
  const packedOf = (...days: number[]) => days.map((atMs) => dayOf('packed_results', atMs));
  const months = (table: string) => monthsOf(table, window.fromMs, window.toMs);
  const hour = MIDNIGHT + 7 * HOUR_MS;
  const yesterday = MIDNIGHT - DAY_MS;
  const cases: Record<
    string,
    {
      tables: string[] | null;
      whole?: string[];
      ask: (on: { spied: Pick<Database, 'pool'>; run: Run }) => Promise<unknown>;
    }
  > = {
    'an hour of a monitor, minute by minute': {
      tables: raw,
      ask: ({ spied }) =>
        readStatistics(spied, {
          monitorNo: 7,
          rolledMs: MIDNIGHT,
          fromMs: hour,
          toMs: hour + HOUR_MS,
          stepMs: 60_000,
          nowMs,
        }),
    },
    // The few hours of recent results are read completely: half of them belong to this hour.
    'the roll-up of an hour': {
      tables: raw,
      whole: ['recent_results'],
      ask: ({ run }) => rollHour(run, { atMs: hour }),
    },
    'an hour of one source, again': {
      tables: raw,
      ask: ({ run }) => rollHour(run, { atMs: hour, only: [{ monitorNo: 7, agentNo: 2 }] }),
    },
    'a day of its hours': {
      tables: [dayOf('hourly_rollups', yesterday).slice(0, -2)],
      ask: ({ run }) => rollDay(run, { atMs: yesterday }),
    },
    'forty days of a monitor': {
      tables: months('daily_rollups'),
      ask: ({ spied }) => sumTallies(spied, { monitorNos: [7], ...window }),
    },
    'its series by day, and their sum': {
      tables: months('daily_rollups'),
      ask: ({ spied }) => readStatistics(spied, { monitorNo: 7, rolledMs: MIDNIGHT, ...window, stepMs: DAY_MS }),
    },
    'its series by hour': {
      tables: months('hourly_rollups'),
      ask: ({ spied }) => readStatistics(spied, { monitorNo: 7, rolledMs: MIDNIGHT, ...window, stepMs: HOUR_MS }),
    },
    'a day of the monitors of a report': {
      tables: [dayOf('daily_rollups', yesterday).slice(0, -2)],
      ask: ({ spied }) =>
        sumTallies(spied, { monitorNos: [5, 25, 45, 65, 85], fromMs: yesterday, toMs: MIDNIGHT, nowMs }),
    },
    'a page of results of a monitor': {
      tables: [dayOf('check_results', MIDNIGHT), ...packedOf(yesterday, MIDNIGHT), 'recent_results'],
      ask: ({ spied }) =>
        listChecks(spied, { monitorNo: 1007, fromMs: window.fromMs, toMs: MIDNIGHT + DAY_MS, limit: 20 }),
    },
    'the newest results of sources': {
      tables: null,
      ask: ({ run }) =>
        findNewestResults(run, [{ monitorNo: 1007, agentNo: 2 }], { sinceMs: nowMs - 2 * HOUR_MS, nowMs }),
    },
    'the newest results of the sources of monitors': {
      tables: null,
      ask: ({ run }) => lockMonitors(run, [monitorNo], nowMs),
    },
    'late results': {
      tables: [...packedOf(MIDNIGHT), 'recent_results'],
      ask: ({ run }) =>
        storeResults(
          run,
          [1, 2, 3, 4].map((minute) =>
            resultOf({ no: 1000 + minute }, { no: 2 }, { dueAtMs: hour + minute * 60_000 + 7, verdict: 'up' }),
          ),
        ),
    },
    'results that are not steady': {
      tables: [...packedOf(MIDNIGHT), 'recent_results'],
      ask: ({ run }) =>
        storeResults(
          run,
          Array.from({ length: 20 }, (_, index) =>
            resultOf({ no: 1001 + index }, { no: 2 }, { dueAtMs: nowMs - 1000 - index, verdict: 'down' }),
          ),
        ),
    },
    'the transitions of a monitor': {
      tables: ['transitions'],
      ask: ({ spied }) =>
        readStateHistories(spied, { monitorIds: ['mon_7'], fromMs: window.fromMs, toMs: window.toMs }),
    },
  };
  for (const [name, { tables, whole = [], ask }] of Object.entries(cases)) {
    const on = explaining(database);
    await ask(on);
    const read = on.read();
    t.deepEqual({ name, ...read }, { name, tables: tables?.toSorted() ?? read.tables, whole });
  }

  // For a day of late results from an agent, each window reads only its own hour.
  const late = Array.from({ length: 24 }, (_, index) =>
    resultOf({ no: 1008 }, { no: 2 }, { dueAtMs: MIDNIGHT + index * HOUR_MS + 30_008, verdict: 'up' }),
  );
  const windows = late.map(({ dueAtMs }): [string, MonitorWindow] => [
    `${dueAtMs}`,
    { monitorNo: 1008, fromMs: dueAtMs, toMs: dueAtMs + 60_000 },
  ]);
  const packed = dayOf('packed_results', MIDNIGHT);
  const storing = explaining(database);
  await storeResults(storing.run, late);
  t.deepEqual(
    storing.conditions(packed).map((condition) => /\(at = /.test(condition)),
    [true],
  );
  const counting = explaining(database);
  await listStoredDueTimes(counting.spied, 2, new Map(windows));
  t.deepEqual(
    counting.conditions(packed).map((condition) => condition.includes('(at > (k.from_ms')),
    [true],
  );
});

test('SQL functions of the schema are always inlined and never called', async (t) => {
  const { database } = await openTestRuntime(t);
  const run = runOn(database.pool);
  const functions = await run<{ name: string; isSet: boolean; rowTypes: string[]; types: string[] }>(
    `SELECT proname AS name, proretset AS "isSet", ARRAY(SELECT format_type(type, NULL) FROM unnest(proargtypes) AS type
       JOIN pg_type ON oid = type WHERE typtype = 'c') AS "rowTypes",
       ARRAY(SELECT format_type(type, NULL) FROM unnest(proargtypes) AS type) AS types
     FROM pg_proc WHERE pronamespace = 'public'::regnamespace
       AND prolang = (SELECT oid FROM pg_language WHERE lanname = 'sql')`,
  );
  t.true(functions.some(({ name }) => name === 'is_due'));
  for (const { name, isSet, rowTypes, types } of functions) {
    const call = `${name}(${types.map((type) => (rowTypes.includes(type) ? type : `NULL::${type}`)).join(', ')})`;
    const from = isSet ? [...rowTypes, call] : rowTypes;
    const select = isSet ? 'SELECT *' : `SELECT ${call}`;
    const plan = await run<{ 'QUERY PLAN': string }>(
      `EXPLAIN (VERBOSE) ${select} ${from.length === 0 ? '' : `FROM ${from.join(', ')}`}`,
    );
    t.notRegex(plan.map((line) => line['QUERY PLAN']).join('\n'), new RegExp(String.raw`\b${name}\(`), name);
  }
});

test('SQL functions of the schema follow the same rules as core', async (t) => {
  const { database } = await openTestRuntime(t);
  const run = runOn(database.pool);
  for (const seconds of [1, 20, 30, 31, 60, 3600, 86_400]) {
    const [row] = await run<{ sinceMs: number }>('SELECT fresh_since($1, $2) AS "sinceMs"', [seconds, MIDNIGHT]);
    t.is(row?.sinceMs, MIDNIGHT - freshnessMs(seconds));
  }
  const timed = await run<{ code: number }>('SELECT code FROM unnest($1::smallint[]) AS code WHERE is_timed(code)', [
    Object.values(VERDICT_CODES),
  ]);
  t.deepEqual(
    timed.map(({ code }) => code),
    [VERDICT_CODES.up, VERDICT_CODES.degraded],
  );
});
