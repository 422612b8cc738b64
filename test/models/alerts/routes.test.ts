import test from 'ava';
import { createChannel } from '../../../models/alerts/channels.ts';
import { listAwaitedRecoveries } from '../../../models/alerts/routes.ts';
import { runOn, type Run } from '../../../models/sql.ts';
import { fillTables } from '../../helpers/database.ts';
import { openTestRuntime } from '../../helpers/runtime.ts';

const MONITORS = 500;
const DOWN_AT_MS = 1_800_000_000_000;
const DAY_MS = 86_400_000;

test('chats notified of an outage are found by indexes, for 500 monitors among 30,000 deliveries', async (t) => {
  const { database, tenantId } = await openTestRuntime(t);
  const run = runOn(database.pool);
  const [notified, late] = ['nch_told', 'nch_late'];
  for (const id of [notified, late])
    await createChannel(database, {
      id,
      tenantId,
      type: 'telegram',
      name: id,
      status: 'connected',
      allMonitors: true,
      monitorIds: [],
      nowMs: DOWN_AT_MS - 50 * DAY_MS,
      author: null,
    });
  await run(
    `INSERT INTO transitions (monitor_id, tenant_id, sequence, from_state, to_state, at, detected_at, evidence)
     SELECT 'mon_' || m, $1, s, 'up', CASE WHEN s % 2 = 0 THEN 'down'
       ELSE 'up' END, $2::bigint - (20 - s) * 3600000, $2::bigint - (20 - s) * 3600000, '{}'
     FROM generate_series(1, ${MONITORS}) m, generate_series(1, 20) s`,
    [tenantId, DOWN_AT_MS],
  );
  await fillTables(
    database,
    `INSERT INTO deliveries (id, tenant_id, channel_id, monitor_id, event, message, outcome, next_attempt_at,
     created_at, finished_at)
     SELECT 'dlv_' || n, $1, $2, 'mon_other', 'monitor.down', '{}', 'delivered', 0, $3::bigint - n * 60000, $3
       FROM generate_series(1, 30000) n`,
    [tenantId, notified, DOWN_AT_MS],
  );
  await run(
    `INSERT INTO deliveries (id, tenant_id, channel_id, event, message, outcome, next_attempt_at, created_at,
     finished_at) VALUES ('dlv_summary', $1, $2, 'summary', '{}', 'delivered', 0, $3, $3)`,
    [tenantId, notified, DOWN_AT_MS - 10],
  );
  await run(
    `INSERT INTO summary_changes (delivery_id, monitor_id, name, state, sequence, at)
     SELECT 'dlv_summary', 'mon_' || m, 'Shop', 'down', 20, $1 FROM generate_series(1, ${MONITORS}) m WHERE m > 1`,
    [DOWN_AT_MS],
  );
  await run(
    `INSERT INTO deliveries (id, tenant_id, channel_id, monitor_id, event, message, outcome, next_attempt_at,
     created_at, finished_at) VALUES ('dlv_alone', $1, $2, 'mon_1', 'monitor.down', '{}', 'delivered', 0, $3, $3)`,
    [tenantId, notified, DOWN_AT_MS],
  );
  await fillTables(
    database,
    `INSERT INTO summary_changes (delivery_id, monitor_id, name, state, sequence, at)
     SELECT 'dlv_' || n, 'mon_' || m, 'Shop', 'down', 20, 0 FROM generate_series(1, 600) n, generate_series(1, 50) m`,
    [],
  );
  await run('ANALYZE');

  const recoveries = [notified, late].flatMap((channelId) =>
    Array.from({ length: MONITORS }, (_, index) => ({ channelId, monitorId: `mon_${index + 1}`, sequence: 21 })),
  );
  const plans: string[] = [];
  const explaining: Run = async (sql, bind) => {
    plans.push(JSON.stringify(await run(`EXPLAIN (FORMAT JSON) ${sql}`, bind)));
    return await run(sql, bind);
  };
  const awaited = await listAwaitedRecoveries(explaining, recoveries, DOWN_AT_MS - 30 * DAY_MS);
  t.is(awaited.length, MONITORS);
  t.true(awaited.every(({ channelId }) => channelId === notified));
  t.notRegex(plans.join(''), /"Node Type":"Seq Scan"[^{}]*"Relation Name":"(deliveries|transitions|summary_changes)"/);
  t.deepEqual(await listAwaitedRecoveries(run, [], 0), []);
});
