import test, { type ExecutionContext } from 'ava';
import { msUntilTick, noScheduleChange, tickMoment } from '../../../core/checks/slots.ts';
import type { Monitor } from '../../../core/monitors/monitor.ts';
import type { MeasuredResult } from '../../../models/checks/check-results.ts';
import { claimRechecks } from '../../../models/checks/checks.ts';
import { requestCheck } from '../../../models/checks/schedule.ts';
import { findMonitor } from '../../../models/monitors/monitors.ts';
import { createEvaluator } from '../../../workers/incidents/evaluate.ts';
import { startCheck } from '../../../workers/processes/check.ts';
import { startEvaluate } from '../../../workers/processes/evaluate.ts';
import { listQueueBackends } from '../../helpers/queue-backend.ts';
import { openTestRuntime, resultOf, type TestRuntime } from '../../helpers/runtime.ts';
import { startTarget } from '../../helpers/target.ts';
import { until } from '../../helpers/until.ts';

type AgentRow = { no: number };

/** Returns the newest tick of a source before a time, from its slot in the schedule. */
async function lastTick(
  runtime: TestRuntime,
  { monitor, agent, beforeMs }: { monitor: Monitor; agent: AgentRow; beforeMs: number },
): Promise<number> {
  const { rows } = await runtime.database.pool.query<{ slot: number }>(
    'SELECT phase FROM monitor_sources WHERE monitor_no = $1 AND agent_no = $2',
    [monitor.no, agent.no],
  );
  const tick = tickMoment({ intervalSeconds: monitor.intervalSeconds, slot: rows[0]?.slot ?? 0 }, monitor.no);
  return beforeMs + msUntilTick(tick, beforeMs) - monitor.intervalSeconds * 1000;
}

async function recheckAtOf(
  runtime: TestRuntime,
  monitor: Monitor,
  agent: AgentRow,
): Promise<number | null | undefined> {
  const { rows } = await runtime.database.pool.query<{ look_at: number | null }>(
    'SELECT look_at FROM monitor_sources WHERE monitor_no = $1 AND agent_no = $2',
    [monitor.no, agent.no],
  );
  return rows[0]?.look_at;
}

async function serviceOf(runtime: TestRuntime): Promise<AgentRow> {
  const { rows } = await runtime.database.pool.query<AgentRow>(`SELECT no FROM agents WHERE kind = 'service'`);
  return rows[0] ?? { no: 0 };
}

/**
 * Sets up a runtime whose monitors have had their first checks, and a judge that runs a second after its newest result.
 */
async function openJudged(t: ExecutionContext) {
  const runtime = await openTestRuntime(t);
  const agent = await runtime.addAgent('local');
  const judge = (results: readonly MeasuredResult[]) =>
    createEvaluator({ ...runtime, now: () => Math.max(...results.map((result) => result.dueAtMs)) + 1000 })(results);
  const settle = () => runtime.database.pool.query('UPDATE monitor_sources SET look_at = NULL');
  return { runtime, agent, judge, settle };
}

test("a source's first bad result is rechecked 20 s later; the second decides without another recheck", async (t) => {
  const { runtime, agent, judge, settle } = await openJudged(t);
  const monitor = await runtime.addMonitor([agent]);
  await settle();
  const dueAtMs = await lastTick(runtime, { monitor, agent, beforeMs: runtime.now() - 120_000 });
  const at = (second: number, verdict: MeasuredResult['verdict']) =>
    resultOf(monitor, agent, { dueAtMs: dueAtMs + second * 1000, verdict });

  t.deepEqual((await judge([at(-60, 'up')])).rechecks, []);
  const { rechecks, transitions } = await judge([at(0, 'down')]);
  t.deepEqual(transitions, []);
  t.is(rechecks.length, 1);
  const waitMs = (rechecks[0]?.atMs ?? 0) - dueAtMs;
  t.true(waitMs >= 20_000 && waitMs < 21_000, `${waitMs}`);
  t.is(await recheckAtOf(runtime, monitor, agent), rechecks[0]?.atMs);
  const decided = await judge([at(20.5, 'down')]);
  t.deepEqual(decided.rechecks, []);
  t.deepEqual(
    decided.transitions.map(({ change }) => change.to),
    ['down'],
  );
});

