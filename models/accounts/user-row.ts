import type { Role } from '../../core/accounts/roles.ts';
import type { Clock } from '../../core/time.ts';

/** How the console looks to a person: light, dark, or as their system does. */
export type Theme = 'system' | 'light' | 'dark';

/**
 * A person who signs in to the console. `passwordHash` is in the form of models/secrets/password.ts; `timeZone` is
 * `browser`, `UTC` or an IANA name. Times are Unix seconds: `totpConfirmedAt` null = no second factor,
 * `passwordChangedAt` null = the password is the one that was handed out, `lastSignedInAt` null = never,
 * `passwordSignInUntil` = until when the password is accepted although only the provider's sign-in is (D-588).
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

/** What a `User` is made of, as it comes. */
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

/**
 * The columns of a `UserRow`, of `users` under the name `u`; those that other tables have as well are called after it.
 */
export const USER_COLUMNS = `u.id AS user_id, u.tenant_id, u.email, u.name AS user_name, u.role, u.theme,
  u.time_zone, u.clock, u.password_hash, u.is_operator, u.totp_confirmed_at, u.password_changed_at,
  u.password_sign_in_until, u.last_signed_in_at, u.created_at AS user_created_at`;

/** The user of a row. */
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
