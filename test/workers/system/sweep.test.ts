import test from 'ava';
import type { Agent } from '../../../models/agents/agents.ts';
import { updateBehindAt } from '../../../models/agents/shared-agents.ts';
import { updateToOffline, updateToOnline } from '../../../models/agents/watch.ts';
import { createChannel } from '../../../models/alerts/channels.ts';
import type { MeasuredResult } from '../../../models/checks/check-results.ts';
import { listSilentAfterOverload, listStaleMonitors } from '../../../models/incidents/evaluation.ts';
import { deleteMonitor, pauseMonitor } from '../../../models/monitors/monitor-changes.ts';
import { findMonitor } from '../../../models/monitors/monitors.ts';
import { inTransaction, runOn } from '../../../models/sql.ts';
import { pageServiceGaps } from '../../../models/statistics/service-gaps.ts';
import { pullBackTimes } from '../../../models/system/future-times.ts';
import { createEvaluator } from '../../../workers/incidents/evaluate.ts';
import { newSweepMemory, sweep } from '../../../workers/system/sweep.ts';
import { listQueueBackends, type QueueBackend } from '../../helpers/queue-backend.ts';
import { changeMonitor, openTestRuntime, resultOf, type TestRuntime } from '../../helpers/runtime.ts';

const SECOND = 1000;

async function stateOf(runtime: TestRuntime, id: string): Promise<string | undefined> {
  return (await findMonitor(runtime.database, { tenantId: runtime.tenantId, id }))?.monitor.state;
}

/**
 * Sweeps every ten seconds of a simulated time, like a single process. Throws if a sweep finds other stale monitors
 * than a scan of all would. `onSecond` is called before the sweep of each second.
 */
async function sweepThrough(
  runtime: TestRuntime,
  fromMs: number,
  length: number | { seconds: number; onSecond: (second: number) => Promise<unknown> },
): Promise<number> {
  const { seconds, onSecond } = typeof length === 'number' ? { seconds: length, onSecond: () => undefined } : length;
  const memory = newSweepMemory();
  let transitions = 0;
  for (let second = 0; second <= seconds; second += 10) {
    const nowMs = fromMs + second * SECOND;
    await onSecond(second);
    const expected = await scanAll(runtime, nowMs);
    const swept = await sweep({ ...runtime, now: () => nowMs }, memory);
    if (swept.stale !== expected.size)
      throw new Error(`After ${second} s the sweep finds ${swept.stale} stale, a scan ${[...expected].join()}`);
    transitions += swept.transitions;
  }
  return transitions;
}

async function scanAll({ database }: TestRuntime, nowMs: number): Promise<Set<number>> {
  const run = runOn(database.pool);
  const editedSinceSeconds = Math.floor(nowMs / SECOND) - 60;
  const { stale } = await listStaleMonitors(run, { nowMs, editedSinceSeconds, afterNo: 0, limit: 1000 });
  return new Set([...stale, ...(await listSilentAfterOverload(run, nowMs))]);
}

type Watched = { sources?: readonly string[]; verdicts: readonly MeasuredResult['verdict'][]; backend?: QueueBackend };

async function watched(t: Parameters<typeof openTestRuntime>[0], { sources = ['local'], verdicts, backend }: Watched) {
  const runtime = await openTestRuntime(t, backend);
  const agents = await Promise.all(sources.map((name) => runtime.addAgent(name)));
  const monitor = await runtime.addMonitor(agents);
  const nowMs = Date.now();
  const evaluate = createEvaluator({ ...runtime, now: () => nowMs });
  for (const [index, verdict] of verdicts.entries()) {
    await evaluate(
      agents.map((agent) =>
        resultOf(monitor, agent, { dueAtMs: nowMs - (verdicts.length - 1 - index) * 60 * SECOND, verdict }),
      ),
    );
  }
  return { runtime, agents, monitor, nowMs };
}

