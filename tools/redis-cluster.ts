import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { findKeptPort } from './kept-port.ts';
import { startRedis, type RedisServer, type TlsFiles } from './redis-server.ts';

/**
 * A Redis Cluster for tests and chaos runs. Nodes are named by their index, masters first; roles change with
 * promotions.
 */
export type RedisCluster = {
  urls: readonly string[];
  /** Returns the indexes of the masters that hold slots now, according to the living nodes. */
  listMasters: () => Promise<number[]>;
  /** Kills a node as kill -9 does. */
  kill: (index: number) => Promise<void>;
  /** Restarts a killed node, empty except for its name and role. */
  start: (index: number) => Promise<void>;
  signal: (index: number, signal: NodeJS.Signals) => void;
  /** Sets the silence after which the living nodes consider another one failed, in milliseconds. */
  setNodeTimeout: (ms: number) => Promise<void>;
  /** Promotes a replica of a master by an orderly failover; resolves when it is done. */
  promoteReplicaOf: (index: number) => Promise<void>;
  /** Moves the slot of a key, keys and all, from its master to another one. */
  migrateSlotOf: (key: string) => Promise<void>;
  /** Empties every master. */
  flush: () => Promise<void>;
  /** Returns the index of the master that holds a key's slot. */
  findMasterOf: (key: string) => Promise<number>;
  stop: () => Promise<void>;
};

/** Size of a cluster. With `tls` its nodes accept TLS only, and the test that starts them trusts their authority. */
export type ClusterSize = { masters: number; replicas: number; nodeTimeoutMs?: number; tls?: TlsFiles };

const SLOTS = 16_384;

/** Time limit for the nodes to agree on their names and masters, in milliseconds. */
const AGREED_WITHIN_MS = 60_000;

type Node = { index: number; port: number; id: string; server: RedisServer | null; client: Redis };

/**
 * Starts the nodes, each with its files in the folder, and waits until they agree; null if redis-server is not
 * installed.
 */
export async function startRedisCluster(
  folder: string,
  { masters, replicas, nodeTimeoutMs = 15_000, tls }: ClusterSize,
): Promise<RedisCluster | null> {
  const nodes: Node[] = [];
  const run = async (port: number, busPort: number) => {
    const own = join(folder, `redis-${port}`);
    await mkdir(own, { recursive: true });
    const args = [
      '--cluster-enabled',
      'yes',
      '--cluster-port',
      `${busPort}`,
      '--cluster-node-timeout',
      `${nodeTimeoutMs}`,
      '--repl-diskless-sync-delay',
      '0',
      ...(tls === undefined ? [] : ['--tls-cluster', 'yes', '--tls-replication', 'yes']),
    ];
    return await startRedis({ port, args, folder: own, ...(tls !== undefined && { tls }) });
  };
  const busPorts = new Map<number, number>();
  for (let index = 0; index < masters + replicas; index += 1) {
    const [port, busPort] = [await findKeptPort(), await findKeptPort()];
    const server = await run(port, busPort);
    if (server === null) return null;
    busPorts.set(port, busPort);
    const client = new Redis({
      port,
      host: '127.0.0.1',
      retryStrategy: () => 50,
      maxRetriesPerRequest: null,
      commandTimeout: AGREED_WITHIN_MS,
      ...(tls !== undefined && { tls: {} }),
    });
    // Killing nodes breaks connections, and an 'error' event without a listener would crash the process.
    client.on('error', () => undefined);
    nodes.push({ index, port, server, client, id: String(await client.call('CLUSTER', 'MYID')) });
  }
  const [first] = nodes;
  const living = () => nodes.filter(({ server }) => server !== null);
  const nodeAt = (index: number) => {
    const node = nodes[index];
    if (node === undefined) throw new Error(`there is no node ${index}`);
    return node;
  };
  const stop = async () => {
    for (const { client } of nodes) client.disconnect();
    await Promise.all(living().map(({ server }) => server?.stop('SIGKILL')));
  };
  try {
    await agree(nodes, { masters, busPorts });
  } catch (error) {
    await stop();
    throw error;
  }
  const readNodes = async () => parseNodes(String(await (living()[0] ?? first)?.client.call('CLUSTER', 'NODES')));
  const indexOfNode = (id: string) => nodes.findIndex((node) => node.id === id);
  const findMasterOf = async (key: string) => {
    const slot = await slotOf(living()[0] ?? nodeAt(0), key);
    const holder = (await readNodes()).find(({ ranges }) => ranges.some(([from, to]) => slot >= from && slot <= to));
    return indexOfNode(holder?.id ?? '');
  };
  const listMasters = async () =>
    (await readNodes())
      .filter(({ isMaster, isFailed, ranges }) => isMaster && !isFailed && ranges.length > 0)
      .map(({ id }) => indexOfNode(id));
  return {
    urls: nodes.map(({ port }) => `${tls === undefined ? 'redis' : 'rediss'}://127.0.0.1:${port}`),
    listMasters,
    findMasterOf,
    async kill(index) {
      const node = nodeAt(index);
      const { server } = node;
      node.server = null;
      await server?.stop('SIGKILL');
    },
    async start(index) {
      const node = nodeAt(index);
      node.server ??= await run(node.port, busPorts.get(node.port) ?? 0);
    },
    async setNodeTimeout(ms) {
      for (const { client } of living()) await client.config('SET', 'cluster-node-timeout', ms);
    },
    signal: (index, signal) => void process.kill(nodeAt(index).server?.pid ?? 0, signal),
    async promoteReplicaOf(index) {
      const master = nodeAt(index);
      const replica = (await readNodes()).find(({ masterId, isFailed }) => masterId === master.id && !isFailed);
      if (replica === undefined) throw new Error(`node ${index} has no replica`);
      const successor = nodeAt(indexOfNode(replica.id));
      await untilTrue(async () => /master_link_status:up/.test(await successor.client.info('replication')));
      await successor.client.call('CLUSTER', 'FAILOVER');
      await untilTrue(async () => /role:master/.test(await successor.client.info('replication')));
    },
    async migrateSlotOf(key) {
      const source = nodeAt(await findMasterOf(key));
      const target = nodeAt((await listMasters()).find((index) => index !== source.index) ?? 0);
      const slot = await slotOf(source, key);
      await target.client.call('CLUSTER', 'SETSLOT', slot, 'IMPORTING', source.id);
      await source.client.call('CLUSTER', 'SETSLOT', slot, 'MIGRATING', target.id);
      for (;;) {
        const keys = (await source.client.call('CLUSTER', 'GETKEYSINSLOT', slot, 100)) as string[];
        if (keys.length === 0) break;
        await source.client.call('MIGRATE', '127.0.0.1', target.port, '', 0, 5000, 'REPLACE', 'KEYS', ...keys);
      }
      for (const node of [target, source]) await node.client.call('CLUSTER', 'SETSLOT', slot, 'NODE', target.id);
    },
    async flush() {
      for (const index of await listMasters()) await nodeAt(index).client.flushall();
    },
    stop,
  };
}

