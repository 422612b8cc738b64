import test, { type ExecutionContext } from 'ava';
import type { MonitorSettings } from '../../../core/monitors/monitor.ts';
import { createTenant } from '../../../models/accounts/tenants.ts';
import { takePings } from '../../../models/heartbeats/heartbeats.ts';
import {
  holdDeadlines,
  recordLostPings,
  recordPingAvailability,
  releaseDeadlines,
} from '../../../models/heartbeats/watch.ts';
import { listIncidents } from '../../../models/incidents/history.ts';
import { deleteMonitor, pauseMonitor, resumeMonitor } from '../../../models/monitors/monitor-changes.ts';
import { findMonitor } from '../../../models/monitors/monitors.ts';
import { watchHeartbeats, type WatchRound } from '../../../workers/heartbeats/watch.ts';
import { createEvaluator, type EvaluationOutcome } from '../../../workers/incidents/evaluate.ts';
import { sweep } from '../../../workers/system/sweep.ts';
import { FAIL, START, SUCCESS, addHeartbeat, type TestHeartbeat } from '../../helpers/heartbeats.ts';
import { changeMonitor, openTestRuntime, type TestRuntime } from '../../helpers/runtime.ts';

const SECOND = 1000;

/** Time after a deadline for which pings must have been available for it to count, in seconds. */
const COUNTED_AFTER = 0.3;

/** Maximum interval at which availability is recorded while pings count as available, in seconds. */
const HELD_EVERY = 2;

/**
 * Sets up heartbeats at second 0 of a simulated time. The test decides at which seconds availability is recorded and
 * heartbeats are watched.
 */
async function stage(t: ExecutionContext) {
  const runtime = await openTestRuntime(t);
  const startMs = Date.now();
  const at = (second: number) => Math.round(startMs + second * SECOND);
  const outcomes: EvaluationOutcome[] = [];
  const watch = (second: number): Promise<WatchRound> => {
    const now = () => at(second);
    return watchHeartbeats({
      database: runtime.database,
      metrics: runtime.metrics,
      now,
      evaluate: createEvaluator({ ...runtime, now }),
      announce: (outcome) => void outcomes.push(outcome),
    });
  };
  let heldAt = 0;
  /** Restores availability after a period without records; returns the number of heartbeats forgiven for it. */
  const reopen = async (second: number) => {
    heldAt = second;
    return (await recordPingAvailability(runtime.database, () => at(second))).forgiven;
  };
  const keepOpen = async (until: number) => {
    for (let second = heldAt + HELD_EVERY; second < until; second += HELD_EVERY) await reopen(second);
    await reopen(until);
  };
  await reopen(0);
  return {
    runtime,
    at,
    outcomes,
    watch,
    reopen,
    add: (settings?: Parameters<typeof addHeartbeat>[2]) => addHeartbeat(runtime, at(0), settings),
    take: async (second: number, { token }: TestHeartbeat, ping = SUCCESS) =>
      (await takePings(runtime.database, [{ token, ping }], at(second)))[0]?.outcome,
    /** Records availability until `from`, and from then on also watches twice a second, as in production. */
    async live(from: number, to: number) {
      for (let second = from; second <= to; second += 0.5) {
        await keepOpen(second);
        await watch(second);
      }
    },
    changes: () =>
      outcomes.flatMap(({ transitions }) =>
        transitions.map(({ change }) => ({ to: change.to, cause: change.cause, at: (change.atMs - startMs) / SECOND })),
      ),
  };
}

async function stateOf(runtime: TestRuntime, { monitor }: TestHeartbeat): Promise<string | undefined> {
  return (await findMonitor(runtime.database, { tenantId: runtime.tenantId, id: monitor.id }))?.monitor.state;
}

async function countOf(runtime: TestRuntime, table: string): Promise<number> {
  return Number((await runtime.database.pool.query(`SELECT count(*) FROM ${table}`)).rows[0].count);
}

/** Returns the runtime for another account of the same installation. */
async function otherAccount(runtime: TestRuntime): Promise<TestRuntime> {
  const tenantId = runtime.newId('ten');
  await createTenant(runtime.database, { id: tenantId, name: tenantId, plan: 'pro', nowMs: Date.now(), author: null });
  return { ...runtime, tenantId };
}