test('a monitor whose sources fall silent becomes unknown once, when their results are stale', async (t) => {
  const { runtime, monitor, nowMs } = await watched(t, { verdicts: ['up'] });
  await runtime.database.pool.query('UPDATE agents SET last_seen_at = last_seen_at + 100000');

  t.is(await sweepThrough(runtime, nowMs, 180), 0);
  t.is(await stateOf(runtime, monitor.id), 'up');
  t.is(await sweepThrough(runtime, nowMs + 190 * SECOND, 600), 1);
  t.is(await stateOf(runtime, monitor.id), 'unknown');
});

test('all monitors are scanned every 50 s, and those about to become stale are remembered', async (t) => {
  const { runtime, monitor, nowMs } = await watched(t, { verdicts: ['up'] });
  await runtime.database.pool.query('UPDATE agents SET last_seen_at = last_seen_at + 100000');
  await runtime.database.pool.query('UPDATE monitors SET updated_at = 0');
  const memory = newSweepMemory();
  const scans: { second: number; suspects: readonly number[] }[] = [];
  for (let second = 0; second <= 180; second += 10) {
    await sweep({ ...runtime, now: () => nowMs + second * SECOND }, memory);
    if (memory.scannedAtMs === nowMs + second * SECOND) scans.push({ second, suspects: memory.suspects });
  }

  t.deepEqual(scans, [
    { second: 0, suspects: [] },
    { second: 50, suspects: [] },
    { second: 100, suspects: [] },
    { second: 150, suspects: [monitor.no] },
  ]);

  await sweep({ ...runtime, now: () => nowMs - SECOND }, memory);
  t.is(memory.scannedAtMs, nowMs - SECOND, 'a clock set back forces a new scan');
});

test('a monitor revived by a late result is found stale again at once', async (t) => {
  const { runtime, agents, monitor, nowMs } = await watched(t, { verdicts: ['up'] });
  const [agent] = agents;
  await runtime.database.pool.query('UPDATE agents SET last_seen_at = last_seen_at + 100000');
  await sweepThrough(runtime, nowMs, 600);
  t.is(await stateOf(runtime, monitor.id), 'unknown');

  const againMs = nowMs + 610 * SECOND;
  const states: (string | undefined)[] = [];
  await sweepThrough(runtime, againMs, {
    seconds: 60,
    async onSecond(second) {
      states.push(await stateOf(runtime, monitor.id));
      if (second !== 10 || agent === undefined) return;
      const late = resultOf(monitor, agent, { dueAtMs: againMs - 150 * SECOND, verdict: 'up' });
      await createEvaluator({ ...runtime, now: () => againMs + 5 * SECOND })([late]);
    },
  });
  states.push(await stateOf(runtime, monitor.id));

  t.deepEqual(states, ['unknown', 'unknown', 'up', 'up', 'up', 'unknown', 'unknown', 'unknown']);
});

test('after our own downtime sources count as silent only once the sweep has run for long enough', async (t) => {
  const { runtime, monitor, nowMs } = await watched(t, { verdicts: ['up'] });
  await sweep({ ...runtime, now: () => nowMs });

  const backMs = nowMs + 3600 * SECOND;
  t.is(await sweepThrough(runtime, backMs, 230), 0);
  t.is(await stateOf(runtime, monitor.id), 'up');
  t.is(await sweepThrough(runtime, backMs + 240 * SECOND, 10), 1);
});

