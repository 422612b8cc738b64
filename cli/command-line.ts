import { Argument, InvalidArgumentError, Option, type Command } from 'commander';
import { PLANS } from '../core/accounts/plans.ts';
import type { TokenScope } from '../core/accounts/roles.ts';
import type { Expiry } from './commands/accounts.ts';
import { PROCESSES, checkHealth, runAgent, runFleetProcess } from './commands/processes.ts';

/**
 * Adds every command with its options. A command's code is loaded when it runs, because help and wrong usage need none.
 */
export function addCommands(program: Command): void {
  addServiceCommands(program);
  addTenantCommands(program);
  addUserCommands(program);
  addTokenCommands(program);
  addAgentCommands(program);
  addKeyCommands(program);
  addMaintenanceCommands(program);
  addWatchCommands(program);
}

function addServiceCommands(program: Command): void {
  program
    .command('start')
    .description('run the whole service in this process')
    .action(async () => (await import('./commands/start.ts')).start(process.env));
  program
    .command('router')
    .description('run the router in front of the cells that CELLS names (docs/cells.md); needs no database')
    .action(async () => (await import('./commands/start.ts')).startRouter(process.env));
  addProcessCommands(program);
  program
    .command('health')
    .description('exit 0 if the process with this environment is healthy, else 1, with a sentence')
    .addArgument(
      new Argument(
        '[process]',
        'whose health: the API on PORT, or a worker on METRICS_PORT; default: what answers',
      ).choices(['start', 'router', ...Object.keys(PROCESSES)]),
    )
    .option('--ready', 'whether it can also reach its database and queue (/readyz)')
    .action((name, options) => checkHealth({ ...options, name }, process.env));
  program
    .command('migrate')
    .description('migrate the database; with BOOTSTRAP_TOKEN set, also create the first tenant in an empty one')
    .option('--json', 'print JSON')
    .action(async (options) => (await import('./commands/backup.ts')).migrateDatabase(options));
  program
    .command('backup')
    .description('back up the data directory of the running service; to restore, start with the copy as DATA_DIR')
    .requiredOption('--to <folder>', 'target folder; must not exist yet')
    .option('--json', 'print JSON')
    .action(async (options) => (await import('./commands/backup.ts')).backUp(options));
}

/** Adds the processes of a fleet, each under its name in the Procfile. */
function addProcessCommands(program: Command): void {
  for (const [name, description] of Object.entries(PROCESSES))
    program
      .command(name)
      .description(`${description}; needs DATABASE_URL`)
      .action(() => runFleetProcess(name as keyof typeof PROCESSES, process.env));
}

function addTenantCommands(program: Command): void {
  const tenant = program.command('tenant').description('manage accounts');
  tenant
    .command('create')
    .description('create an account and its first console user; the password is shown once')
    .requiredOption('--name <name>', 'account name; must be unique', parseName)
    .addOption(new Option('--plan <plan>', 'plan of the account').choices(PLANS).default('free'))
    .option('--email <address>', 'email address of the console user (default: admin@<name>)', parseEmail)
    .option('--json', 'print JSON')
    .action(async (options) => (await import('./commands/accounts.ts')).makeTenant(options));
  tenant
    .command('list')
    .description('list all accounts')
    .option('--json', 'print JSON')
    .action(async (options) => (await import('./commands/accounts.ts')).printTenants(options));
}

function addUserCommands(program: Command): void {
  const user = program.command('user').description('manage console users');
  user
    .command('reset')
    .description(
      'reset the password of a user, shown once; also turns off two-factor authentication and ends all sessions',
    )
    .requiredOption('--email <address>', 'email address of the user')
    .option('--json', 'print JSON')
    .action(async (options) => (await import('./commands/accounts.ts')).resetUser(options));
  user
    .command('operator')
    .description('give a user access to the system page and the queue board, whatever their role')
    .requiredOption('--email <address>', 'email address of the user')
    .option('--revoke', 'remove this access')
    .option('--json', 'print JSON')
    .action(async (options) => (await import('./commands/accounts.ts')).changeOperator(options));
}

