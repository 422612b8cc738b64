import { randomBytes } from 'node:crypto';
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { FLEET, type ProcessName } from '../../config/processes.ts';
import { decodeCause } from '../../core/checks/verdict.ts';
import { apiClient, listOf } from '../helpers/api-client.ts';
import { createTestDatabase } from '../helpers/database.ts';
import { areDeliveredOnce, isWholeHistory, pendingDeliveries } from '../helpers/history.ts';
import { startLoadBalancer } from '../helpers/load-balancer.ts';
import { outputMatching, ROOT, startProgramAs, type Program } from '../helpers/program.ts';
import { listQueueBackends } from '../helpers/queue-backend.ts';
import { eventsAt, PATIENTLY } from '../helpers/story.ts';
import { startTarget } from '../helpers/target.ts';
import { until } from '../helpers/until.ts';
import { startReceiver } from '../helpers/webhook-receiver.ts';
import { withClient } from '../helpers/with-client.ts';

const MONITORS = 8;
const NEXT_VERSION = '99.0.0';

/** Files and folders of a release. */
const SOURCES = [
  'api',
  'cli',
  'config',
  'core',
  'models',
  'net',
  'notifications',
  'postgres',
  'probes',
  'threads',
  'queues',
  'telemetry',
  'workers',
  'package.json',
];

/** Order in which processes are replaced; each is stopped once its successor runs beside it. */
const RESTART_STAGES = [['evaluate'], ['web'], ['check'], ['deliver'], ['maintain', 'clock']] as const;

/**
 * Creates a later release: the same sources with another version, and a schema change that this release does not
 * include.
 */
async function nextRelease(t: ExecutionContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'spotcheck-release-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  await Promise.all(SOURCES.map((name) => cp(join(ROOT, name), join(folder, name), { recursive: true })));
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  const manifest = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'));
  await writeFile(join(folder, 'package.json'), JSON.stringify({ ...manifest, version: NEXT_VERSION }));
  for (const [index, table] of [
    'monitors',
    'monitor_sources',
    'deliveries',
    'transitions',
    'check_results',
  ].entries()) {
    await writeFile(
      join(folder, `models/migrations/999${index}-${table}.sql`),
      `ALTER TABLE ${table} ADD COLUMN of_the_next_release text;\n`,
    );
  }
  return folder;
}

