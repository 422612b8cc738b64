import { randomBytes } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { Command } from 'commander';
import { addCommands } from '../../cli/command-line.ts';
import { PROCESSES } from '../../cli/commands/processes.ts';
import { findEmbeddedPostgres } from '../../cli/embedded-postgres/connection.ts';
import { loadOrCreateSecretKeys } from '../../config/secret-keys.ts';
import { createApiToken, generateToken, listApiTokens } from '../../models/accounts/api-tokens.ts';
import { createTenant, listTenants } from '../../models/accounts/tenants.ts';
import { createAgent } from '../../models/agents/agents.ts';
import { restoreRegion, retireRegion } from '../../models/agents/retired-regions.ts';
import { closeDatabase, type Database } from '../../models/database.ts';
import { listOwnMonitorIds } from '../../models/monitors/monitors.ts';
import { createIdSource } from '../../models/secrets/ids.ts';
import { createSecretBox } from '../../models/secrets/secret-box.ts';
import { apiClient } from '../helpers/api-client.ts';
import { hostCommands, runSpotcheck, type CommandResult } from '../helpers/command.ts';
import { openTestDatabase } from '../helpers/database.ts';
import { startHttpServer } from '../helpers/http-server.ts';
import { newPreparedDataDir, startService } from '../helpers/running-service.ts';
import { until } from '../helpers/until.ts';

type Json = Record<string, unknown>;

/** The service that the commands run against, its database for set-up, and one tenant. */
type Ground = {
  t: ExecutionContext;
  url: string;
  /** Calls the API with the token that commands find in SPOTCHECK_TOKEN. */
  call: ReturnType<typeof apiClient>;
  dataDir: string;
  database: Database;
  tenant: string;
  run: (...args: string[]) => Promise<CommandResult>;
  /** Runs the command in a separate process, which must exit on its own. */
  runAlone: Ground['run'];
  /** Returns the JSON that a command printed under --json; the command must succeed. */
  json: (...args: string[]) => Promise<Json>;
  list: (...args: string[]) => Promise<Json[]>;
  /** Fields that each command printed under --json; for a list, those of its first row. */
  fields: Map<string, string[]>;
};

type Check = (ground: Ground) => Promise<unknown>;

let names = 0;
const runHosted = hostCommands(test);
const newName = () => `name-${(names += 1)}`;
const newId = createIdSource();

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Creates a tenant without tokens, because a plan limits their number. */
async function newTenant({ database }: Pick<Ground, 'database'>): Promise<string> {
  const id = newId('ten');
  await createTenant(database, { id, name: newName(), plan: 'pro', nowMs: Date.now(), author: null });
  return id;
}

async function newToken(ground: Pick<Ground, 'database'>): Promise<{ id: string; tenant: string; token: string }> {
  const [id, tenant, token] = [newId('tok'), await newTenant(ground), generateToken('spk')];
  const stored = { id, tenantId: tenant, name: newName(), token, expiresAt: null, nowMs: Date.now(), author: null };
  await createApiToken(ground.database, { ...stored, scopes: ['read', 'write'] }, 1);
  return { id, tenant, token };
}

async function newestWindow(call: Ground['call']) {
  const window = (await call('GET', '/maintenance-windows')).json['maintenance_windows'].at(-1);
  if (window === undefined) throw new Error('There is no window');
  return window;
}

async function newAgent({ database, tenant }: Ground): Promise<string> {
  const agent = { name: newName(), region: null, tokenFingerprint: randomBytes(32), nowMs: Date.now() };
  return (await createAgent(database, { ...agent, id: newId('agt'), tenantId: tenant })).id;
}

const retireHanoi = ({ database }: Ground) =>
  retireRegion(database, { region: 'hanoi', moveTo: null, nowMs: Date.now(), newId, limit: 0 });

