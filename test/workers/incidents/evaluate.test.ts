import test from 'ava';
import type { Monitor } from '../../../core/monitors/monitor.ts';
import { HOUR_MS } from '../../../core/time.ts';
import { createChannel } from '../../../models/alerts/channels.ts';
import { storeResults, type MeasuredResult } from '../../../models/checks/check-results.ts';
import { listDueChecks } from '../../../models/checks/checks.ts';
import { beginPackingAt, packNextHour } from '../../../models/checks/packed-results.ts';
import { isSteady } from '../../../models/checks/recent-results.ts';
import { listIncidents } from '../../../models/incidents/history.ts';
import { deleteMonitor, pauseMonitor, resumeMonitor } from '../../../models/monitors/monitor-changes.ts';
import { readLastChecks } from '../../../models/monitors/monitor-overview.ts';
import { findMonitor } from '../../../models/monitors/monitors.ts';
import { runOn } from '../../../models/sql.ts';
import { createPartitions } from '../../../models/system/partitions.ts';
import { PartlyEvaluated, createEvaluator } from '../../../workers/incidents/evaluate.ts';
import { sweep } from '../../../workers/system/sweep.ts';
import { changeMonitor, openTestRuntime, resultOf, type TestRuntime } from '../../helpers/runtime.ts';

const SECOND = 1000;

function evaluatorOf(runtime: TestRuntime, nowMs = Date.now()) {
  return createEvaluator({
    database: runtime.database,
    now: () => nowMs,
    newId: runtime.newId,
    publicUrl: runtime.publicUrl,
  });
}

async function stateOf(runtime: TestRuntime, id: string): Promise<string | undefined> {
  return (await findMonitor(runtime.database, { tenantId: runtime.tenantId, id }))?.monitor.state;
}

async function rowsOf<Row extends object>(runtime: TestRuntime, sql: string): Promise<Row[]> {
  return (await runtime.database.pool.query<Row>(sql)).rows;
}

async function addWebhook(runtime: TestRuntime): Promise<string> {
  const channel = await createChannel(runtime.database, {
    id: runtime.newId('nch'),
    tenantId: runtime.tenantId,
    type: 'webhook',
    name: 'Hook',
    status: 'connected',
    allMonitors: true,
    monitorIds: [],
    webhook: { url: 'https://hooks.example/', signingSecret: 'whsec_AAAA' },
    nowMs: Date.now(),
    author: null,
  });
  return channel.id;
}

test('a batch stores its results and writes the resulting transitions, incident and deliveries', async (t) => {
  const runtime = await openTestRuntime(t);
  const agent = await runtime.addAgent('local');
  const monitor = await runtime.addMonitor([agent]);
  const channelId = await addWebhook(runtime);
  const nowMs = Date.now();
  const at = (second: number, verdict: MeasuredResult['verdict']) =>
    resultOf(monitor, agent, { dueAtMs: nowMs + second * SECOND, verdict });

  const outcome = await evaluatorOf(runtime, nowMs)([at(-180, 'up'), at(-120, 'down'), at(-60, 'down')]);

  t.is(outcome.stored, 3);
  t.deepEqual(
    outcome.transitions.map(({ sequence, change }) => [sequence, change.from, change.to]),
    [
      [1, 'pending', 'up'],
      [2, 'up', 'down'],
    ],
  );
  t.is(await stateOf(runtime, monitor.id), 'down');
  const [incident] = await listIncidents(runtime.database, { tenantId: runtime.tenantId, limit: 10 });
  t.like(incident, {
    state: 'down',
    startedAtMs: nowMs - 120 * SECOND,
    detectedAtMs: nowMs,
    resolvedAtMs: null,
    sourcesDown: ['local'],
  });
  const deliveries = await rowsOf<{ id: string; channel_id: string; event: string }>(
    runtime,
    'SELECT id, channel_id, event FROM deliveries ORDER BY id',
  );
  t.deepEqual(
    deliveries.map(({ event }) => event),
    ['monitor.up', 'monitor.down'],
  );
  t.true(deliveries.every((delivery) => delivery.channel_id === channelId));
  t.deepEqual(
    outcome.deliveries.map(({ deliveryId }) => deliveryId),
    deliveries.map(({ id }) => id),
  );
});

