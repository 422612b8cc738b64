import { tmpdir } from 'node:os';

/** URLs of the servers that the test runner started for this run. */
export type TestServers = { databaseUrl: string; redisUrl: string | null };

/** Returns the servers of the run; throws outside of the test runner. */
export function testServers(): TestServers {
  const databaseUrl = process.env['SPOTCHECK_TEST_DATABASE_URL'];
  if (databaseUrl === undefined)
    throw new Error('this test needs the servers of the test runner: use `npm test -- <this file>`');
  return { databaseUrl, redisUrl: process.env['SPOTCHECK_TEST_REDIS_URL'] || null };
}

/**
 * Returns the parent of data directories for services in tests: in memory if the run's own are, otherwise a temporary
 * directory. Only its owner can enter it.
 */
export function testDataDirectory(): string {
  return process.env['SPOTCHECK_TEST_DATA_DIR'] ?? tmpdir();
}