test('with all agents offline a monitor is unknown at once, even one with a daily interval', async (t) => {
  const runtime = await openTestRuntime(t);
  const agents = [await runtime.addAgent('hanoi'), await runtime.addAgent('lima')];
  const monitor = await runtime.addMonitor(agents, { intervalSeconds: 86_400 });
  const nowMs = Date.now();
  await createEvaluator({ ...runtime, now: () => nowMs })(
    agents.map((agent) => resultOf(monitor, agent, { dueAtMs: nowMs, verdict: 'up' })),
  );
  const goOffline = (agent: Agent | undefined) =>
    runtime.database.pool.query('UPDATE agents SET offline_at = $2 WHERE no = $1', [agent?.no, nowMs]);

  await goOffline(agents[0]);
  t.is((await sweep({ ...runtime, now: () => nowMs + SECOND })).transitions, 0, 'one of two sources may fail');
  await goOffline(agents[1]);
  t.is((await sweep({ ...runtime, now: () => nowMs + 2 * SECOND })).transitions, 1);
  t.is(await stateOf(runtime, monitor.id), 'unknown');
});

test('a monitor without sources becomes unknown, once', async (t) => {
  const { runtime, agents, monitor, nowMs } = await watched(t, { verdicts: ['up'] });
  await runtime.database.pool.query('DELETE FROM monitor_sources WHERE agent_no = $1', [agents[0]?.no]);

  t.is(await sweepThrough(runtime, nowMs + 3600 * SECOND, 60), 1);
  t.is(await stateOf(runtime, monitor.id), 'unknown');
});

test('a shortened interval or a retired region makes no monitor unknown retroactively', async (t) => {
  const { runtime, agents, monitor, nowMs } = await watched(t, { verdicts: ['up'] });
  const { pool } = runtime.database;
  await pool.query('UPDATE agents SET last_seen_at = last_seen_at + 100000');
  await pool.query('UPDATE monitors SET interval_seconds = 3600 WHERE no = $1', [monitor.no]);
  t.is(await sweepThrough(runtime, nowMs, 600), 0);

  const editedMs = nowMs + 600 * SECOND;
  const edit = 'UPDATE monitors SET interval_seconds = 60, updated_at = $2::bigint / 1000 WHERE no = $1';
  await pool.query(edit, [monitor.no, editedMs]);
  t.is(await sweepThrough(runtime, editedMs, 170), 0);
  t.is(await stateOf(runtime, monitor.id), 'up');
  t.is(await sweepThrough(runtime, editedMs + 180 * SECOND, 60), 1);
  t.is(await stateOf(runtime, monitor.id), 'unknown');

  const evaluate = createEvaluator({ ...runtime, now: () => editedMs + 300 * SECOND });
  const [agent] = agents;
  if (agent === undefined) return t.fail('no agent');
  await evaluate([resultOf(monitor, agent, { dueAtMs: editedMs + 300 * SECOND, verdict: 'up' })]);
  t.is(await stateOf(runtime, monitor.id), 'up');
  await pool.query('UPDATE agents SET revoked_at = 1 WHERE id = $1', [agent.id]);
  t.is(await sweepThrough(runtime, editedMs + 300 * SECOND, 120), 0);
  t.is(await stateOf(runtime, monitor.id), 'up');
});

test('a monitor edited while the clock was ahead becomes unknown once its sources are silent', async (t) => {
  const { runtime, monitor, nowMs } = await watched(t, { verdicts: ['up'] });
  const { pool } = runtime.database;
  const backMs = 36_000 * SECOND;
  await pool.query('UPDATE agents SET last_seen_at = last_seen_at + 1000');
  await pool.query('UPDATE monitors SET updated_at = $1::bigint / 1000', [nowMs + backMs]);
  await inTransaction(runtime.database, (_, client) => pullBackTimes(client, { nowMs, backMs }));
  t.is(await sweepThrough(runtime, nowMs, 600), 1);
  t.is(await stateOf(runtime, monitor.id), 'unknown');
});

