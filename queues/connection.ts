import { createPostgresBackend, Queue, Worker, type Job, type WorkerOptions } from 'bullmq';
import { Cluster, Redis } from 'ioredis';
import { Pool } from 'pg';
import { clientClass, type SessionSettings } from '../postgres/client.ts';

export type QueueBackendOptions = {
  /** PostgreSQL that holds the queues when there is no Redis. */
  databaseUrl: string;
  /** Redis nodes, `redis://` or `rediss://`; more than one is a Cluster; none means queues in PostgreSQL. */
  redisUrls: readonly string[];
  /** First part of every Redis key; default `spotcheck`. PostgreSQL needs none: a database holds one installation. */
  prefix?: string;
  /** Told of every connection error; BullMQ goes on by itself when the backend is back. */
  onError: (error: Error) => void;
};

/** What a worker does with one job; its result is kept with the job for the board. */
export type JobProcessor<Data> = (job: Job<Data>, token: string | undefined) => Promise<unknown>;

/**
 * What a worker may be told; everything else is the same for all workers. A lock is renewed at half its time for as long as its worker
 * lives, so that `lockDurationMs` is not how long a job may take, but how soon a killed worker's job is free for another.
 */
export type JobWorkerOptions = { concurrency: number; lockDurationMs: number; keepCompleted?: number };

/** The one place that knows where queues live: both backends behave alike behind it. */
export type QueueBackend = {
  kind: 'postgres' | 'redis';
  /** The connection of the producers, for whoever else counts in Redis; null on PostgreSQL. */
  redis: Redis | Cluster | null;
  createQueue<Data>(name: string): Queue<Data>;
  createWorker<Data>(name: string, processor: JobProcessor<Data>, options: JobWorkerOptions): Worker<Data>;
  /**
   * Runs a change of job schedulers by itself, whoever else changes some. On PostgreSQL two changes of one scheduler at once can leave two
   * jobs; Redis runs each as one script.
   */
  exclusively<Result>(change: () => Promise<Result>): Promise<Result>;
  /**
   * Lets no lock last longer than one that is renewed at `nowMs`: after the time was set back, a killed worker's job would wait for the old one. Redis
   * measures locks by itself.
   */
  freeLocks(nowMs: number): Promise<void>;
  /** True when the backend answers within a second, and takes what it is given: a Redis without room answers and refuses. */
  isReachable(): Promise<boolean>;
  /** Closes the connections; queues and workers are closed before. */
  close(): Promise<void>;
};

/** Failed jobs stay on the board for two days, at most so many of a queue. */
const KEEP_FAILED = { age: 2 * 86_400, count: 500 };

/**
 * How often expired locks are looked for, in milliseconds: with the lock itself this is what a kill delays an alert by. A look costs
 * PostgreSQL 0.4 ms, so that all queues of an idle installation together stay far below a thousandth of a core.
 */
const STALLED_INTERVAL_MS = 5000;

/** No worker of ours locks a job for longer at a time, in milliseconds. */
const LONGEST_LOCK_MS = 60_000;

/** How long a producer waits for the backend before the call fails, in milliseconds: an API request must not hang on a queue. */
const COMMAND_TIMEOUT_MS = 5000;

/** After this a statement of the queue's is given up with its connection: a server that was cut off never answers it, in milliseconds. */
const QUERY_TIMEOUT_MS = 15_000;

/**
 * Sessions of the queue's. Their commits do not wait for the disk: what a crash takes back of a queue is made again from the rows, as if Redis had lost it.
 */
const SESSION: SessionSettings = { application_name: 'spotcheck queue', search_path: 'bullmq', deadlock_timeout: '50ms', jit: 'off', synchronous_commit: 'off' };

/** Opens the backend; connects lazily and reconnects by itself. */
export function openQueueBackend(options: QueueBackendOptions): QueueBackend {
  return options.redisUrls.length > 0 ? redisBackend(options) : postgresBackend(options);
}

function postgresBackend(options: QueueBackendOptions): QueueBackend {
  const Client = clientClass(options.databaseUrl, SESSION);
  const pools: Pool[] = [];
  let isClosing = false;
  // Connections that break while we part from them are no news.
  const onError = (error: Error) => {
    if (!isClosing) options.onError(error);
  };
  // One connection for statements and one for LISTEN: a worker's statements then never wait for each other's locks.
  const openPool = (connectionTimeoutMillis: number, max = 2) => {
    const pool = new Pool({
      Client,
      max,
      keepAlive: true,
      connectionTimeoutMillis,
      query_timeout: QUERY_TIMEOUT_MS,
    });
    pool.on('error', onError);
    pools.push(pool);
    return pool;
  };
  const producers = openPool(COMMAND_TIMEOUT_MS);
  // Of one connection: whoever has it, has the changes of this process in line behind it.
  const changers = openPool(QUERY_TIMEOUT_MS, 1);
  return {
    kind: 'postgres',
    redis: null,
    createQueue: <Data>(name: string) => {
      const queue = new Queue(name, { connection: producers, skipWaitingForReady: true }, createPostgresBackend);
      queue.on('error', onError);
      return asCommonQueue<Data>(queue);
    },
    createWorker: <Data>(name: string, processor: JobProcessor<Data>, own: JobWorkerOptions) => {
      // Without a timeout: BullMQ remembers a first connection that timed out for good, and its worker then asks again without a pause.
      const worker = new Worker(name, processor, { ...workerOptions(own), connection: openPool(0) }, createPostgresBackend);
      worker.on('error', onError);
      return asCommonWorker<Data>(worker);
    },
    exclusively: (change) => holdingLock(changers, change),
    freeLocks: async (nowMs) => {
      await producers.query(`UPDATE job SET locked_until_ms = $1::bigint WHERE state = 'active' AND locked_until_ms > $1::bigint`, [nowMs + LONGEST_LOCK_MS]);
    },
    isReachable: () => answersInTime(producers.query('SELECT 1')),
    close: async () => {
      isClosing = true;
      await answersInTime(Promise.all(pools.map((pool) => pool.end())));
    },
  };
}

