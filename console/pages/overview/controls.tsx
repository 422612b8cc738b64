import { signal, useSignal } from '@preact/signals';
import type { ComponentChildren, RefObject } from 'preact';
import { useLayoutEffect } from 'preact/hooks';
import { sortTags } from '../../../core/monitors/monitor.ts';
import type { Monitor } from '../../client/api.ts';
import { IconButton } from '../../parts/button.tsx';
import { Select } from '../../parts/choice-fields.tsx';
import { Icon, type IconName } from '../../parts/icon.tsx';
import { FilterMark, labelOf } from './row-heads.tsx';
import { SORTS, STATUS_FILTERS, type Selection, type StatusFilter } from './selection.ts';

type ControlsProps = {
  selection: Selection;
  /** Counts of the monitors that match the search and the type. */
  counts: Readonly<Record<StatusFilter | 'all', number>>;
  types: readonly Monitor['type'][];
  tags: readonly string[];
  layout: ListLayout;
  search: RefObject<HTMLInputElement | null>;
  onChange: (change: Partial<Selection>) => void;
  /** Called for Enter in the search: opens the first match. */
  onOpenFirst: () => void;
  /** Called for arrow down in the search: moves to the first match. */
  onEnterList: () => void;
  /** Further buttons beside the order. */
  children: ComponentChildren;
};

const SORT_OPTIONS = Object.entries(SORTS).map(([value, { label }]) => ({ value, label }));

/** The filters of the overview: status with counts, search, type, order and density. */
export function Controls({ selection, counts, types, tags, layout, onChange, children, ...search }: ControlsProps) {
  // Overdue monitors are known only after the list is loaded, and another line of filters would push the list down.
  // Without room for that filter, the bar at the bottom links to them.
  const isOffered = (filter: StatusFilter) => counts[filter] > 0 && (filter !== 'overdue' || layout !== 'narrow');
  const present = STATUS_FILTERS.filter((filter) => isOffered(filter) || selection.status === filter);
  const hasTypes = types.length > 1 && layout !== 'narrow';
  const hasTags = (tags.length > 0 || selection.tag !== '') && layout !== 'narrow';
  return (
    <div class="flex flex-wrap items-center justify-between gap-2">
      <div class="flex flex-wrap gap-x-1 py-0.5" role="group" aria-label="Status">
        <Chip isOn={selection.status === ''} onPress={() => onChange({ status: '' })}>
          All <Count of={counts.all} />
        </Chip>
        {present.map((filter) => (
          <Chip
            key={filter}
            isOn={selection.status === filter}
            onPress={() => onChange({ status: selection.status === filter ? '' : filter })}
          >
            <FilterMark filter={filter} class="size-3" />
            {labelOf(filter)} <Count of={counts[filter]} />
          </Chip>
        ))}
      </div>
      <div class={`flex flex-wrap gap-2 ${layout === 'narrow' ? 'w-full' : ''}`}>
        <Search {...search} text={selection.text} onText={(text) => onChange({ text })} />
        {/* In a narrow list the search covers types and tags. */}
        {hasTypes && (
          <Select
            label="Type"
            value={selection.type}
            options={[{ value: '', label: 'All types' }, ...types.map((type) => ({ value: type, label: type }))]}
            onValue={(type) => onChange({ type })}
          />
        )}
        {hasTags && (
          <Select
            label="Tag"
            class="max-w-40"
            value={selection.tag}
            options={[
              { value: '', label: 'All tags' },
              ...sortTags([...tags, ...(selection.tag === '' ? [] : [selection.tag])]).map((tag) => ({
                value: tag,
                label: tag,
              })),
            ]}
            onValue={(tag) => onChange({ tag })}
          />
        )}
        <Select
          label="Order"
          class={layout === 'narrow' ? 'max-w-32' : 'max-w-36'}
          value={selection.sort}
          options={SORT_OPTIONS}
          onValue={(sort) => onChange({ sort })}
        />
        {children}
        {layout !== 'narrow' && <DensityButton />}
      </div>
      {/* Filters without a field here, as from a link, must be visible and removable. */}
      <div class="flex flex-wrap gap-1 empty:hidden">
        {!hasTypes && selection.type !== '' && (
          <ActiveFilter name="type" value={selection.type} onRemove={() => onChange({ type: '' })} />
        )}
        {!hasTags && selection.tag !== '' && (
          <ActiveFilter name="tag" value={selection.tag} onRemove={() => onChange({ tag: '' })} />
        )}
      </div>
    </div>
  );
}

type SearchProps = Pick<ControlsProps, 'search' | 'onOpenFirst' | 'onEnterList'> & {
  text: string;
  onText: (text: string) => void;
};