/** Creates a token for a new tenant; returns the printed and the stored one. */
async function createToken(ground: Ground, ...options: string[]) {
  const tenant = await newTenant(ground);
  const printed = await ground.json('token', 'create', '--tenant', tenant, ...options);
  const [stored, ...others] = await listApiTokens(ground.database, tenant);
  ground.t.like([stored, ...others], [{ id: printed['id'] }]);
  return { stored, token: String(printed['token']), scopes: printed['scopes'], expiresAt: printed['expires_at'] };
}

/** Checks that without --json a command prints one line for each field that it prints with it. */
function printsJson(command: string, makeArgs: (ground: Ground) => Promise<string[]> = async () => []): Check {
  return async (ground) => {
    const { t, runAlone, json, fields } = ground;
    if (!fields.has(command)) await json(...command.split(' '), ...(await makeArgs(ground)));
    const expected = fields.get(command) ?? [];
    const { status, stdout, stderr } = await runAlone(...command.split(' '), ...(await makeArgs(ground)));
    t.is(status, 0, stderr);
    const printed = stdout
      .trimEnd()
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => line.slice(0, line.indexOf(': ')));
    t.deepEqual(printed.slice(0, expected.length), expected, command);
  };
}

/**
 * Starts another installation that accepts any invitation, or refuses all, and returns the URL for them. It answers 404
 * to a removal.
 */
async function startPeer(t: ExecutionContext, status = 201): Promise<string> {
  const { port } = await startHttpServer(t, (request, response) => {
    const pingUrl = `http://127.0.0.1:${port}/ping/mon_there.x`;
    const answer = { ping_url: pingUrl, monitor_id: 'mon_there', is_notified: true };
    response.writeHead(request.method === 'DELETE' ? 404 : status, { 'Content-Type': 'application/json' });
    response.end(JSON.stringify(status === 201 ? answer : { error: 'invitation is not valid' }));
  });
  return `http://127.0.0.1:${port}/connect/watch`;
}

const ofTenant = async ({ tenant }: Ground) => ['--tenant', tenant];