test('a batch in which a source recovers schedules no recheck of it, and a repeated batch none', async (t) => {
  const { runtime, agent, judge, settle } = await openJudged(t);
  const [recovered, failing] = [await runtime.addMonitor([agent]), await runtime.addMonitor([agent])];
  await settle();
  const beforeMs = runtime.now() - 120_000;
  const [first, second] = [
    await lastTick(runtime, { monitor: recovered, agent, beforeMs }),
    await lastTick(runtime, { monitor: failing, agent, beforeMs }),
  ];
  const batch = [
    resultOf(recovered, agent, { dueAtMs: first, verdict: 'down' }),
    resultOf(recovered, agent, { dueAtMs: first + 1, verdict: 'up' }),
    resultOf(failing, agent, { dueAtMs: second, verdict: 'down' }),
  ];
  const judged = createEvaluator({ ...runtime, now: () => second + 500 });
  t.deepEqual(
    (await judged(batch)).rechecks.map(({ monitorNo }) => monitorNo),
    [failing.no],
  );
  t.deepEqual((await judged(batch)).rechecks, []);
  t.is((await judge(batch)).stored, 0);
});

test("dns is rechecked by the service; domains, status pages and customers' agents are not rechecked", async (t) => {
  const { runtime, judge, settle } = await openJudged(t);
  const service = await serviceOf(runtime);
  const { rows } = await runtime.database.pool.query<{ id: string; no: number }>(
    `INSERT INTO agents (id, tenant_id, kind, name, created_at) VALUES ('agt_own', $1, 'tenant', 'own', 0)
     RETURNING id, no`,
    [runtime.tenantId],
  );
  const own = { ...(await runtime.addAgent('lima')), ...rows[0] };
  const cases = [
    {
      monitor: await runtime.addMonitor([], { type: 'dns', target: 'example.com' }),
      agent: service,
      isRechecked: true,
    },
    {
      monitor: await runtime.addMonitor([], { type: 'domain', target: 'example.com' }),
      agent: service,
      isRechecked: false,
    },
    { monitor: await runtime.addMonitor([], { type: 'vendor', target: 'github' }), agent: service, isRechecked: false },
    { monitor: await runtime.addMonitor([own]), agent: own, isRechecked: false },
  ];
  await settle();
  for (const { monitor, agent, isRechecked } of cases) {
    const dueAtMs = await lastTick(runtime, { monitor, agent, beforeMs: runtime.now() - 120_000 });
    t.is(
      (await judge([resultOf(monitor, agent, { dueAtMs, verdict: 'down' })])).rechecks.length,
      isRechecked ? 1 : 0,
      `${monitor.type} ${agent.no}`,
    );
    t.is(typeof (await recheckAtOf(runtime, monitor, agent)), isRechecked ? 'number' : 'object');
  }
});

test('a waiting recheck is not postponed by another', async (t) => {
  const { runtime, agent, judge } = await openJudged(t);
  const monitor = await runtime.addMonitor([agent]);
  // Without this, a new monitor has a first check only if its first tick is far away.
  const firstCheckAtMs = runtime.now() - 600_000;
  await runtime.database.pool.query('UPDATE monitor_sources SET look_at = $1', [firstCheckAtMs]);
  const dueAtMs = await lastTick(runtime, { monitor, agent, beforeMs: runtime.now() - 120_000 });
  t.is((await judge([resultOf(monitor, agent, { dueAtMs, verdict: 'down' })])).rechecks.length, 1);
  t.is(await recheckAtOf(runtime, monitor, agent), firstCheckAtMs);
});

