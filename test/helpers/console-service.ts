import { randomBytes } from 'node:crypto';
import type { TestFn } from 'ava';
import type { Browser } from 'playwright-core';
import { startBrowser } from './browser.ts';
import { createTestDatabase } from './database.ts';
import { createHarness, type Harness } from './harness.ts';
import { startService, type Service } from './running-service.ts';

/** A running service with the first start's person, its database, and a browser. */
export type ConsoleService = {
  service: Service;
  databaseUrl: string;
  person: { email: string; password: string };
  browser: Browser;
  /** Starts the service again where it was, after its process was ended. */
  restart: () => Promise<Service>;
};

/**
 * Starts one service and one browser before the tests of a file and ends both after them; tests open pages of their
 * own. `prepare` starts what the service needs beside it, and returns variables for it.
 */
export function withConsole(
  test: TestFn<ConsoleService>,
  prepare: (harness: Harness) => Promise<Record<string, string>> = () => Promise.resolve({}),
): void {
  const { harness, close } = createHarness();
  let running: ConsoleService | null = null;
  test.before(async () => {
    const { databaseUrl, drop } = await createTestDatabase();
    harness.teardown(drop);
    const password = randomBytes(12).toString('base64url');
    const env = {
      DATABASE_URL: databaseUrl,
      SECRET_KEYS: `k1:${randomBytes(32).toString('base64')}`,
      BOOTSTRAP_PASSWORD: password,
      PLAN_COUNT_LIMITS: 'false',
      ALLOW_PRIVATE_NETWORK: 'true',
      LOG_LEVEL: 'warn',
      ...(await prepare(harness)),
    };
    const [service, browser] = await Promise.all([startService(harness, env), startBrowser(harness)]);
    const restart = () => startService(harness, { ...env, PORT: new URL(service.url).port });
    running = { service, databaseUrl, browser, restart, person: { email: 'admin@localhost', password } };
  });
  test.beforeEach((t) => {
    if (running === null) throw new Error('The service did not start');
    t.context = running;
  });
  test.after.always(close);
}