function addTokenCommands(program: Command): void {
  const token = program.command('token').description('manage API tokens');
  token
    .command('create')
    .description('create an API token, shown once')
    .requiredOption('--tenant <id>', 'account ID')
    .option('--scopes <list>', 'read or read,write', parseScopes, ['read', 'write'])
    .option('--expires <duration>', 'duration such as 12h or 90d, or never', parseExpiry, 'never')
    .option('--name <name>', 'name of the token', parseName, 'Created on the command line')
    .option('--json', 'print JSON')
    .action(async (options) => (await import('./commands/accounts.ts')).makeToken(options));
  token
    .command('list')
    .description('list the tokens of an account, without their values')
    .requiredOption('--tenant <id>', 'account ID')
    .option('--json', 'print JSON')
    .action(async (options) => (await import('./commands/accounts.ts')).printTokens(options));
  token
    .command('revoke')
    .description('revoke a token immediately')
    .requiredOption('--id <id>', 'token ID')
    .option('--json', 'print JSON')
    .action(async (options) => (await import('./commands/accounts.ts')).revokeToken(options));
}

function addAgentCommands(program: Command): void {
  const agent = program.command('agent').description('manage private agents and the regions of shared agents');
  agent
    .command('run')
    .description('run the private agent that SPOTCHECK_URL and SPOTCHECK_AGENT_TOKEN name in this process')
    .action(() => runAgent(process.env));
  agent
    .command('create')
    .description('create a private agent; its token is shown once')
    .requiredOption('--tenant <id>', 'account ID')
    .requiredOption('--name <name>', 'agent name', parseName)
    .option('--region <region>', 'location of the agent', parseName)
    .option('--json', 'print JSON')
    .action(async (options) => (await import('./commands/agents.ts')).makeAgent(options));
  agent
    .command('list')
    .description('list the agents that an account can use')
    .requiredOption('--tenant <id>', 'account ID')
    .option('--json', 'print JSON')
    .action(async (options) => (await import('./commands/agents.ts')).printAgents(options));
  agent
    .command('revoke')
    .description('revoke the token of an agent immediately; the agent stays in its monitors')
    .requiredOption('--id <id>', 'the agent')
    .option('--json', 'print JSON')
    .action(async (options) => (await import('./commands/agents.ts')).revoke(options));
  agent
    .command('rotate')
    .description(
      'replace the token of an agent, shown once; revokes the old token immediately and lets the agent register ' +
        'a new key for secrets',
    )
    .requiredOption('--id <id>', 'the agent')
    .option('--json', 'print JSON')
    .action(async (options) => (await import('./commands/agents.ts')).rotate(options));
  agent
    .command('retire')
    .description('retire the region of a shared agent: prints what changes for its monitors, and applies it with --yes')
    .requiredOption('--region <region>', 'name of the region')
    .option(
      '--move-to <region>',
      'region to move its monitors to; without it, only monitors without another region move, to a running one',
    )
    .option('--yes', 'apply the plan')
    .option('--json', 'print JSON')
    .action(async (options) => (await import('./commands/agents.ts')).retire(options));
  agent
    .command('restore')
    .description('restore a retired region')
    .requiredOption('--region <region>', 'name of the region')
    .option('--json', 'print JSON')
    .action(async (options) => (await import('./commands/agents.ts')).restore(options));
}

const ORDER = `
While the service runs, in this order:
  1. Put the new key at the END of SECRET_KEYS (old,new) of every process, and restart them: all can decrypt with it.
  2. Put it in FRONT (new,old) everywhere, and restart them: all encrypt with it.
  3. Run this command with the same SECRET_KEYS as in step 2.
  4. Remove the keys listed as not_needed from SECRET_KEYS, and restart.
With the embedded database, SECRET_KEYS is the file DATA_DIR/secret-keys. There is only one process: combine steps 1
and 2.`;

const LIMITS = `The command refuses to run while a process on the database is not at step 2.
It does not detect processes that are stopped or have not used the database for 30 seconds: these cannot decrypt secrets
afterwards, until they are at step 2.
If interrupted, run it again: it continues with the rest. Exit status 1: some values have no key that decrypts them.`;

function addKeyCommands(program: Command): void {
  const keys = program.command('keys').description('manage the keys that encrypt secrets');
  keys
    .command('rotate')
    .description('encrypt every secret again with the first key of SECRET_KEYS, while the service runs')
    .option('--json', 'print JSON')
    .addHelpText('after', `${ORDER}\n\n${LIMITS}`)
    .action(async (options) => (await import('./commands/keys.ts')).rotate(options));
}

const SERVICE = 'The service is named by SPOTCHECK_URL (http://localhost:3000), the API token by SPOTCHECK_TOKEN.';

