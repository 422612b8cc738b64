import { randomBytes } from 'node:crypto';
import { testServers } from './test-servers.ts';

/** A backend for queues; `redisUrl` is null for the test's PostgreSQL database. */
export type QueueBackend =
  | { name: 'postgres'; redisUrl: null; prefix: string }
  | { name: 'redis'; redisUrl: string; prefix: string };

/** Returns the backends of this run, to be tested one by one; the prefix is unique to the caller. */
export function listQueueBackends(): readonly QueueBackend[] {
  const { redisUrl } = testServers();
  const prefix = `test-${randomBytes(6).toString('hex')}`;
  const postgres: QueueBackend = { name: 'postgres', redisUrl: null, prefix };
  return redisUrl === null ? [postgres] : [postgres, { name: 'redis', redisUrl, prefix }];
}
