import { useSignal } from '@preact/signals';
import { useEffect, useId, useRef } from 'preact/hooks';
import { sentenceOf } from '../client/answer.ts';
import { api, type Incident } from '../client/api.ts';
import { monitors, openIncidents } from '../client/live.ts';
import { canWrite, signedIn } from '../client/session-state.ts';
import { select } from '../pages/overview/selection.ts';
import { toast } from '../parts/action.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { inputClass } from '../parts/field.tsx';
import { count, formatNumber } from '../parts/figures.ts';
import { Icon, type IconName } from '../parts/icon.tsx';
import { useLoad } from '../parts/load.tsx';
import { STATUSES, incidentStatus, type Status } from '../parts/monitors.ts';
import { StatusMark } from '../parts/status.tsx';
import { PATHS, SETTINGS } from '../paths.ts';
import { listShortcuts } from './keys.tsx';
import { listNavigation } from './navigation-bars.tsx';
import { leave, navigate } from './router.ts';
import { chooseTheme, type Theme } from './theme.ts';

/** Number of the newest incidents that the palette searches in addition to open ones. */
const RECENT_INCIDENTS = 100;

/** A search over everything in the console, by keyboard alone: arrows choose, Enter runs, Escape closes. */
export function PaletteDialog({ onClose }: { onClose: () => void }) {
  const text = useSignal('');
  const chosen = useSignal(0);
  const listId = useId();
  const list = useRef<HTMLDivElement>(null);
  const groups = findEntries(text.value, useIncidents());
  const entries = groups.flatMap((group) => group.entries);
  const at = Math.min(chosen.value, entries.length - 1);
  useEffect(() => {
    list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: 'nearest' });
  }, [at, text.value]);
  const run = (entry: PaletteEntry | undefined) => {
    if (entry === undefined) return;
    onClose();
    // An entry that opens a dialog must run after this dialog has returned the focus.
    setTimeout(() => void runEntry(entry));
  };
  const total = groups.reduce((sum, group) => sum + group.total, 0);
  const press = (event: KeyboardEvent) => {
    const step = STEPS[event.key];
    if (event.isComposing || (event.key !== 'Enter' && step === undefined)) return;
    event.preventDefault();
    if (step === undefined) run(entries[at]);
    else if (entries.length > 0) chosen.value = (at + step + entries.length) % entries.length;
  };
  return (
    <Dialog title="Command palette" onClose={onClose}>
      <input
        type="text"
        role="combobox"
        autofocus
        autocomplete="off"
        spellcheck={false}
        aria-label="Search monitors, incidents, pages and actions"
        aria-expanded={entries.length > 0}
        aria-controls={listId}
        aria-autocomplete="list"
        aria-activedescendant={at < 0 ? undefined : `${listId}-${at}`}
        placeholder="Search monitors, incidents, pages and actions"
        value={text.value}
        onInput={(event) => {
          text.value = event.currentTarget.value;
          chosen.value = 0;
        }}
        onKeyDown={press}
        class={`${inputClass({})} h-10`}
      />
      <div ref={list} id={listId} role="listbox" aria-label="Results" class="mt-3 h-80 overflow-y-auto">
        {groups.map(({ title, entries: ofGroup, total: found }) => (
          <div key={title} role="group" aria-label={title} class="mb-2">
            <div class="px-2 py-1 text-xs font-medium text-soft" aria-hidden="true">
              {title}
              {found > ofGroup.length && ` (${ofGroup.length} of ${formatNumber(found)})`}
            </div>
            {ofGroup.map((entry) => {
              const index = entries.indexOf(entry);
              return (
                <Option
                  key={entry.id}
                  id={`${listId}-${index}`}
                  entry={entry}
                  isChosen={index === at}
                  onRun={() => run(entry)}
                />
              );
            })}
          </div>
        ))}
      </div>
      <p role="status" class="text-sm text-soft">
        {entries.length === 0 ? (
          'No results'
        ) : (
          <span class="sr-only">
            {total > entries.length && `${entries.length} of `}
            {count(total, 'result')}
          </span>
        )}
      </p>
    </Dialog>
  );
}

const STEPS: Readonly<Record<string, number>> = { ArrowDown: 1, ArrowUp: -1 };

type OptionProps = { id: string; entry: PaletteEntry; isChosen: boolean; onRun: () => void };

function Option({ id, entry: { label, note, icon, status }, isChosen, onRun }: OptionProps) {
  return (
    <div
      id={id}
      role="option"
      aria-selected={isChosen}
      onClick={onRun}
      class={
        'flex cursor-pointer items-center gap-2.5 rounded-md px-2 py-2 text-sm ' +
        `${isChosen ? 'bg-accent-tint' : 'hover:bg-hover'}`
      }
    >
      {status !== null && <StatusMark status={status} class="size-3" />}
      {icon !== null && <Icon name={icon} class="size-4 text-soft" />}
      <bdi class="clipped max-w-[60%] shrink-0">{label}</bdi>
      <bdi class="clipped min-w-0 text-xs text-soft">{note}</bdi>
    </div>
  );
}

/** Returns the open incidents, and once they are loaded the newest of the others. */
function useIncidents(): readonly Incident[] {
  const recent = useLoad((signal) => api.get('/incidents', { query: { limit: RECENT_INCIDENTS }, signal }), []);
  const open = [...openIncidents.value.values()].toSorted((a, b) => b.started_at - a.started_at);
  const ids = new Set(open.map(({ id }) => id));
  return [...open, ...(recent.value.value?.incidents ?? []).filter(({ id }) => !ids.has(id))];
}

