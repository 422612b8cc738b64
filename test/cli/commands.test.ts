import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import test, { type ExecutionContext } from 'ava';
import { PEER_PATH } from '../../api/system/watching.ts';
import { MAX_ADDRESSES } from '../../core/system/canary.ts';
import { createTenant } from '../../models/accounts/tenants.ts';
import { registerSharedAgent } from '../../models/agents/shared-agents.ts';
import { closeDatabase, type Database } from '../../models/database.ts';
import { listAllMonitors } from '../../models/monitors/monitor-overview.ts';
import { createIdSource } from '../../models/secrets/ids.ts';
import { listCanaryAddresses, storeCanaryAddress } from '../../models/system/canary-addresses.ts';
import { apiClient, listOf } from '../helpers/api-client.ts';
import { hostCommands, runCommand, runSpotcheck, type CommandResult } from '../helpers/command.ts';
import { createTestDatabase, openTestDatabase } from '../helpers/database.ts';
import { startHttpServer } from '../helpers/http-server.ts';
import { newPreparedDataDir, startService } from '../helpers/running-service.ts';
import { testServers } from '../helpers/test-servers.ts';
import { until } from '../helpers/until.ts';
import { withClient } from '../helpers/with-client.ts';

type Run = (...args: string[]) => Promise<CommandResult>;

const newId = createIdSource();
const runHosted = hostCommands(test);

/** Prepares a database for this test, and runs commands on it through DATABASE_URL. */
async function commandsOnDatabase(t: ExecutionContext): Promise<Run & { database: Database }> {
  const { databaseUrl, drop } = await createTestDatabase();
  t.teardown(drop);
  const database = openTestDatabase(databaseUrl);
  t.teardown(() => closeDatabase(database));
  const env = { DATABASE_URL: databaseUrl, SECRET_KEYS: `k1:${randomBytes(32).toString('base64')}` };
  return Object.assign((...args: string[]) => runHosted(args, env), { database });
}

/** Creates an account on the plan `free` and returns its id. */
async function newTenant(database: Database): Promise<string> {
  const id = newId('ten');
  await createTenant(database, { id, name: 'acme', plan: 'free', nowMs: Date.now(), author: null });
  return id;
}

/** Returns the JSON that a command printed under --json; the command must succeed. */
async function jsonOf(t: ExecutionContext, running: Promise<CommandResult>) {
  const { status, stdout, stderr } = await running;
  t.deepEqual({ status, stderr, lines: stdout.split('\n').length }, { status: 0, stderr: '', lines: 2 });
  return JSON.parse(stdout);
}

async function isRefused(t: ExecutionContext, running: Promise<CommandResult>, complaint: RegExp): Promise<void> {
  const { status, stdout, stderr } = await running;
  t.deepEqual({ status, stdout }, { status: 1, stdout: '' }, stderr);
  t.regex(stderr, /^[^\n]+\n$/, 'exactly one line');
  t.regex(stderr, complaint);
}

