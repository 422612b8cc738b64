import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { startRedis, type TlsFiles } from '../../tools/redis-server.ts';
import { TestAuthority } from '../helpers/certificates.ts';
import { createTestDatabase } from '../helpers/database.ts';
import { listQueueBackends } from '../helpers/queue-backend.ts';
import { openQueuesAtWork } from '../helpers/queues-at-work.ts';
import { startOwnCluster } from '../helpers/redis-cluster.ts';
import { startService } from '../helpers/running-service.ts';
import { startTarget } from '../helpers/target.ts';
import { temporaryFolder } from '../helpers/temporary-folder.ts';
import { until } from '../helpers/until.ts';

// The tests start their own servers if Redis is installed; otherwise the runner reports its absence.
const isRedisInstalled = listQueueBackends().some(({ redisUrl }) => redisUrl !== null);

const NOT_TRUSTED = new RegExp(
  String.raw`"message":"The certificate of Redis is not trusted \([^"]+\): name the file of its authority in ` +
    String.raw`NODE_EXTRA_CA_CERTS".*"msg":"queue\.error"`,
);

/** Issues a certificate for 127.0.0.1; returns it and its authority, also as files. */
async function issueFiles(t: ExecutionContext): Promise<TlsFiles & { authority: TestAuthority }> {
  const folder = await temporaryFolder(t);
  const authority = await TestAuthority.create();
  const { key, cert } = await authority.issue({ hosts: ['127.0.0.1'], isForClients: true });
  const files = { cert: join(folder, 'cert.pem'), key: join(folder, 'key.pem'), ca: join(folder, 'ca.pem') };
  await Promise.all([writeFile(files.cert, cert), writeFile(files.key, key), writeFile(files.ca, authority.pem)]);
  return { ...files, authority };
}

/** Returns the settings of a service on a Redis that accepts TLS only. */
async function prepare(t: ExecutionContext, tls: TlsFiles): Promise<{ env: Record<string, string>; token: string }> {
  const redis = await startRedis({ tls });
  if (redis === null) throw new Error('no Redis');
  t.teardown(() => redis.stop());
  const { databaseUrl, drop } = await createTestDatabase();
  t.teardown(drop);
  const token = `spk_${randomBytes(24).toString('base64url')}`;
  return {
    env: {
      DATABASE_URL: databaseUrl,
      REDIS_URL: redis.url,
      SECRET_KEYS: `k1:${randomBytes(32).toString('base64')}`,
      BOOTSTRAP_TOKEN: token,
      ALLOW_PRIVATE_NETWORK: 'true',
    },
    token,
  };
}

if (isRedisInstalled) {
  test.serial('a service on rediss:// trusts a private authority in NODE_EXTRA_CA_CERTS', async (t) => {
    const tls = await issueFiles(t);
    const { env, token } = await prepare(t, tls);
    const target = await startTarget(t);
    const { program, url, call } = await startService(t, { ...env, NODE_EXTRA_CA_CERTS: tls.ca }, token);
    t.is((await call('POST', '/monitors', { name: 'Shop', target: target.url(), interval_seconds: 1 })).status, 201);
    await target.nextHit('/');
    await until(async () => (await fetch(`${url}/readyz`)).ok);
    t.is(await program.stop(), 0, program.output());
  });

  const WRONG: Readonly<Record<string, (t: ExecutionContext) => Promise<Record<string, string>>>> = {
    'another authority': async (t) => ({ NODE_EXTRA_CA_CERTS: (await issueFiles(t)).ca }),
    'only the default authorities': async () => ({}),
  };
  for (const [whom, trust] of Object.entries(WRONG))
    test.serial(`a service on rediss:// that trusts ${whom} is not ready, and its log says what to do`, async (t) => {
      const { env, token } = await prepare(t, await issueFiles(t));
      const { program, url } = await startService(t, { ...env, ...(await trust(t)) }, token);
      const readings = async () => (await (await fetch(`${url}/readyz`)).json()) as { database: boolean };
      // On a busy machine the database may respond later than such a request waits.
      await until(async () => (await readings()).database);
      const readiness = await fetch(`${url}/readyz`);
      t.is(readiness.status, 503);
      t.like(await readiness.json(), { status: 'not ready', queue: false });
      await until(() => NOT_TRUSTED.test(program.output()));
      t.is(await program.stop(), 0, program.output());
    });

  // The last test, because this process trusts the authority from here on.
  test.serial('the queues of a Cluster with TLS work where its authority is trusted', async (t) => {
    const { authority, ...tls } = await issueFiles(t);
    authority.trust();
    const cluster = await startOwnCluster(t, { replicas: 0, tls });
    const { findIdle, backend } = openQueuesAtWork(t, cluster.urls.join(','));
    t.deepEqual(await findIdle(), []);
    await until(async () => (await backend.findAway()).length === 0);
  });
}