async function runEntry({ run }: PaletteEntry): Promise<void> {
  try {
    await run();
  } catch (failure) {
    toast(sentenceOf(failure), 'bad');
  }
}

/** One line of the palette. `run` may fail, for example if the API refuses. */
type PaletteEntry = {
  id: string;
  label: string;
  note: string;
  icon: IconName | null;
  status: Status | null;
  run: () => unknown;
};

/** A heading with its entries, of `total` found ones; groups without entries are left out. */
type PaletteGroup = { title: string; entries: readonly PaletteEntry[]; total: number };

/** An action of the palette on every page. */
type Action = { label: string; icon: IconName; run: () => unknown };

/** Most monitors or incidents that are shown; further words narrow them down. */
const MAX_OF_GROUP = 8;

/** Shortcuts that move within a list, which loses the focus to the palette. */
const MOVES = new Set(['j', 'k', '/', 'Enter']);

const THEMES: readonly { theme: Theme; label: string; icon: IconName }[] = [
  { theme: 'light', label: 'Theme: light', icon: 'light' },
  { theme: 'dark', label: 'Theme: dark', icon: 'dark' },
  { theme: 'system', label: 'Theme: system', icon: 'system' },
];

/**
 * Finds matches of a text: monitors and incidents, actions of the present page, pages, and actions that work
 * everywhere.
 */
function findEntries(text: string, incidents: readonly Incident[]): PaletteGroup[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const isFound = ({ label, note }: PaletteEntry) =>
    words.every((word) => `${label} ${note}`.toLowerCase().includes(word));
  // Without words only the pages: the settings have their own tabs.
  const sections = words.length === 0 ? [] : listSections();
  const groups: readonly (readonly [title: string, found: readonly PaletteEntry[], most?: number])[] = [
    ['Monitors', findMonitors(text), MAX_OF_GROUP],
    ['Incidents', incidents.map(incidentEntry).filter(isFound), MAX_OF_GROUP],
    ['This page', listShortcuts().flatMap(shortcutEntry).filter(isFound)],
    ['Go to', [...listNavigation().map(pageEntry), ...sections].filter(isFound)],
    ['Actions', listActions().filter(isFound)],
  ];
  return groups
    .filter(([, found]) => found.length > 0)
    .map(([title, found, most]) => ({ title, entries: found.slice(0, most), total: found.length }));
}

function findMonitors(text: string): PaletteEntry[] {
  const found = select(
    monitors.value ?? [],
    { status: '', type: '', tag: '', text, sort: 'attention' },
    { incidents: openIncidents.value, figures: new Map(), overdue: new Set() },
  );
  return found.map(({ id, name, target, status }) => ({
    id: `monitor-${id}`,
    label: name,
    note: target,
    icon: null,
    status,
    run: () => navigate(`/monitors/${id}`),
  }));
}

function incidentEntry(incident: Incident): PaletteEntry {
  const { id, monitor_name: name, state, status, reason } = incident;
  const isOpen = status === 'open';
  return {
    id: `incident-${id}`,
    label: `${name}: ${isOpen ? STATUSES[state].label.toLowerCase() : 'resolved'}`,
    note: reason,
    icon: null,
    status: incidentStatus(incident),
    run: () => navigate(`/incidents/${id}`),
  };
}

function pageEntry({ page, label, icon, href }: ReturnType<typeof listNavigation>[number]): PaletteEntry {
  return { id: `page-${page}`, label, note: '', icon, status: null, run: () => navigate(href) };
}

function listSections(): PaletteEntry[] {
  const isOwner = signedIn().user.role === 'owner';
  return SETTINGS.filter(({ forOwners = false }) => isOwner || !forOwners).map(({ section, label, about }) => ({
    id: `settings-${section}`,
    label,
    note: `Settings: ${about}`,
    icon: 'settings',
    status: null,
    run: () => navigate(`${PATHS.settings}/${section}`),
  }));
}

function shortcutEntry({ keys, does, run }: ReturnType<typeof listShortcuts>[number]): PaletteEntry[] {
  if (keys.length > 1 || MOVES.has(keys)) return [];
  return [{ id: `key-${keys}`, label: does, note: keys, icon: 'keyboard', status: null, run }];
}

function listActions(): PaletteEntry[] {
  const forWriters: readonly Action[] = [
    { label: 'New monitor', icon: 'plus', run: () => navigate(PATHS.monitorNew, { isNew: true }) },
    { label: 'New channel', icon: 'plus', run: () => navigate(PATHS.channelNew, { isNew: true }) },
    { label: 'New agent', icon: 'plus', run: () => navigate(PATHS.agentNew, { isNew: true }) },
  ];
  const forAll: readonly Action[] = [
    ...THEMES.map(({ theme, label, icon }) => ({ label, icon, run: () => chooseTheme(theme) })),
    { label: 'Sign out', icon: 'leave', run: leave },
  ];
  return [...(canWrite() ? forWriters : []), ...forAll].map(({ label, icon, run }) => ({
    id: `action-${label}`,
    label,
    note: '',
    icon,
    status: null,
    run,
  }));
}
