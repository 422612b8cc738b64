import { isRecord } from '../input.ts';

/** Every action on an account, by its name in the audit log; the list only grows. */
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

/** Kinds of objects of actions. */
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
 * Actor of an action: a person, an API token, the operator at the command line, or the service itself. `id` is null if
 * there is nothing to refer to; `name` is as it was then.
 */
export type AuditActor = { kind: 'user' | 'token' | 'operator' | 'system'; id: string | null; name: string };

/**
 * Author of changes: the part of an audit entry that does not depend on the change. `id` is that of the one entry to be
 * written; `actor` is null if only the change reveals it (a sign-in); `address` is null without one, or if its
 * connection was gone.
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

/** Settings by their wire names. */
export type Fields = Readonly<Record<string, unknown>>;

/**
 * Effect of a change, by field: the values before and after, null = none, as is an empty text. For a secret only that
 * it changed.
 */
export type FieldChanges = Readonly<Record<string, readonly [before: unknown, after: unknown] | 'changed'>>;

/** One side of a comparison; null before creation or after deletion. `secrets` are never shown. */
export type Compared = { fields: Fields | null; secrets?: Fields };

/** Maximum length of a value's JSON in an entry, in characters: a body of 100 kB needs no second copy. */
const LONGEST = 1000;

/**
 * Returns the fields that differ, in the order of the older side. Nested settings are fields of their own, such as
 * `check_spec.ping.count`; lists are compared as a whole.
 */
export function compareFields(before: Compared, after: Compared): FieldChanges {
  const [old, now] = [flatten(before.fields), flatten(after.fields)];
  const [oldSecrets, nowSecrets] = [flatten(before.secrets ?? null), flatten(after.secrets ?? null)];
  const changes: Record<string, FieldChanges[string]> = {};
  for (const name of new Set([...old.keys(), ...now.keys()])) {
    const pair: [unknown, unknown] = [old.get(name) ?? null, now.get(name) ?? null];
    if (differ(...pair)) changes[name] = [cut(pair[0]), cut(pair[1])];
  }
  for (const name of new Set([...oldSecrets.keys(), ...nowSecrets.keys()])) {
    if (differ(oldSecrets.get(name) ?? null, nowSecrets.get(name) ?? null)) changes[name] = 'changed';
  }
  return changes;
}

/** Returns the changes of a created object: all its fields. */
export function madeWith(fields: Fields, secrets: Fields = {}): FieldChanges {
  return compareFields({ fields: null }, { fields, secrets });
}

/** Returns the changes of a deleted object: all the fields it had. */
export function goneWith(fields: Fields): FieldChanges {
  return compareFields({ fields }, { fields: null });
}

function flatten(fields: Fields | null, into = new Map<string, unknown>(), prefix = ''): Map<string, unknown> {
  for (const [name, value] of Object.entries(fields ?? {})) {
    if (isRecord(value)) flatten(value, into, `${prefix}${name}.`);
    else if (value !== '') into.set(`${prefix}${name}`, value);
  }
  return into;
}

function differ(before: unknown, after: unknown): boolean {
  return JSON.stringify(before, sortKeys) !== JSON.stringify(after, sortKeys);
}

/** Sorts the keys of records: the database returns those of a list's items in another order than they were sent in. */
function sortKeys(_key: string, value: unknown): unknown {
  if (!isRecord(value)) return value;
  return Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

function cut(value: unknown): unknown {
  if (typeof value !== 'string' && !Array.isArray(value)) return value;
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.length <= LONGEST ? value : `${text.slice(0, LONGEST).toWellFormed()}…`;
}