/** Introduces the nodes to each other, assigns the slots to the masters, and a master to each replica. */
async function agree(
  nodes: readonly Node[],
  { masters, busPorts }: { masters: number; busPorts: ReadonlyMap<number, number> },
): Promise<void> {
  const perMaster = Math.ceil(SLOTS / masters);
  for (const { index, port, client } of nodes) {
    await client.call('CLUSTER', 'SET-CONFIG-EPOCH', index + 1);
    if (index < masters)
      await client.call('CLUSTER', 'ADDSLOTSRANGE', index * perMaster, Math.min(SLOTS, (index + 1) * perMaster) - 1);
    if (index > 0) await nodes[0]?.client.call('CLUSTER', 'MEET', '127.0.0.1', port, busPorts.get(port) ?? 0);
  }
  for (const { client } of nodes)
    await untilTrue(async () => parseNodes(String(await client.call('CLUSTER', 'NODES'))).length === nodes.length);
  for (const { index, client } of nodes.slice(masters))
    await client.call('CLUSTER', 'REPLICATE', nodes[index % masters]?.id ?? '');
  for (const { index, client } of nodes) {
    await untilTrue(async () => /cluster_state:ok/.test(String(await client.call('CLUSTER', 'INFO'))));
    await untilTrue(async () => index < masters || /master_link_status:up/.test(await client.info('replication')));
    await untilTrue(
      async () =>
        parseNodes(String(await client.call('CLUSTER', 'NODES'))).filter(({ isMaster }) => isMaster).length === masters,
    );
  }
}

type ListedNode = { id: string; isMaster: boolean; isFailed: boolean; masterId: string; ranges: [number, number][] };

/** Parses CLUSTER NODES: id, address, flags, master, pings, epoch, link, slots; moving slots are in brackets. */
function parseNodes(text: string): ListedNode[] {
  return text
    .trim()
    .split('\n')
    .map((line) => {
      const [id = '', , flags = '', masterId = '', , , , , ...slots] = line.split(' ');
      const ranges = slots
        .filter((slot) => !slot.startsWith('['))
        .map((slot): [number, number] => {
          const [from = '', to = from] = slot.split('-');
          return [Number(from), Number(to)];
        });
      return { id, isMaster: flags.includes('master'), isFailed: /fail(?!\?)/.test(flags), masterId, ranges };
    });
}

async function slotOf({ client }: Node, key: string): Promise<number> {
  return Number(await client.call('CLUSTER', 'KEYSLOT', key));
}

async function untilTrue(isReady: () => Promise<boolean>): Promise<void> {
  for (const deadline = Date.now() + AGREED_WITHIN_MS; !(await isReady()); await delay(50)) {
    if (Date.now() > deadline) throw new Error(`the nodes did not agree: ${isReady.toString()}`);
  }
}