function patch(
  runtime: TestRuntime,
  { monitor }: TestHeartbeat,
  { nowMs, ...settings }: Partial<MonitorSettings> & { nowMs: number },
) {
  return changeMonitor(
    runtime.database,
    { tenantId: runtime.tenantId, id: monitor.id, nowMs },
    ({ monitor: current, secrets, agentIds }) => ({ settings: { ...current, ...settings }, secrets, agentIds }),
  );
}

// Serial, because each test opens several connections, and together they would exceed the server's limit.
test.serial('a heartbeat is up on a ping and down from a missed deadline on, whatever its thresholds', async (t) => {
  const { runtime, add, take, live, changes } = await stage(t);
  const heartbeat = await add({ downAfterFailures: 5, upAfterSuccesses: 5 });
  await take(0.5, heartbeat);
  await live(1, 95);
  t.is(await stateOf(runtime, heartbeat), 'down');
  await take(100, heartbeat);
  await live(100, 101);
  t.deepEqual(changes(), [
    { to: 'up', cause: null, at: 0.5 },
    { to: 'down', cause: 'heartbeat_missed', at: 90.5 },
    { to: 'up', cause: null, at: 100 },
  ]);
  const [incident] = await listIncidents(runtime.database, { tenantId: runtime.tenantId, limit: 5 });
  t.like(incident, {
    reason: 'No ping came in time: expected every 1 min, grace period 30 s',
    resolution: 'recovered',
    sourcesDown: ['service'],
  });
});

test.serial('a heartbeat that never gets a ping is down from its first deadline, and is reported once', async (t) => {
  const { runtime, add, live, changes } = await stage(t);
  const heartbeat = await add();
  await live(0, 89.5);
  t.is(await stateOf(runtime, heartbeat), 'pending');
  await live(90, 400);
  t.deepEqual(changes(), [{ to: 'down', cause: 'heartbeat_missed', at: 90 }]);
  t.is(await countOf(runtime, 'heartbeat_observations'), 0);
});

test.serial('pings on time write no result and no transition after the first', async (t) => {
  const { runtime, add, take, live, changes } = await stage(t);
  const heartbeat = await add();
  for (let second = 1; second < 600; second += 60) {
    await take(second, heartbeat);
    await live(second, second + 2);
  }
  t.is(changes().length, 1);
  t.is(await countOf(runtime, 'check_results'), 1);
  t.is(await countOf(runtime, 'heartbeat_pings'), 10);
});

test.serial(
  'a failure takes a heartbeat down with the first line of its output, and a success brings it up',
  async (t) => {
    const { runtime, add, take, watch, changes } = await stage(t);
    const heartbeat = await add();
    await take(1, heartbeat);
    await take(2, heartbeat, { kind: 'exit', exitStatus: 2, body: 'tar: disk full\nsecond line' });
    await take(3, heartbeat, { kind: 'exit', exitStatus: 0, body: null });
    await watch(3.5);
    t.deepEqual(
      changes().map(({ to, cause }) => [to, cause]),
      [
        ['up', null],
        ['down', 'heartbeat_failed'],
        ['up', null],
      ],
    );
    const [incident] = await listIncidents(runtime.database, { tenantId: runtime.tenantId, limit: 5 });
    t.is(incident?.reason, 'The job ended with exit status 2: "tar: disk full"');
  },
);

test.serial('a failure is reported even if it and its recovery fall between two polls', async (t) => {
  const { add, take, watch, changes } = await stage(t);
  const heartbeat = await add();
  await take(1, heartbeat);
  await watch(1.1);
  await take(1.2, heartbeat, FAIL);
  await take(1.21, heartbeat);
  await watch(1.5);
  t.deepEqual(
    changes().map(({ to }) => to),
    ['up', 'down', 'up'],
  );
});

test.serial('a run that exceeds its maximum duration is down, and its end brings it up and is measured', async (t) => {
  const { runtime, add, take, live, changes, outcomes } = await stage(t);
  const heartbeat = await add({ heartbeat: { maxDurationSeconds: 10 } });
  await take(1, heartbeat);
  await take(5, heartbeat, START);
  await live(5, 16);
  t.deepEqual(changes().at(-1), { to: 'down', cause: 'heartbeat_overrun', at: 15 });
  await take(25, heartbeat);
  await live(25, 25.5);
  t.deepEqual(changes().at(-1), { to: 'up', cause: null, at: 25 });
  const evidence = outcomes.at(-1)?.transitions[0]?.change.evidence;
  t.is(evidence?.sources[0]?.decidedBy[0]?.latencyMs, 20_000);
  const { rows } = await runtime.database.pool.query(
    'SELECT duration_ms FROM heartbeat_pings ORDER BY at DESC LIMIT 1',
  );
  t.is(rows[0]?.duration_ms, 20_000);
});

