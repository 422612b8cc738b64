import test from 'ava';
import { updateMonitor } from '../../models/monitor-changes.ts';
import { findMonitor } from '../../models/monitors.ts';
import { markOffline, markOnline } from '../../models/agent-watch.ts';
import { markBehind, type Agent } from '../../models/agents.ts';
import type { MeasuredResult } from '../../models/check-results.ts';
import { runOn } from '../../models/sql.ts';
import { createEvaluator } from '../../workers/evaluate.ts';
import { sweep } from '../../workers/maintain/sweep.ts';
import { listQueueBackends, type QueueBackend } from '../helpers/queue-backend.ts';
import { openTestRuntime, resultOf, type TestRuntime } from '../helpers/runtime.ts';

const SECOND = 1000;

async function stateOf(runtime: TestRuntime, id: string): Promise<string | undefined> {
  return (await findMonitor(runtime.database, { tenantId: runtime.tenantId, id }))?.monitor.state;
}

/** Sweeps every ten seconds of a time that the test makes up. */
async function sweepThrough(runtime: TestRuntime, fromMs: number, seconds: number): Promise<number> {
  let transitions = 0;
  for (let second = 0; second <= seconds; second += 10) {
    transitions += (await sweep({ ...runtime, now: () => fromMs + second * SECOND })).transitions;
  }
  return transitions;
}

type Watched = { places?: readonly string[]; verdicts: readonly MeasuredResult['verdict'][]; backend?: QueueBackend };

async function watched(t: Parameters<typeof openTestRuntime>[0], { places = ['local'], verdicts, backend }: Watched) {
  const runtime = await openTestRuntime(t, backend);
  const agents = await Promise.all(places.map((place) => runtime.addAgent(place)));
  const monitor = await runtime.addMonitor(agents);
  const nowMs = Date.now();
  const evaluate = createEvaluator({ ...runtime, now: () => nowMs });
  for (const [index, verdict] of verdicts.entries()) {
    await evaluate(agents.map((agent) => resultOf(monitor, agent, { dueAtMs: nowMs - (verdicts.length - 1 - index) * 60 * SECOND, verdict })));
  }
  return { runtime, agents, monitor, nowMs };
}

test('a monitor whose sources fall silent becomes unknown once, and not before their results are stale', async (t) => {
  const { runtime, monitor, nowMs } = await watched(t, { verdicts: ['up'] });
  await runtime.database.pool.query('UPDATE agents SET last_seen_at = last_seen_at + 100000');

  t.is(await sweepThrough(runtime, nowMs, 180), 0);
  t.is(await stateOf(runtime, monitor.id), 'up');
  t.is(await sweepThrough(runtime, nowMs + 190 * SECOND, 600), 1);
  t.is(await stateOf(runtime, monitor.id), 'unknown');
});

test('after a stand-still of our own nobody is told unknown until we have watched for as long as the silence', async (t) => {
  const { runtime, monitor, nowMs } = await watched(t, { verdicts: ['up'] });
  await sweep({ ...runtime, now: () => nowMs });

  const backMs = nowMs + 3600 * SECOND;
  t.is(await sweepThrough(runtime, backMs, 230), 0);
  t.is(await stateOf(runtime, monitor.id), 'up');
  t.is(await sweepThrough(runtime, backMs + 240 * SECOND, 10), 1);
});

test('where agents are offline a monitor is unknown at once, however long its interval and however short we have been watching', async (t) => {
  const runtime = await openTestRuntime(t);
  const agents = [await runtime.addAgent('hanoi'), await runtime.addAgent('lima')];
  const monitor = await runtime.addMonitor(agents, { intervalSeconds: 86_400 });
  const nowMs = Date.now();
  await createEvaluator({ ...runtime, now: () => nowMs })(agents.map((agent) => resultOf(monitor, agent, { dueAtMs: nowMs, verdict: 'up' })));
  const goOffline = (agent: Agent | undefined) => runtime.database.pool.query('UPDATE agents SET offline_at = $2 WHERE no = $1', [agent?.no, nowMs]);

  await goOffline(agents[0]);
  t.is((await sweep({ ...runtime, now: () => nowMs + SECOND })).transitions, 0, 'of two places one may fail');
  await goOffline(agents[1]);
  t.is((await sweep({ ...runtime, now: () => nowMs + 2 * SECOND })).transitions, 1);
  t.is(await stateOf(runtime, monitor.id), 'unknown');
});

