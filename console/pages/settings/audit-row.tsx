import { monitors } from '../../client/live.ts';
import { signedIn } from '../../client/session-state.ts';
import type { Schemas } from '../../client/shapes.ts';
import { Icon } from '../../parts/icon.tsx';
import { FROM_THE_NEWEST } from '../../parts/paging.tsx';
import { formatDateTime, Moment } from '../../parts/time.tsx';
import { setQuery } from '../../shell/router.ts';

type Action = Schemas['AuditAction'];

/** The verb of each action, to be followed by the name of its object. */
const ACTION_PHRASES: Readonly<Record<Action, string>> = {
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
  'invitation.accepted': 'accepted the invitation for',
  'invitation.deleted': 'took back the invitation of',
  'account.created': 'made the account',
  'account.keys_rotated': 'sealed all secrets with a new key for',
  'queue.changed': 'used the queue board on',
  'account.renamed': 'renamed the account',
};

/** The kinds of objects to filter by. */
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

/** Actions that users do only to themselves, so that the object is left out. */
const OF_THEMSELVES: ReadonlySet<Action> = new Set(['member.signed_in', 'member.signed_out']);

/** Whether an entry shows its object. */
function hasObject({ action }: Schemas['AuditEntry']): boolean {
  return !OF_THEMSELVES.has(action);
}

/** Describes the change of a field; for a created or deleted object, its value. */
function describeChange({ action, changes }: Schemas['AuditEntry'], field: string): string {
  const change = changes[field];
  if (change === undefined || typeof change === 'string') return 'changed; it is a secret and not shown';
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

/** What members do to themselves; `{own}` is their, or your. */
const OWN_PHRASES: Partial<Record<Entry['action'], string>> = {
  'member.changed': 'changed {own} name or theme',
  'member.session_ended': 'ended one of {own} sessions',
  'member.other_sessions_ended': 'ended all {own} other sessions',
  'member.password_changed': 'changed {own} password',
  'member.second_factor_begun': 'began to set up {own} second factor',
  'member.second_factor_started': 'turned on {own} second factor',
  'member.second_factor_stopped': 'turned off {own} second factor',
  'member.recovery_codes_renewed': 'made {own} recovery codes anew',
};

/** What a member did to its own account, as a whole phrase; null for anything else. */
function describeOwn({ action, actor, object }: Entry): string | null {
  if (object.id === null || object.id !== actor.id) return null;
  return OWN_PHRASES[action]?.replace('{own}', actor.id === signedIn().user.id ? 'your' : 'their') ?? null;
}

type RowProps = { entry: Entry; known: ReadonlySet<string>; isOpen: boolean; onToggle: () => void };

/** One entry: who, what and when. It unfolds into the changed fields. */
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
            {fields.length === 1 ? '1 field' : `${fields.length} fields`}
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
      title={`Only what ${actor.name} did`}
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
