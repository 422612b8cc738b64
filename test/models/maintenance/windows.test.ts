import test from 'ava';
import { MAX_OCCURRENCES, type WindowSettings } from '../../../core/maintenance/window.ts';
import { DAY_MS } from '../../../core/time.ts';
import type { Database } from '../../../models/database.ts';
import { deleteOldMaintenance, planWindows } from '../../../models/maintenance/occurrences.ts';
import { createWindow, deleteWindow, updateWindow } from '../../../models/maintenance/windows.ts';
import { inTransaction } from '../../../models/sql.ts';
import { planMaintenance } from '../../../workers/maintenance/plan.ts';
import { WAITING } from '../../helpers/database.ts';
import { openTestRuntime, type TestRuntime } from '../../helpers/runtime.ts';
import { until } from '../../helpers/until.ts';

const NOW_MS = Math.floor(Date.now() / 1000) * 1000;

const SETTINGS: WindowSettings = {
  name: 'Upgrade',
  description: '',
  allMonitors: true,
  monitorIds: [],
  tags: [],
  localStart: null,
  timezone: 'UTC',
  startsAt: NOW_MS / 1000 + 3600,
  durationSeconds: 60,
  cron: null,
  rrule: null,
  alerts: 'hold',
  sla: 'exclude',
  settleSeconds: 0,
};

async function plan({ database, newId, tenantId }: TestRuntime, settings: Partial<WindowSettings>): Promise<string> {
  const { window } = await createWindow(database, {
    ...SETTINGS,
    ...settings,
    id: newId('mnt'),
    tenantId,
    key: null,
    createdAt: NOW_MS / 1000,
    author: null,
    nowMs: NOW_MS,
  });
  return window.id;
}

/** Copies the occurrences of a window, each a minute after the one before. */
async function copyOccurrences({ database }: TestRuntime, windowId: string, copies: number): Promise<void> {
  await database.pool.query(
    `INSERT INTO maintenance_occurrences (window_id, tenant_id, window_name, local_start, starts_at, ends_at,
       all_monitors, monitor_ids, tags, alerts, sla, settle_seconds, retroactive)
     SELECT window_id, tenant_id, window_name, local_start, starts_at + n * 60000::bigint, ends_at + n * 60000::bigint,
       all_monitors, monitor_ids, tags, alerts, sla, settle_seconds, '{}'
     FROM maintenance_occurrences, generate_series(1, $2) AS n WHERE window_id = $1`,
    [windowId, copies],
  );
}

test('a rule that starts after the first planning period fills its account up to the limit', async (t) => {
  const runtime = await openTestRuntime(t);
  const { database } = runtime;
  const later = await plan(runtime, { cron: '0 * * * *', startsAt: NOW_MS / 1000 + 61 * 86_400 });
  const filled = await plan(runtime, { startsAt: NOW_MS / 1000 + 10 * 86_400 });
  await copyOccurrences(runtime, filled, MAX_OCCURRENCES - 11);
  const count = async () => {
    const { rows } = await database.pool.query<{ n: number }>(
      'SELECT count(*)::int AS n FROM maintenance_occurrences WHERE window_id = $1',
      [later],
    );
    return rows[0]?.n;
  };
  t.is(await count(), 0);
  for (const days of [3, 5]) {
    await planWindows(database, NOW_MS + days * DAY_MS);
    t.is(await count(), 10, `after ${days} days`);
  }
  // Once the others are over, what was left out is planned.
  await planWindows(database, NOW_MS + 40 * DAY_MS);
  t.is(await count(), (100 - 61) * 24);
});

test('a rule that is over is not kept open by an account at its limit', async (t) => {
  const runtime = await openTestRuntime(t);
  const { database } = runtime;
  const lastTime = new Date(NOW_MS + 63 * DAY_MS).toISOString().replaceAll(/[-:]|\.000/g, '');
  const ended = await plan(runtime, { rrule: `FREQ=DAILY;UNTIL=${lastTime}` });
  const filled = await plan(runtime, { startsAt: NOW_MS / 1000 + 100 * 86_400 });
  await copyOccurrences(runtime, filled, MAX_OCCURRENCES);
  const hasMore = async () => {
    const { rows } = await database.pool.query<{ has_more: boolean }>(
      'SELECT has_more FROM maintenance_windows WHERE id = $1',
      [ended],
    );
    return rows[0]?.has_more;
  };
  for (const days of [2, 4]) {
    await planWindows(database, NOW_MS + days * DAY_MS);
    t.true(await hasMore(), 'its last occurrences are left out');
  }
  await planWindows(database, NOW_MS + 66 * DAY_MS);
  t.false(await hasMore());
});

