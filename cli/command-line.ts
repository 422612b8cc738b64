import { InvalidArgumentError, Option, type Command } from 'commander';
import { PLANS } from '../core/accounts/plans.ts';
import type { TokenScope } from '../core/accounts/roles.ts';
import type { Expiry } from './commands/tokens.ts';

/**
 * Adds every command with its options. What a command does is loaded when it runs: help and wrong usage need none of
 * it.
 */
export function addCommands(program: Command): void {
  addServiceCommands(program);
  addTenantCommands(program);
  addUserCommands(program);
  addTokenCommands(program);
  addAgentCommands(program);
  addKeyCommands(program);
}

function addServiceCommands(program: Command): void {
  program
    .command('start')
    .description('run the whole service in this process')
    .action(async () => (await import('./commands/start.ts')).start(process.env));
  program
    .command('migrate')
    .description('bring the database up to date; with BOOTSTRAP_TOKEN set, an empty one also gets its first tenant')
    .option('--json', 'print JSON')
    .action(async (options) => (await import('./commands/backup.ts')).migrateDatabase(options));
  program
    .command('backup')
    .description('copy the data directory of the running service; to restore, start on the copy')
    .requiredOption('--to <folder>', 'a folder that does not exist yet')
    .option('--json', 'print JSON')
    .action(async (options) => (await import('./commands/backup.ts')).backUp(options));
}

function addTenantCommands(program: Command): void {
  const tenant = program.command('tenant').description('accounts');
  tenant
    .command('create')
    .description('make an account with a console user, whose password is shown once')
    .requiredOption('--name <name>', 'a name of its own')
    .addOption(new Option('--plan <plan>', 'what it may use').choices(PLANS).default('free'))
    .option('--email <address>', 'the console user; admin@<name> unless given', parseEmail)
    .option('--json', 'print JSON')
    .action(async (options) => (await import('./commands/tenants.ts')).makeTenant(options));
  tenant
    .command('list')
    .description('all accounts')
    .option('--json', 'print JSON')
    .action(async (options) => (await import('./commands/tenants.ts')).printTenants(options));
}

function addUserCommands(program: Command): void {
  const user = program.command('user').description('people who sign in to the console');
  user
    .command('reset')
    .description('give a user a new password, shown once; their second factor goes and their sessions end')
    .requiredOption('--email <address>', 'whose')
    .option('--json', 'print JSON')
    .action(async (options) => (await import('./commands/users.ts')).resetUser(options));
  user
    .command('operator')
    .description('let a user see the fleet page and the queue board, whatever their role')
    .requiredOption('--email <address>', 'whom')
    .option('--revoke', 'no longer')
    .option('--json', 'print JSON')
    .action(async (options) => (await import('./commands/users.ts')).changeOperator(options));
}

function addTokenCommands(program: Command): void {
  const token = program.command('token').description('API tokens');
  token
    .command('create')
    .description('create an API token; it is shown once')
    .requiredOption('--tenant <id>', 'whose token')
    .option('--scopes <list>', 'read, or read,write', parseScopes, ['read', 'write'])
    .option('--expires <duration>', 'such as 12h, 90d or never', parseExpiry, 'never')
    .option('--name <name>', 'what it is for', parseName, 'Created on the command line')
    .option('--json', 'print JSON')
    .action(async (options) => (await import('./commands/tokens.ts')).makeToken(options));
  token
    .command('list')
    .description("a tenant's tokens, without their values")
    .requiredOption('--tenant <id>', 'whose tokens')
    .option('--json', 'print JSON')
    .action(async (options) => (await import('./commands/tokens.ts')).printTokens(options));
  token
    .command('revoke')
    .description('end a token at once')
    .requiredOption('--id <id>', 'the token')
    .option('--json', 'print JSON')
    .action(async (options) => (await import('./commands/tokens.ts')).revokeToken(options));
}