/** Checks of each option of each command, with the values that its help lists. */
const CHECKS: Record<string, Record<string, Check>> = {
  start: {},
  router: {},
  ...Object.fromEntries(Object.keys(PROCESSES).map((name) => [name, {}])),
  health: {
    '--ready': async ({ t, run, url }) => {
      const { port: PORT } = new URL(url);
      for (const [path, args] of [
        ['healthz', []],
        ['readyz', ['--ready']],
      ] as const)
        t.deepEqual(
          await until(async () => {
            const answer = await run('health', 'start', ...args);
            return answer.status === 0 && answer;
          }),
          { status: 0, stdout: `Healthy: http://127.0.0.1:${PORT}/${path} answered 200\n`, stderr: '' },
        );
    },
  },
  migrate: { '--json': async ({ t, json }) => t.deepEqual(await json('migrate'), { applied: [] }) },
  backup: {
    '--to': async ({ t, json, dataDir }) => {
      const to = join(dataDir, '..', newName());
      t.deepEqual(await json('backup', '--to', to), { to });
      t.true((await stat(join(to, 'postgres'))).isDirectory());
    },
    '--json': printsJson('backup', async ({ dataDir }) => ['--to', join(dataDir, '..', newName())]),
  },
  'tenant create': {
    '--name': async ({ t, json }) => {
      const name = newName();
      t.like(await json('tenant', 'create', '--name', name), { name, plan: 'free', user: { email: `admin@${name}` } });
    },
    '--plan': async ({ t, json, database }) => {
      for (const plan of ['free', 'solo', 'pro'] as const) {
        const { id } = await json('tenant', 'create', '--name', newName(), '--plan', plan);
        t.is((await listTenants(database)).find((tenant) => tenant.id === id)?.plan, plan);
      }
    },
    '--email': async ({ t, run, json, url }) => {
      const email = `${newName()}@example.org`;
      const { user } = await json('tenant', 'create', '--name', newName(), '--email', email);
      const { password } = user as { password: string };
      for (const bad of ['nobody', 'a b@example.org', '@example.org'])
        t.is((await run('tenant', 'create', '--name', newName(), '--email', bad)).status, 2, bad);
      t.is(
        (
          await fetch(`${url}/v1/session`, {
            method: 'POST',
            headers: { 'Content-Type': 'application/json' },
            body: JSON.stringify({ email, password }),
          })
        ).status,
        201,
      );
    },
    '--json': printsJson('tenant create', async () => ['--name', newName()]),
  },
  'tenant list': { '--json': printsJson('tenant list') },
  'user reset': {
    '--email': async ({ t, json }) =>
      t.like(await json('user', 'reset', '--email', 'admin@localhost'), {
        email: 'admin@localhost',
        second_factor_removed: false,
      }),
    '--json': printsJson('user reset', async () => ['--email', 'admin@localhost']),
  },
  'user operator': {
    '--email': async ({ t, run }) => t.is((await run('user', 'operator', '--email', 'nobody@example.org')).status, 1),
    '--revoke': async ({ t, json }) => {
      t.like(await json('user', 'operator', '--email', 'admin@localhost', '--revoke'), { operator: false });
      t.like(await json('user', 'operator', '--email', ' ADMIN@localhost '), {
        email: 'admin@localhost',
        operator: true,
      });
    },
    '--json': printsJson('user operator', async () => ['--email', 'admin@localhost']),
  },
  'token create': {
    '--tenant': async (ground) => {
      const { t, url } = ground;
      const { stored, token, scopes, expiresAt } = await createToken(ground);
      t.like(stored, { name: 'Created on the command line', scopes: ['read', 'write'], expiresAt: null });
      t.deepEqual({ scopes, expiresAt }, { scopes: ['read', 'write'], expiresAt: null });
      t.is((await apiClient(url, token)('POST', '/monitors', { name: 'x' })).status, 201);
    },
    '--scopes': async (ground) => {
      const { t, url } = ground;
      for (const [list, expected] of [
        ['read', ['read']],
        ['read,write', ['read', 'write']],
      ] as const) {
        const { token, scopes } = await createToken(ground, '--scopes', list);
        t.deepEqual(scopes, expected);
        const call = apiClient(url, token);
        t.is((await call('GET', '/monitors')).status, 200);
        t.is((await call('POST', '/monitors', { name: 'x' })).status, expected.length === 2 ? 201 : 403);
      }
    },
    '--expires': async (ground) => {
      const { t, url } = ground;
      for (const [duration, seconds] of [
        ['30s', 30],
        ['5m', 5 * MINUTE],
        ['12h', 12 * HOUR],
        ['90d', 90 * DAY],
        ['2w', 14 * DAY],
      ] as const) {
        const { stored, expiresAt } = await createToken(ground, '--expires', duration);
        t.true(Math.abs(Number(expiresAt) - Date.now() / 1000 - seconds) < 60, duration);
        t.is(stored?.expiresAt, Number(expiresAt));
      }
      const { stored, token, expiresAt } = await createToken(ground, '--expires', 'never');
      t.deepEqual([expiresAt, stored?.expiresAt], [null, null]);
      t.is((await apiClient(url, token)('GET', '/monitors')).status, 200);
    },
    '--name': async (ground) => {
      const { t, run, tenant } = ground;
      const { stored } = await createToken(ground, '--name', 'Deploys, nightly');
      t.is(stored?.name, 'Deploys, nightly');
      for (const name of ['', ' ', 'x'.repeat(256), 'two\nlines'])
        t.is((await run('token', 'create', '--tenant', tenant, '--name', name)).status, 2);
    },
    '--json': printsJson('token create', ofTenant),
  },
  'token list': {
    '--tenant': async (ground) => {
      const { id, tenant } = await newToken(ground);
      const { t, list } = ground;
      t.like(await list('token', 'list', '--tenant', tenant), [{ id, expires_at: null }]);
    },
    '--json': printsJson('token list', ofTenant),
  },
  'token revoke': {
    '--id': async (ground) => {
      const { id } = await newToken(ground);
      ground.t.deepEqual(await ground.json('token', 'revoke', '--id', id), { id, revoked: true });
    },
    '--json': printsJson('token revoke', async (ground) => ['--id', (await newToken(ground)).id]),
  },
  'agent run': {},
  'agent create': {
    '--tenant': async ({ t, json, list, tenant }) => {
      const { id } = await json('agent', 'create', '--tenant', tenant, '--name', newName());
      t.like(
        (await list('agent', 'list', '--tenant', tenant)).find((agent) => agent['id'] === id),
        { kind: 'tenant' },
      );
    },
    '--name': async ({ t, json, tenant }) =>
      t.like(await json('agent', 'create', '--tenant', tenant, '--name', 'Home lab'), {
        name: 'Home lab',
        region: null,
      }),
    '--region': async ({ t, json, tenant }) =>
      t.like(await json('agent', 'create', '--tenant', tenant, '--name', newName(), '--region', 'hanoi'), {
        region: 'hanoi',
      }),
    '--json': printsJson('agent create', async ({ tenant }) => ['--tenant', tenant, '--name', newName()]),
  },
  'agent list': {
    '--tenant': async ({ t, fields }) => t.true((fields.get('agent list') ?? []).includes('kind'), 'listed above'),
    '--json': printsJson('agent list', ofTenant),
  },
  'agent revoke': {
    '--id': async (ground) => {
      const id = await newAgent(ground);
      ground.t.deepEqual(await ground.json('agent', 'revoke', '--id', id), { id, revoked: true });
    },
    '--json': printsJson('agent revoke', async (ground) => ['--id', await newAgent(ground)]),
  },
  'agent rotate': {
    '--id': async (ground) => {
      const id = await newAgent(ground);
      ground.t.like(await ground.json('agent', 'rotate', '--id', id), { id });
    },
    '--json': printsJson('agent rotate', async (ground) => ['--id', await newAgent(ground)]),
  },
  'agent retire': {
    '--region': async ({ t, run, json }) => {
      t.like(await json('agent', 'retire', '--region', 'paris'), { region: 'paris', retired: false });
      t.is((await run('agent', 'retire', '--region', 'atlantis')).status, 1);
    },
    '--move-to': async (ground) => {
      const { t, run, json, url, database } = ground;
      const call = apiClient(url, (await newToken(ground)).token);
      const agents = (await call('GET', '/agents')).json['agents'];
      const idOf = (region: string) => agents.find((agent) => agent.region === region)?.id;
      const { json: monitor } = await call('POST', '/monitors', {
        name: 'Shop',
        target: 'https://shop.example/',
        agent_sources: [idOf('hanoi')],
      });
      t.like(await json('agent', 'retire', '--region', 'hanoi', '--move-to', 'paris', '--yes'), {
        moved: 1,
        moved_to: 'paris',
        retired: true,
      });
      t.deepEqual((await call('GET', `/monitors/${monitor['id']}`)).json['agent_sources'], [idOf('paris')]);
      t.is((await run('agent', 'retire', '--region', 'paris', '--move-to', 'hanoi')).status, 1);
      t.true(await restoreRegion(database, 'hanoi'));
    },
    '--yes': async ({ t, json, database }) => {
      t.like(await json('agent', 'retire', '--region', 'hanoi', '--yes'), { region: 'hanoi', retired: true });
      t.true(await restoreRegion(database, 'hanoi'));
    },
    '--json': printsJson('agent retire', async () => ['--region', 'hanoi']),
  },
  'agent restore': {
    '--region': async (ground) => {
      const { t, run, json } = ground;
      await retireHanoi(ground);
      t.deepEqual(await json('agent', 'restore', '--region', 'hanoi'), { region: 'hanoi', restored: true });
      t.is((await run('agent', 'restore', '--region', 'hanoi')).status, 1);
    },
    '--json': printsJson('agent restore', async (ground) => {
      await retireHanoi(ground);
      return ['--region', 'hanoi'];
    }),
  },
  'keys rotate': { '--json': printsJson('keys rotate') },
  'maintenance start': {
    '--tag': async ({ t, json, run, call }) => {
      await json('maintenance', 'start', '--tag', 'db', '--tag', 'cache', '--for', '30m');
      t.deepEqual((await newestWindow(call)).tags, ['cache', 'db']);
      await call('POST', '/monitors', { name: 'Queue', tags: ['queue'] });
      const mistyped = await run('maintenance', 'start', '--tag', 'queue', '--tag', 'quue', '--for', '30m');
      t.is(mistyped.status, 0);
      t.is(mistyped.stderr, 'No monitor has the tag quue: maintenance covers those that get it before the end\n');
    },
    '--monitor': async ({ t, json, call }) => {
      const { json: monitor } = await call('POST', '/monitors', { name: 'Shop' });
      await json('maintenance', 'start', '--monitor', String(monitor['id']), '--for', '30m');
      t.deepEqual((await newestWindow(call)).monitor_ids, [monitor['id']]);
    },
    '--all': async ({ t, json, run, call }) => {
      await json('maintenance', 'start', '--all', '--for', '30m');
      t.true((await newestWindow(call)).all_monitors);
      const nothing = await run('maintenance', 'start', '--for', '30m');
      t.deepEqual([nothing.status, nothing.stderr], [2, 'Say which monitors: --tag, --monitor or --all\n']);
    },
    '--for': async ({ t, json, run }) => {
      const { ends_at: end } = await json('maintenance', 'start', '--all', '--for', '2h');
      t.true(Math.abs(Number(end) - Date.now() / 1000 - 2 * HOUR) < 60);
      t.is((await run('maintenance', 'start', '--all', '--for', 'soon')).status, 2);
      const short = await run('maintenance', 'start', '--all', '--for', '5s');
      t.deepEqual([short.status, short.stderr], [2, '--for must be from 1m to 30d\n']);
    },
    '--name': async ({ t, json }) => {
      t.like(await json('maintenance', 'start', '--all', '--for', '30m', '--name', 'Deploy 42'), { name: 'Deploy 42' });
    },
    '--key': async ({ t, json }) => {
      const start = () => json('maintenance', 'start', '--all', '--for', '30m', '--key', 'deploy-42');
      t.is((await start())['id'], (await start())['id']);
    },
    '--json': printsJson('maintenance start', async () => ['--all', '--for', '30m']),
  },
  'maintenance end': {
    '--id': async ({ t, json, run }) => {
      const { id } = await json('maintenance', 'start', '--all', '--for', '30m');
      t.like(await json('maintenance', 'end', '--id', String(id)), { id, status: 'ended' });
      t.like(await json('maintenance', 'end', '--id', String(id)), { id, status: 'ended' });
      t.is((await run('maintenance', 'end', '--id', 'mnt_unknown')).status, 1);
      t.is((await run('maintenance', 'end')).status, 2);
    },
    '--key': async ({ t, json, run }) => {
      const { id } = await json('maintenance', 'start', '--all', '--for', '30m', '--key', 'deploy-43');
      t.like(await json('maintenance', 'end', '--key', 'deploy-43'), { id, key: 'deploy-43', status: 'ended' });
      t.like(await json('maintenance', 'end', '--key', 'deploy-43'), { id, key: 'deploy-43', status: 'ended' });
      const unknown = await run('maintenance', 'end', '--key', 'deploy-44');
      t.deepEqual([unknown.status, unknown.stderr], [1, 'There is no maintenance window with the key deploy-44\n']);
    },
    '--json': printsJson('maintenance end', async ({ json }) => {
      return ['--id', String((await json('maintenance', 'start', '--all', '--for', '30m'))['id'])];
    }),
  },
  'watch invite': {
    '--tenant': async ({ t, json, run, tenant, url }) => {
      const { invitation } = await json('watch', 'invite', '--tenant', tenant);
      t.true(String(invitation).startsWith(`http://localhost:${new URL(url).port}/connect/watch#v1.`));
      t.regex((await run('watch', 'invite')).stderr, /several accounts: .+--tenant/);
      t.is((await run('watch', 'invite', '--tenant', 'ten_service')).status, 1);
    },
    '--json': printsJson('watch invite', ofTenant),
  },
  'watch join': {
    '--tenant': async (ground) => {
      const { t, run, json } = ground;
      const peer = await startPeer(t);
      t.regex((await run('watch', 'join', `${peer}#v1.x`)).stderr, /several accounts: .+--tenant/);
      const tenant = await newTenant(ground);
      const { monitor_id: id } = await json('watch', 'join', `${peer}#v1.x`, '--no-wait', '--tenant', tenant);
      t.deepEqual((await listOwnMonitorIds(ground.database, tenant, [String(id)])).length, 1);
    },
    '--no-wait': async ({ t, json, run, tenant }) => {
      const peer = await startPeer(t);
      const joined = await json('watch', 'join', `${peer}#v1.x`, '--no-wait', '--tenant', tenant);
      t.like(joined, { watched_by: new URL(peer).origin, monitor_id_there: 'mon_there', first_ping_sent: undefined });
      const again = await json('watch', 'join', `${peer}#v1.x`, '--no-wait', '--tenant', tenant);
      t.deepEqual(again, joined);
      // A failed invitation leaves nothing behind.
      const refused = await run('watch', 'join', `${await startPeer(t, 400)}#v1.x`, '--no-wait', '--tenant', tenant);
      t.deepEqual([refused.status, refused.stderr], [1, 'invitation is not valid\n']);
      const away = await run('watch', 'join', 'http://127.0.0.1:9/connect/watch#v1.x', '--tenant', tenant);
      t.regex(away.stderr, /^http:\/\/127\.0\.0\.1:9 does not answer: /);
      const mistaken = await run('watch', 'join', 'spk_token');
      t.is(mistaken.status, 2);
      t.regex(mistaken.stderr, /what spotcheck watch invite printed/);
      const own = (await json('watch', 'invite', '--tenant', tenant))['invitation'];
      t.regex((await run('watch', 'join', String(own))).stderr, /cannot watch itself/);
      const { origin } = new URL(peer);
      const removed = await json('watch', 'remove', origin);
      t.is(removed['removed'], origin);
      t.regex(String(removed['other_side']), /^removed before; if watch list on it still shows http/);
    },
    '--json': async ({ t, run, tenant }) => {
      const peer = await startPeer(t);
      const { stdout } = await run('watch', 'join', `${peer}#v1.x`, '--no-wait', '--tenant', tenant);
      t.regex(stdout, new RegExp(`^watches: ${new URL(peer).origin}\n`));
    },
  },
  'watch add': {
    '--no-wait': async ({ t, json, run }) => {
      t.regex(
        String((await json('watch', 'add', 'http://127.0.0.1:9/a', '--no-wait'))['name']),
        /^127\.0\.0\.1:9#\w{8}$/,
      );
      t.is((await run('watch', 'add', 'ftp://127.0.0.1/')).status, 2);
    },
    '--json': async ({ t, run }) =>
      t.regex((await run('watch', 'add', 'http://127.0.0.1:9/b', '--no-wait')).stdout, /^name: 127\.0\.0\.1:9#/),
  },
  'watch list': { '--json': printsJson('watch list') },
  'watch remove': {
    '--json': async ({ t, json, run }) => {
      const { name } = await json('watch', 'add', 'http://127.0.0.1:9/c', '--no-wait');
      t.deepEqual(await json('watch', 'remove', String(name)), { removed: name });
      t.regex((await run('watch', 'remove', String(name))).stderr, /spotcheck watch list shows them/);
    },
  },
};

/** Starts the service with a new tenant. */
async function openGround(t: ExecutionContext): Promise<Ground> {
  const dataDir = await newPreparedDataDir(t);
  const { url } = await startService(t, {
    DATA_DIR: dataDir,
    PLAN_COUNT_LIMITS: 'false',
    AGENT_REGIONS: 'local,paris,hanoi',
  });
  // This connection uses the service's keys: a rotation refuses to run while another process uses different ones.
  const secrets = createSecretBox(await loadOrCreateSecretKeys(dataDir));
  const database = openTestDatabase((await findEmbeddedPostgres(dataDir)) ?? '', { secrets });
  t.teardown(() => closeDatabase(database));
  const fields = new Map<string, string[]>();
  const { token } = await newToken({ database });
  const { port: PORT } = new URL(url);
  const env = { DATA_DIR: dataDir, PORT, PLAN_COUNT_LIMITS: 'false', SPOTCHECK_URL: url, SPOTCHECK_TOKEN: token };
  const run = (...args: string[]) => runHosted(args, env);
  const runAlone = (...args: string[]) => runSpotcheck(args, env);
  const printed = async (args: string[]): Promise<unknown> => {
    const { status, stdout, stderr } = await run(...args, '--json');
    t.deepEqual({ status, lines: stdout.split('\n').length }, { status: 0, lines: 2 }, `${args.join(' ')}: ${stderr}`);
    const result: unknown = JSON.parse(stdout);
    const [first = {}] = Array.isArray(result) ? result : [result];
    fields.set([...args, '--'].join(' ').split(' --')[0] ?? '', Object.keys(first));
    return result;
  };
  const json = async (...args: string[]) => (await printed(args)) as Json;
  const list = async (...args: string[]) => (await printed(args)) as Json[];
  const call = apiClient(url, token);
  return { t, url, call, dataDir, database, tenant: await newTenant({ database }), run, runAlone, json, list, fields };
}

/** Returns the names that a help text lists under a heading: commands of two words, or options. */
function namesUnder(help: string, heading: string, name: RegExp): string[] {
  const section = help.split(`\n${heading}:\n`)[1]?.split('\n\n')[0] ?? '';
  return section.split('\n').flatMap((line) => name.exec(line)?.[1] ?? []);
}

/** Returns the output of `spotcheck <command> --help`. */
function helpOf(command: string): string {
  const program = new Command();
  addCommands(program);
  return command
    .split(' ')
    .reduce((group, name) => group.commands.find((inner) => inner.name() === name) ?? group, program)
    .helpInformation();
}

test('every option in the help of a command works with its documented values', async (t) => {
  const ground = await openGround(t);
  const commands = namesUnder(
    (await ground.run('help')).stdout,
    'Commands',
    /^ {2}(\w+(?: [a-z]+)?)(?: \[| {2})/,
  ).filter((command) => command !== 'help');
  t.deepEqual(commands.toSorted(), Object.keys(CHECKS).toSorted());
  for (const command of commands) {
    const options = namesUnder(helpOf(command), 'Options', /^ {2}(?:-\w, )?(--[\w-]+)/).filter(
      (option) => option !== '--help',
    );
    const checks = CHECKS[command] ?? {};
    t.deepEqual(options.toSorted(), Object.keys(checks).toSorted(), `the options of ${command}`);
    for (const check of Object.values(checks)) await check(ground);
  }
  const { version } = await import('../../package.json', { with: { type: 'json' } }).then(
    ({ default: manifest }) => manifest,
  );
  for (const option of ['--version', '-V']) t.is((await ground.run(option)).stdout, `${version}\n`);
});