test('a batch whose monitors have too many sources for one transaction is decided in parts', async (t) => {
  const runtime = await openTestRuntime(t);
  const agent = await runtime.addAgent('local');
  const monitors: Monitor[] = [];
  for (let made = 0; made < 3; made += 1) monitors.push(await runtime.addMonitor([agent], { downMinSources: 1 }));
  await runtime.database.pool.query(
    `WITH crowd AS (
       INSERT INTO agents (id, tenant_id, kind, name, created_at)
       SELECT 'agt_' || n, $1, 'tenant', 'crowd', 0 FROM generate_series(1, 2499) n RETURNING no
     )
     INSERT INTO monitor_sources (monitor_no, agent_no, interval_seconds)
     SELECT m.no, c.no, 60 FROM monitors m, crowd c`,
    [runtime.tenantId],
  );
  const nowMs = Date.now();
  const resultsAt = (second: number) =>
    monitors.map((monitor) => resultOf(monitor, agent, { dueAtMs: nowMs + second * SECOND, verdict: 'down' }));

  const { stored, transitions } = await evaluatorOf(runtime, nowMs)([...resultsAt(-120), ...resultsAt(-60)]);

  t.is(stored, 6);
  t.deepEqual(
    transitions.map(({ monitorId, change }) => [monitorId, change.to]),
    monitors.map(({ id }) => [id, 'down']),
  );
  const written = await rowsOf(runtime, 'SELECT DISTINCT xmin::text FROM transitions');
  t.is(written.length, 2, 'transactions');
  t.deepEqual((await evaluatorOf(runtime, nowMs)(resultsAt(-60))).transitions, []);

  await runtime.database.pool.query(
    `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no more'; END $$`,
  );
  await runtime.database.pool.query(
    `CREATE TRIGGER refuse BEFORE INSERT ON transitions FOR EACH ROW WHEN (NEW.monitor_id = '${monitors[2]?.id}')
     EXECUTE FUNCTION refuse()`,
  );
  const ups = monitors.map((monitor) => resultOf(monitor, agent, { dueAtMs: nowMs, verdict: 'up' }));
  const broken = await t.throwsAsync(evaluatorOf(runtime, nowMs)(ups), { instanceOf: PartlyEvaluated });
  t.is(broken?.outcome.stored, 2);
  t.deepEqual(
    broken?.outcome.transitions.map(({ monitorId, change }) => [monitorId, change.to]),
    monitors.slice(0, 2).map(({ id }) => [id, 'up']),
    'committed parts are reported despite the failure',
  );
});

test('old failures in a long backlog do not count as recent, even if its newest result is', async (t) => {
  const runtime = await openTestRuntime(t);
  const agents = [await runtime.addAgent('honest'), await runtime.addAgent('late'), await runtime.addAgent('later')];
  const [honest, ...late] = agents;
  if (honest === undefined) return t.fail();
  const monitor = await runtime.addMonitor(agents, { downMinSources: 2, intervalSeconds: 1, timeoutMs: 500 });
  const startMs = Date.now() - 100 * SECOND;
  const at = (agent: typeof honest, second: number, verdict: MeasuredResult['verdict']) =>
    resultOf(monitor, agent, { dueAtMs: startMs + second * SECOND, verdict });
  const evaluateAt = (second: number) => evaluatorOf(runtime, startMs + second * SECOND);
  await evaluateAt(0)(agents.map((agent) => at(agent, 0, 'up')));
  await evaluateAt(78)([at(honest, 78, 'up')]);

  const { stored, transitions } = await evaluateAt(78)(
    late.flatMap((agent) => [at(agent, 10, 'down'), at(agent, 11, 'down'), at(agent, 78, 'up')]),
  );

  t.is(stored, 6);
  t.deepEqual(transitions, []);
  t.is(await stateOf(runtime, monitor.id), 'up');
});

