import { randomBytes } from 'node:crypto';
import { setInterval as ticks } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import test, { type ExecutionContext } from 'ava';
import { Client } from 'pg';
import { startEmbeddedPostgres } from '../../cli/embedded-postgres/start.ts';
import { runOn } from '../../models/sql.ts';
import { recordSetting } from '../../models/statistics/service-time.ts';
import { CHORES } from '../../queues/job-queues.ts';
import { startMaintain } from '../../workers/processes/maintain.ts';
import { pingTokenOf } from '../helpers/api-client.ts';
import { createTestDatabase } from '../helpers/database.ts';
import { newDataDir, startService, type Service } from '../helpers/running-service.ts';
import { openTestRuntime } from '../helpers/runtime.ts';
import { findFaketime, makeSettableClock, type SettableClock } from '../helpers/set-clock.ts';
import { PATIENTLY } from '../helpers/story.ts';
import { startTarget, type Target } from '../helpers/target.ts';
import { until } from '../helpers/until.ts';
import { withClient } from '../helpers/with-client.ts';

/** Time limit for a check every four seconds on a busy machine, in milliseconds. */
const CHECKED_MS = 120_000;

/**
 * Time limit for settling after a clock step, in milliseconds: a step counts after a minute, and is corrected within
 * seconds.
 */
const SETTLED_MS = 120_000;

/** A service with a monitor that is up, and a heartbeat that is pinged continuously. */
type Watched = {
  service: Service;
  databaseUrl: string;
  target: Target;
  heartbeatId: string;
  stopPinging: () => Promise<void>;
};

async function settableClock(t: ExecutionContext): Promise<SettableClock> {
  const clock = await makeSettableClock();
  if (clock === null) throw new Error('libfaketime is not installed');
  t.teardown(clock.remove);
  return clock;
}

async function watch(t: ExecutionContext, databaseUrl: string, env: Record<string, string>): Promise<Watched> {
  const target = await startTarget(t);
  const token = `spk_${randomBytes(24).toString('base64url')}`;
  const settings = {
    DATABASE_URL: databaseUrl,
    SECRET_KEYS: `k1:${randomBytes(32).toString('base64')}`,
    BOOTSTRAP_TOKEN: token,
    ALLOW_PRIVATE_NETWORK: 'true',
    PLAN_COUNT_LIMITS: 'false',
  };
  const service = await startService(t, { ...settings, ...env }, token);
  const create = async (body: object) => {
    const { status, json } = await service.call('POST', '/monitors', body);
    if (status !== 201) throw new Error(JSON.stringify(json));
    return json['id'];
  };
  await create({ name: 'Shop', target: target.url(), ...PATIENTLY });
  const heartbeatId = await create({ name: 'Backup', type: 'heartbeat', interval_seconds: 60, grace_seconds: 60 });
  const pingToken = pingTokenOf(await service.call('GET', `/monitors/${heartbeatId}`));
  const stopping = { isOver: false };
  const pinging = (async () => {
    for await (const _tick of ticks(500)) {
      if (stopping.isOver) return;
      const { status } = await fetch(`${service.url}/ping/${pingToken}`);
      if (status !== 200) throw new Error(`a ping was answered ${status}: ${service.program.output().slice(-4000)}`);
    }
  })();
  const stopPinging = async () => {
    stopping.isOver = true;
    await pinging;
  };
  t.teardown(stopPinging);
  await until(async () => (await service.call('GET', '/overview')).json['up'] === 2);
  return { service, databaseUrl, target, heartbeatId, stopPinging };
}

/** Waits until the target was checked the given number of times, and the last result is stored. */
async function checkedAgain({ target, databaseUrl }: Watched, times: number): Promise<void> {
  for (let left = times; left > 0; left -= 1) await target.nextHit('/', CHECKED_MS);
  const before = await countResults(databaseUrl);
  await until(async () => (await countResults(databaseUrl)) > before, { timeoutMs: CHECKED_MS });
}

const query = <Row extends object>(databaseUrl: string, text: string): Promise<Row[]> =>
  withClient(databaseUrl, async (client) => (await client.query(text)).rows);

