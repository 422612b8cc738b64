import type { AuditObject, Author, FieldChanges } from '../../core/accounts/audit-entry.ts';
import type { Role } from '../../core/accounts/roles.ts';
import type { Clock } from '../../core/time.ts';
import type { Run } from '../sql.ts';
import { insertAuditEntry } from './audit-log.ts';

/** Appearance of the console for a person: light, dark, or that of their system. */
type Theme = 'system' | 'light' | 'dark';

/**
 * A person who signs in to the console. `passwordHash` is in the format of models/secrets/password.ts; `timeZone` is
 * `browser`, `UTC` or an IANA name. Times are Unix seconds: `totpConfirmedAt` null = no second factor,
 * `passwordChangedAt` null = the person has not changed the issued password, `lastSignedInAt` null = never,
 * `passwordSignInUntil` = end of the time when the password is accepted although only the provider's sign-in is
 * (D-588).
 */
export type User = {
  id: string;
  tenantId: string;
  email: string;
  name: string;
  role: Role;
  theme: Theme;
  timeZone: string;
  clock: Clock;
  passwordHash: string;
  isOperator: boolean;
  totpConfirmedAt: number | null;
  passwordChangedAt: number | null;
  passwordSignInUntil: number | null;
  lastSignedInAt: number | null;
  createdAt: number;
};

/** A row that a `User` is made from. */
export type UserRow = {
  user_id: string;
  tenant_id: string;
  email: string;
  user_name: string;
  role: Role;
  theme: Theme;
  time_zone: string;
  clock: Clock;
  password_hash: string;
  is_operator: boolean;
  totp_confirmed_at: number | null;
  password_changed_at: number | null;
  password_sign_in_until: number | null;
  last_signed_in_at: number | null;
  user_created_at: number;
};

/** Columns of a `UserRow`, from `users` as `u`; those that other tables also have are renamed. */
export const USER_COLUMNS = `u.id AS user_id, u.tenant_id, u.email, u.name AS user_name, u.role, u.theme,
  u.time_zone, u.clock, u.password_hash, u.is_operator, u.totp_confirmed_at, u.password_changed_at,
  u.password_sign_in_until, u.last_signed_in_at, u.created_at AS user_created_at`;

/** Converts a row to a user. */
export function userOf(row: UserRow): User {
  return {
    id: row.user_id,
    tenantId: row.tenant_id,
    email: row.email,
    name: row.user_name,
    role: row.role,
    theme: row.theme,
    timeZone: row.time_zone,
    clock: row.clock,
    passwordHash: row.password_hash,
    isOperator: row.is_operator,
    totpConfirmedAt: row.totp_confirmed_at,
    passwordChangedAt: row.password_changed_at,
    passwordSignInUntil: row.password_sign_in_until,
    lastSignedInAt: row.last_signed_in_at,
    createdAt: row.user_created_at,
  };
}

/** Returns a person's name in audit log entries; it includes the address, because names are chosen freely. */
export function personName({ name, email }: Pick<User, 'name' | 'email'>): string {
  return name === '' ? email : `${name} (${email})`;
}

/** Returns a person as the object of an audit log entry. */
export function memberObject(user: Pick<User, 'id' | 'name' | 'email'>): AuditObject {
  return { kind: 'member', id: user.id, name: personName(user) };
}

/**
 * Records a change of a person given by id, in the caller's transaction. `changes` is absent if no visible field
 * changed.
 */
export async function recordMemberChange(
  run: Run,
  author: Author | null,
  { userId, changes }: { userId: string; changes?: FieldChanges },
): Promise<void> {
  if (author === null) return;
  const [user] = await run<{ id: string; tenant_id: string; email: string; name: string }>(
    'SELECT id, tenant_id, email, name FROM users WHERE id = $1',
    [userId],
  );
  if (user === undefined) return;
  const object = memberObject(user);
  await insertAuditEntry(run, author, {
    tenantId: user.tenant_id,
    object,
    actor: { kind: 'user', id: user.id, name: object.name },
    ...(changes && { changes }),
  });
}