test('a source that failed while its results were too old counts once newer results arrive', async (t) => {
  const runtime = await openTestRuntime(t);
  const agent = await runtime.addAgent('local');
  const monitor = await runtime.addMonitor([agent], { intervalSeconds: 1, timeoutMs: 500 });
  const startMs = Date.now() - 100 * SECOND;
  const at = (second: number, verdict: MeasuredResult['verdict']) =>
    resultOf(monitor, agent, { dueAtMs: startMs + second * SECOND, verdict });
  const evaluateAt = (second: number) => evaluatorOf(runtime, startMs + second * SECOND);
  await evaluateAt(0)([at(0, 'up')]);

  t.deepEqual((await evaluateAt(70)([at(1, 'down'), at(2, 'down')])).transitions, []);
  t.deepEqual((await evaluateAt(71)([at(71, 'down')])).transitions, []);
  await sweep({ ...runtime, now: () => startMs + 72 * SECOND });

  t.is(await stateOf(runtime, monitor.id), 'down');
});

test('a batch that is evaluated twice, or has duplicates, is stored once and decides once', async (t) => {
  const runtime = await openTestRuntime(t);
  const agent = await runtime.addAgent('local');
  const monitor = await runtime.addMonitor([agent], { downAfterFailures: 3 });
  const nowMs = Date.now();
  const batch = [-180, -120].map((second) =>
    resultOf(monitor, agent, { dueAtMs: nowMs + second * SECOND, verdict: 'down' }),
  );
  const evaluate = evaluatorOf(runtime, nowMs);

  t.is((await evaluate([...batch, ...batch])).stored, 2);
  t.is((await evaluate(batch)).stored, 0);

  t.is(await stateOf(runtime, monitor.id), 'pending');
  t.is(
    (await evaluate([resultOf(monitor, agent, { dueAtMs: nowMs - 60 * SECOND, verdict: 'down' })])).transitions.length,
    1,
  );
});

test('a failure older than a good result that changed nothing is stored but not applied', async (t) => {
  const runtime = await openTestRuntime(t);
  const agent = await runtime.addAgent('local');
  const monitor = await runtime.addMonitor([agent], { downAfterFailures: 1 });
  const nowMs = Date.now();
  const at = (second: number, verdict: MeasuredResult['verdict']) =>
    resultOf(monitor, agent, { dueAtMs: nowMs + second * SECOND, verdict });
  const evaluate = evaluatorOf(runtime, nowMs);
  await evaluate([at(-180, 'up')]);
  await evaluate([at(-60, 'up')]);

  const late = await evaluate([at(-120, 'down')]);

  t.is(late.stored, 1);
  t.deepEqual(late.transitions, []);
  t.is(await stateOf(runtime, monitor.id), 'up');
});

test('without a change only results are written', async (t) => {
  const runtime = await openTestRuntime(t);
  const agent = await runtime.addAgent('local');
  const monitor = await runtime.addMonitor([agent]);
  const nowMs = Date.now();
  const evaluate = evaluatorOf(runtime, nowMs);
  await evaluate([resultOf(monitor, agent, { dueAtMs: nowMs - 120 * SECOND, verdict: 'up' })]);
  const versions = () =>
    rowsOf<{ s: string; m: string }>(
      runtime,
      'SELECT s.ctid::text AS s, m.ctid::text AS m FROM monitor_sources s JOIN monitors m ON m.no = s.monitor_no',
    );
  const before = await versions();

  await evaluate([resultOf(monitor, agent, { dueAtMs: nowMs - 60 * SECOND, verdict: 'up' })]);

  t.deepEqual(await versions(), before);
  t.is((await rowsOf(runtime, 'SELECT 1 FROM check_results')).length, 2);
});

test('a good result stored concurrently with the start of a failure streak breaks that streak', async (t) => {
  const runtime = await openTestRuntime(t);
  const agent = await runtime.addAgent('local');
  const monitor = await runtime.addMonitor([agent]);
  const nowMs = Date.now();
  const evaluate = evaluatorOf(runtime, nowMs);
  const at = (second: number, verdict: MeasuredResult['verdict']) =>
    resultOf(monitor, agent, { dueAtMs: nowMs + second * SECOND, verdict });
  await evaluate([at(-180, 'up')]);
  await evaluate([at(-120, 'down')]);
  // The result changes nothing, because its source was read before.
  await storeResults(runOn(runtime.database.pool), [at(-90, 'up')]);

  await evaluate([at(-60, 'down')]);
  t.is(await stateOf(runtime, monitor.id), 'up');

  await evaluate([at(0, 'down')]);
  t.is(await stateOf(runtime, monitor.id), 'down');
});

