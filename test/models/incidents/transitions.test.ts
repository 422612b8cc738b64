import test from 'ava';
import type { Change } from '../../../core/incidents/change.ts';
import type { MonitorState } from '../../../core/incidents/state.ts';
import { insertTransitions, listIncidents } from '../../../models/incidents/history.ts';
import {
  countChanges,
  listIncidentSpans,
  readStateHistories,
  recordTransitions,
} from '../../../models/incidents/transitions.ts';
import { inTransaction, runOn } from '../../../models/sql.ts';
import { openTestRuntime, type TestRuntime } from '../../helpers/runtime.ts';

test('changes of a monitor in one batch are stored in order, each incident with its own end', async (t) => {
  const { database, tenantId } = await openTestRuntime(t);
  const [shop, mail] = [
    { id: 'mon_shop', tenantId, name: 'Shop' },
    { id: 'mon_mail', tenantId, name: 'Mail' },
  ];
  const record = (decided: Parameters<typeof recordTransitions>[1]) =>
    inTransaction(database, (run) => recordTransitions(run, decided));

  const first = await record([
    { monitor: mail, sequence: 1, change: changeTo('degraded', 1000), newIncidentId: 'inc_mail' },
  ]);
  t.like(first[0]?.incident, { id: 'inc_mail', startedAtMs: 1000 });

  const second = await record([
    { monitor: shop, sequence: 1, change: changeTo('down', 2000), newIncidentId: 'inc_a' },
    { monitor: mail, sequence: 2, change: changeTo('down', 2500), newIncidentId: 'inc_b' },
    { monitor: shop, sequence: 2, change: changeTo('up', 3000), newIncidentId: 'inc_c' },
    { monitor: shop, sequence: 3, change: changeTo('down', 4000), newIncidentId: 'inc_d' },
    { monitor: shop, sequence: 4, change: changeTo('unknown', 5000), newIncidentId: 'inc_e' },
  ]);
  t.deepEqual(
    second.map(({ incident }) => incident?.id),
    ['inc_a', 'inc_mail', 'inc_a', 'inc_d', 'inc_d'],
  );

  // A single statement resolves the open incident and opens another.
  await record([
    { monitor: mail, sequence: 3, change: changeTo('up', 6000), newIncidentId: 'inc_f' },
    { monitor: mail, sequence: 4, change: changeTo('degraded', 7000), newIncidentId: 'inc_g' },
  ]);
  const incidents = await listIncidents(database, { tenantId, limit: 10 });
  t.deepEqual(
    incidents.map(({ id, state, reason, startedAtMs, resolvedAtMs, resolution }) => [
      id,
      state,
      reason,
      startedAtMs,
      resolvedAtMs,
      resolution,
    ]),
    [
      ['inc_g', 'degraded', 'degraded at 7000', 7000, null, null],
      ['inc_d', 'down', 'down at 4000', 4000, null, null],
      ['inc_a', 'down', 'down at 2000', 2000, 3000, 'recovered'],
      ['inc_mail', 'down', 'down at 2500', 1000, 6000, 'recovered'],
    ],
  );
  const { rows } = await database.pool.query(
    `SELECT monitor_id, sequence, to_state, at FROM transitions ORDER BY monitor_id, sequence`,
  );
  t.deepEqual(
    rows.map(({ monitor_id, sequence, to_state }) => [monitor_id, sequence, to_state]),
    [
      ['mon_mail', 1, 'degraded'],
      ['mon_mail', 2, 'down'],
      ['mon_mail', 3, 'up'],
      ['mon_mail', 4, 'degraded'],
      ['mon_shop', 1, 'down'],
      ['mon_shop', 2, 'up'],
      ['mon_shop', 3, 'down'],
      ['mon_shop', 4, 'unknown'],
    ],
  );
});

test('a recovery dated before its incident ends it at its start', async (t) => {
  const { database, tenantId } = await openTestRuntime(t);
  const monitor = { id: 'mon_1', tenantId, name: 'Shop' };
  await inTransaction(database, (run) =>
    recordTransitions(run, [
      { monitor, sequence: 1, change: changeTo('down', 2000), newIncidentId: 'inc_a' },
      { monitor, sequence: 2, change: changeTo('up', 1500), newIncidentId: 'inc_b' },
    ]),
  );
  t.like((await listIncidents(database, { tenantId, limit: 10 }))[0], {
    startedAtMs: 2000,
    resolvedAtMs: 2000,
    resolution: 'recovered',
  });
});

function changeTo(to: MonitorState, atMs: number): Change {
  const evidence = { tally: { sources: 1, votes: 1, needed: 1, down: 1, impaired: 1 }, quorum: 1, sources: [] };
  return {
    from: 'up',
    to,
    atMs,
    detectedAtMs: atMs + 1,
    cause: null,
    reason: `${to} at ${atMs}`,
    evidence,
    failures: [],
  };
}

async function write(
  { database, tenantId }: TestRuntime,
  monitorId: string,
  changes: readonly [atMs: number, to: MonitorState][],
): Promise<void> {
  const rows = changes.map(([atMs, to], index) => ({
    monitorId,
    tenantId,
    sequence: index + 1,
    from: 'pending' as const,
    to,
    atMs,
    detectedAtMs: atMs,
    cause: null,
    reason: null,
    evidence: {},
  }));
  await insertTransitions(runOn(database.pool), rows);
}

