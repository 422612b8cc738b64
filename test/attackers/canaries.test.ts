import { randomBytes } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { Redis } from 'ioredis';
import { readDescription } from '../../api/description.ts';
import { createApiToken, generateToken } from '../../models/accounts/api-tokens.ts';
import { listTenants } from '../../models/accounts/tenants.ts';
import { createAgent } from '../../models/agents/agents.ts';
import { closeDatabase } from '../../models/database.ts';
import { createIdSource } from '../../models/secrets/ids.ts';
import { fingerprintOf } from '../../models/secrets/secret-box.ts';
import { readAllRows } from '../helpers/all-rows.ts';
import { runSpotcheck } from '../helpers/command.ts';
import { createTestDatabase, openTestDatabase } from '../helpers/database.ts';
import { listOperations, type Document } from '../helpers/described-operations.ts';
import { outputMatching, startProgram } from '../helpers/program.ts';
import { startOwnRedis, type OwnRedis } from '../helpers/redis.ts';
import { newDataDir, startService, type Service } from '../helpers/running-service.ts';
import { testServers } from '../helpers/test-servers.ts';
import { until } from '../helpers/until.ts';
import { withClient } from '../helpers/with-client.ts';
import { canary, liveThrough, SLACK_APP, type Life } from './canary-life.ts';
import { searchFor } from './canary-search.ts';
import { startEchoingServers, type EchoingServers } from './echoing-servers.ts';

type Secrets = Map<string, string | Buffer>;

/** Texts that are searched for secrets, by their source. */
type ShownTexts = Map<string, string>;

const BOARD_STATES = ['latest', 'active', 'waiting', 'delayed', 'completed', 'failed'];

/** Returns the settings of every installation in these tests, and the secrets in them. */
function settingsOf(servers: EchoingServers): {
  env: Record<string, string>;
  secrets: Secrets;
  token: string;
  boardPassword: string;
} {
  const token = `spk_${canary('bootstrap-token')}`;
  const [password, boardPassword] = [canary('console-password'), canary('board-password')];
  const env = {
    LOG_LEVEL: 'trace',
    BOOTSTRAP_TOKEN: token,
    BOOTSTRAP_PASSWORD: password,
    QUEUE_BOARD_PASSWORD: boardPassword,
    NODE_EXTRA_CA_CERTS: servers.caFile,
    ALLOW_PRIVATE_NETWORK: 'true',
    PLAN_COUNT_LIMITS: 'false',
    DELIVERY_RETRY_SECONDS: '0.3,0.3,0.3',
    WEBHOOK_TIMEOUT_SECONDS: '1',
    SLACK_CLIENT_ID: SLACK_APP,
    SLACK_CLIENT_SECRET: servers.slack.clientSecret,
    SLACK_API_URL: servers.slack.apiUrl,
    SMTP_URL: `smtp://spotcheck:${servers.mail.settings.signIn?.password}@localhost:${servers.mail.settings.port}`,
    MAIL_FROM: 'Spotcheck <alerts@spotcheck.example>',
    TELEGRAM_BOT_TOKEN: servers.telegram.token,
    TELEGRAM_BOT_NAME: 'spotcheck_bot',
    TELEGRAM_API_URL: servers.telegram.url,
  };
  const secrets: Secrets = new Map(
    Object.entries({
      'API token': token,
      'console password': password,
      'board password': boardPassword,
      'Slack client secret': servers.slack.clientSecret,
      'Telegram token': servers.telegram.token,
      'mail password': servers.mail.settings.signIn?.password ?? '',
    }),
  );
  return { env, secrets, token, boardPassword };
}

/** Gives the first tenant a read-only token and an agent. */
async function furnish(databaseUrl: string): Promise<{ readerToken: string; agent: { id: string; token: string } }> {
  const database = openTestDatabase(databaseUrl, { poolSize: 1 });
  const newId = createIdSource();
  const nowMs = Date.now();
  const [tenant] = await listTenants(database);
  const tenantId = tenant?.id ?? '';
  const [readerToken, token] = [generateToken('spk'), generateToken('spa')];
  await createApiToken(
    database,
    {
      id: newId('tok'),
      tenantId,
      name: 'reader',
      token: readerToken,
      scopes: ['read'],
      expiresAt: null,
      nowMs,
      author: null,
    },
    10,
  );
  const agent = await createAgent(database, {
    id: newId('agt'),
    tenantId,
    name: 'lab',
    region: null,
    tokenFingerprint: fingerprintOf(token),
    nowMs,
  });
  await closeDatabase(database);
  return { readerToken, agent: { id: agent.id, token } };
}

