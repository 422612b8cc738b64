import { cleanText } from '../foreign-text.ts';
import { isAtLeast, type Role } from './roles.ts';

/** The role that a value of the role claim gives; `*` matches any value, and also none. */
export type RoleRule = Readonly<{ role: Role; value: string }>;

/** A domain whose people get a user at their first sign-in; `tenantId` null = in the installation's only account. */
type ProvisionedDomain = Readonly<{ domain: string; tenantId: string | null }>;

/** The operator's settings for sign-ins by an OpenID Connect provider. */
export type OpenIdPolicy = Readonly<{
  /** Button text after "Sign in with". */
  name: string;
  /** Null = roles are set in Spotcheck. Dots descend into objects: `resource_access.spotcheck.roles`. */
  roleClaim: string | null;
  roles: readonly RoleRule[];
  provisionDomains: readonly ProvisionedDomain[];
  /** Whether a verified address is enough to sign in as the user with that address. */
  linksByEmail: boolean;
  /** Whether passwords are refused. */
  isOnly: boolean;
}>;

/** A person as described by the provider; texts are cleaned and bounded. */
export type OpenIdPerson = {
  subject: string;
  /** Empty if the provider gives no valid one. */
  email: string;
  isEmailVerified: boolean;
  name: string;
  /** The provider's identifier of its session; null if it gives none. */
  sid: string | null;
  /** Values of the role claim. */
  roles: readonly string[];
};

/** OpenID Connect Core, 2: `sub` has at most 255 characters of ASCII. Session ids are as long in practice. */
const MARK = /^[\x20-\x7e]{1,255}$/;
const EMAIL = /^[^\s@\p{Cc}<>"]{1,64}@[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?$/u;
const NAME_LENGTH = 255;
/** Further values are not read: people can be in thousands of groups, and rules name a few. */
const MAX_ROLES = 1000;
const ROLE_LENGTH = 255;

/** Reads the claims of a person; null if `sub` is invalid. Any other malformed claim counts as absent. */
export function readPerson(claims: Readonly<Record<string, unknown>>, roleClaim: string | null): OpenIdPerson | null {
  const { sub, email, email_verified: isVerified, name, sid } = claims;
  if (!isMark(sub)) return null;
  const address = typeof email === 'string' ? email.trim().toLowerCase() : '';
  const isAddress = EMAIL.test(address);
  return {
    subject: sub,
    email: isAddress ? address : '',
    // Some providers send the boolean as a string, which OpenID Connect does not allow: that counts as unverified.
    isEmailVerified: isAddress && isVerified === true,
    name: typeof name === 'string' ? cleanText(name, NAME_LENGTH) : '',
    sid: isMark(sid) ? sid : null,
    roles: roleClaim === null ? [] : textsOf(valueAt(claims, roleClaim)),
  };
}

/** Reports whether a value can identify a person or a session at a provider. */
export function isMark(value: unknown): value is string {
  return typeof value === 'string' && MARK.test(value);
}

/** Reports whether claims that this program reads are missing here; these are then requested from userinfo. */
export function lacksClaims(claims: Readonly<Record<string, unknown>>, roleClaim: string | null): boolean {
  return (
    claims['email'] === undefined ||
    claims['email_verified'] === undefined ||
    claims['name'] === undefined ||
    (roleClaim !== null && valueAt(claims, roleClaim) === undefined)
  );
}

function valueAt(claims: Readonly<Record<string, unknown>>, claim: string): unknown {
  // Names such as `https://example.com/roles` contain dots themselves.
  if (Object.hasOwn(claims, claim)) return claims[claim];
  return claim.split('.').reduce<unknown>((value, key) => {
    const hasKey = typeof value === 'object' && value !== null && Object.hasOwn(value, key);
    return hasKey ? Reflect.get(value, key) : undefined;
  }, claims);
}

function textsOf(value: unknown): string[] {
  const values: unknown[] = Array.isArray(value) ? value.slice(0, MAX_ROLES) : [value];
  return values.filter((item) => typeof item === 'string').filter((item) => item.length <= ROLE_LENGTH);
}

/** Returns the highest role that the rules give; null = none, and the person may not sign in. */
export function roleOf(values: readonly string[], rules: readonly RoleRule[]): Role | null {
  const matching = rules.filter(({ value }) => value === '*' || values.includes(value));
  return matching.reduce<Role | null>((best, { role }) => (best === null || isAtLeast(role, best) ? role : best), null);
}

/** Returns the rule for the domain of an address; null if its people get no users automatically. */
export function provisionedDomainOf(email: string, domains: readonly ProvisionedDomain[]): ProvisionedDomain | null {
  const domain = email.slice(email.lastIndexOf('@') + 1);
  return domains.find((provisioned) => provisioned.domain === domain) ?? null;
}

/** A path travels in a cookie, which holds 4 kB. */
const MAX_PATH = 500;

/** Reports whether a path is within this console: no browser can take a redirect there to another site. */
export function isOwnPath(path: string): boolean {
  return path.length <= MAX_PATH && /^\/(?!\/)[\x21-\x5b\x5d-\x7e]*$/.test(path);
}
