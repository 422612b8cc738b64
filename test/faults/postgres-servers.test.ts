import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { TestAuthority } from '../helpers/certificates.ts';
import { runSpotcheck } from '../helpers/command.ts';
import {
  debianPrograms,
  isPgBouncerInstalled,
  startPgBouncer,
  startPrimary,
  startStandby,
  urlOf,
} from '../helpers/debian-postgres.ts';
import { startService, type Service } from '../helpers/running-service.ts';
import { eventsAt, nextEvent, watchTarget } from '../helpers/story.ts';
import { startTarget } from '../helpers/target.ts';
import { until } from '../helpers/until.ts';
import { startReceiver } from '../helpers/webhook-receiver.ts';

const SECRET_KEYS = `k1:${randomBytes(32).toString('base64')}`;

/** Starts the whole service, including its queues, on an external PostgreSQL server. */
async function startOn(t: ExecutionContext, databaseUrl: string, env: Record<string, string> = {}): Promise<Service> {
  return await startService(t, { DATABASE_URL: databaseUrl, SECRET_KEYS, ALLOW_PRIVATE_NETWORK: 'true', ...env });
}

/** Watches a target go up, down and up again through a signed webhook; `meanwhile` runs while it is up. */
async function runStory(
  t: ExecutionContext,
  databaseUrl: string,
  meanwhile: (service: Service) => Promise<void> = () => Promise.resolve(),
): Promise<void> {
  const receiver = await startReceiver(t);
  const target = await startTarget(t);
  const service = await startOn(t, databaseUrl, { NODE_EXTRA_CA_CERTS: receiver.caFile });
  const up = nextEvent(receiver, 'monitor.up');
  await watchTarget(service.call, { receiver, target: target.url() });
  await up;
  await meanwhile(service);
  target.health.status = 503;
  await until(() => eventsAt(receiver).at(-1)?.event === 'monitor.down');
  target.health.status = 200;
  await until(() => eventsAt(receiver).at(-1)?.event === 'monitor.up');
  t.is(await service.program.stop(), 0, service.program.output());
}

if (debianPrograms() === null) {
  test("Debian's PostgreSQL is not installed here, so no standby was promoted and no TLS tried", (t) => t.pass());
} else {
  test('with primary and standby in DATABASE_URL the service survives a promotion of the standby', async (t) => {
    const primary = await startPrimary(t);
    const standby = await startStandby(t, primary);
    const url = urlOf([standby, primary], '?target_session_attrs=read-write');
    await runStory(t, url, async (service) => {
      await primary.stop();
      await until(async () => (await fetch(`${service.url}/readyz`)).status === 503);
      await standby.promote();
      await until(async () => (await fetch(`${service.url}/readyz`)).status === 200);
      t.is((await service.call('POST', '/monitors', { name: 'Made after the promotion' })).status, 201);
    });
  });

  test('if no server accepts writes, migrate fails with the error of each', async (t) => {
    const primary = await startPrimary(t);
    const standby = await startStandby(t, primary);
    await primary.stop();
    const { status, stderr } = await runSpotcheck(['migrate'], {
      DATABASE_URL: urlOf([primary, standby]),
      SECRET_KEYS,
    });
    t.is(status, 1);
    t.regex(
      stderr,
      new RegExp(
        `No server of DATABASE_URL accepts writes: 127.0.0.1:${primary.port} connect ECONNREFUSED.*; ` +
          `127.0.0.1:${standby.port} is a standby`,
      ),
    );
  });

  test('a private CA is trusted only by sslrootcert or NODE_EXTRA_CA_CERTS, and only for its host', async (t) => {
    const authority = await TestAuthority.create();
    const server = await startPrimary(t, await authority.issue({ hosts: ['127.0.0.1'] }));
    const caFile = join(server.folder, 'ca.pem');
    writeFileSync(caFile, authority.pem);
    const migrate = (query: string, env: Record<string, string> = {}, host = '127.0.0.1') =>
      runSpotcheck(['migrate'], { DATABASE_URL: urlOf([server], query, host), SECRET_KEYS, ...env });

    t.like(await migrate(`?sslmode=verify-full&sslrootcert=${caFile}`), { status: 0 });
    t.like(await migrate('?sslmode=verify-full', { NODE_EXTRA_CA_CERTS: caFile }), { status: 0 });
    for (const [query, host, why] of [
      ['', '127.0.0.1', /no encryption/],
      ['?sslmode=verify-full', '127.0.0.1', /certificate/],
      [`?sslmode=verify-full&sslrootcert=${caFile}`, 'localhost', /certificate's altnames/],
    ] as const) {
      const refused = await migrate(query, {}, host);
      t.is(refused.status, 1);
      t.regex(refused.stderr, why);
      t.is(refused.stderr.trim().split('\n').length, 1, refused.stderr);
    }
    await runStory(t, urlOf([server], `?sslmode=verify-full&sslrootcert=${caFile}`));
  });
}

if (debianPrograms() === null || !isPgBouncerInstalled()) {
  test('PgBouncer is not installed here, so it was not tried', (t) => t.pass());
} else {
  test('through PgBouncer with pool_mode = session everything works', async (t) => {
    const bouncer = await startPgBouncer(t, await startPrimary(t), 'session');
    await runStory(t, urlOf([bouncer]));
  });

  test('through PgBouncer with pool_mode = transaction every start is refused with the remedy', async (t) => {
    const primary = await startPrimary(t);
    t.is((await runSpotcheck(['migrate'], { DATABASE_URL: urlOf([primary]), SECRET_KEYS })).status, 0);
    const bouncer = await startPgBouncer(t, primary, 'transaction');
    const { status, stderr } = await runSpotcheck(['migrate'], { DATABASE_URL: urlOf([bouncer]), SECRET_KEYS });
    t.is(status, 1);
    t.regex(stderr, /pool_mode = session/);
  });
}
