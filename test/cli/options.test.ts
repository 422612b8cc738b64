import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { apiClient } from '../helpers/api-client.ts';
import { runSpotcheck, type CommandResult } from '../helpers/command.ts';
import { newPreparedDataDir, startService } from '../helpers/running-service.ts';

type Json = Record<string, unknown>;

/** The service that the commands run on, and one tenant, token and agent of it. */
type Ground = {
  t: ExecutionContext;
  url: string;
  dataDir: string;
  tenant: string;
  run: (...args: string[]) => Promise<CommandResult>;
  /** What a command printed under --json, which it must have taken. */
  json: (...args: string[]) => Promise<Json>;
  list: (...args: string[]) => Promise<Json[]>;
  newToken: () => Promise<string>;
  newAgent: () => Promise<string>;
};

type Check = (ground: Ground) => Promise<unknown>;

let names = 0;
const newName = () => `name-${(names += 1)}`;

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** When a token made with these arguments expires, in seconds from now; null = never. */
async function expiryOf({ json, tenant }: Ground, ...args: string[]): Promise<number | null> {
  const { id, expires_at: expiresAt } = await json('token', 'create', '--tenant', tenant, ...args);
  await json('token', 'revoke', '--id', String(id));
  return expiresAt === null ? null : Number(expiresAt) - Date.now() / 1000;
}

const DURATIONS: Record<string, number> = {
  '30s': 30,
  '5m': 5 * MINUTE,
  '12h': 12 * HOUR,
  '90d': 90 * DAY,
  '2w': 14 * DAY,
};

/** With --json one line of JSON, without it a line for each field. */
function printsJson(command: string, makeArgs: (ground: Ground) => Promise<string[]>): Check {
  return async (ground) => {
    const { t, run, json } = ground;
    const result: unknown = await json(...command.split(' '), ...(await makeArgs(ground)));
    const [first = {}] = Array.isArray(result) ? result : [result as Json];
    const { status, stdout, stderr } = await run(...command.split(' '), ...(await makeArgs(ground)));
    t.is(status, 0, stderr);
    const fields = stdout
      .trimEnd()
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => line.slice(0, line.indexOf(': ')));
    t.deepEqual(fields.slice(0, Object.keys(first).length), Object.keys(first), command);
  };
}

const nothing = async () => [];
const ofTenant = async ({ tenant }: Ground) => ['--tenant', tenant];

