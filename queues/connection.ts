import {
  LockManager,
  Queue,
  Worker,
  createPostgresBackend,
  type ConnectionOptions,
  type IQueueBackend,
  type Job,
  type JobProgress,
  type LockManagerWorkerContext,
  type RedisQueueBackend,
  type WorkerOptions,
} from 'bullmq';
import type { Redis, RedisOptions } from 'ioredis';
import { Pool } from 'pg';
import { DAY_SECONDS, isFulfilled, within } from '../core/time.ts';
import { clientClass, type SessionSettings } from '../postgres/client.ts';
import { COMMAND_TIMEOUT_MS, SupervisedWorker, explainRedisError, redisServers, type RedisRole } from './redis.ts';

type QueueBackendOptions = {
  /** PostgreSQL database that holds the queues if there is no Redis. */
  databaseUrl: string;
  /**
   * The value of `REDIS_URL`: a server, comma-separated nodes of a Cluster, or sentinels. Null means queues in
   * PostgreSQL.
   */
  redisUrl: string | null;
  /** Timeout of a producer's call, in milliseconds; only tests set it, on machines that are temporarily slow. */
  commandTimeoutMs?: number;
  /** Prefix of every Redis key; default `spotcheck`. PostgreSQL needs none: a database holds one installation. */
  prefix?: string;
  /** Called with connection errors, at most once in ten seconds for each kind. BullMQ reconnects by itself. */
  onError: (error: Error) => void;
  /** Called for each Redis worker that was reopened because it took no jobs while some waited. */
  onWorkerReopened?: (queue: string) => void;
};

/** Processes one job; its result is stored with the job for the board. */
type JobProcessor<Data> = (job: Job<Data>, token: string | undefined) => Promise<unknown>;

/**
 * Options of a worker; the others are the same for all workers. A live worker renews its lock at half its time, so
 * `lockDurationMs` does not limit a job: it is how soon the job of a killed worker is free for another.
 */
type JobWorkerOptions<Data> = {
  concurrency: number;
  lockDurationMs: number;
  keepCompleted?: number;
  onFailed: (job: Job<Data> | undefined, error: Error) => void;
};

/** A running worker; `close` takes no new job and lets the current ones finish. */
type JobWorker = { close(): Promise<void> };

/** Interface of both backends, which behave alike; only this file depends on where queues live. */
export type QueueBackend = {
  kind: 'postgres' | 'redis';
  /** Connection for other counters in Redis, which prefixes all keys with its own tag; null on PostgreSQL. */
  readonly redis: Redis | null;
  createQueue<Data>(name: string): Queue<Data>;
  createWorker<Data>(name: string, processor: JobProcessor<Data>, options: JobWorkerOptions<Data>): JobWorker;
  /**
   * Runs a change of job schedulers exclusively of other changes. On PostgreSQL, two simultaneous changes of one
   * scheduler can leave two jobs; Redis runs each as one script.
   */
  exclusively<Result>(change: () => Promise<Result>): Promise<Result>;
  /**
   * Shortens locks that last longer than one renewed at `nowMs`, and has expired ones searched for again. After the
   * clock was set back, a killed worker's job would otherwise wait for the old times. Redis measures them by itself.
   */
  freeLocks(nowMs: number): Promise<void>;
  /** Returns how often a connection was lost: a server that is reached again may have lost the latest writes. */
  countLosses(): number;
  /**
   * Returns the names of this process's queues that do not respond within a second, or refuse writes, such as a Redis
   * out of memory. Empty if all work.
   */
  findAway(): Promise<string[]>;
  /** Closes the connections; close queues and workers first. */
  close(): Promise<void>;
};

/** Retention of failed jobs on the board: two days, at most this many per queue. */
const KEEP_FAILED = { age: 2 * DAY_SECONDS, count: 500 };

/**
 * Interval of checks for expired locks, in milliseconds; together with the lock it is the delay of an alert after a
 * kill. A check costs PostgreSQL 0.4 ms, so all queues of an idle installation together use far less than a thousandth
 * of a core.
 */
const STALLED_INTERVAL_MS = 5000;

/** The longest lock of any worker, in milliseconds. */
const LONGEST_LOCK_MS = 15_000;

/**
 * Timeout of a queue statement, in milliseconds; it also closes the connection, because a server that was cut off never
 * responds.
 */
const QUERY_TIMEOUT_MS = 15_000;

/**
 * Session settings of the queue. Commits do not wait for the disk: jobs that a crash loses are restored from the rows,
 * as after a loss in Redis.
 */
const SESSION: SessionSettings = {
  application_name: 'spotcheck queue',
  search_path: 'bullmq',
  deadlock_timeout: '50ms',
  jit: 'off',
  synchronous_commit: 'off',
};

