import { tmpdir } from 'node:os';

/** The addresses of the servers that the test runner started for this run. */
export type TestServers = { databaseUrl: string; redisUrl: string | null };

/** Throws outside a run of the test runner: there is no server to use then. */
export function testServers(): TestServers {
  const databaseUrl = process.env['SPOTCHECK_TEST_DATABASE_URL'];
  if (databaseUrl === undefined)
    throw new Error('this test needs the servers of the test runner: use `npm test -- <this file>`');
  return { databaseUrl, redisUrl: process.env['SPOTCHECK_TEST_REDIS_URL'] || null };
}

/**
 * Where the data directories of services that tests start belong: in memory where the run's own are, else in a
 * temporary directory. Only its owner can enter it.
 */
export function testDataDirectory(): string {
  return process.env['SPOTCHECK_TEST_DATA_DIR'] ?? tmpdir();
}