function Search({ search, text, onText, onOpenFirst, onEnterList }: SearchProps) {
  const actions: Partial<Record<string, () => void>> = { Enter: onOpenFirst, ArrowDown: onEnterList };
  return (
    <label class="relative min-w-24 flex-1 md:w-56">
      <span class="sr-only">Search by name, target, type or tag</span>
      <Icon name="search" class="pointer-events-none absolute left-2.5 top-2.5 size-4 text-soft" />
      <input
        ref={search}
        type="search"
        value={text}
        placeholder="Search"
        autocomplete="off"
        spellcheck={false}
        onInput={(event) => onText(event.currentTarget.value)}
        onKeyDown={(event) => {
          const action = event.isComposing ? undefined : actions[event.key];
          if (action === undefined) return;
          event.preventDefault();
          action();
        }}
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

/** An active filter, with a button that removes it. */
function ActiveFilter({ name, value, onRemove }: { name: string; value: string; onRemove: () => void }) {
  return (
    <span class="inline-flex min-w-0 items-center rounded-full border border-line-strong bg-surface pl-3 text-sm">
      <span class="clipped">
        <span class="text-soft">{name}</span> {value}
      </span>
      <IconButton icon="close" label={`Remove filter ${name} ${value}`} onClick={onRemove} />
    </span>
  );
}

function Count({ of }: { of: number }) {
  return <span class="text-soft">{of}</span>;
}

/** Switches between two lines per row and one. */
function DensityButton() {
  const isDense = density.value === 'dense';
  return (
    <ToggleButton
      icon="queues"
      label="Dense rows"
      isOn={isDense}
      onPress={() => chooseDensity(isDense ? 'comfortable' : 'dense')}
    />
  );
}

type ToggleButtonProps = { icon: IconName; label: string; isOn?: boolean; onPress: () => void };

/** A button with an icon beside the filters; without `isOn` it has no state. */
export function ToggleButton({ icon, label, isOn, onPress }: ToggleButtonProps) {
  return (
    <button
      type="button"
      aria-pressed={isOn}
      title={label}
      aria-label={label}
      onClick={onPress}
      class={
        'grid size-9 shrink-0 place-items-center rounded-md border ' +
        `${isOn === true ? 'border-line-strong bg-sunken text-ink' : 'border-line-strong/60 bg-surface text-soft'}`
      }
    >
      <Icon name={icon} />
    </button>
  );
}

/** Layout of a row by the available width; `style.css` implements it. */
type ListLayout = 'narrow' | 'medium' | 'wide' | 'widest';

/** Two lines per row, or one. */
type Density = 'comfortable' | 'dense';

/** Smallest width of each layout in rem, the widest first. */
const LAYOUTS: readonly [from: number, layout: ListLayout][] = [
  [93.3, 'widest'],
  [57.3, 'wide'],
  [40, 'medium'],
];

/** Pixels per rem, which depend on the browser's font size. */
const remPx = signal(15);

/** Returns the height of a row in pixels; a narrow list has its strips below the names at any density. */
export function rowHeightOf(layout: ListLayout, chosen: Density): number {
  const rem = chosen === 'dense' ? 2.27 : 3.6;
  return Math.round((layout === 'narrow' ? 4.93 : rem) * remPx.value);
}

/** Returns the layout for the width of an element; follows changes. */
export function useListLayout(box: RefObject<HTMLElement | null>): ListLayout {
  const layout = useSignal(layoutFor(window.innerWidth));
  useLayoutEffect(() => {
    const { current } = box;
    if (current === null) return undefined;
    // The observer's first call comes before the first paint, when the browser has measured everything.
    const observer = new ResizeObserver(() => {
      remPx.value = Number.parseFloat(getComputedStyle(document.documentElement).fontSize);
      layout.value = layoutFor(current.clientWidth);
    });
    observer.observe(current);
    return () => observer.disconnect();
  }, []);
  return layout.value;
}

function layoutFor(width: number): ListLayout {
  return LAYOUTS.find(([from]) => width >= from * remPx.peek())?.[1] ?? 'narrow';
}

/** Key in local storage, because density depends on the screen rather than on the person. */
const DENSITY_KEY = 'density';

/** The present density. */
export const density = signal<Density>(storedDensity());

/** Applies a density, and stores it for this browser. */
function chooseDensity(chosen: Density): void {
  density.value = chosen;
  try {
    localStorage.setItem(DENSITY_KEY, chosen);
  } catch {
    // Without storage the choice lasts until the page is left.
  }
}

function storedDensity(): Density {
  try {
    return localStorage.getItem(DENSITY_KEY) === 'dense' ? 'dense' : 'comfortable';
  } catch {
    return 'comfortable';
  }
}
