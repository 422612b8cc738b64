import test from 'ava';
import type { MonitorMessage } from '../../../core/alerts/envelope.ts';
import { createChannel } from '../../../models/alerts/channels.ts';
import { listIncidents } from '../../../models/incidents/history.ts';
import { findMonitor } from '../../../models/monitors/monitors.ts';
import { createEvaluator } from '../../../workers/incidents/evaluate.ts';
import { startServiceCheck } from '../../../workers/processes/check.ts';
import { startEvaluate } from '../../../workers/processes/evaluate.ts';
import { openTestRuntime, resultOf, type TestRuntime } from '../../helpers/runtime.ts';
import { startStatusPage } from '../../helpers/status-page.ts';
import { until } from '../../helpers/until.ts';

const MONITORS = 100;

async function addVendorMonitor(runtime: TestRuntime, target: string, components: string[] = []) {
  return await runtime.addMonitor([], {
    name: 'Shop Cloud',
    type: 'vendor',
    target,
    intervalSeconds: 2,
    // With a short timeout, a stall of the machine could make a check no vote.
    timeoutMs: 30_000,
    method: null,
    expectedStatus: null,
    downAfterFailures: 1,
    checkSpec: { vendor: { components } },
  });
}

async function countStates(runtime: TestRuntime): Promise<Record<string, number>> {
  const { rows } = await runtime.database.pool.query<{ state: string; count: number }>(
    'SELECT state, count(*)::int AS count FROM monitors GROUP BY state',
  );
  return Object.fromEntries(rows.map(({ state, count }) => [state, count]));
}

test('a hundred monitors of one status page go down and up with it, on one request every five seconds', async (t) => {
  const runtime = await openTestRuntime(t);
  const server = await startStatusPage(t);
  const workers = [
    await startEvaluate(runtime),
    startServiceCheck(runtime, {
      allowPrivateNetwork: true,
      dnsResolvers: [],
      whoisServer: { host: '127.0.0.1', port: 9 },
    }),
  ];
  t.teardown(async () => {
    for (const worker of workers.toReversed()) await worker.stop();
  });
  const startedAtMs = Date.now();
  for (let index = 0; index < MONITORS; index += 1) await addVendorMonitor(runtime, server.url, ['API']);
  for (const change of runtime.scheduleChanges)
    await runtime.queues.applyScheduleChange(change, await runtime.listRegions());

  const all = (state: string) =>
    until(async () => (await countStates(runtime))[state] === MONITORS, { intervalMs: 100 });
  await all('up');
  server.page.components = server.page.components.map((component) =>
    component.name === 'API' ? { ...component, status: 'major_outage' } : component,
  );
  server.page.incidents = [{ name: 'Requests fail', components: ['API'] }];
  await all('down');
  const [incident] = await listIncidents(runtime.database, { tenantId: runtime.tenantId, limit: 1 });
  t.like(incident, {
    state: 'down',
    reason: 'Shop Cloud reports a major outage of API: Requests fail',
    sourcesDown: ['service'],
  });
  server.page.components = server.page.components.map((component) => ({ ...component, status: 'operational' }));
  await all('up');
  // At most one request in five seconds, plus the first one.
  t.true(server.requests.length <= (Date.now() - startedAtMs) / 5000 + 1, `${server.requests.length} requests`);
});

test('an unreachable status page makes its monitors unknown, never down', async (t) => {
  const runtime = await openTestRuntime(t);
  const monitor = await addVendorMonitor(runtime, 'github');
  const { rows } = await runtime.database.pool.query<{ no: number }>(`SELECT no FROM agents WHERE kind = 'service'`);
  const service = { no: rows[0]?.no ?? 0 };
  const nowMs = Date.now();
  const evaluate = createEvaluator({
    database: runtime.database,
    now: () => nowMs,
    newId: runtime.newId,
    publicUrl: runtime.publicUrl,
  });
  const resultAt = (second: number, verdict: 'up' | 'none') =>
    resultOf(monitor, service, {
      dueAtMs: nowMs - 30_000 + second * 5000,
      verdict,
      cause: verdict === 'none' ? 'vendor_unreachable' : null,
      reason: verdict === 'none' ? 'The status page responded with HTTP 503' : null,
      httpStatus: null,
    });
  const { transitions } = await evaluate([
    resultAt(0, 'up'),
    resultAt(1, 'none'),
    resultAt(2, 'none'),
    resultAt(3, 'none'),
    resultAt(4, 'none'),
  ]);
  t.deepEqual(
    transitions.map(({ change }) => [change.to, change.cause]),
    [
      ['up', null],
      ['unknown', 'vendor_unreachable'],
    ],
  );
});

