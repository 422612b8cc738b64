/** What a person may do in an account, from the least to the most. */
export const ROLES = ['viewer', 'editor', 'owner'] as const;
export type Role = (typeof ROLES)[number];

/** What an API token may do: read, change what is watched and who is notified, or see the wallboard alone (D-440). */
export type TokenScope = 'read' | 'write' | 'wall';

/** What a caller may do: what tokens may, and to people alone, see to the account itself. */
export type Scope = TokenScope | 'manage';

/** The scopes of each role. */
export const ROLE_SCOPES = {
  viewer: ['read'],
  editor: ['read', 'write'],
  owner: ['read', 'write', 'manage'],
} as const satisfies Record<Role, readonly Scope[]>;

/** Whether a role allows what needs that other one. */
export function isAtLeast(role: Role, least: Role): boolean {
  return ROLES.indexOf(role) >= ROLES.indexOf(least);
}
