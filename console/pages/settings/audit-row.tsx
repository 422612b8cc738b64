import type { Schemas } from '../../client/api.ts';
import { monitors } from '../../client/live.ts';
import { signedIn } from '../../client/session-state.ts';
import { count } from '../../parts/figures.ts';
import { Icon } from '../../parts/icon.tsx';
import { FROM_THE_NEWEST } from '../../parts/table.tsx';
import { Moment, formatDateTime } from '../../parts/time.tsx';
import { setQuery } from '../../shell/router.ts';

type Action = Schemas['AuditAction'];

/** Verb of each action, followed by the name of its object. */
const ACTION_PHRASES: Readonly<Record<Action, string>> = {
  'monitor.created': 'created the monitor',
  'monitor.changed': 'changed the monitor',
  'monitor.paused': 'paused the monitor',
  'monitor.resumed': 'resumed the monitor',
  'monitor.deleted': 'deleted the monitor',
  'monitor.check_requested': 'requested a check of',
  'monitor.muted': 'muted the monitor',
  'monitor.unmuted': 'unmuted the monitor',
  'monitor.drilled': 'started a drill of the monitor',
  'incident.acknowledged': 'acknowledged the incident on',
  'incident.unacknowledged': 'unacknowledged the incident on',
  'incident.snoozed': 'snoozed the incident on',
  'incident.unsnoozed': 'ended the snooze of the incident on',
  'incident.note_added': 'added a note to the incident on',
  'incident.note_deleted': 'deleted a note from the incident on',
  'channel.created': 'created the channel',
  'channel.changed': 'changed the channel',
  'channel.deleted': 'deleted the channel',
  'channel.secret_rotated': 'rotated the signing secret of',
  'channel.redelivered': 'redelivered an alert to',
  'channel.replayed': 'redelivered failed alerts to',
  'channel.connected': 'connected the channel',
  'channel.disconnected': 'disconnected the channel',
  'channel.disabled': 'disabled the channel',
  'channel.confirmation_sent': 'sent a confirmation for the channel',
  'agent.created': 'created the agent',
  'agent.changed': 'changed the agent',
  'agent.token_rotated': 'rotated the token of the agent',
  'agent.revoked': 'revoked the token of the agent',
  'agent.deleted': 'deleted the agent',
  'token.created': 'created the API token',
  'token.revoked': 'revoked the API token',
  'member.created': 'added the member',
  'member.changed': 'changed the profile of',
  'member.role_changed': 'changed the role of',
  'member.removed': 'removed the member',
  'member.reset': 'reset the password of',
  'member.signed_in': 'signed in',
  'member.signed_out': 'signed out',
  'member.session_ended': 'signed out a session of',
  'member.other_sessions_ended': 'signed out all other sessions of',
  'member.sign_in_throttled': 'paused sign-ins after too many failed attempts for',
  'member.password_changed': 'changed the password of',
  'member.second_factor_begun': 'started two-factor setup for',
  'member.second_factor_started': 'enabled two-factor authentication for',
  'member.second_factor_stopped': 'disabled two-factor authentication for',
  'member.recovery_codes_renewed': 'renewed the recovery codes of',
  'invitation.created': 'invited',
  'invitation.accepted': 'accepted the invitation',
  'invitation.deleted': 'revoked the invitation for',
  'account.created': 'created the account',
  'account.keys_rotated': 'rotated encryption keys for',
  'queue.changed': 'used the queue board on',
  'account.renamed': 'renamed the account',
  'maintenance.created': 'planned the maintenance',
  'maintenance.changed': 'changed the maintenance',
  'maintenance.ended': 'ended the maintenance',
  'maintenance.extended': 'moved the end of the maintenance',
  'maintenance.skipped': 'skipped an occurrence of the maintenance',
  'maintenance.deleted': 'deleted the maintenance',
  'account.ping_key_created': 'created a ping key for',
  'account.ping_key_deleted': 'deleted the ping key of',
  'member.provisioned': 'joined by the sign-in provider as',
  'member.identity_linked': 'linked a sign-in provider to',
  'member.identity_unlinked': 'unlinked a sign-in provider from',
  'member.signed_out_by_provider': 'reported a sign-out at the provider of',
};

/** Kinds of objects to filter by. */
export const KINDS: Readonly<Record<Schemas['AuditObjectKind'], string>> = {
  monitor: 'Monitors',
  incident: 'Incidents',
  channel: 'Channels',
  agent: 'Agents',
  token: 'API tokens',
  member: 'Members and sign-ins',
  invitation: 'Invitations',
  account: 'Account',
  queue: 'Queues',
  maintenance: 'Maintenance',
};

/** Actions that users can do only to themselves, so that the object is left out. */
const OF_THEMSELVES: ReadonlySet<Action> = new Set(['member.signed_in', 'member.signed_out', 'invitation.accepted']);

/** Reports whether an entry shows its object. */
function hasObject({ action }: Schemas['AuditEntry']): boolean {
  return !OF_THEMSELVES.has(action);
}