test.serial('the duration of a run is capped at the maximum that a result can hold', async (t) => {
  const { runtime, add, take, watch } = await stage(t);
  const heartbeat = await add({ intervalSeconds: 86_400, heartbeatGraceSeconds: 2_592_000 });
  await take(0.5, heartbeat, START);
  await runtime.database.pool.query('UPDATE heartbeats SET run_started_at = run_started_at - 30 * 86400000::bigint');
  await take(1, heartbeat);
  await watch(1.5);
  const { rows } = await runtime.database.pool.query('SELECT latency_ms FROM check_results');
  t.is(rows[0]?.latency_ms, 2_147_483_647);
});

test.serial('a start ping moves the deadline and leaves the state unchanged', async (t) => {
  const { runtime, add, take, live } = await stage(t);
  const heartbeat = await add();
  await take(80, heartbeat, START);
  await live(80, 120);
  t.is(await stateOf(runtime, heartbeat), 'pending');
  await live(120, 171);
  t.is(await stateOf(runtime, heartbeat), 'down');
});

test.serial(
  'pausing ends the wait and the incident, pings then change nothing, and resuming restarts the wait',
  async (t) => {
    const { runtime, at, add, take, live, changes } = await stage(t);
    const heartbeat = await add();
    const key = (second: number) => ({ tenantId: runtime.tenantId, id: heartbeat.monitor.id, nowMs: at(second) });
    await live(80, 91);
    await pauseMonitor(runtime.database, { ...key(92), author: null });
    t.is(await take(93, heartbeat), 'taken');
    await live(93, 300);
    t.is(await stateOf(runtime, heartbeat), 'paused');
    t.is(await countOf(runtime, 'heartbeat_pings'), 1);
    await resumeMonitor(runtime.database, { ...key(300), author: null });
    await live(300, 389);
    t.is(await stateOf(runtime, heartbeat), 'pending');
    await live(389, 391);
    t.deepEqual(
      changes().map(({ to, at: second }) => [to, second]),
      [
        ['down', 90],
        ['down', 390],
      ],
    );
  },
);

test.serial('pings from before a pause decide nothing after the resume', async (t) => {
  const { runtime, at, add, take, watch } = await stage(t);
  const heartbeat = await add();
  const key = { tenantId: runtime.tenantId, id: heartbeat.monitor.id };
  await take(1, heartbeat, FAIL);
  await pauseMonitor(runtime.database, { ...key, nowMs: at(2), author: null });
  await resumeMonitor(runtime.database, { ...key, nowMs: at(3), author: null });
  await watch(4);
  t.is(await stateOf(runtime, heartbeat), 'pending');
  await take(5, heartbeat);
  await watch(6);
  t.is(await stateOf(runtime, heartbeat), 'up');
});

test.serial('an edit moves the deadline at once, loses no undecided ping, and shows in the next reason', async (t) => {
  const { runtime, at, add, take, live, changes } = await stage(t);
  const heartbeat = await add();
  await take(1, heartbeat);
  await patch(runtime, heartbeat, {
    nowMs: at(2),
    intervalSeconds: 5,
    heartbeatGraceSeconds: 1,
    checkSpec: { heartbeat: { token: heartbeat.token, failEnabled: false } },
  });
  await live(2, 9);
  t.deepEqual(changes(), [
    { to: 'up', cause: null, at: 1 },
    { to: 'down', cause: 'heartbeat_missed', at: 8 },
  ]);
  const [incident] = await listIncidents(runtime.database, { tenantId: runtime.tenantId, limit: 5 });
  t.is(incident?.reason, 'No ping came in time: expected every 5 s, grace period 1 s');
  t.is(await take(10, heartbeat, FAIL), 'refused');
});