test.serial(
  'the documented commands work on the data directory of a running service, and revoke tokens at once',
  async (t) => {
    const dataDir = await newPreparedDataDir(t);
    const service = await startService(t, { DATA_DIR: dataDir });
    const npm = (...args: string[]) =>
      runCommand(['npm', 'run', '--silent', 'spotcheck', '--', ...args], { DATA_DIR: dataDir });
    // Runs the program that npm runs; the other calls use it directly.
    const run = (...args: string[]) => runSpotcheck(args, { DATA_DIR: dataDir, PGSSLMODE: 'require' });
    const tenant = await jsonOf(t, npm('tenant', 'create', '--name', 'acme', '--plan', 'free', '--json'));
    t.regex(tenant.id, /^ten_/);
    t.like(tenant, { name: 'acme', plan: 'free', user: { email: 'admin@acme' } });
    const token = await jsonOf(
      t,
      run('token', 'create', '--tenant', tenant.id, '--scopes', 'read,write', '--expires', '90d', '--json'),
    );
    t.regex(token.id, /^tok_/);
    t.true(Math.abs(token.expires_at - Date.now() / 1000 - 90 * 86_400) < 60);
    const agent = await jsonOf(
      t,
      run('agent', 'create', '--tenant', tenant.id, '--name', 'home-lab', '--region', 'hanoi', '--json'),
    );
    t.regex(agent.id, /^agt_/);
    t.regex(agent.token, /^spa_\S{40,}$/);
    t.deepEqual(await jsonOf(t, run('migrate', '--json')), { applied: [] });

    const call = apiClient(service.url, token.token);
    t.is((await call('POST', '/monitors', { name: 'Shop' })).status, 201);
    t.deepEqual(listOf(await service.call('GET', '/monitors')), [], 'of another tenant');
    t.true(
      listOf(await call('GET', '/agents')).some(
        ({ id, kind, region }) => id === agent.id && kind === 'tenant' && region === 'hanoi',
      ),
    );
    t.notRegex((await run('agent', 'list', '--tenant', tenant.id, '--json')).stdout, /spa_/, 'shown once');
    t.notRegex((await run('token', 'list', '--tenant', tenant.id, '--json')).stdout, /spk_/, 'shown once');
    const { stdout: read } = await run('token', 'list', '--tenant', tenant.id);
    t.regex(read, /^created_at: \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/m);
    t.regex(read, /^revoked_at: -$/m);

    t.deepEqual(await jsonOf(t, run('token', 'revoke', '--id', token.id, '--json')), { id: token.id, revoked: true });
    t.is((await call('GET', '/monitors')).status, 401);
    await isRefused(t, run('token', 'revoke', '--id', token.id), /^No valid token tok_/);
    t.is((await run('token', 'revoke')).status, 2);
    t.is(await service.program.stop(), 0);
    await isRefused(t, run('tenant', 'list'), /^No running Spotcheck was found on /);
  },
);

test('a plan limits usable tokens only: expired and revoked ones do not count', async (t) => {
  const run = await commandsOnDatabase(t);
  const id = await newTenant(run.database);
  const create = (...more: string[]) => run('token', 'create', '--tenant', id, '--json', ...more);
  const first = await jsonOf(t, create('--expires', '1s'));
  const second = await jsonOf(t, create('--scopes', 'read'));
  t.deepEqual([second.scopes, second.expires_at], [['read'], null]);
  await jsonOf(t, run('token', 'revoke', '--id', second.id, '--json'));
  await until(() => first.expires_at < Date.now() / 1000);
  await jsonOf(t, create());
  await jsonOf(t, create());
  await isRefused(
    t,
    create(),
    /^The free plan allows at most 2 API tokens, and ten_\S+ has reached the limit: revoke one first$/m,
  );
});

test('a plan limits the number of private agents', async (t) => {
  const run = await commandsOnDatabase(t);
  const id = await newTenant(run.database);
  await jsonOf(t, run('agent', 'create', '--tenant', id, '--name', 'one', '--json'));
  await isRefused(
    t,
    run('agent', 'create', '--tenant', id, '--name', 'two'),
    /^The free plan allows at most 1 private agent, and /,
  );
});

test('a revoked agent can be given a new token, and changes but no refusals are in the audit log', async (t) => {
  const run = await commandsOnDatabase(t);
  const { id } = await jsonOf(t, run('tenant', 'create', '--name', 'acme', '--json'));
  const agent = await jsonOf(t, run('agent', 'create', '--tenant', id, '--name', 'one', '--json'));
  t.deepEqual(await jsonOf(t, run('agent', 'revoke', '--id', agent.id, '--json')), { id: agent.id, revoked: true });
  await isRefused(
    t,
    run('agent', 'revoke', '--id', agent.id, '--json'),
    /^No private agent agt_\S+ with a valid token was found$/m,
  );
  const renewed = await jsonOf(t, run('agent', 'rotate', '--id', agent.id, '--json'));
  t.is(renewed.id, agent.id);
  t.regex(renewed.token, /^spa_\S{40,}$/);
  t.not(renewed.token, agent.token);
  await jsonOf(t, run('agent', 'revoke', '--id', agent.id, '--json'));
  for (const command of ['revoke', 'rotate'])
    await isRefused(
      t,
      run('agent', command, '--id', 'agt_service'),
      /^No private agent agt_service (?:with a valid token )?was found/m,
    );
  const { rows } = await run.database.pool.query<{ entry: string }>(
    `SELECT concat_ws(' ', action, actor_kind, object_kind, object_name, changes) AS entry FROM audit_log
     WHERE tenant_id = $1 ORDER BY no`,
    [id],
  );
  t.deepEqual(
    rows.map(({ entry }) => entry),
    [
      'account.created operator account acme {"name":[null,"acme"],"plan":[null,"free"]}',
      'member.created operator member admin@acme ' +
        '{"email":[null,"admin@acme"],"role":[null,"owner"],"password":"changed"}',
      'agent.created operator agent one {"name":[null,"one"],"token":"changed"}',
      'agent.revoked operator agent one {"token":"changed"}',
      'agent.token_rotated operator agent one {"token":"changed"}',
      'agent.revoked operator agent one {"token":"changed"}',
    ],
    'each by the operator, and no refused command',
  );
});

