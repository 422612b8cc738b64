import { cleanText } from '../foreign-text.ts';
import { isAtLeast, type Role } from './roles.ts';

/** What a value of the role claim makes a person; `*` stands for any, also for none. */
export type RoleRule = Readonly<{ role: Role; value: string }>;

/** A domain whose people get a user at their first sign-in; `tenantId` null = in the installation's only account. */
export type ProvisionedDomain = Readonly<{ domain: string; tenantId: string | null }>;

/** What the operator decided about sign-ins by an OpenID Connect provider. */
export type OpenIdPolicy = Readonly<{
  /** What the button says behind "Sign in with". */
  name: string;
  /** Null = roles are set in Spotcheck. Dots lead into objects: `resource_access.spotcheck.roles`. */
  roleClaim: string | null;
  roles: readonly RoleRule[];
  provisionDomains: readonly ProvisionedDomain[];
  /** Whether a verified address is enough to become the user who has it. */
  linksByEmail: boolean;
  /** Whether passwords are refused. */
  isOnly: boolean;
}>;

/** A person as their provider describes them; texts are cleaned and bounded. */
export type OpenIdPerson = {
  subject: string;
  /** Empty where the provider says none, or none that could be one. */
  email: string;
  isEmailVerified: boolean;
  name: string;
  /** The provider's name for its session; null = it gives none. */
  sid: string | null;
  /** The values of the role claim. */
  roles: readonly string[];
};

/** OpenID Connect Core, 2: `sub` has at most 255 characters of ASCII. Session ids are as long in practice. */
const MARK = /^[\x20-\x7e]{1,255}$/;
const EMAIL = /^[^\s@\p{Cc}<>"]{1,64}@[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?$/u;
const NAME_LENGTH = 255;
/** Of more values the rest is not read: people in thousands of groups exist, and rules name a few. */
const MAX_ROLES = 1000;
const ROLE_LENGTH = 255;

/** Reads the claims of a person; null where `sub` is none. Anything else that has another form counts as absent. */
export function readPerson(claims: Readonly<Record<string, unknown>>, roleClaim: string | null): OpenIdPerson | null {
  const { sub, email, email_verified: isVerified, name, sid } = claims;
  if (!isMark(sub)) return null;
  const address = typeof email === 'string' ? email.trim().toLowerCase() : '';
  const isAddress = EMAIL.test(address);
  return {
    subject: sub,
    email: isAddress ? address : '',
    // Some providers write the boolean as a text, which OpenID Connect does not allow: it is not believed.
    isEmailVerified: isAddress && isVerified === true,
    name: typeof name === 'string' ? cleanText(name, NAME_LENGTH) : '',
    sid: isMark(sid) ? sid : null,
    roles: roleClaim === null ? [] : textsOf(valueAt(claims, roleClaim)),
  };
}

/** Whether a value can be the name of a person or a session at a provider. */
export function isMark(value: unknown): value is string {
  return typeof value === 'string' && MARK.test(value);
}

/** Whether the claims that we read are among these; userinfo is asked for those that are missing. */
export function lacksClaims(claims: Readonly<Record<string, unknown>>, roleClaim: string | null): boolean {
  return (
    claims['email'] === undefined ||
    claims['email_verified'] === undefined ||
    claims['name'] === undefined ||
    (roleClaim !== null && valueAt(claims, roleClaim) === undefined)
  );
}

function valueAt(claims: Readonly<Record<string, unknown>>, claim: string): unknown {
  // Names such as `https://example.com/roles` have dots of their own.
  if (Object.hasOwn(claims, claim)) return claims[claim];
  return claim.split('.').reduce<unknown>((value, key) => {
    const isObject = typeof value === 'object' && value !== null && Object.hasOwn(value, key);
    return isObject ? Object.entries(value).find(([name]) => name === key)?.[1] : undefined;
  }, claims);
}

function textsOf(value: unknown): string[] {
  const values: unknown[] = Array.isArray(value) ? value.slice(0, MAX_ROLES) : [value];
  return values.filter((item) => typeof item === 'string').filter((item) => item.length <= ROLE_LENGTH);
}

/** The highest role that the rules give; null = none, and then the person may not come in. */
export function roleOf(values: readonly string[], rules: readonly RoleRule[]): Role | null {
  const matching = rules.filter(({ value }) => value === '*' || values.includes(value));
  return matching.reduce<Role | null>((best, { role }) => (best === null || isAtLeast(role, best) ? role : best), null);
}

/** The rule of the domain that an address is at; null where people of it are not made users. */
export function provisionedDomainOf(email: string, domains: readonly ProvisionedDomain[]): ProvisionedDomain | null {
  const domain = email.slice(email.lastIndexOf('@') + 1);
  return domains.find((provisioned) => provisioned.domain === domain) ?? null;
}

/** A path travels in a cookie, which holds 4 kB. */
const MAX_PATH = 500;

/** Whether a path is our own console's: a redirect there leads to no other site, whatever a browser makes of it. */
export function isOwnPath(path: string): boolean {
  return path.length <= MAX_PATH && /^\/(?!\/)[\x21-\x5b\x5d-\x7e]*$/.test(path);
}
