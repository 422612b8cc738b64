/** Roles of a person in an account, from the least to the most privileged. */
export const ROLES = ['viewer', 'editor', 'owner'] as const;
export type Role = (typeof ROLES)[number];

/** Scope of an API token: read, change monitors and channels, or read the wallboard alone (D-440). */
export type TokenScope = 'read' | 'write' | 'wall';

/** Scope of a caller: those of tokens and, for people alone, managing the account itself. */
export type Scope = TokenScope | 'manage';

/** Scopes of each role. */
export const ROLE_SCOPES = {
  viewer: ['read'],
  editor: ['read', 'write'],
  owner: ['read', 'write', 'manage'],
} as const satisfies Record<Role, readonly Scope[]>;

/** Reports whether a role includes another one. */
export function isAtLeast(role: Role, least: Role): boolean {
  return ROLES.indexOf(role) >= ROLES.indexOf(least);
}