test.serial('a ping to a deleted heartbeat is unknown, and its undecided pings are dropped', async (t) => {
  const { runtime, at, add, take, watch } = await stage(t);
  const heartbeat = await add();
  await take(1, heartbeat);
  await deleteMonitor(runtime.database, {
    tenantId: runtime.tenantId,
    id: heartbeat.monitor.id,
    nowMs: at(2),
    author: null,
  });
  t.is(await take(3, heartbeat), 'unknown');
  t.deepEqual(await watch(4), { missed: 0, decided: 0, isAwake: false });
});

test.serial(
  'without a web process no ping counts as missed, and afterwards affected heartbeats get a full wait',
  async (t) => {
    const { runtime, add, take, watch, live, reopen, changes } = await stage(t);
    const heartbeat = await add();
    await take(1, heartbeat);
    await live(1, 2);
    for (const second of [60, 95, 300]) await watch(second);
    t.is(await reopen(300), 1);
    await live(300, 389.5);
    t.is(await stateOf(runtime, heartbeat), 'up');
    await live(390, 391);
    t.deepEqual(changes().at(-1), { to: 'down', cause: 'heartbeat_missed', at: 390 });
  },
);

for (const comesFirst of ['the watch', 'the record'] as const) {
  test.serial(
    `after an outage of the whole service, or of PostgreSQL, no ping counts as missed, if ${comesFirst} ` +
      'is back first',
    async (t) => {
      const { runtime, add, take, watch, live, reopen, changes } = await stage(t);
      const [stopS, backS] = [40, 1840];
      const shapes = [
        [5, 1],
        [30, 0],
        [60, 30],
        [60, 600],
        [300, 10],
        [1800, 60],
        [3600, 60],
        [86_400, 3600],
      ] as const;
      const heartbeats: { heartbeat: TestHeartbeat; pinged: number; interval: number; grace: number }[] = [];
      for (const [interval, grace] of shapes) {
        for (const pinged of [stopS - 4, stopS - 0.5]) {
          const heartbeat = await add({ intervalSeconds: interval, heartbeatGraceSeconds: grace });
          await take(pinged, heartbeat);
          heartbeats.push({ heartbeat, pinged, interval, grace });
        }
      }
      await live(stopS - 0.5, stopS);
      t.true(changes().every(({ to }) => to === 'up'));
      if (comesFirst === 'the watch') await watch(backS);
      const forgiven = await reopen(backS);
      t.is(forgiven, heartbeats.filter(({ pinged, interval, grace }) => pinged + interval - grace <= backS).length);
      for (let second = backS; second < backS + 5; second += 0.5) await watch(second);
      t.true(changes().every(({ to }) => to === 'up'));
      await live(backS + 0.5, backS + 95);
      const missed = changes()
        .filter(({ to }) => to === 'down')
        .map(({ at }) => at - backS);
      t.deepEqual(
        missed.toSorted((a, b) => a - b),
        [6, 6, 30, 30, 90, 90],
        'silent heartbeats have a full interval and grace period from the return',
      );
      for (const { heartbeat, interval } of heartbeats)
        if (interval >= 300) t.is(await stateOf(runtime, heartbeat), 'up');
    },
  );
}

test.serial(
  'a restart of everything but web forgives nothing: pings count, and misses start at their deadline',
  async (t) => {
    const { runtime, add, take, live, watch, reopen, changes } = await stage(t);
    const [goesOn, stopped] = [await add(), await add()];
    for (const heartbeat of [goesOn, stopped]) await take(1, heartbeat);
    await live(1, 2);
    for (let second = 61; second < 1800; second += 60) await take(second, goesOn);
    for (let second = 4; second <= 1800; second += HELD_EVERY) t.is(await reopen(second), 0);
    await watch(1800);
    t.deepEqual(changes().slice(2), [{ to: 'down', cause: 'heartbeat_missed', at: 91 }]);
    t.is(await stateOf(runtime, goesOn), 'up');
  },
);

