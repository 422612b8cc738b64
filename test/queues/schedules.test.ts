import test, { type ExecutionContext } from 'ava';
import type { JobsOptions, Queue } from 'bullmq';
import { EARLY_MS, type ScheduleSlot } from '../../core/checks/slots.ts';
import { withConnection } from '../../postgres/client.ts';
import { openQueueBackend } from '../../queues/connection.ts';
import { JobQueues } from '../../queues/job-queues.ts';
import { migrateQueues } from '../../queues/migrate.ts';
import type { RegionJob } from '../../queues/payloads.ts';
import { createRecheckAdder, slotBeginsAt } from '../../queues/schedules.ts';
import { createTestDatabase } from '../helpers/database.ts';
import { listQueueBackends, type QueueBackend } from '../helpers/queue-backend.ts';
import { startOwnRedis } from '../helpers/redis.ts';
import { openTestRuntime } from '../helpers/runtime.ts';
import { until } from '../helpers/until.ts';
import { PATIENCE_MS } from '../helpers/with-client.ts';

const AGENT = 7;
const REGIONS = new Map([[AGENT, 'local']]);
const slot = (number: number, intervalSeconds = 60) => ({ agentNo: AGENT, intervalSeconds, slot: number });
const listing = (occupied: readonly ScheduleSlot[]) => () => Promise.resolve(occupied);

for (const backend of listQueueBackends()) {
  test(`${backend.name}: an occupied slot gets a job that fires shortly before the slot begins`, async (t) => {
    const { queues } = await openTestRuntime(t, backend);
    const beforeMs = Date.now();
    await queues.applyScheduleChange({ occupied: [slot(120)], emptied: [], rechecks: [] }, REGIONS);

    const [job] = await queues.checkQueue('local').getJobs(['delayed']);
    const beginsAt = slotBeginsAt(job?.id ?? '');
    t.is(beginsAt % 60_000, 30_000);
    t.true(beginsAt - EARLY_MS > beforeMs - 1000 && beginsAt <= Date.now() + 60_000 + EARLY_MS);
    t.deepEqual(job?.data, { agentNo: AGENT, intervalSeconds: 60, phase: 120 });
  });

  test(`${backend.name}: adding a slot repeatedly from two processes leaves one job`, async (t) => {
    const { queues, open } = await openTestRuntime(t, backend);
    const change = { occupied: [slot(3)], emptied: [], rechecks: [] };
    await Promise.all(
      [queues, open().queues].flatMap((process) =>
        Array.from({ length: 5 }, () => process.applyScheduleChange(change, REGIONS)),
      ),
    );

    t.is(await queues.checkQueue('local').getJobSchedulersCount(), 1);
    t.is((await queues.checkQueue('local').getJobs(['delayed', 'waiting'])).length, 1);
  });

  test(`${backend.name}: an emptied slot loses its scheduler and its waiting job`, async (t) => {
    const { queues } = await openTestRuntime(t, backend);
    await queues.applyScheduleChange({ occupied: [slot(3), slot(4)], emptied: [], rechecks: [] }, REGIONS);
    await queues.applyScheduleChange({ occupied: [], emptied: [slot(3)], rechecks: [] }, REGIONS);

    const jobs = await queues.checkQueue('local').getJobs(['delayed']);
    t.deepEqual(
      jobs.map((job) => job.data),
      [{ agentNo: slot(4).agentNo, intervalSeconds: slot(4).intervalSeconds, phase: 4 }],
    );
  });

  test(
    `${backend.name}: reconcile restores all schedules after the queue lost everything, and removes those ` +
      'unknown to the database',
    async (t) => {
      const { queues } = await openTestRuntime(t, backend);
      const occupied = [0, 60, 120, 180].map((number) => slot(number));
      await queues.applyScheduleChange(
        { occupied: [...occupied, slot(7), slot(1, 300)], emptied: [], rechecks: [] },
        REGIONS,
      );
      t.is(await queues.reconcileSchedules(listing(occupied), REGIONS, { nowMs: Date.now(), thorough: false }), 2);

      await queues.checkQueue('local').obliterate({ force: true });
      for (const scheduler of await queues.checkQueue('local').getJobSchedulers())
        await queues.checkQueue('local').removeJobScheduler(scheduler.key);

      t.is(await queues.reconcileSchedules(listing(occupied), REGIONS, { nowMs: Date.now(), thorough: false }), 4);
      t.is((await queues.checkQueue('local').getJobs(['delayed', 'waiting'])).length, 4);
      t.is(await queues.reconcileSchedules(listing(occupied), REGIONS, { nowMs: Date.now(), thorough: true }), 0);
    },
  );

  for (const moment of ['before', 'after'] as const)
    test(`${backend.name}: a slot exchanged just ${moment} the queue is read stays in the schedule`, async (t) => {
      const { queues } = await openTestRuntime(t, backend);
      let occupied = [slot(3), slot(4)];
      const reconcile = () =>
        queues.reconcileSchedules(() => Promise.resolve(occupied), REGIONS, { nowMs: Date.now(), thorough: true });
      t.is(await reconcile(), 2);

      // Another process changes the interval of a slot's only monitor.
      const exchange = async () => {
        occupied = [slot(3), slot(60, 300)];
        await queues.applyScheduleChange({ occupied: [slot(60, 300)], emptied: [slot(4)], rechecks: [] }, REGIONS);
      };
      const queue = queues.checkQueue('local');
      const read = queue.getJobSchedulers.bind(queue);
      queue.getJobSchedulers = async (...page) => {
        if (moment === 'before') await exchange();
        const schedulers = await read(...page);
        if (moment === 'after') await exchange();
        return schedulers;
      };
      await reconcile();
      t.deepEqual((await read()).map(({ key }) => key).toSorted(), ['300s-phase-60', '60s-phase-3']);
    });

  test(`${backend.name}: reconcile repairs no further schedule once the process stops`, async (t) => {
    const { queues } = await openTestRuntime(t, backend);
    const stopping = new AbortController();
    const reconcile = (numbers: readonly number[], signal: AbortSignal) =>
      queues.reconcileSchedules(listing(numbers.map((number) => slot(number))), REGIONS, {
        nowMs: Date.now(),
        thorough: true,
        signal,
      });
    t.is(await reconcile([3, 4], stopping.signal), 2);
    const queue = queues.checkQueue('local');
    const remove = queue.removeJobScheduler.bind(queue);
    queue.removeJobScheduler = async (id) => {
      stopping.abort();
      return await remove(id);
    };
    t.is(await reconcile([5, 6], stopping.signal), 1);
    t.is(await queue.getJobSchedulersCount(), 1);
    t.is(await reconcile([5, 6], new AbortController().signal), 3);
  });

  test(`${backend.name}: a waiting chore is not enqueued twice`, async (t) => {
    const { queues } = await openTestRuntime(t, backend);
    for (let round = 0; round < 3; round += 1) await queues.enqueueChore('sweep');
    const maintain = queues.all().find((queue) => queue.name === 'maintain');
    t.is((await maintain?.getJobs(['waiting']))?.length, 1);
  });
}

