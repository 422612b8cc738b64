import test, { type ExecutionContext } from 'ava';
import * as fc from 'fast-check';
import { LATENCY_GROWTH, bucketOf } from '../../../core/statistics/latency-histogram.ts';
import { DAY_MS, HOUR_MS } from '../../../core/time.ts';
import type { Database } from '../../../models/database.ts';
import { inTransaction, runOn } from '../../../models/sql.ts';
import { beginRollups, remakeLateHours, rollNextHour, rolledUntilMs } from '../../../models/statistics/rollups.ts';
import { createPartitions } from '../../../models/system/partitions.ts';
import {
  arbitraryCheck,
  readRollups,
  rollupsOfChecks,
  storeChecks,
  withoutRepeats,
  type ArbitraryCheck,
} from '../../helpers/arbitrary-checks.ts';
import { openTestRuntime } from '../../helpers/runtime.ts';
import { until } from '../../helpers/until.ts';

/** Midnight UTC, so long ago that all hours of its day and the next have ended. */
const MIDNIGHT = Math.floor(Date.now() / DAY_MS) * DAY_MS - 3 * DAY_MS;
const SETTLED_MS = 90_000;

async function prepare(t: ExecutionContext) {
  const { database } = await openTestRuntime(t);
  for (const day of [0, 1]) await createPartitions(database, MIDNIGHT + day * DAY_MS);
  await beginRollups(runOn(database.pool), MIDNIGHT);
  return database;
}

/** Rolls up all hours that have ended by a time, like the chore. */
async function rollUntil(database: Database, nowMs: number): Promise<number> {
  let hours = 0;
  while ((await remakeLateHours(database, nowMs)).taken > 0);
  while ((await rollNextHour(database, nowMs)).outcome === 'rolled') hours += 1;
  return hours;
}

/** Asserts that the roll-ups match these checks: for their hours, and for their completed days. */
async function isAsFromScratch(
  t: ExecutionContext,
  database: Database,
  checks: readonly ArbitraryCheck[],
): Promise<void> {
  t.deepEqual(await readRollups(database, 'hourly_rollups'), rollupsOfChecks(checks, HOUR_MS));
  const today = Math.floor((await rolledUntilMs(runOn(database.pool))) / DAY_MS) * DAY_MS;
  const ofDays = checks.filter(({ atMs }) => atMs < today);
  t.deepEqual(await readRollups(database, 'daily_rollups'), rollupsOfChecks(ofDays, DAY_MS));
}

/** Wraps the pool so that `before` is called with every statement before it is sent. */
function intercepting(database: Database, before: (sql: string) => Promise<void>): Pick<Database, 'pool'> {
  const connect = async () => {
    const client = await database.pool.connect();
    return new Proxy(client, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name);
        if (typeof value !== 'function') return value;
        return async (...given: [string | { text: string }]) => {
          if (name === 'query') await before(typeof given[0] === 'string' ? given[0] : given[0].text);
          return Reflect.apply(value, target, given);
        };
      },
    });
  };
  return { pool: Object.assign(Object.create(database.pool), { connect }) };
}

/** Breaks the connection before a statement that matches. */
function breakingAt(database: Database, pattern: RegExp): Pick<Database, 'pool'> {
  return intercepting(database, async (sql) => {
    if (pattern.test(sql)) throw new Error('the connection broke');
  });
}

