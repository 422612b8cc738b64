import { useSignal } from '@preact/signals';
import type { PageProps } from '../../page-props.ts';
import { Button } from '../../parts/button.tsx';
import { Empty } from '../../parts/empty.tsx';
import { SelectField } from '../../parts/field.tsx';
import { BackToNewest, FROM_THE_NEWEST, FurtherBack } from '../../parts/further-back.tsx';
import { Loaded, useLoad } from '../../parts/load.tsx';
import { Outdated } from '../../parts/outdated.tsx';
import { Section } from '../../parts/page.tsx';
import { navigate, setQuery } from '../../shell/router.ts';
import { PERIODS } from '../incidents/questions.ts';
import { findEntries, readFilter, type Entry, type Filter, type Found } from './audit/questions.ts';
import { AuditRow } from './audit/row.tsx';
import { KINDS } from './audit/words.ts';

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
        {(found) => <Listing found={found} filter={filter} isBusy={load.isBusy.value} />}
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
  isBusy,
}: {
  found: Found;
  filter: Filter;
  isBusy: boolean;
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
      <FurtherBack next={next} count={filter.count} isBusy={isBusy} />
    </>
  );
}