for (const backend of listQueueBackends()) {
  test(`${backend.name}: no source counts as silent while results wait for a stopped evaluator`, async (t) => {
    const { runtime, monitor, nowMs } = await watched(t, { verdicts: ['up'], backend });
    await runtime.database.pool.query('UPDATE agents SET last_seen_at = last_seen_at + 100000');
    await runtime.queues.enqueueResults([]);

    t.is(await sweepThrough(runtime, nowMs, 600), 0);
    t.is(await stateOf(runtime, monitor.id), 'up');
    const waiting = runtime.queues.all().find((queue) => queue.name.endsWith('evaluate'));
    await waiting?.drain();
    t.is(await sweepThrough(runtime, nowMs + 610 * SECOND, 10), 1);
  });
}

/** Adds a webhook and a chat for all monitors. */
async function addChannels(runtime: TestRuntime): Promise<void> {
  const webhook = { url: 'https://hooks.example/', signingSecret: 'whsec_AAAA' };
  for (const type of ['webhook', 'slack'] as const) {
    const channel = {
      id: runtime.newId('nch'),
      tenantId: runtime.tenantId,
      type,
      name: type,
      status: 'connected',
      allMonitors: true,
      monitorIds: [],
      nowMs: 1,
      ...(type === 'webhook' && { webhook }),
    } as const;
    await createChannel(runtime.database, { ...channel, author: null });
  }
}

async function alertsOf(runtime: TestRuntime): Promise<[string, string][]> {
  const { rows } = await runtime.database.pool.query<{ type: string; event: string }>(
    'SELECT c.type, d.event FROM deliveries d JOIN channels c ON c.id = d.channel_id ORDER BY d.no',
  );
  return rows.map(({ type, event }) => [type, event]);
}

async function transitionsOf(runtime: TestRuntime, id: string) {
  const { rows } = await runtime.database.pool.query<{
    from_state: string;
    to_state: string;
    at: number;
    reason: string;
  }>('SELECT from_state, to_state, at, reason FROM transitions WHERE monitor_id = $1 ORDER BY sequence', [id]);
  return rows;
}

/**
 * Sweeps every ten seconds of a simulated time in which a source has more checks than it can run. Returns the numbers
 * of stale monitors found, and of transitions made.
 */
async function sweepOverloaded(
  runtime: TestRuntime,
  { agentNo, fromMs, seconds }: { agentNo: number; fromMs: number; seconds: number },
): Promise<{ stale: number; transitions: number }> {
  const all = { stale: 0, transitions: 0 };
  for (let second = 0; second <= seconds; second += 10) {
    const nowMs = fromMs + second * SECOND;
    await updateBehindAt(runtime.database, agentNo, nowMs);
    const swept = await sweep({ ...runtime, now: () => nowMs });
    all.stale += swept.stale;
    all.transitions += swept.transitions;
  }
  return all;
}

test('an overloaded source makes its monitors unknown without an alert; its own later silence alerts', async (t) => {
  const { runtime, agents, monitor, nowMs } = await watched(t, { verdicts: ['up'] });
  const agentNo = agents[0]?.no ?? 0;
  await addChannels(runtime);
  await runtime.database.pool.query('UPDATE agents SET last_seen_at = last_seen_at + 100000');

  t.is(
    (await sweepOverloaded(runtime, { agentNo, fromMs: nowMs, seconds: 230 })).transitions,
    0,
    'not before we have watched for as long as silence counts',
  );
  t.is((await sweepOverloaded(runtime, { agentNo, fromMs: nowMs + 240 * SECOND, seconds: 0 })).transitions, 1);
  t.is(await stateOf(runtime, monitor.id), 'unknown');
  t.like((await transitionsOf(runtime, monitor.id)).at(-1), {
    from_state: 'up',
    at: nowMs + 240 * SECOND,
    reason: 'Not checked in time: local had too many checks. The target is not at fault',
  });
  t.deepEqual(
    await sweepOverloaded(runtime, { agentNo, fromMs: nowMs + 250 * SECOND, seconds: 350 }),
    { stale: 0, transitions: 0 },
    'not again with every sweep of the same overload',
  );
  t.deepEqual(await alertsOf(runtime), []);
  t.deepEqual(await gapsOf(runtime), [['overload', nowMs + 240 * SECOND, null]]);

  t.is(await sweepThrough(runtime, nowMs + 610 * SECOND, 170), 0);
  t.is(await sweepThrough(runtime, nowMs + 790 * SECOND, 60), 1);
  t.like((await transitionsOf(runtime, monitor.id)).at(-1), {
    from_state: 'unknown',
    to_state: 'unknown',
    at: nowMs + 790 * SECOND,
    reason: 'No location has reported in time: local is not reporting',
  });
  t.deepEqual(await alertsOf(runtime), [
    ['webhook', 'monitor.unknown'],
    ['slack', 'monitor.unknown'],
  ]);
  t.deepEqual(await gapsOf(runtime), [['overload', nowMs + 240 * SECOND, nowMs + 790 * SECOND]]);
});