/** Holds transactions with late hours back before their commit, and reports that. */
function holdingBack(database: Database) {
  const [held, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let hasLateHours = false;
  const waiting = intercepting(database, async (sql) => {
    hasLateHours ||= sql.includes('late_hours');
    if (sql !== 'COMMIT' || !hasLateHours) return;
    held.resolve();
    await release.promise;
  });
  return { waiting, held: held.promise, release: release.resolve };
}

test('hourly roll-ups with late results, repeats, crashes and breaks equal those made all at once', async (t) => {
  const database = await prepare(t);
  // Few hours, so that checks share them: the last of one day and the first of the next.
  const firstHour = MIDNIGHT + 21 * HOUR_MS;
  const moment = fc
    .tuple(fc.constantFrom(21, 22, 23, 24, 25), fc.integer({ min: 0, max: HOUR_MS - 1 }))
    .map(([hour, ms]) => MIDNIGHT + hour * HOUR_MS + ms);
  const step = fc.oneof(
    { weight: 3, arbitrary: fc.record({ store: fc.array(arbitraryCheck(moment), { minLength: 1, maxLength: 30 }) }) },
    { weight: 2, arbitrary: fc.record({ hours: fc.constantFrom(1, 2, 3, 26) }) },
    {
      weight: 1,
      arbitrary: fc.record({
        breakAt: fc.constantFrom(
          /INSERT INTO hourly/,
          /INSERT INTO daily/,
          /UPDATE service_marks/,
          /DELETE FROM late_hours/,
          /COMMIT/,
        ),
      }),
    },
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 12 }), async (steps) => {
      await database.pool.query('TRUNCATE check_results, hourly_rollups, daily_rollups, late_hours');
      await database.pool.query(`UPDATE service_marks SET at = $1 WHERE name = 'rollups'`, [firstHour]);
      let nowMs = firstHour;
      const stored: ArbitraryCheck[] = [];
      for (const one of steps) {
        if ('store' in one) {
          // Checks that are not due yet are stored when they are.
          nowMs = Math.max(nowMs, ...one.store.map(({ atMs }) => atMs));
          await storeChecks(database, one.store, { nowMs });
          stored.push(...one.store);
        } else if ('hours' in one) {
          nowMs += one.hours * HOUR_MS;
          await rollUntil(database, nowMs);
        } else {
          const broken = breakingAt(database, one.breakAt);
          await remakeLateHours(broken, nowMs).catch(() => null);
          await rollNextHour(broken, nowMs).catch(() => null);
        }
      }
      const endMs = Math.max(nowMs, MIDNIGHT + 26 * HOUR_MS + SETTLED_MS);
      await rollUntil(database, endMs);
      await rollUntil(database, endMs);
      await isAsFromScratch(t, database, withoutRepeats(stored));
    }),
    { numRuns: 25 },
  );
});

test('two concurrent processes roll up each hour once, and their counts add up', async (t) => {
  const database = await prepare(t);
  const checks = withoutRepeats(
    fc.sample(arbitraryCheck(fc.integer({ min: MIDNIGHT, max: MIDNIGHT + DAY_MS - 1 })), { numRuns: 500, seed: 60 }),
  );
  await storeChecks(database, checks, { nowMs: MIDNIGHT });
  const nowMs = MIDNIGHT + DAY_MS + SETTLED_MS;
  const late = checks
    .slice(0, 50)
    .map((check) => ({ ...check, atMs: check.atMs < MIDNIGHT + HOUR_MS ? check.atMs : check.atMs - HOUR_MS }));
  const [one, other] = await Promise.all([
    rollUntil(database, nowMs),
    rollUntil(database, nowMs),
    storeChecks(database, late, { nowMs }),
  ]);
  t.is(one + other + (await rollUntil(database, nowMs)), 24);
  await Promise.all([rollUntil(database, nowMs), rollUntil(database, nowMs)]);
  await rollUntil(database, nowMs);
  await isAsFromScratch(t, database, withoutRepeats([...checks, ...late]));
});