test('a command that cannot be carried out exits with 1 and a one-line error', async (t) => {
  const run = await commandsOnDatabase(t);
  await newTenant(run.database);
  await isRefused(t, run('tenant', 'create', '--name', 'acme', '--json'), /^A tenant named "acme" already exists$/m);
  for (const command of [
    ['token', 'create'],
    ['token', 'list'],
    ['agent', 'create', '--name', 'x'],
    ['agent', 'list'],
  ]) {
    await isRefused(t, run(...command, '--tenant', 'ten_none'), /^No tenant ten_none was found$/m);
  }
});

test('watch join keeps no heartbeat of a service that answers with a page instead of a ping URL', async (t) => {
  const run = await commandsOnDatabase(t);
  const tenantId = await newTenant(run.database);
  const { port } = await startHttpServer(t, (_request, response) => void response.end('<h1>Sign in</h1>'));
  const joining = run('watch', 'join', `http://127.0.0.1:${port}${PEER_PATH}#sealed`, '--no-wait');
  await isRefused(t, joining, /answered without a ping URL/);
  t.deepEqual(await listAllMonitors(run.database, tenantId), []);
});

test('watch join that finds no room for another address any more ends the watch on the other side', async (t) => {
  const run = await commandsOnDatabase(t);
  const tenantId = await newTenant(run.database);
  const ended: unknown[] = [];
  const { port } = await startHttpServer(t, async (request, response) => {
    const body = JSON.parse(await text(request));
    if (request.method === 'DELETE') {
      ended.push(body);
      return void response.writeHead(204).end();
    }
    for (let number = 0; number < MAX_ADDRESSES; number += 1) {
      const address = { origin: 'command', name: `${number}.example`, url: `https://${number}.example/` } as const;
      await storeCanaryAddress(run.database, address, { newId, nowMs: Date.now() });
    }
    response.end(JSON.stringify({ ping_url: `http://127.0.0.1:${port}/ping/its-token`, monitor_id: 'mon_1' }));
  });
  const joining = run('watch', 'join', `http://127.0.0.1:${port}${PEER_PATH}#sealed`, '--no-wait');
  await isRefused(t, joining, /^At most 10 addresses are pinged: .*\. The other side: removed$/m);
  t.like(ended, { length: 1, 0: { token: 'its-token' } });
  t.deepEqual(await listAllMonitors(run.database, tenantId), []);
});

test('watch join that cannot store the address ends the watch on the other side, unless that is older', async (t) => {
  const run = await commandsOnDatabase(t);
  const tenantId = await newTenant(run.database);
  const ended: unknown[] = [];
  const { port } = await startHttpServer(t, async (request, response) => {
    const body = JSON.parse(await text(request));
    if (request.method === 'DELETE') ended.push(body);
    const token = `token-${randomBytes(4).toString('hex')}`;
    response.end(JSON.stringify({ ping_url: `http://127.0.0.1:${port}/ping/${token}`, monitor_id: 'mon_1' }));
  });
  const joining = () => run('watch', 'join', `http://127.0.0.1:${port}${PEER_PATH}#sealed`, '--no-wait');
  const { pool } = run.database;
  await pool.query(`ALTER TABLE channels ADD CONSTRAINT refused CHECK (name NOT LIKE 'peer %')`);
  const failed = await joining();
  t.is(failed.status, 1);
  t.regex(failed.stderr, /^The other side: removed$/m);
  t.is(ended.length, 1);
  t.deepEqual(await listAllMonitors(run.database, tenantId), []);
  await pool.query('ALTER TABLE channels DROP CONSTRAINT refused');
  t.is((await joining()).status, 0);
  await pool.query(`ALTER TABLE channels ADD CONSTRAINT refused CHECK (name NOT LIKE 'peer %') NOT VALID`);
  const before = await listCanaryAddresses(run.database);
  t.is((await joining()).status, 1);
  t.is(ended.length, 1);
  t.deepEqual(await listCanaryAddresses(run.database), before, 'the address of the first join is still pinged');
});