for (const [before, after, alerts] of [
  ['up', 'up', []],
  ['down', 'down', []],
  [
    'up',
    'down',
    [
      ['webhook', 'monitor.down'],
      ['slack', 'monitor.down'],
    ],
  ],
  [
    'down',
    'up',
    [
      ['webhook', 'monitor.up'],
      ['slack', 'monitor.up'],
    ],
  ],
] as const) {
  test(
    `a monitor that is ${before} before and ${after} after an overload ` +
      `${alerts.length === 0 ? 'causes no alert' : 'sends alerts'}`,
    async (t) => {
      const { runtime, agents, monitor, nowMs } = await watched(t, { verdicts: [] });
      const [agent] = agents as [Agent];
      await addChannels(runtime);
      const hand = (seconds: number, verdict: MeasuredResult['verdict']) =>
        createEvaluator({ ...runtime, now: () => nowMs + seconds * SECOND })([
          resultOf(monitor, agent, { dueAtMs: nowMs + seconds * SECOND, verdict }),
        ]);
      for (const second of [-120, -60, 0]) await hand(second, before);
      t.is(await stateOf(runtime, monitor.id), before);
      const alertsBefore = await alertsOf(runtime);
      await sweepOverloaded(runtime, { agentNo: agent.no, fromMs: nowMs, seconds: 300 });
      t.is(await stateOf(runtime, monitor.id), 'unknown');
      for (const second of [310, 370]) await hand(second, after);
      t.is(await stateOf(runtime, monitor.id), after);
      t.deepEqual((await alertsOf(runtime)).slice(alertsBefore.length), alerts as unknown as [string, string][]);
      t.is(
        (await transitionsOf(runtime, monitor.id)).at(-1)?.at,
        nowMs + 310 * SECOND,
        'since the first result with that verdict',
      );
      const { rows } = await runtime.database.pool.query('SELECT started_at, resolved_at FROM incidents');
      const startedAt = before === 'down' ? nowMs - 120 * SECOND : nowMs + 310 * SECOND;
      t.deepEqual(
        rows,
        before === 'up' && after === 'up'
          ? []
          : [{ started_at: startedAt, resolved_at: after === 'up' ? nowMs + 310 * SECOND : null }],
      );
      await sweep({ ...runtime, now: () => nowMs + 380 * SECOND });
      t.deepEqual(await gapsOf(runtime), [['overload', nowMs + 240 * SECOND, nowMs + 310 * SECOND]]);
    },
  );
}