/** Runs `act` with the clock ahead by the given milliseconds. */
async function ahead<Result>(byMs: number, act: () => Promise<Result>): Promise<Result> {
  const now = Date.now;
  Date.now = () => now() + byMs;
  try {
    return await act();
  } finally {
    Date.now = now;
  }
}

for (const backend of listQueueBackends()) {
  for (const byMs of [300_000, 86_400_000]) {
    test.serial(
      `${backend.name}: after the clock is set back by ${byMs / 1000} s, slots fire within their interval again, ` +
        'and other delayed jobs are removed',
      async (t) => {
        const { queues, open } = await openTestRuntime(t, backend);
        const entries = [slot(3), slot(4), slot(0, 1)];
        const beforeMs = Date.now();
        const recheck = { agentNo: AGENT, atMs: beforeMs + byMs + 60_000 };
        await ahead(byMs, async () => {
          await queues.enqueueRechecks([recheck], REGIONS);
          await queues.applyScheduleChange({ occupied: entries, emptied: [], rechecks: [AGENT] }, REGIONS);
          await queues.enqueueAttempts([
            { deliveryId: 'dlv_1', channelId: 'nch_1', attempt: 2, dueAtMs: Date.now() + 60_000 },
          ]);
        });
        t.true(
          (await queues.checkQueue('local').getJobSchedulers()).every(
            ({ next }) => (next ?? 0) > beforeMs + byMs - 10_000,
          ),
        );

        await queues.clearAfterClockSetBack(REGIONS);
        t.is(
          await open().queues.reconcileSchedules(listing(entries), REGIONS, { nowMs: Date.now(), thorough: true }),
          entries.length,
        );
        const schedulers = await queues.checkQueue('local').getJobSchedulers();
        t.deepEqual(
          schedulers.map(({ next, every }) => (next ?? 0) <= Date.now() + Number(every)),
          entries.map(() => true),
        );
        t.is((await queues.checkQueue('local').getJobs(['delayed', 'waiting'])).length, entries.length);
        await queues.enqueueRechecks([recheck], REGIONS);
        t.is((await queues.checkQueue('local').getJobs(['delayed', 'waiting'])).length, entries.length + 1);
        await queues.clearAfterClockSetBack(REGIONS);
        t.is(
          (await queues.checkQueue('local').getJobs(['delayed', 'waiting'])).length,
          entries.length + 1,
          'a later round leaves rechecks of the new clock',
        );
        const deliver = queues.all().find((queue) => queue.name === 'deliver');
        t.deepEqual(await deliver?.getJobs(['delayed']), []);
        t.is(
          await open().queues.reconcileSchedules(listing(entries), REGIONS, { nowMs: Date.now(), thorough: true }),
          0,
        );
      },
    );
  }
}

