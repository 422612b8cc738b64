import type { Role } from '../../../core/accounts/roles.ts';

/** The label of each role, and what it allows. */
export const ROLES = {
  owner: { label: 'Owner', is: 'an owner', may: 'may change everything, members and tokens as well' },
  editor: { label: 'Editor', is: 'an editor', may: 'may change monitors, channels and agents' },
  viewer: { label: 'Viewer', is: 'a viewer', may: 'may see everything and change nothing' },
} as const satisfies Record<Role, { label: string; is: string; may: string }>;

export type { Role };

/** Whether a text names a role. */
export function isRole(text: string): text is Role {
  return Object.hasOwn(ROLES, text);
}
