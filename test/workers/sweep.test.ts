import test from 'ava';
import { findMonitor, updateMonitor } from '../../models/monitors.ts';
import type { MeasuredResult } from '../../models/check-results.ts';
import { createEvaluator } from '../../workers/evaluate.ts';
import { sweep } from '../../workers/maintain/sweep.ts';
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

async function watched(t: Parameters<typeof openTestRuntime>[0], places: string[], verdicts: MeasuredResult['verdict'][]) {
  const runtime = await openTestRuntime(t);
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
  const { runtime, monitor, nowMs } = await watched(t, ['local'], ['up']);
  await runtime.database.pool.query('UPDATE agents SET last_seen_at = last_seen_at + 100000');

  t.is(await sweepThrough(runtime, nowMs, 180), 0);
  t.is(await stateOf(runtime, monitor.id), 'up');
  t.is(await sweepThrough(runtime, nowMs + 190 * SECOND, 600), 1);
  t.is(await stateOf(runtime, monitor.id), 'unknown');
});

test('after a stand-still of our own nobody is told unknown until we have watched for as long as the silence', async (t) => {
  const { runtime, monitor, nowMs } = await watched(t, ['local'], ['up']);
  await sweep({ ...runtime, now: () => nowMs });

  const backMs = nowMs + 3600 * SECOND;
  t.is(await sweepThrough(runtime, backMs, 230), 0);
  t.is(await stateOf(runtime, monitor.id), 'up');
  t.is(await sweepThrough(runtime, backMs + 240 * SECOND, 10), 1);
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