test('a history has the last change before the window and all changes in it, in order', async (t) => {
  const runtime = await openTestRuntime(t);
  await write(runtime, 'mon_a', [
    [1000, 'up'],
    [2000, 'down'],
    [3000, 'degraded'],
    [3000, 'up'],
    [4000, 'down'],
    [5000, 'up'],
  ]);
  await write(runtime, 'mon_b', [[500, 'up']]);
  await write(runtime, 'mon_c', [[9000, 'up']]);
  await write(runtime, 'mon_other', [[3500, 'up']]);
  const histories = await readStateHistories(runtime.database, {
    monitorIds: ['mon_a', 'mon_b', 'mon_c', 'mon_nobody', 'mon_a'],
    fromMs: 3000,
    toMs: 5000,
  });
  t.deepEqual(
    [...histories],
    [
      [
        'mon_a',
        [
          { atMs: 2000, to: 'down' },
          { atMs: 3000, to: 'degraded' },
          { atMs: 3000, to: 'up' },
          { atMs: 4000, to: 'down' },
        ],
      ],
      ['mon_b', [{ atMs: 500, to: 'up' }]],
      ['mon_c', []],
      ['mon_nobody', []],
    ],
  );
  t.is((await readStateHistories(runtime.database, { monitorIds: [], fromMs: 0, toMs: 5000 })).size, 0);
});

test('of several changes at the same time before the window the last one counts', async (t) => {
  const runtime = await openTestRuntime(t);
  await write(runtime, 'mon_a', [
    [2000, 'down'],
    [2000, 'up'],
    [2000, 'paused'],
  ]);
  t.deepEqual(
    (await readStateHistories(runtime.database, { monitorIds: ['mon_a'], fromMs: 3000, toMs: 5000 })).get('mon_a'),
    [{ atMs: 2000, to: 'paused' }],
  );
});

test('the state before a window is found by an index, without reading other changes', async (t) => {
  const runtime = await openTestRuntime(t);
  await runtime.database.pool.query(
    `INSERT INTO transitions (monitor_id, sequence, tenant_id, from_state, to_state, at, detected_at, evidence)
     SELECT 'mon_' || m, n, $1, 'up', 'down', n * 1000, n * 1000, '{}'
       FROM generate_series(1, 20) m, generate_series(1, 1000) n`,
    [runtime.tenantId],
  );
  await runtime.database.pool.query('VACUUM ANALYZE transitions');
  const { rows } = await runtime.database.pool.query<{ 'QUERY PLAN': string }>(
    `EXPLAIN (ANALYZE, COSTS off, TIMING off, SUMMARY off, BUFFERS off) SELECT at, to_state FROM transitions
     WHERE monitor_id = 'mon_7' AND at < 500000 ORDER BY at DESC, sequence DESC LIMIT 1`,
  );
  const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
  t.regex(plan, /Index Only Scan Backward using transitions_monitor_time/);
  t.false(plan.includes('Seq Scan'));
});

test('incidents that overlap a window are found, including open ones', async (t) => {
  const { database, tenantId } = await openTestRuntime(t);
  const incident = (id: string, startedAt: number, resolvedAt: number | null) =>
    database.pool.query(
      `INSERT INTO incidents (id, tenant_id, monitor_id, monitor_name, state, reason, sources_down, started_at,
       detected_at, resolved_at, resolution)
       VALUES ($1, $2, 'mon_a', 'Shop', 'down', '', '{}', $3, $3, $4::bigint, CASE
         WHEN $4::bigint IS NOT NULL THEN 'recovered' END)`,
      [id, tenantId, startedAt, resolvedAt],
    );
  await incident('inc_before', 1000, 2999);
  await incident('inc_into', 2000, 3000);
  await incident('inc_after', 5000, 6000);
  await incident('inc_open', 4000, null);
  t.deepEqual(await listIncidentSpans(database, { monitorId: 'mon_a', fromMs: 3000, toMs: 5000 }), [
    { startMs: 4000, endMs: null },
    { startMs: 2000, endMs: 3000 },
  ]);
  t.deepEqual(await listIncidentSpans(database, { monitorId: 'mon_b', fromMs: 0, toMs: 9000 }), []);
});

test('changes are counted for each monitor, up to a limit', async (t) => {
  const runtime = await openTestRuntime(t);
  await write(runtime, 'mon_a', [
    [1000, 'up'],
    [3000, 'down'],
    [4000, 'up'],
    [5000, 'down'],
  ]);
  const span = { fromMs: 2000, toMs: 5000 };
  t.deepEqual(await countChanges(runtime.database, { monitorIds: ['mon_b', 'mon_a'], ...span, most: 9 }), [0, 2]);
  t.deepEqual(await countChanges(runtime.database, { monitorIds: ['mon_a'], ...span, most: 1 }), [1]);
});

test('beyond the limit only the newest changes are returned, without the one before the window', async (t) => {
  const runtime = await openTestRuntime(t);
  await write(runtime, 'mon_a', [
    [1000, 'up'],
    [3000, 'down'],
    [4000, 'up'],
    [5000, 'down'],
  ]);
  const read = async (most: number) =>
    (await readStateHistories(runtime.database, { monitorIds: ['mon_a'], fromMs: 2000, toMs: 6000, most }))
      .get('mon_a')
      ?.map(({ atMs }) => atMs);
  t.deepEqual(await read(2), [4000, 5000]);
  t.deepEqual(await read(4), [1000, 3000, 4000, 5000]);
});