test('an outage names a degraded vendor as possible cause in its transition, incident and event', async (t) => {
  const runtime = await openTestRuntime(t);
  const agent = await runtime.addAgent('local');
  await createChannel(runtime.database, {
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
  const degraded = await addVendorMonitor(runtime, 'github');
  const well = await addVendorMonitor(runtime, 'cloudflare');
  await runtime.database.pool.query(
    `UPDATE monitors SET state = CASE id WHEN $1 THEN 'degraded' ELSE 'up' END WHERE type = 'vendor'`,
    [degraded.id],
  );
  const dependent = await runtime.addMonitor([agent], {
    checkSpec: { dependencies: [degraded.id, well.id] },
    downAfterFailures: 1,
  });
  const independent = await runtime.addMonitor([agent], { downAfterFailures: 1 });

  const nowMs = Date.now();
  const evaluate = createEvaluator({
    database: runtime.database,
    now: () => nowMs,
    newId: runtime.newId,
    publicUrl: runtime.publicUrl,
  });
  await evaluate(
    [dependent, independent].map((monitor) => resultOf(monitor, agent, { dueAtMs: nowMs - 1000, verdict: 'down' })),
  );

  const alone = 'HTTP 503 instead of 2xx';
  const explained = `${alone}. Possible cause: Shop Cloud is degraded`;
  const incidents = await listIncidents(runtime.database, { tenantId: runtime.tenantId, limit: 10 });
  t.deepEqual(Object.fromEntries(incidents.map(({ monitorId, reason }) => [monitorId, reason])), {
    [dependent.id]: explained,
    [independent.id]: alone,
  });
  const { rows: transitions } = await runtime.database.pool.query<{ reason: string }>(
    'SELECT reason FROM transitions WHERE monitor_id = $1',
    [dependent.id],
  );
  t.deepEqual(transitions, [{ reason: explained }]);
  const { rows } = await runtime.database.pool.query<{ monitor_id: string; message: MonitorMessage }>(
    'SELECT monitor_id, message FROM deliveries',
  );
  const messageOf = new Map(rows.map(({ monitor_id: id, message }) => [id, message]));
  t.deepEqual(messageOf.get(dependent.id)?.detail.dependencies, [
    { id: degraded.id, name: 'Shop Cloud', state: 'degraded' },
  ]);
  t.is(messageOf.get(dependent.id)?.reason, explained);
  t.false('dependencies' in (messageOf.get(independent.id)?.detail ?? {}));
  t.is((await findMonitor(runtime.database, { tenantId: runtime.tenantId, id: dependent.id }))?.monitor.state, 'down');
});

test('a vendor that goes down in the same batch is named as possible cause for its dependents', async (t) => {
  const runtime = await openTestRuntime(t);
  const agent = await runtime.addAgent('local');
  const vendor = await addVendorMonitor(runtime, 'github');
  const dependent = await runtime.addMonitor([agent], {
    checkSpec: { dependencies: [vendor.id] },
    downAfterFailures: 1,
  });
  const { rows } = await runtime.database.pool.query<{ no: number }>(`SELECT no FROM agents WHERE kind = 'service'`);
  const nowMs = Date.now();
  const evaluate = createEvaluator({
    database: runtime.database,
    now: () => nowMs,
    newId: runtime.newId,
    publicUrl: runtime.publicUrl,
  });
  const { transitions } = await evaluate([
    resultOf(dependent, agent, { dueAtMs: nowMs - 1000, verdict: 'down' }),
    resultOf(
      vendor,
      { no: rows[0]?.no ?? 0 },
      { dueAtMs: nowMs - 1000, verdict: 'down', cause: 'vendor_down', reason: 'GitHub reports a major outage' },
    ),
  ]);
  const reason = transitions.find(({ monitorId }) => monitorId === dependent.id)?.change.reason;
  t.is(reason, 'HTTP 503 instead of 2xx. Possible cause: Shop Cloud is down');
});