test("recoveries from our overload neither alert nor count toward a storm with another monitor's alert", async (t) => {
  const { runtime, agents, nowMs } = await watched(t, { verdicts: ['up'] });
  const [agent] = agents as [Agent];
  await addChannels(runtime);
  const many = await Promise.all(Array.from({ length: 12 }, () => runtime.addMonitor(agents)));
  await createEvaluator({ ...runtime, now: () => nowMs })(
    many.map((one) => resultOf(one, agent, { dueAtMs: nowMs, verdict: 'up' })),
  );
  const alerts = (await alertsOf(runtime)).length;
  t.is((await sweepOverloaded(runtime, { agentNo: agent.no, fromMs: nowMs, seconds: 240 })).transitions, 13);
  const lateMs = nowMs + 250 * SECOND;
  const [other] = [await runtime.addMonitor(agents, { downAfterFailures: 1 })];
  await createEvaluator({ ...runtime, now: () => lateMs })([
    ...many.map((one) => resultOf(one, agent, { dueAtMs: lateMs, verdict: 'up' as const })),
    resultOf(other, agent, { dueAtMs: lateMs, verdict: 'down' }),
  ]);
  t.deepEqual(
    (await alertsOf(runtime)).slice(alerts),
    [
      ['webhook', 'monitor.down'],
      ['slack', 'monitor.down'],
    ],
    'individually, without a summary',
  );
});

test('pausing or deleting a monitor during an overload ends its part of the gap', async (t) => {
  const { runtime, agents, monitor, nowMs } = await watched(t, { verdicts: ['up'] });
  const [agent] = agents as [Agent];
  const other = await runtime.addMonitor(agents);
  await createEvaluator({ ...runtime, now: () => nowMs })([resultOf(other, agent, { dueAtMs: nowMs, verdict: 'up' })]);
  await sweepOverloaded(runtime, { agentNo: agent.no, fromMs: nowMs, seconds: 240 });
  await pauseMonitor(runtime.database, {
    tenantId: runtime.tenantId,
    id: monitor.id,
    nowMs: nowMs + 250 * SECOND,
    author: null,
  });
  await deleteMonitor(runtime.database, {
    tenantId: runtime.tenantId,
    id: other.id,
    nowMs: nowMs + 255 * SECOND,
    author: null,
  });
  await sweep({ ...runtime, now: () => nowMs + 260 * SECOND });
  const { rows } = await runtime.database.pool.query(
    'SELECT monitor_id, ended_at FROM unchecked_times ORDER BY ended_at',
  );
  t.deepEqual(rows, [
    { monitor_id: monitor.id, ended_at: nowMs + 250 * SECOND },
    { monitor_id: other.id, ended_at: nowMs + 260 * SECOND },
  ]);
  t.deepEqual(await gapsOf(runtime), [['overload', nowMs + 240 * SECOND, nowMs + 260 * SECOND]]);
});

/**
 * Returns only the gaps by overload of the service: in simulated time there are also gaps of checks without a record.
 */
async function gapsOf({ database }: TestRuntime) {
  const gaps = await pageServiceGaps(runOn(database.pool), { fromMs: 0, toMs: Number.MAX_SAFE_INTEGER, limit: 100 });
  return gaps.filter(({ kind }) => kind === 'overload').map(({ kind, startMs, endMs }) => [kind, startMs, endMs]);
}

test('a silent source makes a monitor unknown even if another, reporting source is overloaded', async (t) => {
  const { runtime, agents, monitor, nowMs } = await watched(t, { sources: ['a', 'b', 'c'], verdicts: ['up'] });
  await runtime.database.pool.query('UPDATE agents SET last_seen_at = last_seen_at + 100000');
  await runtime.database.pool.query('UPDATE monitors SET down_min_sources = 3');
  const [busy] = agents as [Agent];
  let transitions = 0;
  for (let second = 0; second <= 300; second += 10) {
    const whenMs = nowMs + second * SECOND;
    await updateBehindAt(runtime.database, busy.no, whenMs);
    await createEvaluator({ ...runtime, now: () => whenMs })([
      resultOf(monitor, busy, { dueAtMs: whenMs, verdict: 'up' }),
    ]);
    transitions += (await sweep({ ...runtime, now: () => whenMs })).transitions;
  }
  t.is(transitions, 1);
  t.is(await stateOf(runtime, monitor.id), 'unknown');
});

