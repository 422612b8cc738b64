import { connect as connectTcp, isIP, Socket, type TcpNetConnectOpts } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import { AbstractConnector, Redis, type RedisOptions } from 'ioredis';
import { SharedCalls } from '../core/shared-calls.ts';

export type Endpoint = { host: string; port: number };

/** Credentials and TLS for a Cluster's nodes, the same for all of them. */
type ClusterAccess = { username?: string; password?: string; isSecure: boolean };

const SLOTS = 16_384;

/** Timeout of a node's answer, in milliseconds, after which it counts as away. */
const ANSWER_MS = 2000;

/** How long a round's answers are reused, in milliseconds: all connections of a process break at once. */
const ROUND_MS = 500;

/**
 * Minimum interval between two connections of one client, in milliseconds: nodes that do not agree yet redirect it back
 * and forth.
 */
const BETWEEN_CONNECTIONS_MS = 500;

/** Maximum nodes queried in one round, configured ones first. */
const QUERIED_AT_ONCE = 16;

/** Time until a socket that the other end does not close is destroyed, in milliseconds. */
const DISCONNECT_MS = 2000;

type Master = Endpoint & { id: string };
type SlotRange = { from: number; to: number; master: Master };
/** One node's answer: its own id, and the slots of each master. */
type Answer = { id: string; ranges: readonly SlotRange[]; nodes: readonly Endpoint[] };
type Round = { answers: readonly Answer[]; failures: readonly Error[] };

/** Returns the slot of a key, or of its part in braces if it has one (Redis Cluster specification). */
export function slotOf(key: string): number {
  const tag = /\{([^}]+)\}/.exec(key)?.[1] ?? key;
  let crc = 0;
  for (const byte of Buffer.from(tag)) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit += 1) crc = (crc & 0x80_00 ? (crc << 1) ^ 0x10_21 : crc << 1) & 0xff_ff;
  }
  return crc % SLOTS;
}

/**
 * Finds the master of a slot by querying all known nodes and trusting the majority: a node that was cut off may have
 * outdated slots.
 */
export class ClusterNodes {
  readonly access: ClusterAccess;
  readonly #configured: readonly Endpoint[];
  #learned: readonly Endpoint[] = [];
  readonly #rounds = new SharedCalls(() => this.#ask());
  #newest: { round: Round; freshUntilMs: number } | null = null;

  constructor(configured: readonly Endpoint[], access: ClusterAccess) {
    this.#configured = configured;
    this.access = access;
  }

  /** Returns the node that holds the slot and responds; throws with the failing node's error otherwise. */
  async findMaster(slot: number): Promise<Endpoint> {
    const { answers, failures } = await this.#askAll();
    const votes = new Map<string, { master: Master; count: number }>();
    for (const { ranges } of answers) {
      const master = ranges.find(({ from, to }) => slot >= from && slot <= to)?.master;
      if (master !== undefined) votes.set(master.id, { master, count: (votes.get(master.id)?.count ?? 0) + 1 });
    }
    const [most] = [...votes.values()].toSorted((a, b) => b.count - a.count);
    if (most === undefined) throw failures[0] ?? new Error(`no node of the Redis Cluster has slot ${slot}`);
    const { master } = most;
    // A hanging node still accepts connections, and commands on them would wait.
    if (!answers.some(({ id }) => id === master.id)) await askNode(master, this.access);
    return master;
  }

  /** Runs one round at a time; calls during it or shortly after share its answers. */
  async #askAll(): Promise<Round> {
    if (this.#newest !== null && performance.now() <= this.#newest.freshUntilMs) return this.#newest.round;
    const round = await this.#rounds.run();
    this.#newest = { round, freshUntilMs: performance.now() + ROUND_MS };
    return round;
  }

