import test from 'ava';
import { EARLY_MS } from '../../core/checks/slots.ts';
import type { Monitor } from '../../core/monitors/monitor.ts';
import { measureStates } from '../../core/statistics/sla.ts';
import { createTenant } from '../../models/accounts/tenants.ts';
import { createChannel } from '../../models/alerts/channels.ts';
import { readStateHistories } from '../../models/incidents/transitions.ts';
import { createMonitor } from '../../models/monitors/monitor-changes.ts';
import { runOn } from '../../models/sql.ts';
import { listOverloadGaps, listServiceGaps, pageServiceGaps } from '../../models/statistics/service-gaps.ts';
import { startCheck } from '../../workers/processes/check.ts';
import { startEvaluate } from '../../workers/processes/evaluate.ts';
import { sweep } from '../../workers/system/sweep.ts';
import { startHttpServer } from '../helpers/http-server.ts';
import { listQueueBackends } from '../helpers/queue-backend.ts';
import { SETTINGS, openTestRuntime, type TestRuntime } from '../helpers/runtime.ts';
import { until } from '../helpers/until.ts';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const MONITORS = 12;

/** Delay of ticks, in milliseconds, so that all their checks are due: more than the spread of a slot's monitors. */
const LATE_MS = 600;

/** Starts a target that holds its responses back while it is slow, until the test releases them. */
async function startSlowTarget(t: Parameters<typeof startHttpServer>[0]) {
  const held: (() => void)[] = [];
  const health = { isSlow: false, broken: '' };
  const { port } = await startHttpServer(t, (request, response) => {
    const answer = () => {
      response.statusCode = request.url === health.broken ? 503 : 200;
      response.end('ok');
    };
    if (health.isSlow) held.push(answer);
    else answer();
  });
  return { url: (path: string) => `http://127.0.0.1:${port}${path}`, health, held };
}

/** Adds a second account with a monitor in the same slot. */
async function addOtherAccount(
  runtime: TestRuntime,
  agentId: string,
  target: string,
): Promise<{ tenantId: string; monitor: Monitor }> {
  const { database, newId, now } = runtime;
  const tenantId = newId('ten');
  await createTenant(database, { id: tenantId, name: tenantId, plan: 'pro', nowMs: now(), author: null });
  const created = await createMonitor(
    database,
    {
      id: newId('mon'),
      tenantId,
      settings: { ...SETTINGS, target, timeoutMs: 55_000 },
      secrets: {},
      agentIds: [agentId],
      nowMs: now() - 600_000,
      author: null,
    },
    null,
  );
  if (created === null) throw new Error('The monitor was not created');
  return { tenantId, monitor: created.monitor };
}

async function addChannels({ database, newId }: TestRuntime, tenantId: string): Promise<void> {
  const webhook = { url: 'https://hooks.example/', signingSecret: 'whsec_AAAA' };
  for (const type of ['webhook', 'slack'] as const) {
    await createChannel(database, {
      id: newId('nch'),
      tenantId,
      type,
      name: type,
      status: 'connected',
      allMonitors: true,
      monitorIds: [],
      nowMs: 1,
      ...(type === 'webhook' && { webhook }),
      author: null,
    });
  }
}

