import { randomBytes } from 'node:crypto';
import type { Plan } from '../../core/accounts/plans.ts';
import { createTenant, listTenants } from '../../models/accounts/tenants.ts';
import { createUser, findUserByEmail, resetAccess, setOperator } from '../../models/accounts/users.ts';
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

/** `user reset`: a new password for who lost access. */
export async function resetUser(options: { email: string; json?: boolean }): Promise<void> {
  const email = options.email.trim();
  const access = await withDatabase(async ({ database, author, nowMs }) => {
    const user = await findUserByEmail(database, email);
    if (user === null) throw unknownUser(email);
    const password = randomBytes(12).toString('base64url');
    const reset = await resetAccess(database, {
      userId: user.id,
      passwordHash: await hashPassword(password),
      nowMs,
      author: author('member.reset'),
    });
    if (reset === null) throw unknownUser(email);
    return {
      id: user.id,
      email: user.email,
      password,
      second_factor_removed: reset.secondFactorRemoved,
      ended_sessions: reset.endedSessions,
    };
  });
  print(access, options);
}

/** `user operator`: makes a user an operator of the installation, or no longer. */
export async function changeOperator(options: { email: string; revoke?: boolean; json?: boolean }): Promise<void> {
  const email = options.email.trim();
  const isOperator = options.revoke !== true;
  const operator = await withDatabase(async ({ database, author }) => {
    const user = await findUserByEmail(database, email);
    const changed =
      user && (await setOperator(database, { id: user.id, isOperator, author: author('member.changed') }));
    if (changed === null) throw unknownUser(email);
    return { id: changed.id, email: changed.email, operator: changed.isOperator };
  });
  print(operator, options);
}

function unknownUser(email: string): Refusal {
  return new Refusal(`No console user with the email address ${JSON.stringify(email)} was found`);
}