test('a late result changes only the hour and day of its own source', async (t) => {
  const database = await prepare(t);
  const nowMs = MIDNIGHT + DAY_MS + SETTLED_MS;
  const check = {
    monitorNo: 1,
    agentNo: 1,
    atMs: MIDNIGHT + 5 * HOUR_MS,
    verdict: 'up',
    latencyMs: 40,
    phases: null,
  } as const;
  const other = { ...check, agentNo: 2 };
  await storeChecks(database, [check, other], { nowMs: check.atMs });
  await rollUntil(database, nowMs);
  const before = await database.pool.query('SELECT xmin::text, agent_no FROM daily_rollups ORDER BY agent_no');
  const late = { ...check, atMs: check.atMs + 60_000, verdict: 'down' } as const;
  await storeChecks(database, [late], { nowMs });
  t.is((await remakeLateHours(database, Date.now())).taken, 1);
  t.is((await remakeLateHours(database, Date.now())).taken, 0);
  await isAsFromScratch(t, database, [check, other, late]);
  const after = await database.pool.query('SELECT xmin::text, agent_no FROM daily_rollups ORDER BY agent_no');
  t.deepEqual(
    before.rows.map(({ xmin }, index) => xmin === after.rows[index].xmin),
    [false, true],
  );
});

test('an hour is not rolled up until ninety seconds after its end', async (t) => {
  const database = await prepare(t);
  t.deepEqual(await rollNextHour(database, MIDNIGHT + HOUR_MS + SETTLED_MS - 1), { outcome: 'early' });
  t.deepEqual(await rollNextHour(database, MIDNIGHT + HOUR_MS + SETTLED_MS), {
    outcome: 'rolled',
    atMs: MIDNIGHT,
    rows: 0,
    setAside: [],
  });
  t.is(await rolledUntilMs(runOn(database.pool)), MIDNIGHT + HOUR_MS);
});

test('an hour waits for transactions that began before its results were late, at most ten minutes', async (t) => {
  const database = await prepare(t);
  // By the database's clock the hour ended a moment ago, so the open transaction began in time to store results for it.
  const hourMs = Date.now() - HOUR_MS;
  await database.pool.query(`UPDATE service_marks SET at = $1 WHERE name = 'rollups'`, [hourMs]);
  await createPartitions(database, hourMs);
  await inTransaction(database, async (run) => {
    await run('SELECT 1');
    t.deepEqual(await rollNextHour(database, hourMs + HOUR_MS + SETTLED_MS), { outcome: 'early' });
    t.deepEqual(await rollNextHour(database, hourMs + HOUR_MS + 599_999), { outcome: 'early' });
    t.is((await rollNextHour(database, hourMs + HOUR_MS + 600_000)).outcome, 'rolled');
  });
});

test('a late hour is not taken while results of it are uncommitted, even if others recorded it', async (t) => {
  const database = await prepare(t);
  const nowMs = MIDNIGHT + DAY_MS + SETTLED_MS;
  const first: ArbitraryCheck = {
    monitorNo: 1,
    agentNo: 1,
    atMs: MIDNIGHT,
    verdict: 'up',
    latencyMs: 10,
    phases: null,
  };
  const second = { ...first, atMs: MIDNIGHT + 1 };
  await rollUntil(database, nowMs);
  await storeChecks(database, [first], { nowMs });
  const { waiting, held, release } = holdingBack(database);
  const storing = storeChecks(waiting, [second], { nowMs });
  await held;
  t.is((await remakeLateHours(database, Date.now())).taken, 0);
  release();
  await storing;
  t.is((await remakeLateHours(database, Date.now())).taken, 1);
  await isAsFromScratch(t, database, [first, second]);
});