  async #ask(): Promise<Round> {
    const endpoints = new Map([...this.#configured, ...this.#learned].map((endpoint) => [nameOf(endpoint), endpoint]));
    const chosen = [...endpoints.values()].slice(0, QUERIED_AT_ONCE);
    const queried = await Promise.allSettled(chosen.map((endpoint) => askNode(endpoint, this.access)));
    const answers = queried.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []));
    const reasons = queried.flatMap((answer) => (answer.status === 'rejected' ? [answer.reason] : []));
    const failures = reasons.filter((reason) => reason instanceof Error);
    if (answers.length > 0) this.#learned = answers.flatMap(({ nodes }) => nodes);
    return { answers, failures };
  }
}

/**
 * Creates the connector class for ioredis, which connects to the node that holds the slot at that moment. All keys of a
 * queue share one slot, so a queue needs one node at a time and not the state that a client of the whole Cluster
 * maintains.
 */
export function connectorTo(nodes: ClusterNodes, slot: number): NonNullable<RedisOptions['Connector']> {
  return class extends AbstractConnector {
    #nextAtMs = 0;

    constructor() {
      super(DISCONNECT_MS);
    }

    override check({ role }: { role?: string }): boolean {
      return role === undefined || role === 'master';
    }

    override async connect(): Promise<Socket> {
      this.connecting = true;
      delete this.firstError;
      await delay(Math.max(0, this.#nextAtMs - performance.now()));
      this.#nextAtMs = performance.now() + BETWEEN_CONNECTIONS_MS;
      const master = await nodes.findMaster(slot).catch((error: Error) => error);
      if (!this.connecting) throw new Error('Connection is closed.');
      this.stream = master instanceof Error ? new Socket().destroy() : openSocket(master, nodes.access.isSecure);
      // ioredis gives up for good if its connector rejects, but reconnects after a socket error.
      if (master instanceof Error) this.firstError = master;
      // The listener stays: a failed socket can emit another error, from a TLS alert.
      else this.stream.on('error', (error: Error) => (this.firstError ??= error));
      return this.stream;
    }
  };
}

/** Returns additional TLS options: a server may have several names at one address. */
export function tlsTo(host: string): { servername?: string } {
  return isIP(host) === 0 ? { servername: host } : {};
}

function openSocket({ host, port }: Endpoint, isSecure: boolean): Socket {
  const options: TcpNetConnectOpts = { host, port };
  return isSecure ? connectTls({ ...options, ...tlsTo(host) }) : connectTcp(options);
}

async function askNode(endpoint: Endpoint, { username, password, isSecure }: ClusterAccess): Promise<Answer> {
  const client = new Redis({
    ...endpoint,
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
    ...(isSecure && { tls: tlsTo(endpoint.host) }),
    lazyConnect: true,
    enableReadyCheck: false,
    disableClientInfo: true,
    connectTimeout: ANSWER_MS,
    commandTimeout: ANSWER_MS,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
  });
  let reason: Error | null = null;
  client.on('error', (error: Error) => (reason ??= error));
  try {
    const [id, slots] = await Promise.all([client.call('CLUSTER', 'MYID'), client.call('CLUSTER', 'SLOTS')]);
    return { id: String(id), ...readSlots(slots, endpoint) };
  } catch (error) {
    throw reason ?? new Error(`Redis node ${nameOf(endpoint)} does not answer`, { cause: error });
  } finally {
    client.disconnect();
  }
}

type NodeEntry = [host: string | null, port: number, id: string];

/**
 * Parses ranges of [from, to, master, ...replicas], each node [host, port, id, ...]. A node that does not know its own
 * host sends an empty one; its host is that of the queried node.
 */
function readSlots(slots: unknown, queried: Endpoint): Pick<Answer, 'ranges' | 'nodes'> {
  const rows = Array.isArray(slots) ? (slots as [number, number, ...NodeEntry[]][]) : [];
  const toMaster = ([host, port, id]: NodeEntry): Master => ({ host: host || queried.host, port, id });
  const ranges = rows.flatMap(([from, to, master]) => {
    return master === undefined || master[0] === '?' ? [] : [{ from, to, master: toMaster(master) }];
  });
  const nodes = rows.flatMap(([, , ...all]) => all.filter(([host]) => host !== '?').map(toMaster));
  return { ranges, nodes };
}

function nameOf({ host, port }: Endpoint): string {
  return `${host}:${port}`;
}
