import test from 'ava';
import type { Change } from '../../../core/incidents/change.ts';
import type { MonitorState } from '../../../core/incidents/state.ts';
import { listIncidents } from '../../../models/incidents/history.ts';
import { recordTransitions } from '../../../models/incidents/transitions.ts';
import { inTransaction } from '../../../models/sql.ts';
import { openTestRuntime } from '../../helpers/runtime.ts';

test('what a monitor goes through in one batch is written in order, each incident with its own end', async (t) => {
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

  // The open incident of before is resolved and another opened by one statement.
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

test('a recovery that is dated before its incident ends it where it began', async (t) => {
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
