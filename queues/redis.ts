import { Redis, type RedisOptions } from 'ioredis';
import { StandaloneConnector } from 'ioredis/built/connectors/index.js';
import { within } from '../core/time.ts';
import { ClusterNodes, connectorTo, slotOf, tlsTo, type Endpoint } from './cluster-node.ts';

/** Producers fail fast when Redis is away; workers wait for it indefinitely. */
export type RedisRole = 'producer' | 'worker';

/** Opens connections to the Redis of a `REDIS_URL`, each to the server that holds a key, even when the key moves. */
type RedisServers = {
  /** True if keys may live on different servers: then each queue has its own connections. */
  isCluster: boolean;
  connect: (role: RedisRole, key: string, own?: RedisOptions) => Redis;
};

/** Timeout of a producer's call, in milliseconds: an API request must not hang on a queue. */
export const COMMAND_TIMEOUT_MS = 5000;

/**
 * Silence after which a worker drops its connection to a server, in milliseconds; a worker waits 10 s for a job. A
 * server without a replacement gets longer.
 */
const SILENCE_MS = { replaceable: 15_000, only: 60_000 } as const;

/** Timeout of a connection attempt, in milliseconds: a host that is gone does not even refuse. */
const CONNECT_TIMEOUT_MS = 3000;

const SENTINEL_PORT = 26_379;
const SENTINEL_TIMEOUT_MS = 2000;

/** Errors of a server that is not, or not yet, the one to use; scripts of Redis 6 wrap them in a sentence. */
const NOT_HERE = /^(?:MOVED|ASK|TRYAGAIN|CLUSTERDOWN|MASTERDOWN|LOADING|READONLY)\b|-READONLY\b/;

/** Errors of a Cluster node for keys on another node. */
const OTHER_NODE = /^(?:MOVED|ASK)\b/;

/** Error of a server that becomes a replica, for clients that wait for a job. */
const NO_MASTER_ANY_MORE = /^UNBLOCKED\b/;

/** Error codes of untrusted certificates; the usual cause is a private certificate authority. */
const UNTRUSTED = new Set([
  'CERT_SIGNATURE_FAILURE',
  'CERT_UNTRUSTED',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);

/**
 * Connects to one server. A failed socket can emit another error, from a TLS alert, but ioredis listens for the first
 * only: the second would crash the process.
 */
class ServerConnector extends StandaloneConnector {
  constructor(options: unknown) {
    super(Object(options));
  }

  override async connect(emitter: Parameters<StandaloneConnector['connect']>[0]) {
    const socket = await super.connect(emitter);
    return socket.on('error', () => undefined);
  }
}

/** Parses the address: one server, the comma-separated nodes of a Cluster, or sentinels. */
export function redisServers(redisUrl: string, commandTimeoutMs = COMMAND_TIMEOUT_MS): RedisServers {
  const sentinel = sentinelOptions(redisUrl);
  if (sentinel !== null) {
    const server = { isCluster: false, silenceMs: SILENCE_MS.replaceable, commandTimeoutMs };
    return {
      isCluster: false,
      connect: (role, _key, own) => new Redis({ ...optionsOf(role, server), ...sentinel, ...own }),
    };
  }
  const [first = '', ...others] = redisUrl.split(',');
  if (others.length > 0) return clusterServers([first, ...others], commandTimeoutMs);
  const { protocol, hostname } = new URL(first);
  const tls = protocol === 'rediss:' && { tls: tlsTo(hostname) };
  const server = { isCluster: false, silenceMs: SILENCE_MS.only, commandTimeoutMs };
  return {
    isCluster: false,
    connect: (role, _key, own) =>
      new Redis(first, { ...optionsOf(role, server), ...tls, ...own, Connector: ServerConnector }),
  };
}

/** Adds advice for the operator to an error. */
export function explainRedisError(error: Error, { isCluster }: Pick<RedisServers, 'isCluster'>): Error {
  if (!isCluster && OTHER_NODE.test(error.message)) {
    const advice = 'REDIS_URL names one node of a Redis Cluster: name several of them, with commas between';
    return new Error(advice, { cause: error });
  }
  if (!('code' in error) || !UNTRUSTED.has(String(error.code))) return error;
  const remedy = 'name the file of its authority in NODE_EXTRA_CA_CERTS';
  return new Error(`The certificate of Redis is not trusted (${error.message}): ${remedy}`, { cause: error });
}

function clusterServers(urls: readonly string[], commandTimeoutMs: number): RedisServers {
  const { protocol, username, password } = new URL(urls[0] ?? '');
  const endpoints = urls.map((url): Endpoint => {
    const { hostname, port } = new URL(url);
    return { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port || 6379) };
  });
  const login = loginOf({ username, password });
  const nodes = new ClusterNodes(endpoints, { ...login, isSecure: protocol === 'rediss:' });
  const server = { isCluster: true, silenceMs: SILENCE_MS.replaceable, commandTimeoutMs };
  return {
    isCluster: true,
    connect(role, key, own) {
      return new Redis({ ...optionsOf(role, server), ...login, ...own, Connector: connectorTo(nodes, slotOf(key)) });
    },
  };
}

