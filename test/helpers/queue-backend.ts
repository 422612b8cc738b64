import { randomBytes } from 'node:crypto';
import { testServers } from './test-servers.ts';

/** One backend that queues can live in; null as `redisUrl` = in the test's own PostgreSQL database. */
export type QueueBackend =
  | { name: 'postgres'; redisUrl: null; prefix: string }
  | { name: 'redis'; redisUrl: string; prefix: string };

/** Lists the backends of this run, to be tested one by one; the prefix is the caller's own. */
export function listQueueBackends(): readonly QueueBackend[] {
  const { redisUrl } = testServers();
  const prefix = `test-${randomBytes(6).toString('hex')}`;
  const postgres: QueueBackend = { name: 'postgres', redisUrl: null, prefix };
  return redisUrl === null ? [postgres] : [postgres, { name: 'redis', redisUrl, prefix }];
}