function addAgentCommands(program: Command): void {
  const agent = program.command('agent').description("customers' agents, and the regions of shared ones");
  agent
    .command('create')
    .description('make an agent of a tenant; its token is shown once')
    .requiredOption('--tenant <id>', 'whose agent')
    .requiredOption('--name <name>', 'what people call it', parseName)
    .option('--region <region>', 'where it stands', parseName)
    .option('--json', 'print JSON')
    .action(async (options) => (await import('./commands/agents.ts')).makeAgent(options));
  agent
    .command('list')
    .description('the agents that a tenant may use')
    .requiredOption('--tenant <id>', 'whose agents')
    .option('--json', 'print JSON')
    .action(async (options) => (await import('./commands/agents.ts')).printAgents(options));
  agent
    .command('revoke')
    .description("end an agent's token at once; it stays with its monitors")
    .requiredOption('--id <id>', 'the agent')
    .option('--json', 'print JSON')
    .action(async (options) => (await import('./commands/agents.ts')).revoke(options));
  agent
    .command('rotate')
    .description(
      'give an agent a new token, shown once; the old one ends at once, and the key that secrets were sealed to ' +
        'is forgotten',
    )
    .requiredOption('--id <id>', 'the agent')
    .option('--json', 'print JSON')
    .action(async (options) => (await import('./commands/agents.ts')).rotate(options));
  agent
    .command('retire')
    .description('give up the region of a shared agent: prints what that does to its monitors, and does it with --yes')
    .requiredOption('--region <region>', 'which region')
    .option(
      '--move-to <region>',
      'the region that its monitors get instead; without it those that have no other go to one that is alive',
    )
    .option('--yes', 'do it')
    .option('--json', 'print JSON')
    .action(async (options) => (await import('./commands/agents.ts')).retire(options));
  agent
    .command('restore')
    .description('take back that a region was given up')
    .requiredOption('--region <region>', 'which region')
    .option('--json', 'print JSON')
    .action(async (options) => (await import('./commands/agents.ts')).restore(options));
}

const ORDER = `
While the service runs, in this order:
  1. Put the new key at the END of SECRET_KEYS (old,new) of every process, and restart them: all can open what it seals.
  2. Put it in FRONT (new,old) everywhere, and restart them: all seal with it.
  3. Run this command with the same SECRET_KEYS as in step 2.
  4. Leave out of SECRET_KEYS what it calls not needed, and restart.
Embedded, SECRET_KEYS is the file DATA_DIR/secret-keys and there is one process: steps 1 and 2 are one.`;

const LIMITS =
  'It refuses while it sees a process on the database that is not at step 2. It cannot see one that is stopped, or ' +
  `that has not
asked the database for half a minute: such a process finds its secrets unreadable after this, until it is at step 2.
Killed, or run twice, it goes on with what is left. Exit status 1 where values remain that no key of the ring opens.`;

function addKeyCommands(program: Command): void {
  const keys = program.command('keys').description('the keys that seal secrets');
  keys
    .command('rotate')
    .description('seal every secret anew with the first key of SECRET_KEYS, while the service runs')
    .option('--json', 'print JSON')
    .addHelpText('after', `${ORDER}\n\n${LIMITS}`)
    .action(async (options) => (await import('./commands/keys.ts')).rotate(options));
}

/** Reads the name of something that a tenant has, as one line: 1 to 255 characters that are not only blanks. */
function parseName(text: string): string {
  if (text.trim() === '' || text.length > 255 || /\p{Cc}/u.test(text))
    throw new InvalidArgumentError('Expected 1 to 255 characters, none of them a control character.');
  return text;
}

/** Reads an e-mail address as the API takes one for an invitation. */
function parseEmail(text: string): string {
  if (text.length > 320 || !/^[^\s@\p{Cc}]+@[^\s@\p{Cc}]+$/u.test(text))
    throw new InvalidArgumentError('Expected an e-mail address.');
  return text;
}

function parseScopes(text: string): TokenScope[] {
  const scopes = [...new Set(text.split(',').map((scope) => scope.trim()))].toSorted();
  if (scopes.join(',') !== 'read' && scopes.join(',') !== 'read,write')
    throw new InvalidArgumentError('A token has read, or read,write.');
  return scopes as TokenScope[];
}

const UNIT_SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400, w: 604_800 };

/** Never null, for which Commander puts an empty text. */
function parseExpiry(text: string): Expiry {
  if (text === 'never') return text;
  const [, count, unit = ''] = /^([1-9]\d{0,5})([smhdw])$/.exec(text) ?? [];
  if (count === undefined) throw new InvalidArgumentError('Expected a duration such as 12h or 90d, or never.');
  return Number(count) * (UNIT_SECONDS[unit] ?? 0);
}
