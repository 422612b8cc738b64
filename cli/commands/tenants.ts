import { randomBytes } from 'node:crypto';
import type { Plan } from '../../core/accounts/plans.ts';
import { createTenant, listTenants } from '../../models/accounts/tenants.ts';
import { createUser, findUserByEmail } from '../../models/accounts/users.ts';
import { hashPassword } from '../../models/secrets/password.ts';
import { print, Refusal } from '../output.ts';
import { withDatabase } from '../with-database.ts';

type CreateOptions = { name: string; plan: Plan; email?: string; json?: boolean };

/** `tenant create`: an account, and its first console user. */
export async function makeTenant(options: CreateOptions): Promise<void> {
  const { name, plan } = options;
  if (name.trim() === '' || name.length > 255) throw new Refusal('--name must have 1 to 255 characters');
  if (/\p{Cc}/u.test(name)) throw new Refusal('--name must be one line without control characters');
  const email = options.email ?? `admin@${name.toLowerCase().replaceAll(/[^a-z0-9-]+/g, '-')}`;
  const made = await withDatabase(async ({ database, author, newId, nowMs }) => {
    if ((await listTenants(database)).some((tenant) => tenant.name === name)) throw isThere(name);
    // An account without a user that can sign in would be of no use.
    if ((await findUserByEmail(database, email)) !== null)
      throw new Refusal(`${email} already has an account: choose another address with --email`);
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
  print(made, options);
}

/** `tenant list`: all accounts. */
export async function printTenants(options: { json?: boolean }): Promise<void> {
  const tenants = await withDatabase(({ database }) => listTenants(database));
  print(
    tenants.map(({ id, name, plan, createdAt }) => ({ id, name, plan, created_at: createdAt })),
    options,
  );
}

function isThere(name: string): Refusal {
  return new Refusal(`A tenant named "${name}" already exists`);
}
