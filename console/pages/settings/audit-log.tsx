import { useSignal } from '@preact/signals';
import { monitors } from '../../client/live.ts';
import { signedIn } from '../../client/session-state.ts';
import { Button } from '../../parts/button.tsx';
import { Empty } from '../../parts/empty.tsx';
import { SelectField } from '../../parts/field.tsx';
import { BackToNewest, FROM_THE_NEWEST, FurtherBack } from '../../parts/further-back.tsx';
import { Icon } from '../../parts/icon.tsx';
import { Loaded, useLoad, Outdated } from '../../parts/load.tsx';
import { Section } from '../../parts/page.tsx';
import { Moment } from '../../parts/time.tsx';
import type { PageProps } from '../../paths.ts';
import { navigate, setQuery } from '../../shell/router.ts';
import { PERIODS } from '../incidents/questions.ts';
import { findEntries, readFilter, type Entry, type Filter, type Found } from './audit/questions.ts';
import { KINDS, ACTION_PHRASES, hasObject, describeChange } from './audit/words.ts';

const KIND_CHOICES = [
  { value: '', label: 'Everything' },
  ...Object.entries(KINDS).map(([value, label]) => ({ value, label })),
];
const PERIOD_CHOICES = [
  { value: '', label: 'Any time' },
  ...Object.entries(PERIODS).map(([value, { label }]) => ({ value, label })),
];

/** Who changed what in the account, the newest first. */
export function AuditLogSettings({ query }: { query: PageProps['query'] }) {
  const filter = readFilter(query);
  const load = useLoad((signal) => findEntries(filter, signal), [JSON.stringify(filter)]);
  return (
    <Section
      title="Audit log"
      lead="Every change of the account, for 400 days: by people, API tokens and the operator of this installation."
    >
      <Filters filter={filter} entries={load.value.value?.entries ?? []} />
      <Outdated load={load} />
      <Loaded load={load} height="h-96">
        {(found) => <Listing found={found} filter={filter} isLoading={load.isLoading.value} />}
      </Loaded>
    </Section>
  );
}

function Filters({ filter: { kind, object, actor, period }, entries }: { filter: Filter; entries: readonly Entry[] }) {
  const change = (part: Readonly<Record<string, string>>) => setQuery({ ...FROM_THE_NEWEST, ...part });
  const thing = entries.find((entry) => entry.object.id === object)?.object.name ?? 'one thing';
  const person = entries.find((entry) => entry.actor.id === actor)?.actor.name ?? 'one person or token';
  return (
    <div class="mb-4 flex flex-wrap items-center gap-2" role="search" aria-label="Audit log">
      <SelectField
        label="What"
        hideLabel
        class="min-w-0 grow basis-36 text-sm sm:grow-0 sm:basis-auto"
        options={KIND_CHOICES}
        value={kind}
        onValue={(value) => change({ kind: value, object: '' })}
      />
      <SelectField
        label="When"
        hideLabel
        class="min-w-0 grow basis-36 text-sm sm:grow-0 sm:basis-auto"
        options={PERIOD_CHOICES}
        value={period}
        onValue={(value) => change({ period: value })}
      />
      {object !== '' && (
        <Button size="small" icon="close" onClick={() => change({ object: '' })}>
          Only {thing}
        </Button>
      )}
      {actor !== '' && (
        <Button size="small" icon="close" onClick={() => change({ actor: '' })}>
          Only by {person}
        </Button>
      )}
    </div>
  );
}

function Listing({
  found: { entries, next, known },
  filter,
  isLoading,
}: {
  found: Found;
  filter: Filter;
  isLoading: boolean;
}) {
  const opened = useSignal<string | null>(null);
  if (entries.length === 0) {
    return (
      <Empty
        icon="search"
        title="No change matches"
        action={<Button onClick={() => navigate('/settings/audit-log')}>Show all</Button>}
      >
        Nothing of the last 400 days is what you are looking for.
      </Empty>
    );
  }
  return (
    <>
      <BackToNewest cursor={filter.cursor} />
      <ul aria-label="Changes" class="overflow-hidden rounded-xl border border-line bg-surface">
        {entries.map((entry) => (
          <AuditRow
            key={entry.id}
            entry={entry}
            known={known}
            isOpen={opened.value === entry.id}
            onToggle={() => (opened.value = opened.value === entry.id ? null : entry.id)}
          />
        ))}
      </ul>
      <FurtherBack next={next} count={filter.count} isLoading={isLoading} />
    </>
  );
}

type RowProps = { entry: Entry; known: ReadonlySet<string>; isOpen: boolean; onToggle: () => void };

/** Who did what to what, and when; opened, what changed field by field. */
function AuditRow({ entry, known, isOpen, onToggle }: RowProps) {
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
