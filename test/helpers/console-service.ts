import { randomBytes } from 'node:crypto';
import type { ExecutionContext, TestFn } from 'ava';
import type { Browser } from 'playwright-core';
import { generateSessionSecret } from '../../models/accounts/sessions.ts';
import { createIdSource } from '../../models/secrets/ids.ts';
import { fingerprintOf } from '../../models/secrets/secret-box.ts';
import { findKeptPort } from '../../tools/kept-port.ts';
import { openPage, startBrowser, waitForConsole, type OpenPage, type PageOptions } from './browser.ts';
import { createTestDatabase } from './database.ts';
import { createHarness, type Harness } from './harness.ts';
import { CONSOLE_BASE_PATH, SESSION_COOKIE, startNginx } from './nginx.ts';
import { startService, type Service } from './running-service.ts';
import { withClient } from './with-client.ts';

/** A running service with the user of the first start, its database, and a browser. */
export type ConsoleService = {
  service: Service;
  databaseUrl: string;
  person: { email: string; password: string };
  browser: Browser;
  /** Restarts the service at the same port after its process was stopped. */
  restart: () => Promise<Service>;
};

/** Starts nginx in front of a service on the given port, and returns variables for that service. */
async function placeBehindNginx(t: Harness, path: string, servicePort: number): Promise<Record<string, string>> {
  const port = await findKeptPort();
  await startNginx(t, { port, path, upstream: `http://127.0.0.1:${servicePort}` });
  return { PUBLIC_URL: `http://localhost:${port}${path}` };
}

/**
 * Starts one service and one browser before the tests of a file and stops both after them; each test opens its own
 * pages. `prepare` starts other servers for the service, and returns variables for it.
 */
export function withConsole(
  test: TestFn<ConsoleService>,
  prepare: (harness: Harness) => Promise<Record<string, string>> = () => Promise.resolve({}),
  basePath = CONSOLE_BASE_PATH,
): void {
  const { harness, close } = createHarness();
  let running: ConsoleService | null = null;
  test.before(async () => {
    const { databaseUrl, drop } = await createTestDatabase();
    harness.teardown(drop);
    const password = randomBytes(12).toString('base64url');
    const port = await findKeptPort();
    const env = {
      DATABASE_URL: databaseUrl,
      SECRET_KEYS: `k1:${randomBytes(32).toString('base64')}`,
      BOOTSTRAP_PASSWORD: password,
      PLAN_COUNT_LIMITS: 'false',
      ALLOW_PRIVATE_NETWORK: 'true',
      LOG_LEVEL: 'warn',
      PORT: String(port),
      ...(basePath !== '' && (await placeBehindNginx(harness, basePath, port))),
      ...(await prepare(harness)),
    };
    const start = () => startService(harness, env);
    const [service, browser] = await Promise.all([start(), startBrowser(harness)]);
    running = { service, databaseUrl, browser, restart: start, person: { email: 'admin@localhost', password } };
  });
  test.beforeEach((t) => {
    if (running === null) throw new Error('The service did not start');
    t.context = running;
  });
  test.after.always(close);
}

/**
 * Opens a path of the console in a new browser profile, signed in. Other tests cover the sign-in form, which takes
 * longer than many pages.
 */
export async function openSignedIn(
  t: ExecutionContext<ConsoleService>,
  path: string,
  { person = t.context.person, ...options }: Partial<PageOptions> & { person?: { email: string } } = {},
): Promise<OpenPage> {
  const { browser, databaseUrl, service } = t.context;
  const opened = await openPage(t, browser, { url: service.url, ...options });
  const value = await startSession(databaseUrl, person.email);
  await opened.page.context().addCookies([
    {
      name: SESSION_COOKIE,
      value,
      // The service sets the cookie for the whole host, too.
      url: new URL(service.url).origin,
      httpOnly: true,
      sameSite: 'Lax',
    },
  ]);
  await opened.page.goto(path);
  await waitForConsole(opened.page);
  return opened;
}

/** Stores a session of a user, as signing in does, and returns its secret. */
async function startSession(databaseUrl: string, email: string): Promise<string> {
  const secret = generateSessionSecret();
  await withClient(databaseUrl, (client) =>
    client.query(
      `INSERT INTO sessions (id, user_id, fingerprint, created_at, last_seen_at, address, user_agent)
       SELECT $1, id, $2, $3, $3, '127.0.0.1', 'browser' FROM users WHERE email = $4`,
      [createIdSource()('ses'), fingerprintOf(secret), Math.floor(Date.now() / 1000), email],
    ),
  );
  return secret;
}