test.serial(
  'postgres: after the clock is set back by an hour, the job of a killed worker goes to another one',
  async (t) => {
    const { queues, backend, databaseUrl } = await openTestRuntime(t);
    const query = (text: string) => withConnection(databaseUrl, (client) => client.query(text));
    const done: string[] = [];
    const startWorker = () =>
      backend.createWorker('maintain', (job) => Promise.resolve(done.push(job.name)), {
        concurrency: 1,
        lockDurationMs: 15_000,
        onFailed: () => undefined,
      });
    await ahead(3_600_000, async () => {
      const before = startWorker();
      await until(async () => (await query(`SELECT FROM bullmq.meta WHERE field = 'stalled-check'`)).rowCount === 1);
      await before.close();
    });
    await queues.enqueueChore('sweep');
    await query(`UPDATE bullmq.job SET state = 'active', lock_token = 'killed', locked_until_ms = 1`);

    await queues.clearAfterClockSetBack(REGIONS);
    const after = startWorker();
    t.teardown(() => after.close());
    await until(() => done.length > 0);
    t.deepEqual(done, ['sweep']);
  },
);

/** A lock's time that outlasts stalls of the machine; it is renewed after half of it. */
const LOCK_MS = 40_000;

test.serial('a job that runs while the clock is set back keeps its lock and is not started again', async (t) => {
  const starts: string[] = [];
  const held = Promise.withResolvers<void>();
  t.teardown(held.resolve);
  const opened = await Promise.all(listQueueBackends().map((backend) => openTestRuntime(t, backend)));
  await ahead(3_600_000, async () => {
    for (const { queues, backend } of opened) {
      const worker = backend.createWorker(
        'maintain',
        async () => {
          starts.push(backend.kind);
          await held.promise;
        },
        { concurrency: 2, lockDurationMs: LOCK_MS, onFailed: () => undefined },
      );
      t.teardown(() => (held.resolve(), worker.close()));
      await queues.enqueueChore('sweep');
    }
    await until(() => starts.length === opened.length);
  });
  for (const { queues, backend, database } of opened) {
    const queue = queues.all().find(({ name }) => name === 'maintain');
    const [job] = (await queue?.getActive()) ?? [];
    const redis = backend.redis?.duplicate({ keyPrefix: '' });
    t.teardown(() => redis?.disconnect());
    const lockEndsAtMs = async () => {
      if (redis !== undefined) return Date.now() + (await redis.pttl(`${queue?.toKey(job?.id ?? '')}:lock`));
      const { rows } = await database.pool.query(`SELECT locked_until_ms AS at FROM bullmq.job WHERE state = 'active'`);
      return Number(rows[0].at);
    };
    // In PostgreSQL, the lock ends 40 s from now, as it does in Redis.
    await backend.freeLocks(Date.now() + LOCK_MS - 15_000);
    const freedMs = await lockEndsAtMs();
    t.true(freedMs > Date.now() && freedMs <= Date.now() + LOCK_MS, `${freedMs - Date.now()} ms`);
    await until(async () => (await lockEndsAtMs()) > freedMs + 1000);
  }
  t.deepEqual(starts.toSorted(), opened.map(({ backend }) => backend.kind).toSorted());
});