test('a thousand monitors that fail together cost one job, and all are rechecked 20 s later', async (t) => {
  const { runtime, agent, settle } = await openJudged(t);
  const template = await runtime.addMonitor([agent], { intervalSeconds: 300 });
  await runtime.database.pool.query(
    `INSERT INTO monitors (id, tenant_id, name, type, target, interval_seconds, timeout_ms, follow_redirects,
     down_after_failures, up_after_successes, down_min_sources, state, state_since, created_at, updated_at)
     SELECT 'mon_' || n, tenant_id, name, type, target, interval_seconds, timeout_ms, follow_redirects,
       down_after_failures, up_after_successes, down_min_sources, state, state_since, created_at, updated_at
     FROM monitors, generate_series(1, 1000) n WHERE id = $1`,
    [template.id],
  );
  await runtime.database.pool.query(
    `INSERT INTO monitor_sources (monitor_no, agent_no, interval_seconds, phase) SELECT no, $1, 300, 0 FROM monitors
     WHERE id <> $2`,
    [agent.no, template.id],
  );
  await settle();
  const { rows } = await runtime.database.pool.query<{ no: number }>('SELECT no FROM monitors WHERE id <> $1', [
    template.id,
  ]);
  // Halfway between two ticks, so that none is near, and in the future, so that the job waits.
  const nowMs = Math.ceil(runtime.now() / 300_000) * 300_000 + 150_000;
  const evaluate = createEvaluator({ ...runtime, now: () => nowMs });
  const regions = await runtime.listRegions();
  for (let first = 0; first < rows.length; first += 500) {
    const { rechecks } = await evaluate(
      rows
        .slice(first, first + 500)
        .map((monitor) => resultOf(monitor, agent, { dueAtMs: nowMs - 300, verdict: 'down' })),
    );
    t.is(rechecks.length, 500);
    await runtime.queues.enqueueRechecks(rechecks, regions);
  }

  const jobs = await runtime.queues.checkQueue('local').getJobs(['delayed', 'waiting']);
  t.deepEqual(
    jobs.map(({ data }) => data),
    [{ agentNo: agent.no, looks: true }],
  );
  t.is((await claimRechecks(runtime.database, { agentNo: agent.no, nowMs: nowMs + 19_000, limit: 2000 })).length, 0);
  t.is((await claimRechecks(runtime.database, { agentNo: agent.no, nowMs: nowMs + 21_000, limit: 2000 })).length, 1000);
});

for (const backend of listQueueBackends()) {
  test(`${backend.name}: a target is down 20 s after its first failing check, before its next tick`, async (t) => {
    const runtime = await openTestRuntime(t, backend);
    const agent = await runtime.addAgent('local');
    const target = await startTarget(t);
    const processes = [
      await startEvaluate(runtime),
      await startCheck(runtime, { region: 'local', version: '0.1.0', allowPrivateNetwork: true }),
    ];
    t.teardown(() => Promise.all(processes.map((process) => process.stop())));
    const { id } = await runtime.addMonitor([agent], {
      intervalSeconds: 86_400,
      target: target.url(),
      downAfterFailures: 2,
    });
    const regions = await runtime.listRegions();
    for (const change of runtime.scheduleChanges) await runtime.queues.applyScheduleChange(change, regions);
    const isIn = (state: string) =>
      until(
        async () => (await findMonitor(runtime.database, { tenantId: runtime.tenantId, id }))?.monitor.state === state,
      );
    await isIn('up');

    target.health.status = 503;
    const nowMs = runtime.now();
    await requestCheck(runtime.database, { tenantId: runtime.tenantId, id, nowMs, author: null });
    await runtime.queues.applyScheduleChange({ ...noScheduleChange(), rechecks: [agent.no] }, regions);
    await isIn('down');

    const { rows } = await runtime.database.pool.query<{ at: number; detected_at: number }>(
      `SELECT at, detected_at FROM transitions WHERE to_state = 'down'`,
    );
    const waitMs = (rows[0]?.detected_at ?? 0) - (rows[0]?.at ?? 0);
    t.true(waitMs >= 20_000, `${waitMs} ms`);
    const results = await runtime.database.pool.query<{ due_at: number }>(
      'SELECT due_at FROM check_results WHERE verdict = 3 ORDER BY due_at',
    );
    t.is(rows[0]?.at, results.rows[0]?.due_at);
  });
}