test('failures from before an edit of the checks do not count after it', async (t) => {
  const runtime = await openTestRuntime(t);
  const agent = await runtime.addAgent('local');
  const monitor = await runtime.addMonitor([agent]);
  const nowMs = Date.now();
  const evaluate = evaluatorOf(runtime, nowMs);
  const at = (second: number, verdict: MeasuredResult['verdict'], checksVersion: number) =>
    resultOf(monitor, agent, { dueAtMs: nowMs + second * SECOND, verdict, checksVersion });
  await evaluate([at(-180, 'up', 1)]);
  await evaluate([at(-120, 'down', 1)]);
  await runOn(runtime.database.pool)('UPDATE monitors SET checks_version = 2 WHERE id = $1', [monitor.id]);
  await evaluate([at(-60, 'down', 1)]);

  await evaluate([at(0, 'down', 2)]);

  t.is(await stateOf(runtime, monitor.id), 'up', 'the current checks have failed only once');
});

test('a source whose interval was lengthened counts even if its newest result is packed', async (t) => {
  const runtime = await openTestRuntime(t);
  const [silent, other] = [await runtime.addAgent('a'), await runtime.addAgent('b')];
  const monitor = await runtime.addMonitor([silent, other]);
  const run = runOn(runtime.database.pool);
  const nowMs = Date.now();
  const hourMs = Math.floor(nowMs / HOUR_MS) * HOUR_MS - 3 * HOUR_MS;
  await createPartitions(runtime.database, hourMs);
  await beginPackingAt(run, hourMs);
  const evaluate = evaluatorOf(runtime, nowMs);
  const at = (agent: typeof silent, second: number, verdict: MeasuredResult['verdict']) =>
    resultOf(monitor, agent, { dueAtMs: nowMs + second * SECOND, verdict });
  await evaluate([at(silent, -120, 'up'), at(other, -120, 'up')]);
  t.is(await stateOf(runtime, monitor.id), 'up');
  // The state hours later: the newest result of one source is packed.
  await run('DELETE FROM recent_results');
  await storeResults(run, [resultOf(monitor, silent, { dueAtMs: hourMs, verdict: 'up' })], isSteady);
  t.true(await packNextHour(runtime.database, nowMs));
  await run('UPDATE monitors SET interval_seconds = 86400 WHERE id = $1', [monitor.id]);

  // Both sources count: without the silent one's result there would be too few.
  await evaluate([at(other, -60, 'down'), at(other, 0, 'down')]);

  t.is(await stateOf(runtime, monitor.id), 'up');
});

test('steady results are stored for packing, except late ones and those of long intervals', async (t) => {
  const runtime = await openTestRuntime(t);
  const agent = await runtime.addAgent('local');
  const [often, seldom] = [await runtime.addMonitor([agent]), await runtime.addMonitor([agent])];
  const nowMs = Date.now();
  await runOn(runtime.database.pool)('UPDATE monitors SET interval_seconds = 1201 WHERE id = $1', [seldom.id]);
  await beginPackingAt(runOn(runtime.database.pool), nowMs - HOUR_MS);
  const evaluate = evaluatorOf(runtime, nowMs);
  const numbers = async (table: string) =>
    (await rowsOf<{ no: number }>(runtime, `SELECT monitor_no AS no FROM ${table} ORDER BY 1, due_at`)).map(
      ({ no }) => no,
    );

  await evaluate(
    [often, seldom].flatMap((monitor) => [
      resultOf(monitor, agent, { dueAtMs: nowMs - 60 * SECOND, verdict: 'up' }),
      resultOf(monitor, agent, { dueAtMs: nowMs, verdict: 'down' }),
      // So late that its hour may already be packed.
      resultOf(monitor, agent, { dueAtMs: nowMs - 4 * 3600 * SECOND, verdict: 'up' }),
    ]),
  );

  t.deepEqual(await numbers('recent_results'), [often.no]);
  t.deepEqual(await numbers('check_results'), [often.no, often.no, seldom.no, seldom.no, seldom.no]);
});