function redisBackend({ redisUrls, prefix = 'spotcheck', onError }: QueueBackendOptions): QueueBackend {
  const clients: (Redis | Cluster)[] = [];
  const connect = (role: 'producer' | 'worker') => {
    const client = connectRedis(redisUrls, role);
    client.on('error', onError);
    clients.push(client);
    return client;
  };
  const producer = connect('producer');
  // A hash tag for each queue: all keys of a queue share a slot, and queues spread over a Cluster.
  const prefixOf = (name: string) => `{${prefix}:${name}}`;
  return {
    kind: 'redis',
    redis: producer,
    createQueue: <Data>(name: string) => {
      // BullMQ asks for the version once, and where that takes longer than a producer waits its queue refuses everything for good. Workers ask as well, and wait.
      const queue = new Queue<Data>(name, { connection: producer, prefix: prefixOf(name), skipWaitingForReady: true, skipVersionCheck: true });
      queue.on('error', onError);
      return asCommonQueue<Data>(queue);
    },
    createWorker: <Data>(name: string, processor: JobProcessor<Data>, own: JobWorkerOptions) => {
      const worker = new Worker<Data>(name, processor, { ...workerOptions(own), connection: connect('worker'), prefix: prefixOf(name) });
      worker.on('error', onError);
      return asCommonWorker<Data>(worker);
    },
    exclusively: (change) => change(),
    freeLocks: () => Promise.resolve(),
    isReachable: () => answersInTime(producer.set(`{${prefix}}:ready`, '1', 'EX', 60)),
    close: async () => {
      await Promise.all(clients.map(leaveRedis));
    },
  };
}

/** The lock ends with its transaction, and so with its connection where that breaks. */
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

/** Producers fail fast when Redis is away; workers wait for it as long as it takes. */
function connectRedis(urls: readonly string[], role: 'producer' | 'worker'): Redis | Cluster {
  const retryStrategy = (attempt: number) => Math.min(2000, 50 * 2 ** Math.min(attempt, 6));
  const options =
    role === 'producer'
      ? { maxRetriesPerRequest: 1, commandTimeout: COMMAND_TIMEOUT_MS, retryStrategy }
      : { maxRetriesPerRequest: null, retryStrategy };
  const [first = ''] = urls;
  if (urls.length === 1) return new Redis(first, options);
  const { username, password, protocol } = new URL(first);
  return new Cluster([...urls], {
    clusterRetryStrategy: retryStrategy,
    redisOptions: { ...options, username, password, ...(protocol === 'rediss:' && { tls: {} }) },
  });
}

/** Takes leave of a Redis that listens; a connection that is away or does not answer is dropped, or the stop would wait for it. */
async function leaveRedis(client: Redis | Cluster): Promise<void> {
  if (client.status === 'ready') await answersInTime(client.quit());
  client.disconnect();
}

function workerOptions({ concurrency, lockDurationMs, keepCompleted = 0 }: JobWorkerOptions): Omit<WorkerOptions, 'connection'> {
  return {
    concurrency,
    lockDuration: lockDurationMs,
    // A job of a killed worker comes back; how often is for the processor to limit, which knows what it already did.
    maxStalledCount: 10,
    stalledInterval: STALLED_INTERVAL_MS,
    // Jobs announce themselves; this is how often an idle worker looks all the same, in seconds. A wait that begins while PostgreSQL
    // goes away hangs on a listener that is gone: nothing wakes it but this, and alerts wait for it.
    drainDelay: 10,
    runRetryDelay: 1000,
    removeOnComplete: { count: keepCompleted },
    removeOnFail: KEEP_FAILED,
  };
}

async function answersInTime(answer: Promise<unknown>): Promise<boolean> {
  const answered = answer.then(
    () => true,
    () => false,
  );
  return await Promise.race([answered, new Promise<boolean>((resolve) => setTimeout(resolve, 1000, false).unref())]);
}

/** The one cast of queues: their classes carry the backend in their type, and nothing outside this file depends on which it is. */
function asCommonQueue<Data>(queue: unknown): Queue<Data> {
  return queue as Queue<Data>;
}

/** The one cast of workers, likewise. */
function asCommonWorker<Data>(worker: unknown): Worker<Data> {
  return worker as Worker<Data>;
}