test('an edited quorum applies without waiting for a result', async (t) => {
  const runtime = await openTestRuntime(t);
  const [bad, good] = [await runtime.addAgent('bad'), await runtime.addAgent('good')];
  const monitor = await runtime.addMonitor([bad, good], { downMinSources: 1 });
  const nowMs = Date.now();
  const evaluate = createEvaluator({ ...runtime, now: () => nowMs });
  await evaluate(
    [-60, 0].flatMap((second) => [
      resultOf(monitor, bad, { dueAtMs: nowMs + second * SECOND, verdict: 'down' }),
      resultOf(monitor, good, { dueAtMs: nowMs + second * SECOND, verdict: 'up' }),
    ]),
  );
  t.is(await stateOf(runtime, monitor.id), 'down');
  await changeMonitor(
    runtime.database,
    { tenantId: runtime.tenantId, id: monitor.id, nowMs },
    ({ monitor: current, secrets, agentIds }) => ({
      settings: { ...current, downMinSources: 2 },
      secrets,
      agentIds,
    }),
  );

  await sweep({ ...runtime, now: () => nowMs });

  t.is(await stateOf(runtime, monitor.id), 'up');
});

test('a new monitor without any result becomes unknown after three intervals and a minute', async (t) => {
  const runtime = await openTestRuntime(t);
  const agent = await runtime.addAgent('local');
  const monitor = await runtime.addMonitor([agent]);
  const nowMs = Date.now();
  await runtime.database.pool.query('UPDATE monitors SET state_since = $1', [nowMs]);

  t.is(await sweepThrough(runtime, nowMs, 230), 0);
  t.is(await sweepThrough(runtime, nowMs + 240 * SECOND, 60), 1);
  t.is(await stateOf(runtime, monitor.id), 'unknown');
});

test('a draft without a target stays pending however long it waits', async (t) => {
  const runtime = await openTestRuntime(t);
  const agent = await runtime.addAgent('local');
  const draft = await runtime.addMonitor([agent], { target: '' });

  t.is(await sweepThrough(runtime, Date.now(), 600), 0);
  t.is(await stateOf(runtime, draft.id), 'pending');
});

/** Marks an agent offline or back online, like the agents' watch. */
async function setOnline({ database }: TestRuntime, agent: Agent, isOnline: boolean): Promise<void> {
  const { rows } = await database.pool.query<{ offlineAtMs: number }>(
    'UPDATE agents SET last_seen_at = last_seen_at + $2 WHERE no = $1 RETURNING (last_seen_at + 200) * 1000 AS ' +
      '"offlineAtMs"',
    [agent.no, isOnline ? 1000 : 0],
  );
  const run = runOn(database.pool);
  const changed = isOnline
    ? await updateToOnline(run, [agent.no])
    : await updateToOffline(run, [{ no: agent.no, offlineAtMs: Number(rows[0]?.offlineAtMs) }]);
  if (changed.length !== 1) throw new Error('Nothing changed');
}

test('an agent that goes offline loses its vote despite fresh results, and regains it once online', async (t) => {
  const { runtime, agents, monitor, nowMs } = await watched(t, { verdicts: ['up'] });
  await sweepThrough(runtime, nowMs - 300 * SECOND, 300);
  await setOnline(runtime, agents[0]!, false);
  t.is((await sweep({ ...runtime, now: () => nowMs + 10 * SECOND })).transitions, 1);
  t.is(await stateOf(runtime, monitor.id), 'unknown');
  await setOnline(runtime, agents[0]!, true);
  t.is((await sweep({ ...runtime, now: () => nowMs + 20 * SECOND })).transitions, 1);
  t.is(await stateOf(runtime, monitor.id), 'up');
  const { rows } = await runtime.database.pool.query<{
    to_state: string;
    at: number;
    reason: string;
    evidence: { sources: { name: string; standing: string }[] };
  }>('SELECT to_state, at, reason, evidence FROM transitions WHERE monitor_id = $1 ORDER BY sequence OFFSET 1', [
    monitor.id,
  ]);
  t.deepEqual(
    rows.map(({ to_state, at }) => [to_state, at]),
    [
      ['unknown', nowMs + 10 * SECOND],
      ['up', nowMs + 20 * SECOND],
    ],
  );
  t.is(rows[0]?.reason, 'No location has reported in time: local is offline');
  t.like(rows[0]?.evidence.sources[0], { name: 'local', standing: 'offline' });
});

