import type { FieldChanges } from './field-changes.ts';

/** Everything that is done to an account, by its name in the audit log; a list that only grows. */
export const AUDIT_ACTIONS = [
  'monitor.created',
  'monitor.changed',
  'monitor.paused',
  'monitor.resumed',
  'monitor.deleted',
  'monitor.check_requested',
  'monitor.muted',
  'monitor.unmuted',
  'incident.acknowledged',
  'incident.unacknowledged',
  'incident.snoozed',
  'incident.unsnoozed',
  'incident.note_added',
  'incident.note_deleted',
  'channel.created',
  'channel.changed',
  'channel.deleted',
  'channel.secret_rotated',
  'channel.redelivered',
  'channel.replayed',
  'channel.connected',
  'channel.disconnected',
  'channel.disabled',
  'channel.confirmation_sent',
  'agent.created',
  'agent.token_rotated',
  'agent.revoked',
  'agent.deleted',
  'token.created',
  'token.revoked',
  'member.created',
  'member.changed',
  'member.role_changed',
  'member.removed',
  'member.reset',
  'member.signed_in',
  'member.signed_out',
  'member.session_ended',
  'member.other_sessions_ended',
  'member.sign_in_throttled',
  'member.password_changed',
  'member.second_factor_begun',
  'member.second_factor_started',
  'member.second_factor_stopped',
  'member.recovery_codes_renewed',
  'invitation.created',
  'invitation.accepted',
  'invitation.deleted',
  'account.created',
  'account.keys_rotated',
  'queue.changed',
  'account.renamed',
  'agent.changed',
  'maintenance.created',
  'maintenance.changed',
  'maintenance.ended',
  'maintenance.extended',
  'maintenance.skipped',
  'maintenance.deleted',
  'monitor.drilled',
  'account.ping_key_created',
  'account.ping_key_deleted',
  'member.provisioned',
  'member.identity_linked',
  'member.identity_unlinked',
  'member.signed_out_by_provider',
] as const;
export type AuditAction = (typeof AUDIT_ACTIONS)[number];

/** What an action is done to. */
export const AUDIT_OBJECTS = [
  'monitor',
  'incident',
  'channel',
  'agent',
  'token',
  'member',
  'invitation',
  'account',
  'queue',
  'maintenance',
] as const;
export type AuditObject = { kind: (typeof AUDIT_OBJECTS)[number]; id: string; name: string };

/**
 * Who did something: a person, an API token, the operator at the command line, or the service itself. `id` is null
 * where there is nothing to refer to; `name` is as it was then.
 */
export type AuditActor = { kind: 'user' | 'token' | 'operator' | 'system'; id: string | null; name: string };

/**
 * In whose name changes are made: what an entry says of them whatever is changed. `id` is that of the one entry to
 * come; `actor` null = it is known only once the change is made (a sign-in); `address` null = none, or its connection
 * was gone.
 */
export type Author = {
  id: string;
  action: AuditAction;
  actor: AuditActor | null;
  address: string | null;
  nowMs: number;
};

/** An entry of the audit log. `at` is in Unix seconds. */
export type AuditEntry = {
  id: string;
  at: number;
  actor: AuditActor;
  action: AuditAction;
  object: AuditObject;
  changes: FieldChanges;
  address: string | null;
};