test.serial('a period without a web process forgives only heartbeats whose ping may have been due in it', async (t) => {
  const { runtime, add, take, live, reopen } = await stage(t);
  const [soon, far, missedBefore] = [
    await add(),
    await add({ intervalSeconds: 600 }),
    await add({ intervalSeconds: 5, heartbeatGraceSeconds: 1 }),
  ];
  await take(1, soon);
  await take(1, far);
  await live(1, 7);
  t.is(await stateOf(runtime, missedBefore), 'down');
  t.is(await reopen(57), 1);
  await live(57.5, 146);
  t.is(await stateOf(runtime, soon), 'up');
  await live(146.5, 148);
  t.is(await stateOf(runtime, soon), 'down');
  t.is(await stateOf(runtime, far), 'up');
  await live(148.5, 632);
  t.is(await stateOf(runtime, far), 'down');
});

test.serial('a run under way gets the time without a web process added to its maximum duration', async (t) => {
  const { runtime, add, take, live, reopen, changes } = await stage(t);
  const heartbeat = await add({ intervalSeconds: 600, heartbeat: { maxDurationSeconds: 20 } });
  await take(1, heartbeat, START);
  await live(1, 2);
  t.is(await reopen(102), 1);
  await live(102.5, 120.5);
  t.is(await stateOf(runtime, heartbeat), 'pending');
  await live(121, 122);
  t.like(changes()[0], { to: 'down', cause: 'heartbeat_overrun' });
});

test.serial('web processes that return concurrently forgive a heartbeat once', async (t) => {
  const { runtime, at, add } = await stage(t);
  await add();
  const held = await Promise.all(
    Array.from({ length: 8 }, (_, index) => recordPingAvailability(runtime.database, () => at(80) + index)),
  );
  t.deepEqual(held.map(({ forgiven }) => forgiven).toSorted(), [0, 0, 0, 0, 0, 0, 0, 1]);
  const { rows } = await runtime.database.pool.query('SELECT due_at FROM heartbeats');
  t.true(Math.abs(rows[0]?.due_at - at(170)) < 10);
});

test.serial(
  'lost pings of one process suspend all deadlines until 2 s without a loss, and are then forgiven',
  async (t) => {
    const { runtime, at, add, take, watch, reopen, live } = await stage(t);
    const [lost, long] = [
      await add({ intervalSeconds: 10, heartbeatGraceSeconds: 5 }),
      await add({ intervalSeconds: 600 }),
    ];
    await take(1, lost);
    await take(1, long);
    await live(1, 12);
    // The ping of second 11 waits to be stored, and fails at 13; the deadline is 16.
    await recordLostPings(runtime.database, { fromMs: at(11), toMs: at(13) });
    for (const second of [13.5, 16.5, 17]) {
      await recordLostPings(runtime.database, { fromMs: at(second - 0.1), toMs: at(second) });
      t.is(await reopen(second), 0);
      t.is((await watch(second)).missed, 0);
    }
    t.is(await reopen(18.5), 0);
    t.is(await reopen(19.5), 1, 'the other heartbeat expects no ping soon');
    await live(20, 34);
    t.is(await stateOf(runtime, lost), 'up');
    await live(34.5, 36);
    t.is(await stateOf(runtime, lost), 'down');
    t.is(await stateOf(runtime, long), 'up');
  },
);

test.serial('a deadline before the first lost ping counts, even if no process records availability', async (t) => {
  const { runtime, at, add, take, live, watch } = await stage(t);
  const [early, late] = [
    await add({ intervalSeconds: 8, heartbeatGraceSeconds: 0 }),
    await add({ intervalSeconds: 10, heartbeatGraceSeconds: 0 }),
  ];
  await take(1, early);
  await take(1, late);
  await live(1, 8.5);
  await recordPingAvailability(runtime.database, () => at(11.5));
  await recordLostPings(runtime.database, { fromMs: at(10), toMs: at(11.5) });
  await watch(12);
  t.is(await stateOf(runtime, early), 'down');
  t.is(await stateOf(runtime, late), 'up');
});

test.serial('a ping waiting in one process holds all later deadlines, and they count once it is stored', async (t) => {
  const { runtime, at, add, take, live, changes } = await stage(t);
  const [early, late] = [
    await add({ intervalSeconds: 8, heartbeatGraceSeconds: 0 }),
    await add({ intervalSeconds: 12, heartbeatGraceSeconds: 0 }),
  ];
  await take(1, early);
  await take(1, late);
  await live(1, 9);
  for (let second = 10.5; second < 20; second += 0.5) {
    await holdDeadlines(runtime.database, { holder: 'a', fromMs: at(10), nowMs: at(second) });
    await holdDeadlines(runtime.database, { holder: 'b', fromMs: at(second - 1), nowMs: at(second) });
    await live(second, second);
  }
  t.is(await stateOf(runtime, early), 'down');
  t.is(await stateOf(runtime, late), 'up');
  await releaseDeadlines(runtime.database, 'a');
  await live(20, 20);
  t.deepEqual(changes().at(-1), { to: 'down', cause: 'heartbeat_missed', at: 13 });
});

