import { monitors, openIncidents } from '../client/live.ts';
import { canWrite } from '../client/session-state.ts';
import { signOut } from '../client/session.ts';
import type { Incident } from '../client/shapes.ts';
import { select } from '../pages/overview/selection.ts';
import type { IconName } from '../parts/icon.tsx';
import { STATUSES, type Status } from '../parts/statuses.ts';
import { PATHS } from '../paths.ts';
import { listShortcuts } from './keys.tsx';
import { listNavigation } from './navigation-bars.tsx';
import { navigate } from './router.ts';
import { chooseTheme, type Theme } from './theme.ts';

/** One line of the palette. `run` may be refused, by the API for one. */
export type PaletteEntry = {
  id: string;
  label: string;
  note: string;
  icon: IconName | null;
  status: Status | null;
  run: () => unknown;
};

/** A heading with its entries; groups without entries are left out. */
export type PaletteGroup = { title: string; entries: readonly PaletteEntry[] };

/** What the palette does from every page. */
type Action = { label: string; icon: IconName; run: () => unknown };

/** Entries that each group shows; further words narrow them down. */
const MOST_OF_GROUP = 8;

/** Shortcuts that move within a list, which the palette would lose. */
const MOVES = new Set(['j', 'k', '/', 'Enter']);

const THEMES: readonly { theme: Theme; label: string; icon: IconName }[] = [
  { theme: 'light', label: 'Theme: light', icon: 'light' },
  { theme: 'dark', label: 'Theme: dark', icon: 'dark' },
  { theme: 'system', label: 'Theme: system', icon: 'system' },
];

/** What matches a text: monitors and incidents, what the present page can do, pages, and what works everywhere. */
export function findEntries(text: string, incidents: readonly Incident[]): PaletteGroup[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const isFound = ({ label, note }: PaletteEntry) =>
    words.every((word) => `${label} ${note}`.toLowerCase().includes(word));
  const groups: PaletteGroup[] = [
    { title: 'Monitors', entries: findMonitors(text) },
    { title: 'Incidents', entries: incidents.map(incidentEntry).filter(isFound) },
    { title: 'This page', entries: listShortcuts().flatMap(shortcutEntry).filter(isFound) },
    { title: 'Go to', entries: listNavigation().map(pageEntry).filter(isFound) },
    { title: 'Actions', entries: listActions().filter(isFound) },
  ];
  return groups
    .map(({ title, entries }) => ({ title, entries: entries.slice(0, MOST_OF_GROUP) }))
    .filter(({ entries }) => entries.length > 0);
}

function findMonitors(text: string): PaletteEntry[] {
  const found = select(
    monitors.value ?? [],
    { status: '', type: '', tag: '', text, sort: 'attention' },
    { incidents: openIncidents.value, figures: new Map(), overdue: new Set() },
  );
  return found.slice(0, MOST_OF_GROUP).map(({ id, name, target, status }) => ({
    id: `monitor-${id}`,
    label: name,
    note: target,
    icon: null,
    status,
    run: () => navigate(`/monitors/${id}`),
  }));
}

function incidentEntry({ id, monitor_name: name, state, status, reason }: Incident): PaletteEntry {
  const isOpen = status === 'open';
  return {
    id: `incident-${id}`,
    label: `${name}: ${isOpen ? STATUSES[state].label.toLowerCase() : 'resolved'}`,
    note: reason,
    icon: null,
    status: isOpen ? state : 'up',
    run: () => navigate(`/incidents/${id}`),
  };
}

function pageEntry({ page, label, icon, href }: ReturnType<typeof listNavigation>[number]): PaletteEntry {
  return { id: `page-${page}`, label, note: '', icon, status: null, run: () => navigate(href) };
}

function shortcutEntry({ keys, does, run }: ReturnType<typeof listShortcuts>[number]): PaletteEntry[] {
  if (keys.length > 1 || MOVES.has(keys)) return [];
  return [{ id: `key-${keys}`, label: does, note: keys, icon: 'keyboard', status: null, run }];
}

function listActions(): PaletteEntry[] {
  const forWriters: readonly Action[] = [
    { label: 'New monitor', icon: 'plus', run: () => navigate(PATHS.monitorNew) },
    { label: 'New channel', icon: 'plus', run: () => navigate(PATHS.channelNew) },
    { label: 'New agent', icon: 'plus', run: () => navigate(PATHS.agentNew) },
  ];
  const forAll: readonly Action[] = [
    ...THEMES.map(({ theme, label, icon }) => ({ label, icon, run: () => chooseTheme(theme) })),
    { label: 'Sign out', icon: 'leave', run: signOut },
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