test('an occurrence is not planned again at the time of a new time zone database', async (t) => {
  const runtime = await openTestRuntime(t);
  const { database } = runtime;
  const daily = await plan(runtime, { cron: '0 2 * * *' });
  // As by a database by which it was 2:00 an hour earlier.
  await database.pool.query(
    'UPDATE maintenance_occurrences SET starts_at = starts_at - 3600000, ends_at = ends_at - 3600000',
  );
  await planWindows(database, NOW_MS + 2 * DAY_MS);
  const { rows } = await database.pool.query(
    'SELECT local_start FROM maintenance_occurrences WHERE window_id = $1 GROUP BY local_start HAVING count(*) > 1',
    [daily],
  );
  t.deepEqual(rows, []);
});

test('old occurrences are deleted in chunks, until no more time is left', async (t) => {
  const runtime = await openTestRuntime(t);
  await copyOccurrences(runtime, await plan(runtime, {}), 14);
  const before = { occurrencesBeforeMs: NOW_MS + 10 * DAY_MS, windowsBeforeMs: 0 };
  let chunks = 1;
  t.is(await deleteOldMaintenance(runtime.database, before, () => chunks-- > 0), 10);
  t.is(await deleteOldMaintenance(runtime.database, before), 5);
});

test('all of 120 occurrences due at once are covered, and kept in step with their monitors', async (t) => {
  const runtime = await openTestRuntime(t);
  const { database, tenantId } = runtime;
  const agent = await runtime.addAgent('local');
  await runtime.addMonitor([agent], { name: 'Shop' });
  const window = await plan(runtime, {});
  await copyOccurrences(runtime, window, 119);
  const nowMs = NOW_MS + 3600_000 + 120 * 60_000;
  t.like(await planMaintenance({ database, now: () => nowMs }), { added: 120, ended: 0 });
  t.like(await planMaintenance({ database, now: () => nowMs }), { added: 0, ended: 0 });
  await database.pool.query('UPDATE maintenance_occurrences SET ends_at = ends_at + 86400000 WHERE tenant_id = $1', [
    tenantId,
  ]);
  await runtime.addMonitor([agent], { name: 'Bar' });
  t.like(await planMaintenance({ database, now: () => nowMs }), { added: 120, ended: 0 });
});

/** Changes of a window with two occurrences, and the start of the one that was planned first. */
const CHANGES = [
  {
    change: 'a deletion',
    firstAtMs: NOW_MS + 2 * DAY_MS,
    make: deleteWindow,
  },
  {
    change: 'an edit after the service was away',
    firstAtMs: NOW_MS - DAY_MS,
    make: (database: Database, key: Parameters<typeof deleteWindow>[1], nowMs: number) =>
      updateWindow(database, key, { read: (current) => current, nowMs }),
  },
];

for (const { change, firstAtMs, make } of CHANGES)
  test(`${change} locks the occurrences of a window by number, as the chore does`, async (t) => {
    const runtime = await openTestRuntime(t);
    const { database, tenantId } = runtime;
    await runtime.addMonitor([]);
    const id = await plan(runtime, {});
    await copyOccurrences(runtime, id, 1);
    const occurrences = 'SELECT no FROM maintenance_occurrences WHERE window_id = $1 ORDER BY no';
    const [first, second] = (await database.pool.query<{ no: number }>(occurrences, [id])).rows;
    await database.pool.query(
      'UPDATE maintenance_occurrences SET starts_at = $2, ends_at = $2::bigint + 60000 WHERE no = $1',
      [first?.no, firstAtMs],
    );
    const lock = 'SELECT FROM maintenance_occurrences WHERE no = $1 FOR UPDATE';
    const { changing } = await inTransaction(database, async (run) => {
      await run(lock, [first?.no]);
      const begun = make(database, { tenantId, id, author: null }, NOW_MS);
      await until(async () => (await database.pool.query(WAITING)).rowCount === 1);
      await run(`${lock} NOWAIT`, [second?.no]);
      return { changing: begun };
    });
    t.not(await changing, null);
  });