test('a late result for an hour being recomputed waits for that, and has it recomputed again', async (t) => {
  const database = await prepare(t);
  const nowMs = MIDNIGHT + DAY_MS + SETTLED_MS;
  const first: ArbitraryCheck = {
    monitorNo: 1,
    agentNo: 1,
    atMs: MIDNIGHT,
    verdict: 'up',
    latencyMs: 10,
    phases: null,
  };
  const second = { ...first, atMs: MIDNIGHT + 1 };
  await rollUntil(database, nowMs);
  await storeChecks(database, [first], { nowMs });
  const { waiting, held, release } = holdingBack(database);
  const making = remakeLateHours(waiting, Date.now());
  await held;
  const storing = storeChecks(database, [second], { nowMs });
  await until(
    async () =>
      (
        await database.pool.query(
          `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
        )
      ).rowCount === 1,
  );
  release();
  t.is((await making).taken, 1);
  await storing;
  t.is((await remakeLateHours(database, Date.now())).taken, 1);
  await isAsFromScratch(t, database, [first, second]);
});

test('while hours of a day are recomputed other processes skip that day, and it ends up complete', async (t) => {
  const database = await prepare(t);
  const nowMs = MIDNIGHT + DAY_MS + SETTLED_MS;
  const first: ArbitraryCheck = {
    monitorNo: 1,
    agentNo: 1,
    atMs: MIDNIGHT,
    verdict: 'up',
    latencyMs: 10,
    phases: null,
  };
  const second = { ...first, atMs: MIDNIGHT + HOUR_MS };
  await rollUntil(database, nowMs);
  await storeChecks(database, [first], { nowMs });
  const { waiting, held, release } = holdingBack(database);
  const making = remakeLateHours(waiting, Date.now());
  await held;
  await storeChecks(database, [second], { nowMs });
  t.is((await remakeLateHours(database, Date.now())).taken, 0);
  t.deepEqual(await rollNextHour(database, nowMs + DAY_MS), { outcome: 'busy' });
  release();
  t.is((await making).taken, 1);
  t.is((await remakeLateHours(database, Date.now())).taken, 1);
  await isAsFromScratch(t, database, [first, second]);
});

test('pings count as checks by the service, each change once, and missed deadlines as decided', async (t) => {
  const database = await prepare(t);
  const run = runOn(database.pool);
  const [service] = await run<{ no: number }>(`SELECT no FROM agents WHERE kind = 'service'`);
  const agentNo = service?.no ?? 0;
  const pings = [
    { kind: 'start', exit: null, duration: null },
    { kind: 'success', exit: null, duration: 1200 },
    { kind: 'exit', exit: 0, duration: 4_000_000_000 },
    { kind: 'exit', exit: 3, duration: 70 },
    { kind: 'fail', exit: null, duration: null },
    { kind: 'success', exit: null, duration: null },
  ];
  for (const [index, { kind, exit, duration }] of pings.entries()) {
    await run(
      'INSERT INTO heartbeat_pings (at, monitor_no, kind, exit_status, duration_ms) VALUES ($1, 7, $2, $3, $4)',
      [MIDNIGHT + index, kind, exit, duration],
    );
  }
  // The first success and the first failure were changes; a ping without a start before it has no known duration; then
  // one was missed.
  const decided = (atMs: number, verdict: 'up' | 'down', latencyMs: number | null): ArbitraryCheck => ({
    monitorNo: 7,
    agentNo,
    atMs,
    verdict,
    latencyMs,
    phases: null,
  });
  const results = [
    decided(MIDNIGHT + 1, 'up', 1200),
    decided(MIDNIGHT + 3, 'down', 70),
    decided(MIDNIGHT + 6, 'down', null),
  ];
  await storeChecks(database, results, { nowMs: MIDNIGHT });
  await rollUntil(database, MIDNIGHT + DAY_MS + SETTLED_MS);
  await isAsFromScratch(t, database, [
    ...results,
    decided(MIDNIGHT + 2, 'up', 2_147_483_647),
    decided(MIDNIGHT + 4, 'down', null),
    decided(MIDNIGHT + 5, 'up', null),
  ]);
});

test('PostgreSQL puts every latency into the same bucket as the histogram', async (t) => {
  const database = await prepare(t);
  const edges = Array.from({ length: 549 }, (_, bucket) => Math.floor(LATENCY_GROWTH ** bucket));
  const latencies = edges.flatMap((edge) => [edge - 1, edge, edge + 1]).filter((ms) => ms <= 2_147_483_647);
  const rows = await runOn(database.pool)<{ ms: number; bucket: number }>(
    'SELECT ms, latency_bucket(ms) AS bucket FROM unnest($1::int[]) AS ms',
    [latencies],
  );
  t.deepEqual(
    rows.map(({ bucket }) => bucket),
    rows.map(({ ms }) => bucketOf(ms)),
  );
});
