import test from 'ava';
import type { Verdict } from '../../../core/checks/verdict.ts';
import { findIncident, listIncidentTransitions } from '../../../models/incidents/incidents.ts';
import { acknowledgeIncident } from '../../../models/incidents/notes.ts';
import { createEvaluator } from '../../../workers/incidents/evaluate.ts';
import { openTestRuntime, resultOf } from '../../helpers/runtime.ts';

test('a failure soon after a recovery reopens its incident, and a later one opens another', async (t) => {
  const { database, newId, publicUrl, tenantId, ...runtime } = await openTestRuntime(t);
  const agent = await runtime.addAgent('local');
  const monitor = await runtime.addMonitor([agent], { downAfterFailures: 1, reopenSeconds: 300 });
  const startMs = Date.now() + 60_000;
  const at = (second: number) => startMs + second * 1000;
  const change = async (verdict: Verdict, second: number) => {
    const evaluate = createEvaluator({ database, now: () => at(second), newId, publicUrl });
    return await evaluate([resultOf(monitor, agent, { dueAtMs: at(second), verdict })]);
  };
  const read = async () =>
    (
      await database.pool.query<{ id: string; state: string; started: string; resolved: string | null }>(
        `SELECT id, state, started_at - $1::bigint AS started, resolved_at - $1::bigint AS resolved FROM incidents
         WHERE monitor_id = $2 ORDER BY started_at`,
        [startMs, monitor.id],
      )
    ).rows;
  await change('up', 0);
  await change('degraded', 10);
  const [{ id = '' } = {}] = await read();
  await acknowledgeIncident(database, { id, tenantId, author: null }, { name: 'Ada', nowMs: at(15), note: null });
  await change('up', 20);
  await change('down', 320);
  t.like(await read(), [{ id, state: 'down', started: 10_000, resolved: null }]);
  t.is((await findIncident(database, { tenantId, id }))?.acknowledgedAtMs, null);
  await change('up', 400);
  await change('down', 500);
  await change('up', 510);
  t.like(await read(), [{ id, state: 'down', started: 10_000, resolved: 510_000 }]);
  const incident = await findIncident(database, { tenantId, id });
  if (incident === null) return t.fail('There is no incident');
  const { transitions } = await listIncidentTransitions(database, incident, 100);
  t.deepEqual(
    transitions.map(({ to }) => to),
    ['degraded', 'up', 'down', 'up', 'down', 'up'],
  );
  await change('down', 811);
  const [first, second, ...rest] = await read();
  t.deepEqual(rest, []);
  t.like(first, { id, resolved: 510_000 });
  t.like(second, { state: 'down', started: 811_000, resolved: null });
  const events = await database.pool.query<{ incident: string }>(
    `SELECT id AS incident FROM incidents WHERE resolved_at IS NULL AND monitor_id = $1`,
    [monitor.id],
  );
  t.is(events.rows.length, 1);
});