test.serial(
  'pings held by a killed process count as lost, and heartbeats that may have sent them are forgiven',
  async (t) => {
    const { runtime, at, add, take, live, reopen, watch } = await stage(t);
    const [lost, long] = [
      await add({ intervalSeconds: 10, heartbeatGraceSeconds: 5 }),
      await add({ intervalSeconds: 600 }),
    ];
    await take(1, lost);
    await take(1, long);
    await live(1, 11);
    await holdDeadlines(runtime.database, { holder: 'killed', fromMs: at(11), nowMs: at(12.5) });
    for (let second = 12.5; second < 22; second += 0.5) {
      t.is(await reopen(second), 0);
      t.is((await watch(second)).missed, 0);
    }
    t.is(await reopen(23), 1, 'the other heartbeat expects no ping soon');
    await live(23.5, 37.5);
    t.is(await stateOf(runtime, lost), 'up');
    await live(38, 39);
    t.is(await stateOf(runtime, lost), 'down');
    t.is(await countOf(runtime, `service_marks WHERE name LIKE 'pings held by%'`), 0);
  },
);

/** Adds pending observations; those of each heartbeat are a millisecond apart, starting at `atMs`. */
async function queueObservations(
  runtime: TestRuntime,
  heartbeats: readonly TestHeartbeat[],
  { each, atMs }: { each: number; atMs: number },
) {
  await runtime.database.pool.query(
    `INSERT INTO heartbeat_observations (at, monitor_no, sight)
     SELECT $1::bigint + i, no, CASE i % 2 WHEN 0 THEN 'fail' ELSE 'success' END
     FROM unnest($2::int[]) no, generate_series(0, $3::int - 1) i`,
    [atMs, heartbeats.map(({ monitor }) => monitor.no), each],
  );
}

test.serial('a backlog of one account does not delay a missed deadline or a ping of another account', async (t) => {
  const { runtime, at, add, take, watch, reopen } = await stage(t);
  const flooding = await Promise.all(Array.from({ length: 40 }, () => add()));
  const other = await otherAccount(runtime);
  const [missed, failed] = [
    await addHeartbeat(other, at(0), { intervalSeconds: 5, heartbeatGraceSeconds: 0 }),
    await addHeartbeat(other, at(0), { intervalSeconds: 600 }),
  ];
  await queueObservations(runtime, flooding, { each: 60, atMs: at(1) });
  for (let second = 2; second <= 8; second += HELD_EVERY) await reopen(second);
  await take(8, failed, FAIL);
  t.like(await watch(8), { missed: 1, decided: 252 });
  t.is(await stateOf(other, missed), 'down');
  t.is(await stateOf(other, failed), 'down');
  for (let round = 1; round <= 9; round += 1) await watch(8 + round / 10);
  t.is(await countOf(runtime, 'heartbeat_observations'), 0);
  const { rows } = await runtime.database.pool.query(
    `SELECT count(*)::int AS count,
         bool_and(t.to_state = CASE t.sequence % 2 WHEN 1 THEN 'down' ELSE 'up' END) AS alternate
       FROM transitions t JOIN monitors m ON m.id = t.monitor_id WHERE m.tenant_id = $1`,
    [runtime.tenantId],
  );
  t.deepEqual(rows, [{ count: 40 * 60, alternate: true }], 'each is decided, in order per heartbeat');
});

test.serial('many simultaneous misses of one account do not delay a missed deadline of another', async (t) => {
  const { runtime, at, watch, reopen, add } = await stage(t);
  await Promise.all(Array.from({ length: 501 }, () => add({ intervalSeconds: 5, heartbeatGraceSeconds: 0 })));
  const missed = await addHeartbeat(await otherAccount(runtime), at(1), {
    intervalSeconds: 5,
    heartbeatGraceSeconds: 0,
  });
  for (let second = 2; second <= 8; second += HELD_EVERY) await reopen(second);
  t.like(await watch(8), { missed: 502, decided: 251 });
  t.is(await stateOf({ ...runtime, tenantId: missed.monitor.tenantId }, missed), 'down');
});