/** Returns the paths of all reads that the description allows with an API token. */
async function describedReads(): Promise<string[]> {
  const operations = listOperations((await readDescription()) as unknown as Document);
  return operations.filter(({ method, token }) => method === 'GET' && token === 'api').map(({ path }) => path);
}

/**
 * Collects the texts that the running service exposes: metrics, the board, the responses of a life, and the output of
 * `ps`.
 */
async function shownBy(
  t: ExecutionContext,
  { service, life, boardPassword }: { service: Service; life: Life; boardPassword: string },
): Promise<ShownTexts> {
  const shownTexts: ShownTexts = new Map();
  shownTexts.set('metrics', await (await fetch(`${service.url}/metrics`)).text());
  const headers = { Authorization: `Basic ${Buffer.from(`x:${boardPassword}`).toString('base64')}` };
  const board = async (path: string): Promise<string> => {
    const response = await fetch(`${service.url}/queues${path}`, { headers });
    t.is(response.status, 200, path);
    return await response.text();
  };
  const { queues } = JSON.parse(await board('/api/queues')) as { queues: { name: string }[] };
  t.true(queues.length > 3);
  const pages = [await board('/')];
  for (const { name } of queues)
    for (const state of BOARD_STATES)
      pages.push(
        await board(`/api/queues?activeQueue=${encodeURIComponent(name)}&status=${state}&page=1&jobsPerPage=100`),
      );
  shownTexts.set('the board', pages.join('\n'));
  for (const [name, exchanges] of [
    ['an answer', life.answers],
    ['an answer to a reader', life.toReader],
  ] as const) {
    for (const { request, text } of exchanges)
      shownTexts.set(`${name} to ${request}`, `${shownTexts.get(`${name} to ${request}`) ?? ''}\n${text}`);
  }
  shownTexts.set('argv', await commandLines());
  return shownTexts;
}

/** Returns the command lines of all processes on this machine; empty without /proc. */
async function commandLines(): Promise<string> {
  const ids = (await readdir('/proc').catch(() => [])).filter((name) => /^\d+$/.test(name));
  const texts = await Promise.all(
    ids.flatMap((id) => ['cmdline', 'comm'].map((file) => readFile(`/proc/${id}/${file}`, 'utf8').catch(() => ''))),
  );
  return texts.join('\n');
}

/** Returns the log without the credentials that only a first start prints. */
function logOf(service: Service): string {
  return service.program
    .output()
    .split('\n')
    .filter((line) => !/^ {2}(API token|Console) /.test(line))
    .join('\n');
}

