import { useSignal } from '@preact/signals';
import { serviceSeconds } from '../../client/answer.ts';
import { api } from '../../client/api.ts';
import { Button } from '../../parts/button.tsx';
import { SelectField } from '../../parts/choice-fields.tsx';
import { Loaded, Outdated, useLoad } from '../../parts/load.tsx';
import { Empty, Section } from '../../parts/page.tsx';
import {
  BackToNewest,
  FROM_THE_NEWEST,
  FurtherBack,
  PERIODS,
  PERIOD_CHOICES,
  readPaging,
  type Paging,
} from '../../parts/table.tsx';
import type { PageProps } from '../../paths.ts';
import { navigate, setQuery } from '../../shell/router.ts';
import { AuditRow, KINDS, type Entry } from './audit-row.tsx';

const KIND_CHOICES = [
  { value: '', label: 'All objects' },
  ...Object.entries(KINDS).map(([value, label]) => ({ value, label })),
];

/** The audit log of the account, newest first. */
export function AuditLogSettings({ query }: { query: PageProps['query'] }) {
  const filter = readFilter(query);
  const load = useLoad((signal) => findEntries(filter, signal), [JSON.stringify(filter)]);
  return (
    <Section title="Audit log" lead="Changes by members, API tokens and administrators. Stored for 400 days.">
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
  const thing = entries.find((entry) => entry.object.id === object)?.object.name ?? 'one object';
  const person = entries.find((entry) => entry.actor.id === actor)?.actor.name ?? 'one member or token';
  return (
    <div class="mb-4 flex flex-wrap items-center gap-2" role="search" aria-label="Audit log">
      <SelectField
        label="Object"
        hideLabel
        class="min-w-0 grow basis-36 text-sm sm:grow-0 sm:basis-auto"
        options={KIND_CHOICES}
        value={kind}
        onValue={(value) => change({ kind: value, object: '' })}
      />
      <SelectField
        label="Period"
        hideLabel
        class="min-w-0 grow basis-36 text-sm sm:grow-0 sm:basis-auto"
        options={PERIOD_CHOICES}
        value={period}
        onValue={(value) => change({ period: value })}
      />
      {object !== '' && (
        <Button size="small" icon="close" onClick={() => change({ object: '' })}>
          {thing} only
        </Button>
      )}
      {actor !== '' && (
        <Button size="small" icon="close" onClick={() => change({ actor: '' })}>
          By {person} only
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
        title="No entries match"
        action={<Button onClick={() => navigate('/settings/audit-log')}>Clear filters</Button>}
      >
        Entries are stored for 400 days.
      </Empty>
    );
  }
  return (
    <>
      <BackToNewest cursor={filter.cursor} />
      <ul aria-label="Entries" class="overflow-hidden rounded-xl border border-line bg-surface">
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

/** Filter of the list, as stored in the address; an empty string does not filter. */
type Filter = { kind: string; object: string; actor: string; period: string } & Paging;

/**
 * A page of entries. `next` is the cursor of older ones; null if there are none. `known` contains the ids of existing
 * channels and agents.
 */
type Found = { entries: readonly Entry[]; next: string | null; known: ReadonlySet<string> };

/** Reads the filter from an address. */
function readFilter(query: Readonly<Record<string, string>>): Filter {
  const { kind = '', object = '', actor = '', period = '' } = query;
  return { kind, object, actor, period, ...readPaging(query) };
}

/** Loads a page of entries, and the ids of objects that can be linked to. */
async function findEntries(
  { kind, object, actor, period, cursor, count }: Filter,
  signal: AbortSignal,
): Promise<Found> {
  const seconds = PERIODS[period]?.seconds;
  const query = {
    limit: count,
    ...(cursor !== '' && { cursor }),
    ...(Object.hasOwn(KINDS, kind) && { object_kind: kind as Entry['object']['kind'] }),
    ...(Object.hasOwn(KINDS, kind) && object !== '' && { object_id: object }),
    ...(actor !== '' && { actor_id: actor }),
    ...(seconds !== undefined && { from: serviceSeconds() - seconds }),
  };
  const [page, { channels }, { agents }] = await Promise.all([
    api.page('/audit-log', { query, signal }),
    api.get('/channels', { signal }),
    api.get('/agents', { signal }),
  ]);
  return {
    entries: page.answer.entries,
    next: page.next,
    known: new Set([...channels, ...agents].map(({ id }) => id)),
  };
}