/** What each option of each command does with the values that its help names. */
const CHECKS: Record<string, Record<string, Check>> = {
  start: {},
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
    '--plan': async ({ t, json, list }) => {
      for (const plan of ['free', 'solo', 'pro']) {
        const { id } = await json('tenant', 'create', '--name', newName(), '--plan', plan);
        t.is((await list('tenant', 'list')).find((tenant) => tenant['id'] === id)?.['plan'], plan);
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
  'tenant list': { '--json': printsJson('tenant list', nothing) },
  'user reset': {
    '--email': async ({ t, json }) =>
      t.like(await json('user', 'reset', '--email', 'admin@localhost'), {
        email: 'admin@localhost',
        second_factor_removed: false,
      }),
    '--json': printsJson('user reset', async () => ['--email', 'admin@localhost']),
  },
  'user operator': {
    '--email': async ({ t, json, run }) => {
      t.like(await json('user', 'operator', '--email', ' ADMIN@localhost '), {
        email: 'admin@localhost',
        operator: true,
      });
      t.is((await run('user', 'operator', '--email', 'nobody@example.org')).status, 1);
    },
    '--revoke': async ({ t, json }) => {
      t.like(await json('user', 'operator', '--email', 'admin@localhost', '--revoke'), { operator: false });
      t.like(await json('user', 'operator', '--email', 'admin@localhost'), { operator: true });
    },
    '--json': printsJson('user operator', async () => ['--email', 'admin@localhost']),
  },
  'token create': {
    '--tenant': async ({ t, json, list, tenant }) => {
      const { id } = await json('token', 'create', '--tenant', tenant);
      t.true((await list('token', 'list', '--tenant', tenant)).some((token) => token['id'] === id));
      await json('token', 'revoke', '--id', String(id));
    },
    '--scopes': async ({ t, url, json, tenant }) => {
      for (const [args, scopes] of [
        [['--scopes', 'read'], ['read']],
        [
          ['--scopes', 'read,write'],
          ['read', 'write'],
        ],
        [[], ['read', 'write']],
      ] as const) {
        const { id, token, scopes: given } = await json('token', 'create', '--tenant', tenant, ...args);
        t.deepEqual(given, scopes);
        const call = apiClient(url, String(token));
        t.is((await call('GET', '/monitors')).status, 200);
        t.is((await call('POST', '/monitors', { name: 'x' })).status, scopes.length === 2 ? 201 : 403);
        await json('token', 'revoke', '--id', String(id));
      }
    },
    '--expires': async (ground) => {
      const { t, url, json, list, tenant } = ground;
      for (const [duration, seconds] of Object.entries(DURATIONS))
        t.true(Math.abs(Number(await expiryOf(ground, '--expires', duration)) - seconds) < 60, duration);
      t.is(await expiryOf(ground), null, 'without the option');
      const {
        id,
        token,
        expires_at: expiresAt,
      } = await json('token', 'create', '--tenant', tenant, '--expires', 'never');
      t.is(expiresAt, null);
      t.is(
        (await list('token', 'list', '--tenant', tenant)).find((listed) => listed['id'] === id)?.['expires_at'],
        null,
      );
      t.is((await apiClient(url, String(token))('GET', '/monitors')).status, 200);
      await json('token', 'revoke', '--id', String(id));
    },
    '--name': async ({ t, json, list, run, tenant }) => {
      for (const [args, name] of [
        [['--name', 'Deploys, nightly'], 'Deploys, nightly'],
        [[], 'Created on the command line'],
      ] as const) {
        const { id } = await json('token', 'create', '--tenant', tenant, ...args);
        t.is((await list('token', 'list', '--tenant', tenant)).find((token) => token['id'] === id)?.['name'], name);
        await json('token', 'revoke', '--id', String(id));
      }
      for (const name of ['', ' ', 'x'.repeat(256), 'two\nlines'])
        t.is((await run('token', 'create', '--tenant', tenant, '--name', name)).status, 2);
    },
    '--json': printsJson('token create', ofTenant),
  },
  'token list': {
    '--tenant': async ({ t, list, tenant }) => t.true((await list('token', 'list', '--tenant', tenant)).length > 0),
    '--json': printsJson('token list', ofTenant),
  },
  'token revoke': {
    '--id': async ({ t, json, newToken }) => {
      const id = await newToken();
      t.deepEqual(await json('token', 'revoke', '--id', id), { id, revoked: true });
    },
    '--json': printsJson('token revoke', async ({ newToken }) => ['--id', await newToken()]),
  },
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
    '--tenant': async ({ t, list, tenant }) => t.true((await list('agent', 'list', '--tenant', tenant)).length > 0),
    '--json': printsJson('agent list', ofTenant),
  },
  'agent revoke': {
    '--id': async ({ t, json, newAgent }) => {
      const id = await newAgent();
      t.deepEqual(await json('agent', 'revoke', '--id', id), { id, revoked: true });
    },
    '--json': printsJson('agent revoke', async ({ newAgent }) => ['--id', await newAgent()]),
  },
  'agent rotate': {
    '--id': async ({ t, json, newAgent }) => {
      const id = await newAgent();
      t.like(await json('agent', 'rotate', '--id', id), { id });
    },
    '--json': printsJson('agent rotate', async ({ newAgent }) => ['--id', await newAgent()]),
  },
  'agent retire': {
    '--region': async ({ t, run, json }) => {
      t.like(await json('agent', 'retire', '--region', 'paris'), { region: 'paris', retired: false });
      t.is((await run('agent', 'retire', '--region', 'atlantis')).status, 1);
    },
    '--move-to': async ({ t, run, json, url, tenant }) => {
      const { id, token } = await json('token', 'create', '--tenant', tenant);
      const call = apiClient(url, String(token));
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
      await json('token', 'revoke', '--id', String(id));
      await json('agent', 'restore', '--region', 'hanoi');
    },
    '--yes': async ({ t, json }) => {
      t.like(await json('agent', 'retire', '--region', 'hanoi', '--yes'), { region: 'hanoi', retired: true });
      await json('agent', 'restore', '--region', 'hanoi');
    },
    '--json': printsJson('agent retire', async () => ['--region', 'hanoi']),
  },
  'agent restore': {
    '--region': async ({ t, run, json }) => {
      await json('agent', 'retire', '--region', 'hanoi', '--yes');
      t.deepEqual(await json('agent', 'restore', '--region', 'hanoi'), { region: 'hanoi', restored: true });
      t.is((await run('agent', 'restore', '--region', 'hanoi')).status, 1);
    },
    '--json': printsJson('agent restore', async ({ json }) => {
      await json('agent', 'retire', '--region', 'hanoi', '--yes');
      return ['--region', 'hanoi'];
    }),
  },
  'keys rotate': { '--json': printsJson('keys rotate', nothing) },
};

/** The service with a tenant of its own. */
async function openGround(t: ExecutionContext): Promise<Ground> {
  const dataDir = await newPreparedDataDir(t);
  const { url } = await startService(t, {
    DATA_DIR: dataDir,
    PLAN_COUNT_LIMITS: 'false',
    AGENT_REGIONS: 'local,paris,hanoi',
  });
  const run = (...args: string[]) => runSpotcheck(args, { DATA_DIR: dataDir, PLAN_COUNT_LIMITS: 'false' });
  const printed = async (args: string[]): Promise<unknown> => {
    const { status, stdout, stderr } = await run(...args, '--json');
    t.deepEqual({ status, lines: stdout.split('\n').length }, { status: 0, lines: 2 }, `${args.join(' ')}: ${stderr}`);
    return JSON.parse(stdout);
  };
  const json = async (...args: string[]) => (await printed(args)) as Json;
  const list = async (...args: string[]) => (await printed(args)) as Json[];
  const tenant = String((await json('tenant', 'create', '--name', 'acme', '--plan', 'pro'))['id']);
  const newToken = async () => String((await json('token', 'create', '--tenant', tenant))['id']);
  const newAgent = async () => String((await json('agent', 'create', '--tenant', tenant, '--name', newName()))['id']);
  return { t, url, dataDir, tenant, run, json, list, newToken, newAgent };
}

/** The names of what a help lists under a heading: commands of two words, or options. */
function namesUnder(help: string, heading: string, name: RegExp): string[] {
  const section = help.split(`\n${heading}:\n`)[1]?.split('\n\n')[0] ?? '';
  return section.split('\n').flatMap((line) => name.exec(line)?.[1] ?? []);
}

test('every option that the help of a command names does what it says, with its documented values', async (t) => {
  const ground = await openGround(t);
  const commands = namesUnder(
    (await ground.run('help')).stdout,
    'Commands',
    /^ {2}(\w+(?: [a-z]+)?)(?: \[| {2})/,
  ).filter((command) => command !== 'help');
  t.deepEqual(commands.toSorted(), Object.keys(CHECKS).toSorted());
  for (const command of commands) {
    const { status, stdout } = await ground.run(...command.split(' '), '--help');
    t.is(status, 0);
    const options = namesUnder(stdout, 'Options', /^ {2}(?:-\w, )?(--[\w-]+)/).filter((option) => option !== '--help');
    const checks = CHECKS[command] ?? {};
    t.deepEqual(options.toSorted(), Object.keys(checks).toSorted(), `the options of ${command}`);
    for (const check of Object.values(checks)) await check(ground);
  }
  const { version } = await import('../../package.json', { with: { type: 'json' } }).then(
    ({ default: manifest }) => manifest,
  );
  for (const option of ['--version', '-V']) t.is((await ground.run(option)).stdout, `${version}\n`);
});