test('steady results from before packing began are not stored for packing, as a crash would lose them', async (t) => {
  const runtime = await openTestRuntime(t);
  const agent = await runtime.addAgent('local');
  const monitor = await runtime.addMonitor([agent]);
  const nowMs = Date.now();
  await beginPackingAt(runOn(runtime.database.pool), nowMs);
  const hourMs = Math.floor(nowMs / HOUR_MS) * HOUR_MS;

  await evaluatorOf(
    runtime,
    nowMs,
  )([hourMs - 1, hourMs].map((dueAtMs) => resultOf(monitor, agent, { dueAtMs, verdict: 'up' })));

  t.deepEqual(await rowsOf(runtime, 'SELECT due_at AS at FROM recent_results'), [{ at: hourMs }]);
  t.deepEqual(await rowsOf(runtime, 'SELECT due_at AS at FROM check_results'), [{ at: hourMs - 1 }]);
});

test('the last check of a monitor is not in the future, even if the clock of an agent is ahead', async (t) => {
  const runtime = await openTestRuntime(t);
  const agent = await runtime.addAgent('local');
  const monitor = await runtime.addMonitor([agent]);
  const nowMs = Date.now();
  await evaluatorOf(runtime, nowMs)([resultOf(monitor, agent, { dueAtMs: nowMs + 30 * SECOND, verdict: 'up' })]);

  const checks = await readLastChecks(runtime.database, { monitorNos: [monitor.no], nowMs });

  t.deepEqual([...checks], [[monitor.no, nowMs]]);
});

test('after a crash that emptied the newest results, a batch restores them before it is decided', async (t) => {
  const runtime = await openTestRuntime(t);
  const other = await runtime.addAgent('b');
  const agents = [await runtime.addAgent('a'), other];
  const monitor = await runtime.addMonitor(agents);
  const nowMs = Date.now();
  await beginPackingAt(runOn(runtime.database.pool), nowMs - HOUR_MS);
  const evaluate = evaluatorOf(runtime, nowMs);
  const at = (agent: (typeof agents)[number], second: number, verdict: MeasuredResult['verdict']) =>
    resultOf(monitor, agent, { dueAtMs: nowMs + second * SECOND, verdict });
  await evaluate(agents.map((agent) => at(agent, -150, 'up')));
  await rowsOf(runtime, 'TRUNCATE recent_results, recent_results_whole');

  // Both sources count: without the first one's result there would be too few.
  await evaluate([at(other, -60, 'down'), at(other, 0, 'down')]);

  t.is(await stateOf(runtime, monitor.id), 'up');
  t.is((await rowsOf(runtime, 'SELECT 1 FROM recent_results')).length, 2);
});

test('results of unknown, deleted and paused monitors are dropped', async (t) => {
  const runtime = await openTestRuntime(t);
  const agent = await runtime.addAgent('local');
  const [deleted, paused] = [await runtime.addMonitor([agent]), await runtime.addMonitor([agent])];
  const key = { tenantId: runtime.tenantId, nowMs: Date.now() };
  await deleteMonitor(runtime.database, { ...key, id: deleted.id, author: null });
  await pauseMonitor(runtime.database, { ...key, id: paused.id, author: null });

  const outcome = await evaluatorOf(runtime)(
    [deleted, paused, { no: 999_999 }].map((monitor) =>
      resultOf(monitor, agent, { dueAtMs: Date.now(), verdict: 'down' }),
    ),
  );

  t.deepEqual(outcome, { stored: 0, rechecks: [], transitions: [], deliveries: [] });
});