test.serial('a freed lock is not taken for expired by a worker that still has the old time', async (t) => {
  const { queues, backend, database } = await openTestRuntime(t);
  const [begun, held] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const worker = backend.createWorker(
    'maintain',
    async () => {
      begun.resolve();
      await held.promise;
    },
    { concurrency: 1, lockDurationMs: 15_000, onFailed: () => undefined },
  );
  t.teardown(() => (held.resolve(), worker.close()));
  await queues.enqueueChore('sweep');
  await begun.promise;
  // As of an earlier search: the next one would return the job to the queue.
  await database.pool.query(`UPDATE bullmq.job SET stalled_marked = true WHERE state = 'active'`);
  const nowMs = Date.now() - 3_600_000;
  await backend.freeLocks(nowMs);
  const { rows } = await database.pool.query(
    `SELECT stalled_marked, locked_until_ms AS until FROM bullmq.job WHERE state = 'active'`,
  );
  t.deepEqual(rows, [{ stalled_marked: false, until: nowMs + 15_000 }]);
});

test.serial(
  'a recheck is enqueued again although the clock was set back while another was being enqueued',
  async (t) => {
    const addRecheck = createRecheckAdder();
    const added = Promise.withResolvers<void>();
    const jobs: string[] = [];
    const queue = {
      add: (_name: string, _data: RegionJob, { jobId }: JobsOptions) =>
        added.promise.then(() => void jobs.push(`${jobId}`)),
    } as unknown as Queue<RegionJob>;
    const recheck = { agentNo: AGENT, atMs: Date.now() + 120_000 };
    const first = await ahead(60_000, () => Promise.resolve([addRecheck(queue, recheck)]));
    const other = addRecheck(queue, { ...recheck, agentNo: AGENT + 1 });
    added.resolve();
    await Promise.all([...first, other]);
    await addRecheck(queue, recheck);
    t.is(jobs.length, 3);
  },
);

for (const backend of listQueueBackends())
  test(`${backend.name}: after a reconnect reconcile compares every schedule even if the count is right`, async (t) => {
    const { queues, backend: connected, loseConnections } = await openOwnQueues(t, backend);
    const reconcile = (numbers: readonly number[], nowMs = Date.now()) =>
      queues.reconcileSchedules(listing(numbers.map((number) => slot(number))), REGIONS, { nowMs, thorough: false });
    const schedulerNames = async () =>
      (await queues.checkQueue('local').getJobSchedulers()).map(({ name }) => name).toSorted();
    t.is(await reconcile([1, 3]), 2);
    t.is(await reconcile([1, 2]), 0, 'nothing indicates a loss');

    const before = connected.countLosses();
    await loseConnections();
    await until(() => connected.countLosses() > before);
    // Other connections may notice their loss only at the next statement, so a round may fail halfway.
    await until(() =>
      reconcile([1, 2]).then(
        () => true,
        () => false,
      ),
    );
    t.deepEqual(await schedulerNames(), ['every 60 s, slot 1', 'every 60 s, slot 2']);
    t.is(await reconcile([1, 2]), 0);
    // A loss together with the latest writes shows only once they are overdue.
    t.is(await reconcile([1, 2], Date.now() + 151_000), 2);
  });

/** Opens queues on a separate server or database that can lose all connections. */
async function openOwnQueues(t: ExecutionContext, { name }: QueueBackend) {
  const redis = name === 'redis' ? await startOwnRedis(t) : null;
  const { databaseUrl, drop } = await createTestDatabase();
  t.teardown(drop);
  await migrateQueues(databaseUrl);
  const backend = openQueueBackend({
    databaseUrl,
    redisUrl: redis?.url ?? null,
    commandTimeoutMs: PATIENCE_MS,
    onError: () => undefined,
  });
  const queues = new JobQueues(backend);
  t.teardown(() => queues.close().then(() => backend.close()));
  const loseConnections = () =>
    redis?.disconnectAll() ??
    withConnection(databaseUrl, (client) =>
      client.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
         WHERE datname = current_database() AND application_name = 'spotcheck queue'`,
      ),
    );
  return { queues, backend, loseConnections };
}
