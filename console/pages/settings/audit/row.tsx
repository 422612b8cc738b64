import { monitors } from '../../../client/live.ts';
import { signedIn } from '../../../client/session-state.ts';
import { Icon } from '../../../parts/icon.tsx';
import { Moment } from '../../../parts/time.tsx';
import { setQuery } from '../../../shell/router.ts';
import type { Entry } from './questions.ts';
import { ACTION_PHRASES, hasObject, describeChange } from './words.ts';

type RowProps = { entry: Entry; known: ReadonlySet<string>; isOpen: boolean; onToggle: () => void };

/** Who did what to what, and when; opened, what changed field by field. */
export function AuditRow({ entry, known, isOpen, onToggle }: RowProps) {
  const { id, at, action, address, changes } = entry;
  const fields = Object.entries(changes);
  const detailsId = `entry-${id}`;
  return (
    <li class="border-b border-line last:border-0">
      <div class="flex items-start gap-3 px-3 py-2.5 text-sm md:px-4">
        <p class="min-w-0 flex-1 break-words">
          <Actor entry={entry} /> {ACTION_PHRASES[action]}
          {hasObject(entry) && (
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

/** Their name; pressed, only what they did is listed. */
function Actor({ entry: { actor } }: { entry: Entry }) {
  const { id, kind } = actor;
  const name = kind === 'token' ? `Token ${actor.name}` : id === signedIn().user.id ? 'You' : actor.name;
  if (id === null) return <span class="font-medium">{name}</span>;
  return (
    <button
      type="button"
      title={`Only what ${actor.name} did`}
      onClick={() => setQuery({ actor: id, count: '', until: '' })}
      class="rounded text-left font-medium underline-offset-2 hover:underline"
    >
      {name}
    </button>
  );
}

/** What it was done to, with a link where it is still there. */
function Thing({ entry: { object, actor }, known }: { entry: Entry; known: ReadonlySet<string> }) {
  const href = hrefOf(object, known);
  if (href === null) return <span class="font-medium">{object.id === actor.id ? 'their own' : object.name}</span>;
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