test.serial(
  'beyond 3,000 pending observations of an account only the first of each heartbeat can change its state',
  async (t) => {
    const { runtime, at, add, take, watch } = await stage(t);
    const [flooding, quiet, more] = [
      await Promise.all(Array.from({ length: 50 }, () => add())),
      await add(),
      await add(),
    ];
    const [first = quiet] = flooding;
    await queueObservations(runtime, flooding, { each: 60, atMs: at(0) });
    t.is(await take(2, first, FAIL), 'crowded');
    t.is(await take(2, first), 'crowded');
    t.is(await take(2, quiet, FAIL), 'taken');
    t.is(await take(3, quiet), 'crowded');
    t.is(await take(2, first, START), 'taken');
    await runtime.database.pool.query(`UPDATE heartbeat_observations SET sight = 'missed' WHERE sight = 'fail'`);
    t.is(await take(2, first), 'taken', 'missed deadlines do not count toward the limit');
    await runtime.database.pool.query(`UPDATE heartbeat_observations SET sight = 'fail' WHERE sight = 'missed'`);
    t.deepEqual(
      await takePings(
        runtime.database,
        [FAIL, SUCCESS].map((ping) => ({ token: more.token, ping })),
        at(4),
      ),
      ['taken', 'crowded'].map((outcome) => ({ outcome, tenantId: runtime.tenantId })),
    );
    const other = await otherAccount(runtime);
    t.is(await take(2, await addHeartbeat(other, at(0)), FAIL), 'taken');
    while ((await watch(5)).decided > 0);
    t.is(await take(6, quiet), 'taken', 'the next ping decides instead of the dropped one');
    await watch(7);
    t.is(await stateOf(runtime, quiet), 'up');
  },
);

test.serial('a loss recorded by a clock far ahead does not keep pings unavailable', async (t) => {
  const { runtime, at, add, reopen } = await stage(t);
  await add();
  await recordLostPings(runtime.database, { fromMs: at(3600), toMs: at(3601) });
  await reopen(2);
  const { rows } = await runtime.database.pool.query(
    `SELECT lost_from, lost_to FROM service_marks WHERE name = 'pings'`,
  );
  t.deepEqual(rows, [{ lost_from: null, lost_to: null }]);
});

test.serial('short gaps in availability forgive no heartbeat', async (t) => {
  const { runtime, at, add } = await stage(t);
  await add();
  for (let second = 2; second <= 90; second += 2)
    t.deepEqual(await recordPingAvailability(runtime.database, () => at(second)), { forgiven: 0, isAwaited: true });
});

test.serial('concurrent watchers report each heartbeat once and miss none', async (t) => {
  const { runtime, at, add, take, watch, outcomes } = await stage(t);
  const heartbeats = await Promise.all(Array.from({ length: 60 }, () => add()));
  for (const heartbeat of heartbeats.slice(0, 20)) await take(1, heartbeat);
  await watch(2);
  for (const heartbeat of heartbeats.slice(0, 10)) await take(50, heartbeat, FAIL);
  for (let second = 2; second <= 92; second += 2) await recordPingAvailability(runtime.database, () => at(second));
  await Promise.all(Array.from({ length: 4 }, () => watch(92)));
  await watch(92.5);
  const counted = outcomes
    .flatMap(({ transitions }) => transitions)
    .map(({ monitorId, change }) => `${monitorId} ${change.to}`);
  t.is(counted.length, 20 + 60);
  t.is(new Set(counted).size, counted.length);
  t.is(await countOf(runtime, 'heartbeat_observations'), 0);
});

test.serial('if a watcher dies between deciding and cleaning up, the next one repeats nothing', async (t) => {
  const { runtime, add, take, at, watch, changes } = await stage(t);
  const heartbeat = await add();
  await take(1, heartbeat, FAIL);
  const now = () => at(1.5);
  const evaluate = createEvaluator({ ...runtime, now });
  const dying = watchHeartbeats({
    database: runtime.database,
    metrics: runtime.metrics,
    now,
    evaluate: async (results) => {
      await evaluate(results);
      throw new Error('killed');
    },
    announce: () => undefined,
  });
  await t.throwsAsync(dying, { message: 'killed' });
  t.like(await watch(2), { decided: 1 });
  t.deepEqual(changes(), []);
  t.is(await stateOf(runtime, heartbeat), 'down');
  t.is(await countOf(runtime, 'transitions'), 1);
});