test('no account is created without a user who can sign in', async (t) => {
  const run = await commandsOnDatabase(t);
  await jsonOf(t, run('tenant', 'create', '--name', 'a b', '--json'));
  await isRefused(
    t,
    run('tenant', 'create', '--name', 'a-b', '--json'),
    /^admin@a-b already has an account: choose another address with --email$/m,
  );
  await isRefused(
    t,
    run('tenant', 'create', '--name', 'other', '--email', 'Admin@A-B'),
    /^Admin@A-B already has an account/m,
  );
  const { stdout } = await run('tenant', 'list', '--json');
  t.deepEqual(
    (JSON.parse(stdout) as { name: string }[]).map(({ name }) => name),
    ['a b'],
  );
});

test('with an unreachable or unmigrated database commands exit with 1 and a one-line error', async (t) => {
  const SECRET_KEYS = `k1:${randomBytes(32).toString('base64')}`;
  for (const args of [['tenant', 'list'], ['migrate']]) {
    await isRefused(
      t,
      runSpotcheck(args, { DATABASE_URL: 'postgres://user:hush@localhost:1/none', SECRET_KEYS }),
      /^(?!.*hush).*ECONNREFUSED/,
    );
  }
  const bare = new URL(testServers().databaseUrl);
  const name = `bare_${randomBytes(6).toString('hex')}`;
  await withClient(bare.href, (client) => client.query(`CREATE DATABASE ${name}`));
  t.teardown(() => withClient(bare.href, (client) => client.query(`DROP DATABASE ${name} WITH (FORCE)`)));
  const env = {
    DATABASE_URL: Object.assign(new URL(bare), { pathname: `/${name}` }).href,
    SECRET_KEYS,
    BOOTSTRAP_TOKEN: 'spk_first',
  };
  await isRefused(
    t,
    runSpotcheck(['tenant', 'list'], env),
    /^The database lacks .*: run the release's migrate first$/m,
  );

  const { applied } = await jsonOf(t, runSpotcheck(['migrate', '--json'], env));
  t.is(applied[0], 'migration 0001-schema.sql');
  t.deepEqual(await jsonOf(t, runSpotcheck(['migrate', '--json'], env)), { applied: [] });
  t.like(await jsonOf(t, runSpotcheck(['tenant', 'list', '--json'], env)), [{ name: 'default', plan: 'pro' }]);
  const lastMigration = applied.at(-1).replace('migration ', '');
  await withClient(env.DATABASE_URL, async (client) => {
    await client.query('DELETE FROM schema_migrations WHERE name = $1', [lastMigration]);
    await client.query('ALTER TABLE tenants RENAME COLUMN plan TO later_plan');
  });
  await isRefused(t, runSpotcheck(['tenant', 'list'], env), new RegExp(`^The database lacks ${lastMigration}: run`));
  await withClient(env.DATABASE_URL, (client) =>
    client.query('ALTER TABLE schema_migrations RENAME name TO later_name'),
  );
  await isRefused(t, runSpotcheck(['tenant', 'list'], env), /^column .*plan.* does not exist/m);
});

test('wrong usage exits with 2 and prints the usage to standard error', async (t) => {
  const wrong = [
    [],
    ['bogus'],
    ['token'],
    ['token', 'create'],
    ['token', 'create', '--tenant', 'x', '--scopes', 'write'],
    ['token', 'create', '--tenant', 'x', '--expires', '0d'],
    ['tenant', 'create', '--name', ' '],
    ['tenant', 'create', '--name', 'two\nlines'],
    ['tenant', 'create', '--name', 'red\x1b[31m'],
    ['tenant', 'create', '--name', 'a'.repeat(256)],
    ['tenant', 'create', '--name', 'a', '--plan', 'gold'],
    ['tenant', 'create', '--name', 'a', 'extra'],
    ['agent', 'create', '--tenant', 'x', '--name', ''],
    ['agent', 'rotate'],
    ['agent', 'revoke'],
    ['start', '--bogus'],
  ];
  for (const args of wrong) {
    const { status, stdout, stderr } = await runSpotcheck(args, { DATA_DIR: join('/', 'nowhere') });
    t.deepEqual({ status, stdout }, { status: 2, stdout: '' }, args.join(' '));
    t.regex(stderr, /Usage: spotcheck/);
  }
});

