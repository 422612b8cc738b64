import type { ComponentChildren, RefObject } from 'preact';
import type { Monitor } from '../../client/shapes.ts';
import { Icon } from '../../parts/icon.tsx';
import { StatusMark } from '../../parts/status.tsx';
import { STATUS_ORDER, STATUSES, type Status } from '../../parts/statuses.ts';
import { SORTS, type Selection } from './selection.ts';

type ControlsProps = {
  selection: Selection;
  counts: Readonly<Record<Status, number>>;
  types: readonly Monitor['type'][];
  search: RefObject<HTMLInputElement | null>;
  onChange: (change: Partial<Selection>) => void;
};

/** The filters of the overview: status with counts, search, type and order. */
export function Controls({ selection, counts, types, search, onChange }: ControlsProps) {
  const total = Object.values(counts).reduce((sum, count) => sum + count, 0);
  const present = STATUS_ORDER.filter((status) => counts[status] > 0 || selection.status === status);
  return (
    <div class="flex flex-col gap-2 md:flex-row md:items-center md:justify-between">
      <div class="-mx-4 flex gap-1 overflow-x-auto px-4 py-0.5 md:mx-0 md:px-0.5" role="group" aria-label="Status">
        <Chip isOn={selection.status === ''} onPress={() => onChange({ status: '' })}>
          All <Count of={total} />
        </Chip>
        {present.map((status) => (
          <Chip
            key={status}
            isOn={selection.status === status}
            onPress={() => onChange({ status: selection.status === status ? '' : status })}
          >
            <StatusMark status={status} silent class="size-3" />
            {STATUSES[status].label} <Count of={counts[status]} />
          </Chip>
        ))}
      </div>
      <div class="flex gap-2">
        <label class="relative min-w-0 flex-1 md:w-56">
          <span class="sr-only">Search by name, target or type</span>
          <Icon name="search" class="pointer-events-none absolute left-2.5 top-2.5 size-4 text-soft" />
          <input
            ref={search}
            type="search"
            value={selection.text}
            placeholder="Search"
            autocomplete="off"
            spellcheck={false}
            onInput={(event) => onChange({ text: event.currentTarget.value })}
            class="
              h-9 w-full rounded-md border border-line-strong/60 bg-surface pl-8 pr-8 text-sm placeholder:text-soft
              [&::-webkit-search-cancel-button]:appearance-none
            "
          />
          <kbd
            class="
              pointer-events-none absolute right-2 top-2 hidden rounded border border-line bg-sunken px-1.5 font-mono
              text-xs leading-[1.125rem] text-soft md:block
            "
            aria-hidden="true"
          >
            /
          </kbd>
        </label>
        {/* On a phone the search covers types. */}
        {types.length > 1 && (
          <Choice
            label="Type"
            class="hidden md:block"
            value={selection.type}
            options={[['', 'All types'], ...types.map((type) => [type, type] as const)]}
            onValue={(type) => onChange({ type })}
          />
        )}
        <Choice
          label="Order"
          value={selection.sort}
          options={Object.entries(SORTS).map(([value, { label }]) => [value, label] as const)}
          onValue={(sort) => onChange({ sort })}
        />
      </div>
    </div>
  );
}

function Chip({ isOn, onPress, children }: { isOn: boolean; onPress: () => void; children: ComponentChildren }) {
  return (
    <button
      type="button"
      aria-pressed={isOn}
      onClick={onPress}
      class={
        'inline-flex h-8 shrink-0 items-center gap-1.5 rounded-full border px-3 text-[0.8125rem] ' +
        (isOn
          ? 'border-line-strong bg-surface font-medium text-ink'
          : 'border-transparent text-soft hover:bg-hover hover:text-ink')
      }
    >
      {children}
    </button>
  );
}

function Count({ of }: { of: number }) {
  return <span class="text-soft">{of}</span>;
}

function Choice({
  label,
  value,
  options,
  onValue,
  class: className = '',
}: {
  label: string;
  value: string;
  class?: string;
  options: readonly (readonly [value: string, label: string])[];
  onValue: (value: string) => void;
}) {
  return (
    <label class={`relative shrink-0 ${className}`}>
      <span class="sr-only">{label}</span>
      <select
        value={value}
        onChange={(event) => onValue(event.currentTarget.value)}
        class="
          h-9 max-w-40 appearance-none rounded-md border border-line-strong/60 bg-surface pl-2.5 pr-7 text-[0.8125rem]
          text-ellipsis md:max-w-36
        "
      >
        {options.map(([option, text]) => (
          <option key={option} value={option}>
            {text}
          </option>
        ))}
      </select>
      <Icon name="down" class="pointer-events-none absolute right-2 top-2.5 size-4 text-soft" />
    </label>
  );
}
