import type { Schemas } from '../../../client/api.ts';
import { formatDateTime } from '../../../parts/time.tsx';

type Action = Schemas['AuditAction'];

/** What the author did, before the name of what it was done to. */
export const ACTION_PHRASES: Readonly<Record<Action, string>> = {
  'monitor.created': 'made the monitor',
  'monitor.changed': 'changed the monitor',
  'monitor.paused': 'paused the monitor',
  'monitor.resumed': 'resumed the monitor',
  'monitor.deleted': 'deleted the monitor',
  'monitor.check_requested': 'asked for a check of',
  'incident.acknowledged': 'acknowledged the incident of',
  'incident.unacknowledged': 'took back the acknowledgement of the incident of',
  'incident.note_added': 'added a note to the incident of',
  'incident.note_deleted': 'deleted a note of the incident of',
  'channel.created': 'made the channel',
  'channel.changed': 'changed the channel',
  'channel.deleted': 'deleted the channel',
  'channel.secret_rotated': 'changed the signing secret of',
  'channel.redelivered': 'had a delivery sent again to',
  'channel.replayed': 'had what failed sent again to',
  'channel.connected': 'connected the channel',
  'channel.disconnected': 'found that this channel’s chat is lost:',
  'channel.disabled': 'switched off the channel',
  'agent.created': 'made the agent',
  'agent.token_rotated': 'gave a new token to the agent',
  'agent.revoked': 'ended the token of the agent',
  'agent.deleted': 'deleted the agent',
  'token.created': 'made the API token',
  'token.revoked': 'revoked the API token',
  'member.created': 'added the member',
  'member.changed': 'changed the name or theme of',
  'member.role_changed': 'changed the role of',
  'member.removed': 'removed the member',
  'member.reset': 'gave a new password to',
  'member.signed_in': 'signed in',
  'member.signed_out': 'signed out',
  'member.session_ended': 'ended a session of',
  'member.other_sessions_ended': 'ended all other sessions of',
  'member.sign_in_throttled': 'refuses sign-ins for a while, after too many wrong passwords, of',
  'member.password_changed': 'changed the password of',
  'member.second_factor_begun': 'began to set up a second factor of',
  'member.second_factor_started': 'turned on the second factor of',
  'member.second_factor_stopped': 'turned off the second factor of',
  'member.recovery_codes_renewed': 'made new recovery codes of',
  'invitation.created': 'invited',
  'invitation.accepted': 'accepted the invitation of',
  'invitation.deleted': 'took back the invitation of',
  'account.created': 'made the account',
  'account.keys_rotated': 'sealed all secrets with a new key for',
  'queue.changed': 'used the queue board on',
};

/** The kinds of things that one can narrow the list to. */
export const KINDS: Readonly<Record<Schemas['AuditObjectKind'], string>> = {
  monitor: 'Monitors',
  incident: 'Incidents',
  channel: 'Channels',
  agent: 'Agents',
  token: 'API tokens',
  member: 'Members and sign-ins',
  invitation: 'Invitations',
  account: 'The account',
  queue: 'Queues',
};

/** People do some things to themselves alone: then it is reported without saying to whom. */
const OF_THEMSELVES: ReadonlySet<Action> = new Set(['member.signed_in', 'member.signed_out']);

/** Whether an entry says to what it was done. */
export function hasObject({ action }: Schemas['AuditEntry']): boolean {
  return !OF_THEMSELVES.has(action);
}

/** What happened to a field; of what came to be or is gone, what it had. */
export function describeChange({ action, changes }: Schemas['AuditEntry'], field: string): string {
  const change = changes[field];
  if (change === undefined || typeof change === 'string') return 'changed; it is a secret and not shown';
  const [before, after] = change.map((value) => formatValue(field, value));
  if (action.endsWith('.created')) return after ?? '';
  if (action.endsWith('.deleted') || action.endsWith('.removed')) return before ?? '';
  return `${before} → ${after}`;
}

/** A value of a field as people read it. */
function formatValue(field: string, value: unknown): string {
  if (value === null || value === undefined || value === '') return 'nothing';
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (typeof value === 'number' && /_at$|^since$|^until$/.test(field)) return formatDateTime(value);
  if (Array.isArray(value))
    return value.length === 0
      ? 'none'
      : value.map((item) => (typeof item === 'object' ? JSON.stringify(item) : String(item))).join(', ');
  return String(value);
}