test('a resumed monitor is decided by its first result, whatever its sources reported before the pause', async (t) => {
  const runtime = await openTestRuntime(t);
  const agent = await runtime.addAgent('local');
  const monitor = await runtime.addMonitor([agent], { upAfterSuccesses: 5 });
  const nowMs = Date.now();
  const evaluate = evaluatorOf(runtime, nowMs);
  await evaluate(
    [-180, -120].map((second) => resultOf(monitor, agent, { dueAtMs: nowMs + second * SECOND, verdict: 'down' })),
  );
  const key = { tenantId: runtime.tenantId, id: monitor.id, nowMs: nowMs - 90 * SECOND };
  await pauseMonitor(runtime.database, { ...key, author: null });
  const [incident] = await listIncidents(runtime.database, { tenantId: runtime.tenantId, limit: 1 });
  t.like(incident, { resolution: 'paused' });
  t.is((await resumeMonitor(runtime.database, { ...key, author: null }))?.monitor.state, 'pending');

  await evaluate([resultOf(monitor, agent, { dueAtMs: nowMs - 60 * SECOND, verdict: 'up' })]);

  t.is(await stateOf(runtime, monitor.id), 'up');
});

test('a result under way when its monitor is edited or resumed is stored but not applied', async (t) => {
  const runtime = await openTestRuntime(t);
  const agent = await runtime.addAgent('local');
  const [edited, resumed] = [
    await runtime.addMonitor([agent], { downAfterFailures: 1 }),
    await runtime.addMonitor([agent], { downAfterFailures: 1 }),
  ];
  const nowMs = Date.now();
  const key = { tenantId: runtime.tenantId, nowMs };
  await changeMonitor(runtime.database, { ...key, id: edited.id }, ({ monitor, secrets, agentIds }) => ({
    settings: { ...monitor, target: 'http://127.0.0.1:10/' },
    secrets,
    agentIds,
  }));
  await pauseMonitor(runtime.database, { ...key, id: resumed.id, author: null });
  await resumeMonitor(runtime.database, { ...key, id: resumed.id, author: null });

  const outcome = await evaluatorOf(
    runtime,
    nowMs,
  )([edited, resumed].map((monitor) => resultOf(monitor, agent, { dueAtMs: nowMs - SECOND, verdict: 'down' })));

  t.is(outcome.stored, 2);
  t.deepEqual(outcome.transitions, []);
});

test('text that PostgreSQL or a terminal cannot handle is cleaned and does not fail the batch', async (t) => {
  const runtime = await openTestRuntime(t);
  const agent = await runtime.addAgent('local');
  const monitor = await runtime.addMonitor([agent], { downAfterFailures: 1 });
  const nowMs = Date.now();

  await evaluatorOf(
    runtime,
    nowMs,
  )([resultOf(monitor, agent, { dueAtMs: nowMs, verdict: 'down', reason: 'Bad\u0000\u001b[31m \ud800header' })]);

  const [incident] = await listIncidents(runtime.database, { tenantId: runtime.tenantId, limit: 1 });
  t.is(incident?.reason, 'Bad [31m \ufffdheader');
});

test('results of a day without a partition create the partition and are stored', async (t) => {
  const runtime = await openTestRuntime(t);
  const agent = await runtime.addAgent('local');
  const monitor = await runtime.addMonitor([agent]);
  const { rows } = await runtime.database.pool.query<{ name: string }>(
    `SELECT relname AS name FROM pg_class WHERE relname LIKE 'check_results_2%' AND relkind = 'r'`,
  );
  for (const { name } of rows) await runtime.database.pool.query(`DROP TABLE ${name}`);

  const outcome = await evaluatorOf(runtime)([resultOf(monitor, agent, { dueAtMs: Date.now(), verdict: 'up' })]);

  t.is(outcome.stored, 1);
});