/** Selects the sessions that wait for an advisory lock. */
const WAITING = `SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND wait_event = 'advisory'
  AND query LIKE '%pg_advisory_lock(1)'`;

/** Opens a session with a name like those of the service, and without timeouts. */
async function openSession(t: ExecutionContext, databaseUrl: string): Promise<Client> {
  const client = new Client({ connectionString: databaseUrl, application_name: 'spotcheck test' });
  client.on('error', () => undefined);
  await client.connect();
  t.teardown(() => client.end());
  return client;
}

async function countResults(databaseUrl: string): Promise<number> {
  const [row] = await query<{ count: string }>(databaseUrl, 'SELECT count(*) FROM single_results');
  return Number(row?.count);
}

async function changesOf({ databaseUrl }: Watched): Promise<string[]> {
  return (
    await query<{ to_state: string }>(databaseUrl, 'SELECT to_state FROM transitions ORDER BY detected_at, sequence')
  ).map((row) => row.to_state);
}

function stepsIn({ service }: Watched): { clock: string; seconds: number }[] {
  return (
    service.program
      .output()
      .split('\n')
      .filter((line) => line.includes('clock.stepped'))
      // A library's output to standard error may precede the line.
      .map((line) => JSON.parse(line.slice(line.indexOf('{'))) as { clock: string; by_ms: number })
      .map(({ clock, by_ms: byMs }) => ({ clock, seconds: Math.round(byMs / 1000) }))
  );
}

for (const [minutes, failures] of [
  [0, 0],
  [5, 1],
] as const)
  test.serial(
    `a start after a kill, ${minutes} min after the clock was set back, shortens the locks of jobs from before; ` +
      `${failures} attempts fail`,
    async (t) => {
      const runtime = await openTestRuntime(t);
      const { database, queues, backend } = runtime;
      const wasMs = Date.now() + 86_400_000;
      // All chores of the killed process were running, also the one that repairs the queue.
      for (const chore of CHORES) await queues.enqueueChore(chore);
      await database.pool.query(
        `UPDATE bullmq.job SET state = 'active', lock_token = 'killed', locked_until_ms = $1::bigint + 15000`,
        [wasMs],
      );
      await recordSetting(runOn(database.pool), { nowMs: Date.now() - minutes * 60_000, wasMs });
      const freeLocks = backend.freeLocks.bind(backend);
      let failed = 0;
      backend.freeLocks = async (nowMs) => {
        if (failed < failures) throw new Error(`attempt ${(failed += 1)} fails`);
        await freeLocks(nowMs);
      };

      const maintain = startMaintain(runtime, {
        allowPrivateNetwork: true,
        whoisServer: { host: '127.0.0.1', port: 9 },
        rdapBootstrapUrl: 'http://127.0.0.1:9/',
      });
      t.teardown(maintain.stop);
      await until(async () => {
        const { rows } = await database.pool.query<{ untilMs: string }>(
          `SELECT locked_until_ms AS "untilMs" FROM bullmq.job WHERE lock_token = 'killed'`,
        );
        return rows.every(({ untilMs }) => Number(untilMs) <= Date.now() + 15_000);
      });
      t.is(failed, failures);
    },
  );

