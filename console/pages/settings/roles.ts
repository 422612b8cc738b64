import type { Role } from '../../../core/accounts/roles.ts';

/** The label of each role, and what it allows. */
export const ROLES = {
  owner: { label: 'Owner', is: 'an owner', access: 'Full access, including members and API tokens' },
  editor: { label: 'Editor', is: 'an editor', access: 'Monitors, channels and agents' },
  viewer: { label: 'Viewer', is: 'a viewer', access: 'Read-only' },
} as const satisfies Record<Role, { label: string; is: string; access: string }>;

export type { Role };

/** Whether a text names a role. */
export function isRole(text: string): text is Role {
  return Object.hasOwn(ROLES, text);
}