test('an agent with a revoked token no longer votes', async (t) => {
  const { runtime, agents, monitor, nowMs } = await watched(t, { verdicts: ['up'] });
  await sweepThrough(runtime, nowMs - 300 * SECOND, 300);
  const revoke = `UPDATE agents SET revoked_at = 1, kind = 'tenant', tenant_id = $2 WHERE no = $1`;
  await runtime.database.pool.query(revoke, [agents[0]!.no, runtime.tenantId]);
  await sweep({ ...runtime, now: () => nowMs + 10 * SECOND });
  t.is(await stateOf(runtime, monitor.id), 'unknown');
});

for (const { why, isBehind } of [
  { why: 'silence', isBehind: false },
  { why: 'being behind', isBehind: true },
]) {
  test(
    `a source that returns from ${why} and still reports down completes the quorum, even though its verdict ` +
      'is unchanged',
    async (t) => {
      const { runtime, agents, monitor, nowMs } = await watched(t, { sources: ['a', 'b', 'c'], verdicts: ['up'] });
      const [a, b, c] = agents as [Agent, Agent, Agent];
      const hand = (seconds: number, agent: Agent, verdict: MeasuredResult['verdict']) =>
        createEvaluator({ ...runtime, now: () => nowMs + seconds * SECOND })([
          resultOf(monitor, agent, { dueAtMs: nowMs + seconds * SECOND, verdict }),
        ]);
      for (const second of [60, 120])
        for (const [agent, verdict] of [
          [a, 'down'],
          [b, 'up'],
          [c, 'up'],
        ] as const)
          await hand(second, agent, verdict);
      for (const second of [180, 240, 300, 360, 420])
        for (const [agent, verdict] of [
          [b, second >= 360 ? 'down' : 'up'],
          [c, 'up'],
        ] as const)
          await hand(second, agent, verdict);
      if (isBehind) await updateBehindAt(runtime.database, a.no, nowMs + 425 * SECOND);
      await sweep({ ...runtime, now: () => nowMs + 430 * SECOND });
      t.is(await stateOf(runtime, monitor.id), 'up');

      await hand(440, a, 'down');
      await sweep({ ...runtime, now: () => nowMs + 450 * SECOND });
      t.is(await stateOf(runtime, monitor.id), 'down');
      t.is((await sweep({ ...runtime, now: () => nowMs + 460 * SECOND })).stale, 0);
    },
  );
}

test('a result from an agent briefly offline between two sweeps is decided by the next sweep', async (t) => {
  const { runtime, agents, monitor, nowMs } = await watched(t, { sources: ['a', 'b', 'c'], verdicts: ['up'] });
  const [a, b] = agents as [Agent, Agent, Agent];
  const hand = (seconds: number, agent: Agent, verdict: MeasuredResult['verdict']) =>
    createEvaluator({ ...runtime, now: () => nowMs + seconds * SECOND })([
      resultOf(monitor, agent, { dueAtMs: nowMs + seconds * SECOND, verdict }),
    ]);
  for (const second of [60, 120]) await hand(second, b, 'down');
  await hand(120, a, 'down');
  await setOnline(runtime, a, false);
  await hand(124, a, 'down');
  await setOnline(runtime, a, true);
  t.is(await stateOf(runtime, monitor.id), 'up');
  await sweep({ ...runtime, now: () => nowMs + 130 * SECOND });
  t.is(await stateOf(runtime, monitor.id), 'down');
});
