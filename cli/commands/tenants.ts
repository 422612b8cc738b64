import { randomBytes } from 'node:crypto';
import { InvalidArgumentError, Option, type Command } from 'commander';
import { PLANS, type Plan } from '../../core/accounts/plans.ts';
import { createTenant, listTenants } from '../../models/accounts/tenants.ts';
import { createUser, findUserByEmail } from '../../models/accounts/users.ts';
import { hashPassword } from '../../models/secrets/password.ts';
import { print, Refusal } from '../output.ts';
import type { WithDatabase } from '../with-database.ts';

/** Adds `tenant create` and `tenant list`. */
export function addTenantCommands(program: Command, withDatabase: WithDatabase): void {
  const tenant = program.command('tenant').description('accounts');
  tenant
    .command('create')
    .description('make an account with a console user, whose password is shown once')
    .requiredOption('--name <name>', 'a name of its own')
    .addOption(new Option('--plan <plan>', 'what it may use').choices(PLANS).default('free'))
    .option('--email <address>', 'the console user; admin@<name> unless given', parseEmail)
    .option('--json', 'print JSON')
    .action(async (options: { name: string; plan: Plan; email?: string; json?: boolean }) => {
      print(await makeTenant(options, withDatabase), options);
    });
  tenant
    .command('list')
    .description('all accounts')
    .option('--json', 'print JSON')
    .action(async (options: { json?: boolean }) => {
      const tenants = await withDatabase(({ database }) => listTenants(database));
      print(
        tenants.map(({ id, name, plan, createdAt }) => ({ id, name, plan, created_at: createdAt })),
        options,
      );
    });
}

async function makeTenant(
  options: { name: string; plan: Plan; email?: string },
  withDatabase: WithDatabase,
): Promise<Record<string, unknown>> {
  const { name, plan } = options;
  if (name.trim() === '' || name.length > 255) throw new Refusal('--name must have 1 to 255 characters');
  if (/\p{Cc}/u.test(name)) throw new Refusal('--name must be one line without control characters');
  const email = options.email ?? `admin@${name.toLowerCase().replaceAll(/[^a-z0-9-]+/g, '-')}`;
  return await withDatabase(async ({ database, author, newId, nowMs }) => {
    if ((await listTenants(database)).some((tenant) => tenant.name === name)) throw isThere(name);
    // An account without a user that can sign in would be of no use.
    if ((await findUserByEmail(database, email)) !== null)
      throw new Refusal(`${email} has an account already: name another person with --email`);
    const created = await createTenant(database, {
      id: newId('ten'),
      name,
      plan,
      nowMs,
      author: author('account.created'),
    });
    if (created === null) throw isThere(name);
    const password = randomBytes(12).toString('base64url');
    const user = await createUser(database, {
      id: newId('usr'),
      tenantId: created.id,
      email,
      role: 'owner',
      passwordHash: await hashPassword(password),
      isOperator: false,
      nowMs,
      author: author('member.created'),
    });
    return { id: created.id, name, plan, user: user === null ? null : { id: user.id, email, password } };
  });
}

function isThere(name: string): Refusal {
  return new Refusal(`There is a tenant named "${name}" already`);
}

/** Reads an e-mail address as the API takes one for an invitation. */
function parseEmail(text: string): string {
  if (text.length > 320 || !/^[^\s@\p{Cc}]+@[^\s@\p{Cc}]+$/u.test(text))
    throw new InvalidArgumentError('Expected an e-mail address.');
  return text;
}