test('migrate prints the password that it generates, on the first start only', async (t) => {
  const { databaseUrl, drop } = await createTestDatabase();
  t.teardown(drop);
  const env = {
    DATABASE_URL: databaseUrl,
    SECRET_KEYS: `k1:${randomBytes(32).toString('base64')}`,
    BOOTSTRAP_TOKEN: 'spk_first',
  };
  const { email, password } = await jsonOf(t, runSpotcheck(['migrate', '--json'], env));
  t.is(email, 'admin@localhost');
  t.true(password.length >= 12);
  t.false('password' in (await jsonOf(t, runSpotcheck(['migrate', '--json'], env))));
});

test('a command whose output is closed ends without an EPIPE error', async (t) => {
  const { port } = await startHttpServer(t, (_request, response) => response.end());
  const env = { ...process.env, PORT: String(port) };
  for (const args of ['help', 'health']) {
    const program = spawn(process.execPath, ['cli/spotcheck.ts', args], { env, stdio: ['ignore', 'pipe', 'pipe'] });
    program.stdout.destroy();
    const [stderr] = await Promise.all([text(program.stderr), once(program, 'close')]);
    t.notRegex(stderr, /EPIPE|node:/, args);
  }
});

test('help lists every command and needs no configuration', async (t) => {
  const { status, stdout, stderr } = await runSpotcheck(['help'], { PORT: 'bad' });
  t.deepEqual({ status, stderr }, { status: 0, stderr: '' });
  for (const command of [
    'start',
    'router',
    'migrate',
    'backup',
    'tenant create',
    'tenant list',
    'user reset',
    'user operator',
    'token create',
    'token list',
    'token revoke',
    'agent create',
    'agent list',
    'agent revoke',
    'agent rotate',
  ]) {
    t.regex(stdout, new RegExp(`^  ${command} `, 'm'));
  }
  t.is((await runSpotcheck(['token', 'create', '--help'], {})).status, 0);
});

test.serial('agent retire shows its plan and applies it only with --yes, and agent restore reverts it', async (t) => {
  const run = await commandsOnDatabase(t);
  for (const region of ['tokyo', 'paris'])
    await registerSharedAgent(run.database, {
      newId: newId('agt'),
      region,
      version: '0.1.0',
      arch: 'x64',
      nowMs: Date.now(),
    });
  const plan = {
    region: 'tokyo',
    monitors: 0,
    only_source: 0,
    moved: 0,
    moved_to: null,
    down_min_sources_lowered: 0,
  };
  t.deepEqual(await jsonOf(t, run('agent', 'retire', '--region', 'tokyo', '--json')), {
    ...plan,
    retired: false,
    next: 'nothing has changed yet: add --yes to apply',
  });
  await isRefused(t, run('agent', 'restore', '--region', 'tokyo'), /^The region tokyo is not retired/);
  await isRefused(
    t,
    run('agent', 'retire', '--region', 'rome', '--yes'),
    /^There is no shared agent in the region rome/,
  );
  await isRefused(
    t,
    run('agent', 'retire', '--region', 'tokyo', '--move-to', 'tokyo', '--yes'),
    /^--move-to must be another region .*, got tokyo/,
  );
  t.deepEqual(await jsonOf(t, run('agent', 'retire', '--region', 'tokyo', '--move-to', 'paris', '--yes', '--json')), {
    ...plan,
    moved_to: 'paris',
    retired: true,
  });
  t.deepEqual(await jsonOf(t, run('agent', 'retire', '--region', 'tokyo', '--json')), { ...plan, retired: true });
  t.deepEqual(await jsonOf(t, run('agent', 'restore', '--region', 'tokyo', '--json')), {
    region: 'tokyo',
    restored: true,
  });
});