test('concurrent evaluators of the same monitors lose nothing and decide as one', async (t) => {
  const runtime = await openTestRuntime(t);
  const agents = [await runtime.addAgent('a'), await runtime.addAgent('b'), await runtime.addAgent('c')];
  const monitors = await Promise.all(Array.from({ length: 20 }, () => runtime.addMonitor(agents)));
  const nowMs = Date.now();
  const evaluate = evaluatorOf(runtime, nowMs);
  const verdicts: MeasuredResult['verdict'][] = ['up', 'down', 'down'];
  for (const [step, verdict] of verdicts.entries()) {
    const dueAtMs = nowMs - (170 - step * 60) * SECOND;
    await Promise.all(
      agents.map((agent) =>
        evaluate(
          monitors.toReversed().map((monitor) => resultOf(monitor, agent, { dueAtMs: dueAtMs + agent.no, verdict })),
        ),
      ),
    );
  }

  t.is((await rowsOf(runtime, 'SELECT 1 FROM check_results')).length, 180);
  const transitions = await rowsOf<{ monitor_id: string; sequence: number; to_state: string }>(
    runtime,
    'SELECT monitor_id, sequence, to_state FROM transitions ORDER BY monitor_id, sequence',
  );
  t.is(transitions.length, 40);
  t.true(transitions.every(({ sequence, to_state }) => to_state === (sequence === 1 ? 'up' : 'down')));
  t.is((await rowsOf(runtime, 'SELECT 1 FROM incidents WHERE resolved_at IS NULL')).length, 20);
});

test('a check carries the verdict that would change nothing, or null if any verdict might', async (t) => {
  const runtime = await openTestRuntime(t);
  const agents = [await runtime.addAgent('local'), await runtime.addAgent('remote'), await runtime.addAgent('far')];
  const [local, remote, far] = agents;
  const monitor = await runtime.addMonitor(agents, { downAfterFailures: 1 });
  const slots = await rowsOf<{ agentNo: number; intervalSeconds: number; slot: number }>(
    runtime,
    `SELECT agent_no AS "agentNo", interval_seconds AS "intervalSeconds", phase AS slot
     FROM monitor_sources ORDER BY 1`,
  );
  const steady = async () =>
    (await Promise.all(slots.map((slot) => listDueChecks(runtime.database, slot))))
      .flat()
      .map((due) => due.steadyVerdict);
  const nowMs = Date.now();
  let second = -110;
  const evaluate = async (verdicts: readonly (readonly [typeof local, MeasuredResult['verdict']])[]) => {
    second += 20;
    const results = verdicts.flatMap(([agent, verdict]) =>
      agent === undefined ? [] : [resultOf(monitor, agent, { dueAtMs: nowMs + second * SECOND, verdict })],
    );
    await evaluatorOf(runtime, nowMs)(results);
    return await steady();
  };

  t.deepEqual(await steady(), [null, null, null], 'nothing is decided');
  t.deepEqual(
    await evaluate([
      [local, 'up'],
      [remote, 'up'],
      [far, 'up'],
    ]),
    ['up', 'up', 'up'],
  );
  t.deepEqual(await evaluate([[local, 'down']]), ['up', 'up', 'up'], 'one more failure elsewhere makes an outage');
  t.deepEqual(await evaluate([[remote, 'down']]), ['down', 'down', null], 'the third may still turn');
  t.deepEqual(
    await evaluate([
      [local, 'up'],
      [remote, 'up'],
    ]),
    ['up', 'up', 'up'],
  );
  t.deepEqual(
    await evaluate([
      [local, 'degraded'],
      [remote, 'degraded'],
    ]),
    ['degraded', 'degraded', null],
  );
});

test('if the failing source goes silent, good results of another one end the outage, however steady', async (t) => {
  const runtime = await openTestRuntime(t);
  const [blind, other] = [await runtime.addAgent('blind'), await runtime.addAgent('other')];
  const monitor = await runtime.addMonitor([blind, other], { downMinSources: 1, intervalSeconds: 10 });
  const startMs = Date.now() + 300 * SECOND;
  const evaluate = async (agent: typeof blind, second: number, verdict: MeasuredResult['verdict']) => {
    const result = resultOf(monitor, agent, { dueAtMs: startMs + second * SECOND, verdict });
    await evaluatorOf(runtime, result.dueAtMs + SECOND)([result]);
    return await stateOf(runtime, monitor.id);
  };
  await evaluate(blind, -10, 'up');
  await evaluate(other, -5, 'up');
  await evaluate(blind, 0, 'down');
  t.is(await evaluate(blind, 10, 'down'), 'down');
  for (const second of [20, 30, 40]) t.is(await evaluate(blind, second, 'none'), 'down');
  t.is(await evaluate(other, 45, 'up'), 'up');
});