function addMaintenanceCommands(program: Command): void {
  const maintenance = program.command('maintenance').description('start and end maintenance from deploy scripts');
  maintenance
    .command('start')
    .description('start maintenance of monitors now: checks go on, alerts wait for its end')
    .option('--tag <tag>', 'monitors with this tag; may be repeated', collect)
    .option('--monitor <id>', 'this monitor; may be repeated', collect)
    .option('--all', 'all monitors of the account')
    .requiredOption('--for <duration>', 'how long, such as 30m or 2h', parseDuration)
    .option('--name <name>', 'name of the window', parseName, 'Started on the command line')
    .option('--key <key>', 'a second start with the same key changes nothing')
    .option('--json', 'print JSON')
    .addHelpText('after', `\n${SERVICE}`)
    .action(async (options) => (await import('./commands/maintenance.ts')).startMaintenance(options, process.env));
  maintenance
    .command('end')
    .description('end maintenance now; alerts of what is still down are sent')
    .option('--id <id>', 'the window, mnt_...')
    .option('--key <key>', 'the key that it was started with')
    .option('--json', 'print JSON')
    .addHelpText('after', `\n${SERVICE}`)
    .action(async (options) => (await import('./commands/maintenance.ts')).endMaintenance(options, process.env));
}

const WATCHED = 'Everything about it: docs/watching.md';

function addWatchCommands(program: Command): void {
  const watch = program.command('watch').description('have another installation watch this one');
  watch
    .command('invite')
    .description('print an invitation for another installation, valid for an hour')
    .option('--tenant <id>', 'account that watches it (default: the only one)')
    .option('--json', 'print JSON')
    .action(async (options) => (await import('./commands/watch.ts')).invite(options));
  watch
    .command('join')
    .description('have the installation that printed the invitation and this one watch each other')
    .argument('<invitation>', 'what spotcheck watch invite printed there')
    .option('--tenant <id>', 'account that watches the other one (default: the only one)')
    .option('--no-wait', 'do not wait for the first pings')
    .option('--json', 'print JSON')
    .addHelpText('after', `\n${WATCHED}`)
    .action(async (invitation, options) => (await import('./commands/watch.ts')).join(invitation, options));
  watch
    .command('add')
    .description('ping an address while every part of this installation works')
    .argument('<url>', 'http:// or https:// URL, such as that of a heartbeat elsewhere')
    .option('--no-wait', 'do not wait for the first ping')
    .option('--json', 'print JSON')
    .action(async (url, options) => (await import('./commands/watch.ts')).add(url, options));
  watch
    .command('list')
    .description('list the addresses that are pinged, without their secrets, and when pings last arrived')
    .option('--json', 'print JSON')
    .action(async (options) => (await import('./commands/watch.ts')).list(options));
  watch
    .command('remove')
    .description('stop pinging an address; with another installation, end both directions')
    .argument('<name>', 'its name in spotcheck watch list')
    .option('--json', 'print JSON')
    .action(async (name, options) => (await import('./commands/watch.ts')).remove(name, options));
}

function collect(value: string, before: readonly string[] = []): string[] {
  return [...before, value];
}

/** Parses a name, as one line: 1 to 255 characters that are not only blanks. */
function parseName(text: string): string {
  if (text.trim() === '' || text.length > 255 || /\p{Cc}/u.test(text))
    throw new InvalidArgumentError('Expected 1 to 255 characters, none of them a control character.');
  return text;
}

/** Parses an email address as the API accepts it for an invitation. */
function parseEmail(text: string): string {
  if (text.length > 320 || !/^[^\s@\p{Cc}]+@[^\s@\p{Cc}]+$/u.test(text))
    throw new InvalidArgumentError('Expected an email address.');
  return text;
}

function parseScopes(text: string): TokenScope[] {
  const scopes = [...new Set(text.split(',').map((scope) => scope.trim()))].toSorted();
  if (scopes.join(',') !== 'read' && scopes.join(',') !== 'read,write')
    throw new InvalidArgumentError('Expected read or read,write.');
  return scopes as TokenScope[];
}

const UNIT_SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400, w: 604_800 };

/** Parses an expiry. It is never null, which Commander would replace by an empty text. */
function parseExpiry(text: string): Expiry {
  if (text === 'never') return text;
  const seconds = secondsOf(text);
  if (seconds === null) throw new InvalidArgumentError('Expected a duration such as 12h or 90d, or never.');
  return seconds;
}

/** Parses a duration in seconds. */
function parseDuration(text: string): number {
  const seconds = secondsOf(text);
  if (seconds === null) throw new InvalidArgumentError('Expected a duration such as 30m or 2h.');
  return seconds;
}

function secondsOf(text: string): number | null {
  const [, count, unit = ''] = /^([1-9]\d{0,5})([smhdw])$/.exec(text) ?? [];
  return count === undefined ? null : Number(count) * (UNIT_SECONDS[unit] ?? 0);
}