async function filesIn(shownTexts: ShownTexts, directory: string): Promise<void> {
  for (const entry of await readdir(directory, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    shownTexts.set(`file ${path.slice(directory.length + 1)}`, await readFile(path, 'latin1').catch(() => ''));
  }
}

/** Returns every key of a Redis with its content. */
async function readRedis(redis: Redis): Promise<string> {
  const readers: Record<string, (key: string) => Promise<unknown>> = {
    string: (key) => redis.get(key),
    hash: (key) => redis.hgetall(key),
    list: (key) => redis.lrange(key, 0, -1),
    set: (key) => redis.smembers(key),
    zset: (key) => redis.zrange(key, '0', '-1'),
    stream: (key) => redis.xrange(key, '-', '+'),
  };
  const texts: string[] = [];
  for (const key of await redis.keys('*')) {
    const read = readers[await redis.type(key)];
    if (read !== undefined) texts.push(`${key} ${JSON.stringify(await read(key))}`);
  }
  return texts.join('\n');
}

/** A secret from a request's path may appear in the response to that request, and nowhere else. */
const isOwnWord = (name: string, where: string) => name === 'misplaced secret' && where.startsWith('an answer to GET');

/** Fails for each secret found in a text where it does not belong. */
function assertNowhere(
  t: ExecutionContext,
  {
    secrets,
    shownTexts,
    belongs,
  }: { secrets: Secrets; shownTexts: ShownTexts; belongs: (name: string, where: string) => boolean },
): void {
  const search = searchFor(secrets);
  const found = [...shownTexts].flatMap(([where, text]) =>
    search(text)
      .filter((name) => !belongs(name, where) && !isOwnWord(name, where))
      .map((name) => `${name} stands in ${where}`),
  );
  t.deepEqual(found, []);
}

/**
 * Asserts that the search works: it finds secrets at the servers that received them, and in responses that show one.
 */
function assertSearchable(
  t: ExecutionContext,
  { secrets, servers, life }: { secrets: Secrets; servers: EchoingServers; life: Life },
): void {
  const search = searchFor(secrets);
  const sent = search(servers.arrived.join('\n'));
  for (const name of [
    'secret header',
    'password',
    'user name',
    'secret body',
    'changed header',
    'webhook path',
    'webhook query',
    'header before a redirect',
  ])
    t.true(sent.includes(name), `${name} was sent`);
  const shown = search(life.once.map(({ text }) => text).join('\n'));
  for (const name of ['signing secret', 'first signing secret', 'connect code', 'heartbeat token', 'Slack state'])
    t.true(shown.includes(name), `${name} was shown once`);
  t.true(['monitor.down', 'monitor.up'].every((event) => servers.receiver.events.includes(event)));
}

test('no secret leaks from an installation on PostgreSQL and Redis, even during faults', async (t) => {
  const servers = await startEchoingServers(t);
  const { env: given, secrets, token, boardPassword } = settingsOf(servers);
  const key = randomBytes(32);
  const [databasePassword, redisPassword] = [canary('database-password'), canary('redis-password')];
  const { databaseUrl: ownUrl, drop } = await createTestDatabase();
  const role = `canary_${randomBytes(4).toString('hex')}`;
  const administer = (statement: string) =>
    withClient(testServers().databaseUrl, async (client) => void (await client.query(statement)));
  await administer(`CREATE ROLE ${role} SUPERUSER LOGIN PASSWORD '${databasePassword}'`);
  t.teardown(async () => {
    await drop();
    await administer(`DROP ROLE ${role}`);
  });
  const databaseUrl = Object.assign(new URL(ownUrl), { username: role, password: databasePassword }).href;
  const redis = await startOwnRedis(t);
  const redisUrl = redis === null ? null : await protect(t, redis, redisPassword);
  const env = {
    ...given,
    DATABASE_URL: databaseUrl,
    SECRET_KEYS: `k1:${key.toString('base64')}`,
    ...(redisUrl !== null && { REDIS_URL: redisUrl.href }),
  };
  const service = await startService(t, env, token);
  const { readerToken, agent: made } = await furnish(ownUrl);
  const agentDir = await newDataDir(t);
  const agent = startProgram(t, ['agent/main.ts'], {
    SPOTCHECK_URL: service.url,
    SPOTCHECK_AGENT_TOKEN: made.token,
    DATA_DIR: agentDir,
    AGENT_PULL_SECONDS: '1',
    AGENT_LOG_LEVEL: 'trace',
    LOG_LEVEL: 'trace',
  });
  await outputMatching(agent, /service\.connected/);

  const faults = [
    {
      begin: () =>
        administer(
          `ALTER ROLE ${role} NOLOGIN;
           SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '${role}'`,
        ),
      end: () => administer(`ALTER ROLE ${role} LOGIN`),
    },
    ...(redis === null ? [] : [{ begin: redis.freeze, end: redis.thaw }]),
  ];
  const life = await liveThrough(t, {
    url: service.url,
    token,
    readerToken,
    servers,
    faults,
    readPaths: await describedReads(),
    ownAgentId: made.id,
  });
  t.true(life.toReader.length > 50);
  await until(() => servers.arrived.some((text) => text.includes(life.secrets.get('header at an agent') ?? '?')));
  const shownTexts = await shownBy(t, { service, life, boardPassword });
  if (redisUrl !== null) {
    const client = new Redis(redisUrl.href);
    const held = await readRedis(client);
    t.true(held.length > 1000);
    shownTexts.set('Redis', held);
    await client.quit();
  }
  for (const [table, text] of await readAllRows(ownUrl)) shownTexts.set(`table ${table}`, text);
  t.regex(
    shownTexts.get('table public.incident_evidence') ?? '',
    /bodyWithheld""?: ""?secrets/,
    'evidence is stored without possible secrets',
  );
  await agent.stop();
  shownTexts.set("the agent's log", agent.output());
  await filesIn(shownTexts, agentDir);
  t.is(await service.program.stop(), 0);
  shownTexts.set('log', logOf(service));
  shownTexts.set(
    'messages in chats',
    JSON.stringify([servers.slack.posts.map(({ json }) => json), servers.telegram.sent]),
  );

  const wrong = {
    ...env,
    DATABASE_URL: databaseUrl.replace('postgres:', 'canary:'),
    REDIS_URL: `x${redisPassword}`,
    SECRET_KEYS: `k1:${key.toString('base64')},k1`,
    BOOTSTRAP_TOKEN: canary('bootstrap-token'),
  };
  const stranger = { ...env, DATABASE_URL: Object.assign(new URL(databaseUrl), { pathname: '/not_there' }).href };
  secrets.set('wrong bootstrap token', wrong.BOOTSTRAP_TOKEN);
  for (const [name, environment] of Object.entries({ wrong, stranger })) {
    const { status, stdout, stderr } = await runSpotcheck(['tenant', 'list'], environment);
    t.is(status, 1, stdout);
    shownTexts.set(`the complaint of a command in an environment that is ${name}`, stderr);
  }

  for (const [name, secret] of life.secrets) secrets.set(name, secret);
  for (const [name, secret] of Object.entries({
    key,
    databasePassword,
    redisPassword,
    readerToken,
    agentToken: made.token,
  }))
    secrets.set(name, secret);
  assertSearchable(t, { secrets, servers, life });
  assertNowhere(t, {
    secrets,
    shownTexts,
    belongs: (name, where) => name === 'heartbeat token' && where === 'table public.monitors',
  });
});

/** Sets a password on a Redis; returns its URL with the password. */
async function protect(t: ExecutionContext, { url }: OwnRedis, password: string): Promise<URL> {
  const client = new Redis(url);
  t.is(await client.config('SET', 'requirepass', password), 'OK');
  await client.quit();
  return Object.assign(new URL(url), { password });
}

test('no secret leaks from an embedded installation, not even into its files', async (t) => {
  const servers = await startEchoingServers(t);
  const { env, secrets, token, boardPassword } = settingsOf(servers);
  const dataDir = await newDataDir(t);
  const service = await startService(t, { ...env, DATA_DIR: dataDir }, token);
  const { databaseUrl } = JSON.parse(await readFile(join(dataDir, 'runtime.json'), 'utf8')) as { databaseUrl: string };
  const { readerToken } = await furnish(databaseUrl);
  const [, keyText = ''] = (await readFile(join(dataDir, 'secret-keys'), 'utf8')).trim().split(':');

  // PostgreSQL logs the statements that fail.
  const fail = () =>
    withClient(
      databaseUrl,
      async (client) =>
        void (await client.query(
          'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND backend_type = $1',
          ['client backend'],
        )),
    );
  const life = await liveThrough(t, {
    url: service.url,
    token,
    readerToken,
    servers,
    faults: [{ begin: fail, end: () => {} }],
    readPaths: [],
    ownAgentId: null,
  });
  const shownTexts = await shownBy(t, { service, life, boardPassword });
  for (const [table, text] of await readAllRows(databaseUrl)) shownTexts.set(`table ${table}`, text);
  t.is(await service.program.stop(), 0);
  shownTexts.set('log', logOf(service));
  await filesIn(shownTexts, dataDir);

  for (const [name, secret] of life.secrets) secrets.set(name, secret);
  secrets.set('key', Buffer.from(keyText, 'base64'));
  secrets.set('database password', new URL(databaseUrl).password);
  secrets.set('readerToken', readerToken);
  assertSearchable(t, { secrets, servers, life });
  const isOfCluster = (where: string) => /^file postgres\/cluster\/(base|pg_wal|global)\//.test(where);
  t.true(
    [...shownTexts.keys()].some(isOfCluster) && (shownTexts.get('file postgres.log') ?? '') !== '',
    [...shownTexts.keys()].filter((where) => where.startsWith('file ') && !isOfCluster(where)).join(),
  );
  assertNowhere(t, {
    secrets,
    shownTexts,
    belongs: (name, where) =>
      (name === 'heartbeat token' && (where === 'table public.monitors' || isOfCluster(where))) ||
      (name === 'key' && where === 'file secret-keys') ||
      (name === 'database password' && /^file (runtime\.json|postgres\/password)$/.test(where)),
  });
});
