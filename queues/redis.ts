import { Redis, type RedisOptions } from 'ioredis';
import { StandaloneConnector } from 'ioredis/built/connectors/index.js';
import { within } from '../core/time.ts';
import { ClusterNodes, connectorTo, slotOf, tlsTo, type Endpoint } from './cluster-node.ts';

/** Producers fail fast when Redis is away; workers wait for it as long as it takes. */
export type RedisRole = 'producer' | 'worker';

/** Opens connections to the Redis of a `REDIS_URL`, each to the server that holds a key, wherever that goes. */
type RedisServers = {
  /** Whether keys may live on different servers: then each queue has connections of its own. */
  isCluster: boolean;
  connect: (role: RedisRole, key: string, own?: RedisOptions) => Redis;
};

/** A producer's call fails after this, in milliseconds: an API request must not hang on a queue. */
export const COMMAND_TIMEOUT_MS = 5000;

/**
 * A server that says nothing to a worker for this long is given up with its connection, in milliseconds. A worker waits
 * 10 s for a job, which is less. Where there is no other server it may take its time.
 */
const SILENCE_MS = { replaceable: 15_000, only: 60_000 } as const;

/** A host that is gone does not even refuse, in milliseconds. */
const CONNECT_TIMEOUT_MS = 3000;

const SENTINEL_PORT = 26_379;
const SENTINEL_TIMEOUT_MS = 2000;

/** What a server says that is not the one to ask (any more, or yet); scripts of Redis 6 hide it in a sentence. */
const NOT_HERE = /^(?:MOVED|ASK|TRYAGAIN|CLUSTERDOWN|MASTERDOWN|LOADING|READONLY)\b|-READONLY\b/;

/** What a node of a Cluster says of keys that are not its own. */
const OTHER_NODE = /^(?:MOVED|ASK)\b/;

/** What it says to those who wait for a job while it becomes a replica. */
const NO_MASTER_ANY_MORE = /^UNBLOCKED\b/;

/** Codes of certificates that cannot be trusted; the usual reason is an authority of one's own. */
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
 * Connects to one server. A socket that failed can fail once more, by an alert of TLS, and ioredis listens to the first
 * failure alone: the second would end the process.
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

/** Reads the address: one server, the nodes of a Cluster with commas between, or sentinels. */
export function redisServers(redisUrl: string): RedisServers {
  const sentinel = sentinelOptions(redisUrl);
  if (sentinel !== null) {
    const server = { isCluster: false, silenceMs: SILENCE_MS.replaceable };
    return {
      isCluster: false,
      connect: (role, _key, own) => new Redis({ ...optionsOf(role, server), ...sentinel, ...own }),
    };
  }
  const [first = '', ...others] = redisUrl.split(',');
  if (others.length > 0) return clusterServers([first, ...others]);
  const { protocol, hostname } = new URL(first);
  const tls = protocol === 'rediss:' && { tls: tlsTo(hostname) };
  const server = { isCluster: false, silenceMs: SILENCE_MS.only };
  return {
    isCluster: false,
    connect: (role, _key, own) =>
      new Redis(first, { ...optionsOf(role, server), ...tls, ...own, Connector: ServerConnector }),
  };
}

/** Says of an error what an operator can do about it. */
export function explainRedisError(error: Error, { isCluster }: Pick<RedisServers, 'isCluster'>): Error {
  if (!isCluster && OTHER_NODE.test(error.message)) {
    const advice = 'REDIS_URL names one node of a Redis Cluster: name several of them, with commas between';
    return new Error(advice, { cause: error });
  }
  if (!('code' in error) || !UNTRUSTED.has(String(error.code))) return error;
  const remedy = 'name the file of its authority in NODE_EXTRA_CA_CERTS';
  return new Error(`The certificate of Redis is not trusted (${error.message}): ${remedy}`, { cause: error });
}

function clusterServers(urls: readonly string[]): RedisServers {
  const { protocol, username, password } = new URL(urls[0] ?? '');
  const endpoints = urls.map((url): Endpoint => {
    const { hostname, port } = new URL(url);
    return { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port || 6379) };
  });
  const login = loginOf({ username, password });
  const nodes = new ClusterNodes(endpoints, { ...login, isSecure: protocol === 'rediss:' });
  const server = { isCluster: true, silenceMs: SILENCE_MS.replaceable };
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
 * Reads `redis+sentinel://user:password@host:port,host:port/0?name=mymaster`; `rediss+sentinel` is TLS to all of them.
 * Null where the address is none of sentinels.
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

function optionsOf(role: RedisRole, { isCluster, silenceMs }: { isCluster: boolean; silenceMs: number }): RedisOptions {
  const common = {
    connectTimeout: CONNECT_TIMEOUT_MS,
    retryStrategy: (attempt: number) => Math.min(2000, 50 * 2 ** Math.min(attempt, 6)),
  };
  if (role === 'worker') {
    const reconnectOnError = reconnecting({ isCluster, forMs: Number.POSITIVE_INFINITY });
    return { ...common, socketTimeout: silenceMs, maxRetriesPerRequest: null, reconnectOnError };
  }
  // The first caller has been refused by then: the next one shall not wait on the same connection.
  const [socketTimeout, commandTimeout] = [2 * COMMAND_TIMEOUT_MS, COMMAND_TIMEOUT_MS];
  const reconnectOnError = reconnecting({ isCluster, forMs: COMMAND_TIMEOUT_MS });
  return { ...common, socketTimeout, commandTimeout, maxRetriesPerRequest: 1, reconnectOnError };
}

/**
 * Connects anew where the server is not the one to ask, and repeats what it refused. No longer than `forMs` at a
 * stretch, or commands whose callers have gone would pile up.
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

/** One opening of a worker; `close` takes no new job and resolves when those in hand are done. */
type OpenedWorker = { close: () => Promise<void> };

/** What a processor does with one job, whatever a job is. */
type Process<Job> = (job: Job, token: string | undefined) => Promise<unknown>;

type SupervisedWorkerOptions<Job> = {
  process: Process<Job>;
  /** Opens a worker with connections of its own. */
  open: (process: Process<Job>) => OpenedWorker;
  /** Jobs that it has in hand at most. */
  concurrency: number;
  /** Whether a job could be taken now; rejects when the queue is away. */
  hasWaiting: () => Promise<boolean>;
  onReopened: () => void;
};

/**
 * How often the worker is polled for whether jobs are taken, in milliseconds. A job that waits is taken within
 * milliseconds.
 */
const POLL_MS = 10_000;

/** Polls in a row that must find the same before a worker is given up. */
const IDLE_POLLS = 2;

/** A worker that hangs is not waited for longer when the process stops, in milliseconds. */
const LEAVE_MS = 1000;

/**
 * Keeps a worker at work: one that has taken nothing for two polls, with a job waiting and a hand free, is opened anew.
 * Whatever it waits for, on a connection that is not answered any more, another one does not.
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
    // Of this opening alone: the one before may still have some in hand.
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