for (const backend of listQueueBackends()) {
  test(
    `${backend.name}: monitors that an overloaded check process cannot check are unknown with a gap, ` +
      'without alerts, and recover by themselves',
    async (t) => {
      const runtime = await openTestRuntime(t, backend);
      const { database, queues } = runtime;
      const startMs = Date.now();
      // Only this clock advances, however long a step of the test takes.
      let aheadMs = 0;
      const shifted = { ...runtime, now: () => startMs + aheadMs };
      const target = await startSlowTarget(t);
      const agent = await runtime.addAgent('small');
      const own = await Promise.all(
        Array.from({ length: MONITORS }, (_, index) =>
          runtime.addMonitor([agent], {
            target: target.url(`/${index}`),
            timeoutMs: 55_000,
            downAfterFailures: 1,
            slaTarget: 99,
          }),
        ),
      );
      const other = await addOtherAccount(runtime, agent.id, target.url('/other'));
      const all = [...own, other.monitor].toSorted((a, b) => a.no - b.no);
      for (const tenantId of [runtime.tenantId, other.tenantId]) await addChannels(runtime, tenantId);
      const { rows: occupied } = await database.pool.query<{ phase: number }>(
        'SELECT DISTINCT phase FROM monitor_sources ORDER BY phase',
      );

      const checking = await startCheck(shifted, {
        region: 'small',
        version: '0.1.0',
        allowPrivateNetwork: true,
        probesAtOnce: 1,
      });
      const evaluating = await startEvaluate(shifted);
      t.teardown(async () => {
        target.health.isSlow = false;
        for (const answer of target.held.splice(0)) answer();
        await Promise.all([checking.stop(), evaluating.stop()]);
      });

      const tick = async () => {
        const jobs = occupied.map(({ phase }) => ({
          name: 'tick',
          data: { agentNo: agent.no, intervalSeconds: 60, phase },
          opts: { jobId: `repeat:${phase}:${shifted.now() - LATE_MS - EARLY_MS}` },
        }));
        await queues.checkQueue('small').addBulk(jobs);
        await until(async () => (await queues.checkQueue('small').getWaitingCount()) === 0);
      };
      const states = async () => {
        const { rows } = await database.pool.query<{ state: string }>('SELECT state FROM monitors ORDER BY no');
        return rows.map(({ state }) => state);
      };
      const countResults = async () =>
        (await database.pool.query<{ count: number }>('SELECT count(*)::int AS count FROM single_results')).rows[0]
          ?.count ?? 0;
      const evaluated = () => until(async () => (await queues.oldestResultsAtMs()) === null);
      const sweepMinute = async () => {
        for (let second = 0; second < 60; second += 20)
          await sweep({ ...shifted, now: () => shifted.now() + second * SECOND });
        aheadMs += MINUTE;
      };
      const alerts = async () =>
        (
          await database.pool.query<{ event: string; at: number }>(
            `SELECT event, (message ->> 'event_at')::bigint AS at FROM deliveries ORDER BY no`,
          )
        ).rows;
      const seconds = async (monitor: Monitor, span: { fromMs: number; toMs: number; nowMs: number }) => {
        const [histories, gaps] = [
          await readStateHistories(database, { ...span, monitorIds: [monitor.id] }),
          await listServiceGaps(runOn(database.pool), span),
        ];
        return measureStates({
          transitions: histories.get(monitor.id) ?? [],
          createdAtMs: monitor.createdAt * SECOND,
          gaps,
          maintenance: [],
          ...span,
        });
      };

      await tick();
      await until(async () => (await states()).every((state) => state === 'up'));
      await sweepMinute();
      const first = (await alerts()).length;

      /**
       * Completes checks one after the other, and waits until their results, which are stored in batches, are decided.
       */
      const letThrough = async (count: number) => {
        const before = await countResults();
        for (let answered = 0; answered < count; answered += 1) {
          await until(() => target.held.length === 1);
          target.held.shift()?.();
        }
        await until(async () => (await countResults()) >= before + count);
        await evaluated();
      };
      // From now on three of thirteen due checks complete per minute. Two of the first minute's stay in progress, so
      // that later ones wait in the queue.
      target.health.isSlow = true;
      const overloadMs = shifted.now();
      for (let minute = 0; minute < 8; minute += 1) {
        await tick();
        await letThrough(minute === 0 ? all.length - 2 : 3);
        await sweepMinute();
      }
      const during = await states();
      t.true(during.filter((state) => state === 'unknown').length >= 3 && during.includes('up'), during.join(' '));
      const { rows: newest } = await database.pool.query<{ age: number }>(
        'SELECT ($1 - max(due_at)) / 1000 AS age FROM single_results GROUP BY monitor_no ORDER BY monitor_no',
        [shifted.now()],
      );
      for (const [index, { age }] of newest.entries()) {
        // The last sweep was 20 s ago.
        if (during[index] === 'unknown') t.true(age > 180, `${age}`);
        else t.true(during[index] === 'up' && age < 205, `${during[index]} ${age}`);
      }
      t.is((await alerts()).length, first, 'no alert is sent');
      t.true(runtime.logLines.some(({ msg }) => msg === 'checks.behind'));
      const lost = all.find((_, index) => during[index] === 'unknown') ?? t.fail();
      const { rows } = await database.pool.query<{ reason: string }>(
        `SELECT reason FROM transitions WHERE monitor_id = $1 AND to_state = 'unknown' ORDER BY sequence DESC LIMIT 1`,
        [lost.id],
      );
      t.is(rows[0]?.reason, 'Not checked in time: small had too many checks. The target is not at fault');
      const nowMs = shifted.now();
      const sla = await seconds(lost, { fromMs: overloadMs, toMs: nowMs, nowMs });
      const { rows: unchecked } = await database.pool.query<{ seconds: number }>(
        'SELECT sum(coalesce(ended_at, $2::bigint) / 1000 - started_at / 1000)::int AS seconds FROM ' +
          'unchecked_times WHERE monitor_id = $1',
        [lost.id, nowMs],
      );
      const { rows: history } = await database.pool.query(
        'SELECT at, detected_at, from_state, to_state, reason FROM transitions WHERE monitor_id = $1 ORDER BY sequence',
        [lost.id],
      );
      const { rows: times } = await database.pool.query(
        'SELECT started_at, ended_at FROM unchecked_times WHERE monitor_id = $1 ORDER BY sequence',
        [lost.id],
      );
      const { rows: behind } = await database.pool.query('SELECT behind_at FROM agents WHERE no = $1', [agent.no]);
      const seen = JSON.stringify({
        sla,
        unchecked,
        overloadMs,
        nowMs,
        history,
        times,
        behind,
        gaps: await pageServiceGaps(runOn(database.pool), { fromMs: 0, toMs: Number.MAX_SAFE_INTEGER, limit: 10 }),
      });
      t.true(Math.abs(sla.unknown - (unchecked[0]?.seconds ?? 0)) <= 1 && sla.unknown >= 60, seen);
      t.true(Math.abs(sla.up + sla.unknown - (nowMs - overloadMs) / SECOND) <= 1, JSON.stringify(sla));
      const stored = async () =>
        await pageServiceGaps(runOn(database.pool), { fromMs: 0, toMs: Number.MAX_SAFE_INTEGER, limit: 10 });
      t.deepEqual(
        (await stored()).map(({ kind, endMs }) => [kind, endMs]),
        [['overload', null]],
        'a single gap, of kind overload and still open',
      );

      // There is enough time for all checks again, and meanwhile one target has broken.
      target.health.isSlow = false;
      target.health.broken = new URL(lost.target).pathname;
      const calmMs = shifted.now();
      for (const answer of target.held.splice(0)) answer();
      await until(async () => {
        await tick();
        aheadMs += SECOND;
        // A delayed check counts as well, but is so old that the next sweep would make its monitor unknown.
        const { rows: late } = await database.pool.query(
          'SELECT monitor_no FROM single_results GROUP BY monitor_no HAVING max(due_at) < $1',
          [calmMs],
        );
        return late.length === 0 && (await states()).every((state) => state === 'up' || state === 'down');
      });
      await evaluated();
      t.deepEqual(
        await states(),
        all.map((monitor) => (monitor === lost ? 'down' : 'up')),
      );
      const alertsAfter = (await alerts()).slice(first);
      t.deepEqual(
        alertsAfter.map(({ event }) => event),
        ['monitor.down', 'monitor.down'],
        'to a webhook and a chat',
      );
      const { rows: failing } = await database.pool.query<{ due_at: number }>(
        `SELECT due_at FROM single_results WHERE monitor_no = $1 AND verdict = 3`,
        [lost.no],
      );
      const {
        rows: [unknown],
      } = await database.pool.query<{ at: number }>(
        `SELECT max(at) AS at FROM transitions WHERE monitor_id = $1 AND to_state = 'unknown'`,
        [lost.id],
      );
      // A check that was due before its monitor became unknown, but answered only now, makes it down from now on.
      const isLate = failing.some(({ due_at: dueAtMs }) => dueAtMs <= (unknown?.at ?? 0));
      t.true(
        isLate || failing.some(({ due_at: dueAtMs }) => alertsAfter[0]?.at === Math.floor(dueAtMs / SECOND)),
        `since a failed check of its own: ${JSON.stringify({ alertsAfter, failing, unknown })}`,
      );

      await sweepMinute();
      // If this process stalled for a minute, that is another gap.
      const gap = (await stored()).find(({ kind }) => kind === 'overload');
      t.true(gap !== undefined && gap.endMs !== null && gap.endMs > gap.startMs, JSON.stringify(await stored()));
      const span = { fromMs: startMs, toMs: shifted.now(), nowMs: shifted.now() };
      const ofOther = await listOverloadGaps(runOn(database.pool), { tenantId: other.tenantId, ...span });
      const ofOwn = await listOverloadGaps(runOn(database.pool), {
        tenantId: runtime.tenantId,
        monitorId: lost.id,
        ...span,
      });
      t.true(
        [...ofOther, ...ofOwn].every(
          ({ kind, startMs: from, endMs }) =>
            kind === 'overload' && from >= (gap?.startMs ?? 0) && endMs <= (gap?.endMs ?? 0),
        ),
      );
      t.true(lost === other.monitor ? ofOwn.length === 0 : ofOwn.length > 0);
      t.deepEqual(await listOverloadGaps(runOn(database.pool), { tenantId: runtime.newId('ten'), ...span }), []);
    },
  );
}