const SENTINEL_URL = new RegExp(
  [
    String.raw`^(?<scheme>rediss?)\+sentinel://`,
    '(?:(?<username>[^:@]*)(?::(?<password>[^@]*))?@)?',
    String.raw`(?<hosts>[^/?]+)/?(?<db>\d*)\?(?<query>.*)$`,
  ].join(''),
);

/**
 * Parses `redis+sentinel://user:password@host:port,host:port/0?name=mymaster`; `rediss+sentinel` uses TLS for all of
 * them. Null if the address is not one of sentinels.
 */
function sentinelOptions(redisUrl: string): RedisOptions | null {
  const parts = SENTINEL_URL.exec(redisUrl)?.groups ?? {};
  const { scheme, username = '', password = '', hosts = '', db = '', query = '' } = parts;
  if (scheme === undefined) return null;
  const parameters = new URLSearchParams(query);
  const sentinelUsername = parameters.get('sentinel_username');
  const sentinelPassword = parameters.get('sentinel_password');
  return {
    sentinels: hosts.split(',').map((address) => {
      const { hostname, port } = new URL(`redis://${address}`);
      return { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port || SENTINEL_PORT) };
    }),
    name: parameters.get('name') ?? '',
    db: Number(db),
    ...loginOf({ username, password }),
    ...(sentinelUsername !== null && { sentinelUsername }),
    ...(sentinelPassword !== null && { sentinelPassword }),
    ...(scheme === 'rediss' && { tls: {}, sentinelTLS: {}, enableTLSForSentinelMode: true }),
    sentinelCommandTimeout: SENTINEL_TIMEOUT_MS,
    sentinelRetryStrategy: (attempt) => Math.min(2000, 100 * attempt),
  };
}

function loginOf(given: { username: string; password: string }): { username?: string; password?: string } {
  const [username, password] = [decodeURIComponent(given.username), decodeURIComponent(given.password)];
  return { ...(username !== '' && { username }), ...(password !== '' && { password }) };
}

type ServerTimes = { isCluster: boolean; silenceMs: number; commandTimeoutMs: number };

function optionsOf(role: RedisRole, { isCluster, silenceMs, commandTimeoutMs }: ServerTimes): RedisOptions {
  const common = {
    connectTimeout: CONNECT_TIMEOUT_MS,
    retryStrategy: (attempt: number) => Math.min(2000, 50 * 2 ** Math.min(attempt, 6)),
  };
  if (role === 'worker') {
    const reconnectOnError = reconnecting({ isCluster, forMs: Number.POSITIVE_INFINITY });
    return { ...common, socketTimeout: silenceMs, maxRetriesPerRequest: null, reconnectOnError };
  }
  // The first caller's command has timed out by then, and the next must not wait on the same connection.
  const [socketTimeout, commandTimeout] = [2 * commandTimeoutMs, commandTimeoutMs];
  const reconnectOnError = reconnecting({ isCluster, forMs: commandTimeoutMs });
  return { ...common, socketTimeout, commandTimeout, maxRetriesPerRequest: 1, reconnectOnError };
}