test('a rolling deploy under load fails no request, and loses or doubles no result, transition or event', async (t) => {
  const { databaseUrl, drop } = await createTestDatabase();
  t.teardown(drop);
  const [receiver, target, next] = await Promise.all([startReceiver(t), startTarget(t), nextRelease(t)]);
  const redisUrl = listQueueBackends().at(-1)?.redisUrl ?? null;
  const token = `spk_${randomBytes(24).toString('base64url')}`;
  const env = {
    DATABASE_URL: databaseUrl,
    ...(redisUrl !== null && { REDIS_URL: `${redisUrl}/4` }),
    SECRET_KEYS: `k1:${randomBytes(32).toString('base64')}`,
    BOOTSTRAP_TOKEN: token,
    ALLOW_PRIVATE_NETWORK: 'true',
    AGENT_REGION: 'hanoi',
    PORT: '0',
    NODE_EXTRA_CA_CERTS: receiver.caFile,
  };
  const start = async (name: ProcessName, cwd: string): Promise<Program> => {
    const program = startProgramAs(t, {
      args: FLEET[name],
      env,
      cwd,
    });
    await outputMatching(program, /process\.started/);
    return program;
  };
  const migrate = async (cwd: string) => {
    const program = startProgramAs(t, { args: FLEET.release, env, cwd });
    t.is(await program.exited, 0, program.output());
  };
  const urlOf = (web: Program) => `http://127.0.0.1:${/"port":(\d+)/.exec(web.output())?.[1]}`;

  await migrate(ROOT);
  const running = new Map<string, Program>(
    await Promise.all(RESTART_STAGES.flat().map(async (name) => [name, await start(name, ROOT)] as const)),
  );
  const web = running.get('web');
  if (web === undefined) throw new Error('no web');
  const call = apiClient(urlOf(web), token);
  t.is((await call('POST', '/channels', { type: 'webhook', name: 'On call', url: receiver.url })).status, 201);
  const ids: string[] = [];
  for (let made = 0; made < MONITORS; made += 1) {
    const { json } = await call('POST', '/monitors', {
      name: `Shop ${made}`,
      target: target.url(`/${made}`),
      ...PATIENTLY,
    });
    ids.push(json['id']);
  }
  const upCount = async () =>
    (
      await withClient(databaseUrl, (client) =>
        client.query<{ n: number }>(`SELECT count(*)::int AS n FROM monitors WHERE state = 'up'`),
      )
    ).rows[0]?.n;
  await until(async () => (await upCount()) === MONITORS);

  const calls = [
    () => ({ method: 'GET', path: '/v1/overview' }),
    (sent: number) => ({
      method: 'PATCH',
      path: `/v1/monitors/${ids[sent % MONITORS]}`,
      body: { name: `Shop ${sent}` },
    }),
    () => ({ method: 'GET', path: '/v1/incidents' }),
    (sent: number) => ({ method: 'POST', path: '/v1/monitors', body: { name: `Draft ${sent}` } }),
    (sent: number) => ({ method: 'GET', path: `/v1/monitors/${ids[sent % MONITORS]}` }),
  ];
  const balancer = startLoadBalancer(t, {
    token,
    nextCall: (sent) => calls[sent % calls.length]?.(sent) ?? { method: 'GET', path: '/v1/monitors' },
  });
  await balancer.add(urlOf(web));

  await migrate(next);
  for (const [stage, names] of RESTART_STAGES.entries()) {
    const successors = await Promise.all(names.map(async (name) => ({ name, successor: await start(name, next) })));
    const isUp = stage % 2 === 1;
    target.health.status = isUp ? 200 : 503;
    await target.nextHit('/0');
    for (const { name, successor } of successors) {
      if (name === 'web') await balancer.add(urlOf(successor));
      const predecessor = running.get(name);
      t.is(await predecessor?.stop('SIGTERM'), 0, predecessor?.output());
      t.regex(predecessor?.output() ?? '', /"outcome":"clean"/);
      running.set(name, successor);
    }
    await until(async () => (await upCount()) === (isUp ? MONITORS : 0));
  }

  await balancer.stop();
  t.deepEqual(balancer.failures, []);
  t.true(balancer.answered() >= 5 * calls.length);
  const agents = listOf(await apiClient(urlOf(running.get('web') ?? web), token)('GET', '/agents'));
  t.deepEqual(
    agents.map(({ region, version }) => [region, version]),
    [['hanoi', NEXT_VERSION]],
  );

  t.is(await running.get('check')?.stop('SIGTERM'), 0);
  const hits = ids.map((_, made) => target.hits(`/${made}`));
  const stored = async () =>
    (
      await withClient(databaseUrl, (client) =>
        client.query<{ n: number }>(
          `SELECT count(r.due_at)::int AS n FROM monitors m LEFT JOIN single_results r ON r.monitor_no = m.no
           WHERE m.target <> '' GROUP BY m.no ORDER BY m.no`,
        ),
      )
    ).rows.map(({ n }) => n);
  await until(async () => String(await stored()) === String(hits)).catch(() => undefined);
  t.deepEqual(await stored(), hits, 'every probe that reached the target is a stored result');
  await until(async () => (await pendingDeliveries(databaseUrl)) === 0);
  t.is(await isWholeHistory(t, databaseUrl, receiver), MONITORS * (RESTART_STAGES.length + 1));
  await areDeliveredOnce(t, databaseUrl, eventsAt(receiver));
  const failures = await withClient(databaseUrl, (client) =>
    client.query<{ cause: number; http_status: number | null }>(
      'SELECT DISTINCT cause, http_status FROM single_results WHERE verdict = 3',
    ),
  );
  // If this process stalls, a check may time out; none is broken off by a process that stops.
  t.deepEqual(
    failures.rows.filter(({ cause, http_status: status }) => status !== 503 && decodeCause(cause) !== 'timeout'),
    [],
  );
});