test.serial('a ping decides even if no process watched for a long time', async (t) => {
  const { runtime, add, take, watch } = await stage(t);
  const heartbeat = await add({ intervalSeconds: 1, heartbeatGraceSeconds: 86_400 });
  await take(1, heartbeat);
  await watch(4000);
  t.is(await stateOf(runtime, heartbeat), 'up');
});

test.serial('the sweep ignores heartbeats, however long they are silent', async (t) => {
  const { runtime, at, add, take, watch } = await stage(t);
  const [silent, pinged] = [await add({ intervalSeconds: 10 }), await add({ intervalSeconds: 10 })];
  await take(1, pinged);
  await watch(2);
  for (let second = 0; second <= 600; second += 10)
    t.is((await sweep({ ...runtime, now: () => at(second) })).transitions, 0);
  t.is(await stateOf(runtime, silent), 'pending');
  t.is(await stateOf(runtime, pinged), 'up');
});

test.serial(`a deadline counts ${COUNTED_AFTER} s after it, once pings that came in time are stored`, async (t) => {
  const { add, watch, reopen } = await stage(t);
  await add({ intervalSeconds: 2, heartbeatGraceSeconds: 0 });
  await reopen(2.1);
  t.is((await watch(2.1)).missed, 0);
  await reopen(2 + COUNTED_AFTER);
  t.is((await watch(2 + COUNTED_AFTER)).missed, 1);
});

/**
 * A schedule with a run each minute, and the second of its first run after `from`. These tests run on simulated time,
 * but cron's minutes start with those of the clock.
 */
const MINUTELY = { cron: '* * * * *', timezone: 'Europe/Berlin', early_seconds: 20 };
const runAfter = (at: (second: number) => number, from: number) =>
  (Math.ceil((at(from) + 1) / 60_000) * 60_000 - at(0)) / SECOND;
const toMs = (second: number) => Math.round(second * SECOND) / SECOND;

test.serial('a scheduled heartbeat is down from the grace period after a missed run, and names its time', async (t) => {
  const { runtime, at, add, take, live, changes } = await stage(t);
  const heartbeat = await add({ heartbeat: { schedule: MINUTELY }, heartbeatGraceSeconds: 5 });
  const first = runAfter(at, 25);
  await take(first - 15, heartbeat);
  await live(first - 15, first + 55);
  t.is(await stateOf(runtime, heartbeat), 'up', 'the early ping counted for the first run');
  await live(first + 55, first + 66);
  t.deepEqual(changes(), [
    { to: 'up', cause: null, at: toMs(first - 15) },
    { to: 'down', cause: 'heartbeat_missed', at: toMs(first + 65) },
  ]);
  const [incident] = await listIncidents(runtime.database, { tenantId: runtime.tenantId, limit: 5 });
  const utc = new Date(at(first + 60)).toISOString().slice(0, 16).replace('T', ' ');
  t.regex(
    incident?.reason ?? '',
    new RegExp(`^No ping came in time: expected at .* Europe/Berlin \\(${utc} UTC\\), grace period 5 s$`),
  );
});

test.serial('a scheduled heartbeat is forgiven only a run whose ping may have been lost', async (t) => {
  const { runtime, at, add, take, live, reopen, changes } = await stage(t);
  const heartbeat = await add({ heartbeat: { schedule: MINUTELY }, heartbeatGraceSeconds: 5 });
  const first = runAfter(at, 25);
  await take(first, heartbeat);
  await live(first, first + 10);
  t.is(await reopen(first + 20), 0, 'no ping was due in that time');
  await live(first + 20, first + 42);
  t.is(await reopen(first + 50), 1, 'an early ping may have been sent');
  await live(first + 50, first + 124.5);
  t.is(await stateOf(runtime, heartbeat), 'up');
  await live(first + 125, first + 126);
  t.deepEqual(changes().at(-1), { to: 'down', cause: 'heartbeat_missed', at: toMs(first + 125) });
});