/** Describes the change of a field; for a created or deleted object, its value. */
function describeChange({ action, changes }: Schemas['AuditEntry'], field: string): string {
  const change = changes[field];
  if (change === undefined || typeof change === 'string') return 'changed (secret, not shown)';
  const [before, after] = change.map((value) => formatValue(field, value));
  if (action.endsWith('.created')) return after ?? '';
  if (action.endsWith('.deleted') || action.endsWith('.removed')) return before ?? '';
  return `${before} → ${after}`;
}

/** Formats a value of a field. */
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

export type Entry = Schemas['AuditEntry'];

/** Phrases for actions of members on themselves; `{own}` is `their` or `your`. */
const OWN_PHRASES: Partial<Record<Entry['action'], string>> = {
  'member.changed': 'changed {own} profile',
  'member.role_changed': 'changed {own} role',
  'member.removed': 'left the account',
  'member.session_ended': 'signed out one of {own} sessions',
  'member.other_sessions_ended': 'signed out all {own} other sessions',
  'member.password_changed': 'changed {own} password',
  'member.second_factor_begun': 'started {own} two-factor setup',
  'member.second_factor_started': 'enabled {own} two-factor authentication',
  'member.second_factor_stopped': 'disabled {own} two-factor authentication',
  'member.recovery_codes_renewed': 'renewed {own} recovery codes',
  'member.provisioned': 'joined by the sign-in provider',
  'member.identity_linked': 'linked {own} account at the sign-in provider',
  'member.identity_unlinked': 'unlinked {own} account at the sign-in provider',
};

/** Describes an action of a member on its own account, as a whole phrase; null for anything else. */
function describeOwn({ action, actor, object }: Entry): string | null {
  if (object.id === null || object.id !== actor.id) return null;
  return OWN_PHRASES[action]?.replace('{own}', actor.id === signedIn().user.id ? 'your' : 'their') ?? null;
}

type RowProps = { entry: Entry; known: ReadonlySet<string>; isOpen: boolean; onToggle: () => void };

/** One entry: actor, action, object and time. It unfolds into the changed fields. */
export function AuditRow({ entry, known, isOpen, onToggle }: RowProps) {
  const { id, at, action, address, changes } = entry;
  const fields = Object.entries(changes);
  const detailsId = `entry-${id}`;
  const ownPhrase = describeOwn(entry);
  return (
    <li class="border-b border-line last:border-0">
      <div class="flex items-start gap-3 px-3 py-2.5 text-sm md:px-4">
        <p class="min-w-0 flex-1 break-words">
          <Actor entry={entry} /> {ownPhrase ?? ACTION_PHRASES[action]}
          {ownPhrase === null && hasObject(entry) && (
            <>
              {' '}
              <Thing entry={entry} known={known} />
            </>
          )}
          <span class="block text-xs text-soft">
            <Moment at={at} />
            {address !== null && ` · from ${address}`}
          </span>
        </p>
        {fields.length > 0 && (
          <button
            type="button"
            aria-expanded={isOpen}
            aria-controls={detailsId}
            onClick={onToggle}
            class="
              -my-1 inline-flex h-8 shrink-0 items-center gap-1 rounded-md px-2 text-[0.8125rem] text-soft
              hover:bg-hover hover:text-ink
            "
          >
            {count(fields.length, 'field')}
            <Icon name="chevron" class={`size-4 transition-transform ${isOpen ? 'rotate-90' : ''}`} />
          </button>
        )}
      </div>
      {isOpen && (
        <dl id={detailsId} class="border-t border-line bg-sunken px-3 py-2 text-[0.8125rem] md:px-4">
          {fields.map(([field]) => (
            <div key={field} class="grid gap-x-6 py-1 md:grid-cols-[16rem_1fr]">
              <dt class="break-words font-mono text-xs leading-5 text-soft">{field}</dt>
              <dd class="min-w-0 break-words">{describeChange(entry, field)}</dd>
            </div>
          ))}
        </dl>
      )}
    </li>
  );
}

/** The author of an entry; a click filters by it. */
function Actor({ entry: { actor } }: { entry: Entry }) {
  const { id, kind } = actor;
  const name = kind === 'token' ? `Token ${actor.name}` : id === signedIn().user.id ? 'You' : actor.name;
  if (id === null) return <span class="font-medium">{name}</span>;
  return (
    <button
      type="button"
      title={`Show only entries by ${actor.name}`}
      onClick={() => setQuery({ ...FROM_THE_NEWEST, actor: id })}
      class="rounded text-left font-medium underline-offset-2 hover:underline"
    >
      {name}
    </button>
  );
}

/** The object of an entry, as a link if it still exists. */
function Thing({ entry: { object }, known }: { entry: Entry; known: ReadonlySet<string> }) {
  const href = hrefOf(object, known);
  if (href === null) return <span class="font-medium">{object.name}</span>;
  return (
    <a href={href} class="font-medium underline underline-offset-2">
      {object.name}
    </a>
  );
}

function hrefOf({ kind, id }: Entry['object'], known: ReadonlySet<string>): string | null {
  if (kind === 'monitor') return (monitors.value ?? []).some((monitor) => monitor.id === id) ? `/monitors/${id}` : null;
  if (kind === 'channel' || kind === 'agent') return known.has(id) ? `/${kind}s/${id}` : null;
  return kind === 'incident' ? `/incidents/${id}` : null;
}
