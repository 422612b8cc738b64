import { startRedisCluster, type ClusterSize, type RedisCluster } from '../../tools/redis-cluster.ts';
import type { Harness } from './harness.ts';
import { temporaryFolder } from './temporary-folder.ts';

/** Silence after which a node counts as failed, in milliseconds. */
export const NODE_TIMEOUT_MS = 2000;

/**
 * Starts a Cluster that stops with the test. A node counts as failed after two seconds, and a replica replaces it a
 * second or two later. Throws if redis-server is not installed.
 */
export async function startOwnCluster(
  t: Harness,
  { masters = 3, replicas = 3, nodeTimeoutMs = NODE_TIMEOUT_MS, tls }: Partial<ClusterSize> = {},
): Promise<RedisCluster> {
  const cluster = await startRedisCluster(await temporaryFolder(t), {
    masters,
    replicas,
    nodeTimeoutMs,
    ...(tls !== undefined && { tls }),
  });
  if (cluster === null) throw new Error('redis-server is not installed');
  t.teardown(cluster.stop);
  return cluster;
}