/**
 * Reconnects if the server is not the one to use, and repeats the refused command. It repeats commands for at most
 * `forMs` at a stretch, or those whose callers have gone would pile up.
 */
function reconnecting({ isCluster, forMs }: { isCluster: boolean; forMs: number }): (error: Error) => false | 1 | 2 {
  let [beganAtMs, lastAtMs] = [0, Number.NEGATIVE_INFINITY];
  return ({ message }) => {
    if (NO_MASTER_ANY_MORE.test(message) || (!isCluster && OTHER_NODE.test(message))) return 1;
    if (!NOT_HERE.test(message)) return false;
    const nowMs = performance.now();
    if (nowMs - lastAtMs > COMMAND_TIMEOUT_MS) beganAtMs = nowMs;
    lastAtMs = nowMs;
    return nowMs - beganAtMs < forMs ? 2 : 1;
  };
}

/** One opening of a worker; `close` takes no new job and resolves when the running ones are done. */
type OpenedWorker = { close: () => Promise<void> };

/** Processes one job of any type. */
type Process<Job> = (job: Job, token: string | undefined) => Promise<unknown>;

type SupervisedWorkerOptions<Job> = {
  process: Process<Job>;
  /** Opens a worker with its own connections. */
  open: (process: Process<Job>) => OpenedWorker;
  /** Maximum jobs that run at a time. */
  concurrency: number;
  /** Reports whether a job could be taken now; rejects if the queue is away. */
  hasWaiting: () => Promise<boolean>;
  onReopened: () => void;
};

/** Interval of polls for whether jobs are taken, in milliseconds. A waiting job is taken within milliseconds. */
const POLL_MS = 10_000;

/** Consecutive polls with the same finding before a worker is given up. */
const IDLE_POLLS = 2;

/** How long shutdown waits for a hanging worker, in milliseconds. */
const LEAVE_MS = 1000;

/**
 * Reopens a worker that has taken nothing for two polls although a job waits and it has capacity. The worker may hang
 * on a connection that no longer responds, and a new one does not.
 */
export class SupervisedWorker<Job> {
  readonly #options: SupervisedWorkerOptions<Job>;
  readonly #left = new Set<Promise<void>>();
  readonly #timer: NodeJS.Timeout;
  #worker: OpenedWorker;
  #counts = { taken: 0, inHand: 0 };
  #takenAtPoll = 0;
  #idlePolls = 0;
  #isClosing = false;

  constructor(options: SupervisedWorkerOptions<Job>) {
    this.#options = options;
    this.#worker = this.#open();
    this.#timer = setInterval(() => void this.#poll(), POLL_MS).unref();
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    clearInterval(this.#timer);
    await this.#worker.close();
    await within(LEAVE_MS, Promise.all(this.#left), null);
  }

  #open(): OpenedWorker {
    // Counts for this opening alone: the previous worker may still run jobs.
    const counts = { taken: 0, inHand: 0 };
    this.#counts = counts;
    this.#takenAtPoll = 0;
    return this.#options.open(async (job, token) => {
      counts.taken += 1;
      counts.inHand += 1;
      try {
        return await this.#options.process(job, token);
      } finally {
        counts.inHand -= 1;
      }
    });
  }

  async #poll(): Promise<void> {
    const { taken, inHand } = this.#counts;
    const isIdle = taken === this.#takenAtPoll && inHand < this.#options.concurrency;
    this.#takenAtPoll = taken;
    const isStuck = isIdle && (await this.#options.hasWaiting().catch(() => false));
    this.#idlePolls = isStuck ? this.#idlePolls + 1 : 0;
    if (this.#idlePolls < IDLE_POLLS || this.#isClosing) return;
    this.#idlePolls = 0;
    const forget = () => void this.#left.delete(left);
    const left = this.#worker.close().then(forget, forget);
    this.#left.add(left);
    this.#worker = this.#open();
    this.#options.onReopened();
  }
}