test('a monitor that nobody watches any more is unknown, once', async (t) => {
  const { runtime, agents, monitor, nowMs } = await watched(t, { verdicts: ['up'] });
  await runtime.database.pool.query('DELETE FROM monitor_sources WHERE agent_no = $1', [agents[0]?.no]);

  t.is(await sweepThrough(runtime, nowMs + 3600 * SECOND, 60), 1);
  t.is(await stateOf(runtime, monitor.id), 'unknown');
});

for (const backend of listQueueBackends()) {
  test(`${backend.name}: while results wait for an evaluator that is away nobody is called silent`, async (t) => {
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

test('a place that had more to check than time makes nobody unknown until it has had time for as long as its silence counts', async (t) => {
  const { runtime, agents, monitor, nowMs } = await watched(t, { verdicts: ['up'] });
  const agentNo = agents[0]?.no ?? 0;
  await runtime.database.pool.query('UPDATE agents SET last_seen_at = last_seen_at + 100000');

  let doubtful = 0;
  for (let second = 0; second <= 600; second += 10) {
    await markBehind(runtime.database, agentNo, nowMs + second * SECOND);
    const swept = await sweep({ ...runtime, now: () => nowMs + second * SECOND });
    t.is(swept.transitions, 0, `after ${second} s`);
    doubtful += swept.doubtful;
  }
  t.is(doubtful, 1, 'looked at once, and not with every sweep of a time in which there is too much to do anyway');
  t.is(await stateOf(runtime, monitor.id), 'up');
  t.is(await sweepThrough(runtime, nowMs + 610 * SECOND, 170), 0);
  t.is(await sweepThrough(runtime, nowMs + 790 * SECOND, 60), 1);
  t.is(await stateOf(runtime, monitor.id), 'unknown');
});

test('a place that falls silent makes a monitor unknown though another one, which is heard, has more to check than time', async (t) => {
  const { runtime, agents, monitor, nowMs } = await watched(t, { places: ['a', 'b', 'c'], verdicts: ['up'] });
  await runtime.database.pool.query('UPDATE agents SET last_seen_at = last_seen_at + 100000');
  await runtime.database.pool.query('UPDATE monitors SET down_min_sources = 3');
  const [busy] = agents as [Agent];
  let transitions = 0;
  for (let second = 0; second <= 300; second += 10) {
    const whenMs = nowMs + second * SECOND;
    await markBehind(runtime.database, busy.no, whenMs);
    await createEvaluator({ ...runtime, now: () => whenMs })([resultOf(monitor, busy, { dueAtMs: whenMs, verdict: 'up' })]);
    transitions += (await sweep({ ...runtime, now: () => whenMs })).transitions;
  }
  t.is(transitions, 1);
  t.is(await stateOf(runtime, monitor.id), 'unknown');
});

test('an edited quorum decides anew without waiting for a result', async (t) => {
  const runtime = await openTestRuntime(t);
  const [bad, good] = [await runtime.addAgent('bad'), await runtime.addAgent('good')];
  const monitor = await runtime.addMonitor([bad, good], { downMinSources: 1 });
  const nowMs = Date.now();
  const evaluate = createEvaluator({ ...runtime, now: () => nowMs });
  await evaluate([-60, 0].flatMap((second) => [
    resultOf(monitor, bad, { dueAtMs: nowMs + second * SECOND, verdict: 'down' }),
    resultOf(monitor, good, { dueAtMs: nowMs + second * SECOND, verdict: 'up' }),
  ]));
  t.is(await stateOf(runtime, monitor.id), 'down');
  await updateMonitor(runtime.database, { tenantId: runtime.tenantId, id: monitor.id, nowMs }, ({ monitor: current, secrets, agentIds }) => ({
    settings: { ...current, downMinSources: 2 },
    secrets,
    agentIds,
  }));

  await sweep({ ...runtime, now: () => nowMs });

  t.is(await stateOf(runtime, monitor.id), 'up');
});

test('a new monitor that no result ever reaches is told unknown after three intervals and a minute', async (t) => {
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

/** What the watch of the agents does to one that falls silent, or is back. */
async function setOnline({ database }: TestRuntime, agent: Agent, isOnline: boolean): Promise<void> {
  const { rows } = await database.pool.query<{ offlineAtMs: number }>(
    'UPDATE agents SET last_seen_at = last_seen_at + $2 WHERE no = $1 RETURNING (last_seen_at + 200) * 1000 AS "offlineAtMs"',
    [agent.no, isOnline ? 1000 : 0],
  );
  const run = runOn(database.pool);
  const changed = isOnline ? await markOnline(run, [agent.no]) : await markOffline(run, [{ no: agent.no, offlineAtMs: Number(rows[0]?.offlineAtMs) }]);
  if (changed.length !== 1) throw new Error('Nothing changed');
}

test('an agent that goes offline takes its vote with it though its results are fresh, and one that is back brings it again without a new result', async (t) => {
  const { runtime, agents, monitor, nowMs } = await watched(t, { verdicts: ['up'] });
  await sweepThrough(runtime, nowMs - 300 * SECOND, 300);
  await setOnline(runtime, agents[0]!, false);
  t.is((await sweep({ ...runtime, now: () => nowMs + 10 * SECOND })).transitions, 1);
  t.is(await stateOf(runtime, monitor.id), 'unknown');
  await setOnline(runtime, agents[0]!, true);
  t.is((await sweep({ ...runtime, now: () => nowMs + 20 * SECOND })).transitions, 1);
  t.is(await stateOf(runtime, monitor.id), 'up');
  const { rows } = await runtime.database.pool.query<{ to_state: string; at: number; reason: string; evidence: { sources: { name: string; standing: string }[] } }>(
    'SELECT to_state, at, reason, evidence FROM transitions WHERE monitor_id = $1 ORDER BY sequence OFFSET 1',
    [monitor.id],
  );
  t.deepEqual(rows.map(({ to_state, at }) => [to_state, at]), [['unknown', nowMs + 10 * SECOND], ['up', nowMs + 20 * SECOND]]);
  t.is(rows[0]?.reason, 'No location has reported in time: local is offline');
  t.like(rows[0]?.evidence.sources[0], { name: 'local', standing: 'offline' });
});

test('an agent whose token was revoked does not vote any more', async (t) => {
  const { runtime, agents, monitor, nowMs } = await watched(t, { verdicts: ['up'] });
  await sweepThrough(runtime, nowMs - 300 * SECOND, 300);
  await runtime.database.pool.query('UPDATE agents SET revoked_at = 1 WHERE no = $1', [agents[0]!.no]);
  await sweep({ ...runtime, now: () => nowMs + 10 * SECOND });
  t.is(await stateOf(runtime, monitor.id), 'unknown');
});

for (const { why, isBehind } of [{ why: 'silence', isBehind: false }, { why: 'more than it had time for', isBehind: true }]) {
  test(`a place that comes back from ${why} and still says down completes the quorum, though that is nothing new from it`, async (t) => {
    const { runtime, agents, monitor, nowMs } = await watched(t, { places: ['a', 'b', 'c'], verdicts: ['up'] });
    const [a, b, c] = agents as [Agent, Agent, Agent];
    const hand = (seconds: number, agent: Agent, verdict: MeasuredResult['verdict']) =>
      createEvaluator({ ...runtime, now: () => nowMs + seconds * SECOND })([resultOf(monitor, agent, { dueAtMs: nowMs + seconds * SECOND, verdict })]);
    for (const second of [60, 120]) for (const [agent, verdict] of [[a, 'down'], [b, 'up'], [c, 'up']] as const) await hand(second, agent, verdict);
    for (const second of [180, 240, 300, 360, 420]) for (const [agent, verdict] of [[b, second >= 360 ? 'down' : 'up'], [c, 'up']] as const) await hand(second, agent, verdict);
    if (isBehind) await markBehind(runtime.database, a.no, nowMs + 425 * SECOND);
    await sweep({ ...runtime, now: () => nowMs + 430 * SECOND });
    t.is(await stateOf(runtime, monitor.id), 'up');

    await hand(440, a, 'down');
    await sweep({ ...runtime, now: () => nowMs + 450 * SECOND });
    t.is(await stateOf(runtime, monitor.id), 'down');
    t.is((await sweep({ ...runtime, now: () => nowMs + 460 * SECOND })).doubtful, 0);
  });
}

test('what an agent said while it was offline for a moment between two sweeps is decided by the next', async (t) => {
  const { runtime, agents, monitor, nowMs } = await watched(t, { places: ['a', 'b', 'c'], verdicts: ['up'] });
  const [a, b] = agents as [Agent, Agent, Agent];
  const hand = (seconds: number, agent: Agent, verdict: MeasuredResult['verdict']) =>
    createEvaluator({ ...runtime, now: () => nowMs + seconds * SECOND })([resultOf(monitor, agent, { dueAtMs: nowMs + seconds * SECOND, verdict })]);
  for (const second of [60, 120]) await hand(second, b, 'down');
  await hand(120, a, 'down');
  await setOnline(runtime, a, false);
  await hand(124, a, 'down');
  await setOnline(runtime, a, true);
  t.is(await stateOf(runtime, monitor.id), 'up');
  await sweep({ ...runtime, now: () => nowMs + 130 * SECOND });
  t.is(await stateOf(runtime, monitor.id), 'down');
});