/** Opens the backend; connects lazily and reconnects by itself. */
export function openQueueBackend(options: QueueBackendOptions): QueueBackend {
  const onError = withoutRepeats(options.onError);
  const { redisUrl } = options;
  return redisUrl === null
    ? new PostgresBackend({ ...options, onError })
    : new RedisBackend({ ...options, redisUrl, onError });
}

class PostgresBackend implements QueueBackend {
  readonly kind = 'postgres';
  readonly redis = null;
  readonly #Client: ReturnType<typeof clientClass>;
  readonly #options: QueueBackendOptions;
  readonly #pools: Pool[] = [];
  readonly #names = new Set<string>();
  /** Connections of queues. */
  readonly #producers: Pool;
  /** One connection: other scheduler changes of this process queue behind the lock holder. */
  readonly #changers: Pool;
  #isClosing = false;
  #losses = 0;

  constructor(options: QueueBackendOptions) {
    this.#options = options;
    this.#Client = clientClass(options.databaseUrl, SESSION);
    this.#producers = this.#openPool(options.commandTimeoutMs ?? COMMAND_TIMEOUT_MS);
    this.#changers = this.#openPool(QUERY_TIMEOUT_MS, 1);
  }

  createQueue<Data>(name: string): Queue<Data> {
    this.#names.add(name);
    const queue = new Queue(name, { connection: this.#producers, skipWaitingForReady: true }, createPostgresBackend);
    queue.on('error', this.#onError);
    return asCommonQueue<Data>(queue);
  }

  createWorker<Data>(name: string, processor: JobProcessor<Data>, options: JobWorkerOptions<Data>): JobWorker {
    this.#names.add(name);
    // Without a timeout: BullMQ keeps a first connection that timed out forever, and its worker then retries without a
    // pause.
    const connection = this.#openPool(0);
    const worker = new RenewingWorker(
      name,
      processor,
      { ...workerOptions(options), connection },
      createPostgresBackend,
    );
    worker.on('error', this.#onError);
    worker.on('failed', options.onFailed);
    return worker;
  }

  exclusively<Result>(change: () => Promise<Result>): Promise<Result> {
    return holdingLock(this.#changers, change);
  }

  async freeLocks(nowMs: number): Promise<void> {
    // A worker that still has the old time may search: it then only marks the job, which is renewed before the next
    // search.
    await this.#producers.query(
      `UPDATE job SET locked_until_ms = $1::bigint, stalled_marked = false
       WHERE state = 'active' AND locked_until_ms > $1::bigint`,
      [nowMs + LONGEST_LOCK_MS],
    );
    // The time of the latest search: while it is ahead of now, BullMQ makes none.
    await this.#producers.query(`DELETE FROM meta WHERE field = 'stalled-check'`);
  }

  countLosses(): number {
    return this.#losses;
  }

  async findAway(): Promise<string[]> {
    return (await answersInTime(this.#producers.query('SELECT 1'))) ? [] : [...this.#names];
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    await answersInTime(Promise.all(this.#pools.map((pool) => pool.end())));
  }

  /**
   * Opens a pool: one connection for statements and one for LISTEN, so that a worker's statements never wait for each
   * other's locks.
   */
  #openPool(connectionTimeoutMillis: number, max = 2): Pool {
    const pool = new Pool({
      Client: this.#Client,
      max,
      keepAlive: true,
      connectionTimeoutMillis,
      query_timeout: Math.max(QUERY_TIMEOUT_MS, this.#options.commandTimeoutMs ?? 0),
    });
    pool.on('error', this.#onError);
    prepareCalls(pool);
    this.#pools.push(pool);
    return pool;
  }

  /** Errors of connections that are being closed do not matter; any other error may mean a lost connection. */
  readonly #onError = (error: Error): void => {
    this.#losses += 1;
    if (!this.#isClosing) this.#options.onError(error);
  };
}

class RedisBackend implements QueueBackend {
  readonly kind = 'redis';
  readonly #prefix: string;
  readonly #options: QueueBackendOptions;
  readonly #servers: ReturnType<typeof redisServers>;
  readonly #clients = new Set<Redis>();
  readonly #names = new Set<string>();
  readonly #producers = new Map<string, Redis>();
  #counting: Redis | null = null;
  #losses = 0;

  constructor(options: QueueBackendOptions & { redisUrl: string }) {
    this.#options = options;
    this.#prefix = options.prefix ?? 'spotcheck';
    this.#servers = redisServers(options.redisUrl, options.commandTimeoutMs);
  }

  get redis(): Redis {
    const tag = `{${this.#prefix}}`;
    this.#counting ??= this.#connect('producer', tag, { keyPrefix: tag });
    return this.#counting;
  }

  createQueue<Data>(name: string): Queue<Data> {
    const tag = this.#tagOf(name);
    // BullMQ queries the version once. If that takes longer than a producer waits, its queue then refuses everything.
    // Workers query it as well, but wait.
    const queue = new Queue<Data>(name, {
      connection: this.#producerOf(tag),
      prefix: tag,
      skipWaitingForReady: true,
      skipVersionCheck: true,
    });
    queue.on('error', this.#options.onError);
    return asCommonQueue<Data>(queue);
  }

  createWorker<Data>(name: string, processor: JobProcessor<Data>, options: JobWorkerOptions<Data>): JobWorker {
    const tag = this.#tagOf(name);
    const open = (process: JobProcessor<Data>) => {
      const connection = this.#connect('worker', tag);
      const worker = new RenewingWorker<Data>(name, process, { ...workerOptions(options), connection, prefix: tag });
      worker.on('error', (error) => this.#report(error));
      worker.on('failed', options.onFailed);
      const close = async () => {
        await worker.close();
        await leaveRedis(connection);
        this.#clients.delete(connection);
      };
      return { close };
    };
    return new SupervisedWorker({
      process: processor,
      open,
      concurrency: options.concurrency,
      hasWaiting: () => hasJob(this.#producerOf(tag), `${tag}:${name}`),
      onReopened: () => this.#options.onWorkerReopened?.(name),
    });
  }

  exclusively<Result>(change: () => Promise<Result>): Promise<Result> {
    return change();
  }

  freeLocks(): Promise<void> {
    return Promise.resolve();
  }

  countLosses(): number {
    return this.#losses;
  }

  async findAway(): Promise<string[]> {
    const queried = await Promise.all(
      [...this.#names].map(async (name) => {
        const tag = this.#tagOf(name);
        return (await answersInTime(takesWrites(this.#producerOf(tag), tag))) ? [] : [name];
      }),
    );
    return queried.flat();
  }

  async close(): Promise<void> {
    await Promise.all([...this.#clients].map(leaveRedis));
  }

  #connect(role: RedisRole, tag: string, options: RedisOptions = {}): Redis {
    const client = this.#servers.connect(role, tag, options);
    client.on('error', (error) => this.#report(error));
    this.#clients.add(client);
    return client;
  }

  #report(error: Error): void {
    this.#options.onError(explainRedisError(error, this.#servers));
  }

  /** Returns the connection of queues with a tag: in a Cluster each has its own, otherwise all share one. */
  #producerOf(tag: string): Redis {
    const key = this.#servers.isCluster ? tag : '';
    const known = this.#producers.get(key);
    if (known !== undefined) return known;
    const producer = this.#connect('producer', tag);
    // The first connection is not a loss, and a server that stays away is counted once, when it is back.
    producer.once('ready', () => producer.on('ready', () => void (this.#losses += 1)));
    this.#producers.set(key, producer);
    return producer;
  }

  /** Returns the hash tag of a queue: all its keys share a slot, and queues spread over a Cluster. */
  #tagOf(name: string): string {
    this.#names.add(name);
    return `{${this.#prefix}:${name}}`;
  }
}

/** A worker whose running jobs keep their locks although the clock was set back. */
class RenewingWorker<
  Data,
  Backend extends IQueueBackend = RedisQueueBackend,
  Connection = ConnectionOptions,
> extends Worker<Data, unknown, string, Backend, JobProgress, Connection> {
  protected override createLockManager(): void {
    const { lockDuration = LONGEST_LOCK_MS, lockRenewTime = lockDuration / 2 } = this.opts;
    // BullMQ declares the two types of `trace` differently.
    const context = this as LockManagerWorkerContext;
    this.lockManager = new TimerLockManager(context, { lockDuration, lockRenewTime, workerId: this.id });
  }
}

/**
 * Renews the locks of all jobs that were running a quarter of a lock's time ago. BullMQ measures that by the clock:
 * after it was set back, none would be renewed for as long as the step.
 */
class TimerLockManager extends LockManager {
  override trackJob(...[id, token, , hasSignal]: Parameters<LockManager['trackJob']>) {
    return super.trackJob(id, token, performance.now(), hasSignal);
  }

  override start(): void {
    if (this.closed) return;
    this.lockRenewalTimer = setTimeout(() => void this.#renew(), this.opts.lockRenewTime / 2);
  }

  async #renew(): Promise<void> {
    const before = performance.now() - this.opts.lockRenewTime / 2;
    const due = [...this.trackedJobs].filter(([, { ts }]) => ts <= before).map(([id]) => id);
    try {
      // It reports its failures as events of the worker.
      if (due.length > 0) await this.extendLocks(due);
    } finally {
      this.start();
    }
  }
}

/** Rejects if the server refuses writes: a server that was replaced or is out of memory still responds. */
async function takesWrites(redis: Redis, tag: string): Promise<void> {
  await redis.set(`${tag}:ready`, '1', 'EX', 60);
}

/**
 * Reports whether a job waits, or has been due for a second, by BullMQ's keys and scores. False while the queue is
 * paused at the board, or has a limit from there: its jobs may have to wait.
 */
async function hasJob(redis: Redis, queue: string): Promise<boolean> {
  const dueBefore = (Date.now() - 1000) * 0x10_00;
  const [limits, waiting, due] = await Promise.all([
    redis.hmget(`${queue}:meta`, 'paused', 'concurrency', 'max'),
    redis.llen(`${queue}:wait`),
    redis.zcount(`${queue}:delayed`, 0, dueBefore),
  ]);
  return limits.every((limit) => limit === null) && waiting + due > 0;
}

/** How long a message is not repeated, in milliseconds: connections break by the dozen, and each retries many times. */
const REPEATED_AFTER_MS = 10_000;

/** Maximum messages remembered. */
const REMEMBERED = 100;

function withoutRepeats(onError: (error: Error) => void): (error: Error) => void {
  const reportedAtMs = new Map<string, number>();
  return (error) => {
    const nowMs = performance.now();
    // Messages that differ only in an address or a job count as the same.
    const message = error.message.replaceAll(/\S*\d\S*/g, '#');
    if (nowMs - (reportedAtMs.get(message) ?? Number.NEGATIVE_INFINITY) < REPEATED_AFTER_MS) return;
    if (reportedAtMs.size >= REMEMBERED) reportedAtMs.clear();
    reportedAtMs.set(message, nowMs);
    onError(error);
  };
}

/** Matches a statement that reads or writes a table itself, rather than through a function. */
const TABLE = /\b(?:FROM|JOIN|INTO|UPDATE) [a-z_]+\b(?!\()/i;

/** SQLSTATE of a prepared statement whose columns an upgrade has changed; PostgreSQL refuses it before it runs. */
const COLUMNS_CHANGED = '0A000';

/**
 * Names BullMQ's function calls, so that a connection parses each once and mostly plans it once. Statements that read
 * tables themselves are planned with their values each time, since queues differ much in length. A call that an upgrade
 * changed is retried once without its name.
 */
function prepareCalls(pool: Pool): void {
  const names = new Map<string, string>();
  const query = pool.query.bind(pool) as (...given: unknown[]) => Promise<unknown>;
  const prepared = async (...given: unknown[]) => {
    const [text, values] = given;
    if (given.length !== 2 || typeof text !== 'string' || TABLE.test(text)) return await query(...given);
    const name = names.get(text) ?? `queue ${names.size}`;
    names.set(text, name);
    try {
      return await query({ name, text, values });
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === COLUMNS_CHANGED) return await query(text, values);
      throw error;
    }
  };
  pool.query = prepared as Pool['query'];
}

/** Runs work under an advisory lock, which ends with its transaction, and so with a broken connection. */
async function holdingLock<Result>(pool: Pool, work: () => Promise<Result>): Promise<Result> {
  const client = await pool.connect();
  let failure: Error | undefined;
  try {
    await client.query('BEGIN');
    await client.query(`SELECT pg_advisory_xact_lock(hashtext('spotcheck:schedulers'))`);
    return await work();
  } catch (error) {
    failure = error instanceof Error ? error : new Error(String(error));
    throw error;
  } finally {
    await client.query('COMMIT').catch((error: Error) => (failure = error));
    client.release(failure);
  }
}

/** Disconnects from Redis cleanly; drops a connection that does not respond, because it would delay shutdown. */
async function leaveRedis(client: Redis): Promise<void> {
  if (client.status === 'ready') await answersInTime(client.quit());
  client.disconnect();
}

function workerOptions({
  concurrency,
  lockDurationMs,
  keepCompleted = 0,
}: Omit<JobWorkerOptions<never>, 'onFailed'>): Omit<WorkerOptions, 'connection'> {
  return {
    concurrency,
    lockDuration: lockDurationMs,
    // The job of a killed worker returns; its processor limits how often, because it can tell which work is done.
    maxStalledCount: 10,
    stalledInterval: STALLED_INTERVAL_MS,
    // Jobs announce themselves; this is how often an idle worker polls anyway, in seconds. A wait that begins while
    // PostgreSQL goes away hangs on a dead listener, and only polling wakes it; alerts depend on that.
    drainDelay: 10,
    runRetryDelay: 1000,
    removeOnComplete: { count: keepCompleted },
    removeOnFail: KEEP_FAILED,
  };
}

async function answersInTime(answer: Promise<unknown>): Promise<boolean> {
  return await within(1000, isFulfilled(answer), false);
}

/** The only cast of queues: their type includes the backend, and only this file depends on it. */
function asCommonQueue<Data>(queue: unknown): Queue<Data> {
  return queue as Queue<Data>;
}