if (findFaketime() !== null) {
  test.serial(
    "when a process's clock is set back and forth checks and pings go on, and each step is reported",
    async (t) => {
      const { databaseUrl, drop } = await createTestDatabase();
      t.teardown(drop);
      const clock = await settableClock(t);
      const watched = await watch(t, databaseUrl, clock.env);
      const steps: { clock: string; seconds: number }[] = [];
      let ahead = 0;
      for (const next of [-300, 3600, -86_400, 0]) {
        await clock.set(next);
        steps.push({ clock: 'machine', seconds: next - ahead });
        ahead = next;
        await until(() => stepsIn(watched).length === steps.length, { timeoutMs: CHECKED_MS });
        await checkedAgain(watched, 3);
      }
      await watched.stopPinging();
      t.deepEqual(stepsIn(watched), steps);
      t.deepEqual(await changesOf(watched), ['up', 'up']);
      t.is((await query(databaseUrl, 'SELECT 1 FROM incidents')).length, 0);
      const [newest] = await query<{ late: number }>(
        databaseUrl,
        'SELECT extract(epoch FROM now())::float8 - max(due_at) / 1000.0::float8 AS late FROM single_results',
      );
      t.true(Math.abs(newest?.late ?? Number.NaN) < CHECKED_MS / 1000, JSON.stringify(newest));
      t.true((await query(databaseUrl, `SELECT 1 FROM service_gaps WHERE kind = 'clock'`)).length > 0);
      const metrics = await (await fetch(`${watched.service.url}/metrics`)).text();
      t.regex(metrics, /^spotcheck_clock_steps_total\{clock="machine"\} 4$/m);
    },
  );

  test.serial(
    "when a machine's and PostgreSQL's clocks are set back checks go on, and the service's time follows",
    async (t) => {
      const clock = await settableClock(t);
      const postgres = await startEmbeddedPostgres({
        dataDir: await newDataDir(t),
        onProgress: () => undefined,
        isDurable: false,
        env: clock.env,
      });
      t.teardown(postgres.stop);
      const { databaseUrl } = postgres;
      // A signal handled while libfaketime reads its file sees the true time, 300 s ahead, at which every statement has
      // timed out. PostgreSQL sends itself one after waiting this long for a lock.
      await query(databaseUrl, `ALTER ROLE CURRENT_USER SET deadlock_timeout = '1min'`);
      const watched = await watch(t, databaseUrl, clock.env);
      const readiness = async () => (await (await fetch(`${watched.service.url}/readyz`)).json()) as object;
      await until(async () => isDeepStrictEqual(await readiness(), { status: 'ready', database: true, queue: true }));

      const holder = await openSession(t, databaseUrl);
      await holder.query('SELECT pg_advisory_lock(1)');
      const waiter = await openSession(t, databaseUrl);
      const waiting = t.throwsAsync(waiter.query('SELECT pg_advisory_lock(1)'), { code: '57P01' });
      await until(async () => (await query(databaseUrl, WAITING)).length === 1);

      await clock.set(-300);
      await until(() => stepsIn(watched).some((step) => step.clock === 'database' && step.seconds === -300), {
        timeoutMs: CHECKED_MS,
      });
      await waiting;
      t.deepEqual((await holder.query('SELECT 1 AS one')).rows, [{ one: 1 }]);
      await until(() => watched.service.program.output().includes('clock.sessions_ended'));
      const isSet = { status: 'ready', database: true, queue: true, clock: 'set' };
      await until(async () => isDeepStrictEqual(await readiness(), isSet));
      await checkedAgain(watched, 3);

      await until(() => stepsIn(watched).some((step) => step.clock === 'service' && step.seconds === -300), {
        timeoutMs: SETTLED_MS,
      });
      await checkedAgain(watched, 5);
      await until(async () => !('clock' in (await readiness())), { timeoutMs: CHECKED_MS });
      await watched.stopPinging();
      t.deepEqual(await changesOf(watched), ['up', 'up']);
      t.is((await query(databaseUrl, 'SELECT 1 FROM incidents')).length, 0);
      const ahead = await query(
        databaseUrl,
        `SELECT 'result' AS what FROM single_results WHERE due_at > extract(epoch
         FROM now() + interval '5 seconds') * 1000
       UNION ALL SELECT 'mark ' || name FROM service_marks WHERE at > extract(epoch
         FROM now() + interval '5 seconds') * 1000
       UNION ALL SELECT 'heartbeat' FROM heartbeats WHERE heard_at > extract(epoch
         FROM now() + interval '5 seconds') * 1000
       UNION ALL SELECT 'transition' FROM transitions WHERE detected_at > extract(epoch
         FROM now() + interval '5 seconds') * 1000`,
      );
      t.deepEqual(ahead, []);
      t.true((await query(databaseUrl, `SELECT 1 FROM service_gaps WHERE kind = 'clock'`)).length > 0);
    },
  );
}
