import { signal, type Signal } from '@preact/signals';
import type { RefObject } from 'preact';
import { useMemo, useRef } from 'preact/hooks';
import type { Monitor } from '../../client/api.ts';
import { signedIn } from '../../client/session-state.ts';
import type { IconName } from '../../parts/icon.tsx';
import { useShortcut } from '../../shell/keys.tsx';
import { navigate } from '../../shell/router.ts';
import { extendTo, isPicked, pickLine, pickOnly } from './bulk-steps.ts';
import { ToggleButton } from './controls.tsx';
import { listPaths, type FolderLine, type Line } from './folders.ts';
import type { Selection } from './selection.ts';

/** Choice of a person: whether monitors are listed in folders, and the paths of the closed ones. */
type Choice = { isOn: boolean; closed: readonly string[] };

const DEFAULT: Choice = { isOn: false, closed: [] };

/** Most closed folders that are stored. */
const MAX_CLOSED = 2000;

/** Choices by the id of the person, because several people may share a browser. */
const choices = new Map<string, Signal<Choice>>();

function choice(): Signal<Choice> {
  const { id } = signedIn().user;
  const known = choices.get(id);
  if (known !== undefined) return known;
  const made = signal(storedChoice(id));
  choices.set(id, made);
  return made;
}

function choose(change: Partial<Choice>): void {
  const { value } = choice();
  const next = { ...value, ...change };
  choice().value = { ...next, closed: next.closed.slice(-MAX_CLOSED) };
  try {
    localStorage.setItem(keyOf(signedIn().user.id), JSON.stringify(choice().value));
  } catch {
    // Without storage the choice lasts until the page is left.
  }
}

function storedChoice(userId: string): Choice {
  try {
    const { isOn, closed } = JSON.parse(localStorage.getItem(keyOf(userId)) ?? '{}');
    return { isOn: isOn === true, closed: Array.isArray(closed) ? closed.map(String) : [] };
  } catch {
    return DEFAULT;
  }
}

function keyOf(userId: string): string {
  return `spotcheck:folders:${userId}`;
}

/** Folders of the overview: whether they are shown, and which of them are open. */
type FolderView = {
  isOn: boolean;
  closed: ReadonlySet<string>;
  setOpen: (path: string, isOpen: boolean) => void;
  closeAll: (paths: Iterable<string>) => void;
};

/**
 * Returns the folders as the person left them. A search or filter opens all folders with matches; folders closed then
 * are closed for this search only.
 */
export function useFolders({ status, type, tag, text }: Selection): FolderView {
  const filter = [status, type, tag, text].join('\n');
  const closedInSearch = useMemo(() => signal<readonly string[]>([]), [filter]);
  const isFiltered = filter.trim() !== '';
  const { isOn, closed: kept } = choice().value;
  const paths = isFiltered ? closedInSearch.value : kept;
  const closed = useMemo(() => new Set(paths), [paths]);
  const close = (next: readonly string[]) => {
    if (isFiltered) closedInSearch.value = next;
    else choose({ closed: next });
  };
  return {
    isOn,
    closed,
    setOpen(path, isOpen) {
      const others = [...closed].filter((each) => each !== path);
      close(isOpen ? others : [...others, path]);
    },
    closeAll: (all) => close([...all]),
  };
}

type FolderButtonsProps = {
  view: FolderView;
  lines: readonly Line[];
  monitors: readonly Monitor[];
  hasRoom: boolean;
};

/** Switches between a list and folders, and closes or opens all of these if there is room for that button. */
export function FolderButtons({ view, lines, monitors, hasRoom }: FolderButtonsProps) {
  const isAnyOpen = view.isOn && lines.some((line) => 'folder' in line && line.folder.isOpen);
  const [icon, label]: [IconName, string] = isAnyOpen
    ? ['foldAll', 'Close all folders']
    : ['unfoldAll', 'Open all folders'];
  return (
    <>
      <ToggleButton icon="folder" label="Folders" isOn={view.isOn} onPress={() => choose({ isOn: !view.isOn })} />
      {view.isOn && hasRoom && (
        <ToggleButton icon={icon} label={label} onPress={() => view.closeAll(isAnyOpen ? listPaths(monitors) : [])} />
      )}
    </>
  );
}

/** Explains how to create folders, while there are none. */
export function FolderHint() {
  return (
    <p class="border-b border-line px-4 py-2.5 text-sm text-soft md:px-3">
      No folders yet. Give monitors a tag such as <code class="font-mono text-ink">group:shop</code>, or{' '}
      <code class="font-mono text-ink">group:shop/checkout</code> for a folder inside.
    </p>
  );
}

/** Key of the row that the keyboard has selected; it survives a visit to its monitor's page. */
export const cursor = signal<string | null>(null);

type RowEventsProps = {
  lines: readonly Line[];
  folders: FolderView;
  search: RefObject<HTMLInputElement | null>;
  /** All matching monitors, which can be selected; null if nothing can be selected. */
  ids: readonly string[] | null;
};

/** Handlers for the element around the rows. */
type RowEvents = {
  onFocusIn: (event: FocusEvent) => void;
  onKeyDown: (event: KeyboardEvent) => void;
  onClick: (event: MouseEvent) => void;
};

/**
 * Handles keys and clicks in the rows of the overview, which move the cursor, select, open monitors, and open and close
 * folders. One set of handlers serves all rows.
 */
export function useRowEvents({ lines, folders, search, ids }: RowEventsProps): RowEvents {
  // Rows that are already drawn must use the present list.
  const rows = useRef(lines);
  rows.current = lines;
  const indexOf = (key: string | null) => rows.current.findIndex((line) => line.key === key);
  const move = (by: number) => {
    const next = rows.current[Math.min(rows.current.length - 1, Math.max(0, indexOf(cursor.value) + by))];
    if (next !== undefined) cursor.value = next.key;
  };
  const toggle = ({ folder }: FolderLine, isOpen = !folder.isOpen) => folders.setOpen(folder.path, isOpen);
  /** Left closes a folder, or moves to the surrounding one; right opens it. */
  const fold = (line: Line, isOpen: boolean) => {
    if ('folder' in line && line.folder.isOpen !== isOpen) toggle(line, isOpen);
    else if (!isOpen) cursor.value = parentOf(rows.current, line)?.key ?? cursor.value;
  };
  /** Selects or deselects a row. */
  const toggleLine = (line: Line, isRange = false) =>
    pickLine(rows.current, rows.current.indexOf(line), { isOn: !isPicked(line), isRange });
  const extend = (by: 1 | -1) => {
    const from = indexOf(cursor.value);
    move(by);
    extendTo(rows.current, from, indexOf(cursor.value));
  };
  const selectKeys: Partial<Record<string, (line: Line) => void>> =
    ids === null ? {} : { 'Shift+ArrowDown': () => extend(1), 'Shift+ArrowUp': () => extend(-1), ' ': toggleLine };
  const keys: Partial<Record<string, (line: Line) => void>> = {
    ArrowDown: () => move(1),
    ArrowUp: () => (cursor.value === rows.current[0]?.key ? search.current?.focus() : move(-1)),
    ...(folders.isOn && {
      ArrowRight: (line: Line) => fold(line, true),
      ArrowLeft: (line: Line) => fold(line, false),
    }),
    ...selectKeys,
  };
  useShortcut('j', 'Next monitor', () => move(1));
  useShortcut('k', 'Previous monitor', () => move(-1));
  useShortcut('Enter', 'Open the monitor', () => {
    const line = atCursor();
    if (line === undefined) return;
    if ('folder' in line) toggle(line);
    else navigate(`/monitors/${line.monitor.id}`);
  });
  const atCursor = () => rows.current[indexOf(cursor.value)];
  const toggleAtCursor = () => {
    const line = atCursor();
    if (line !== undefined) toggleLine(line);
  };
  useShortcut('x', 'Select the monitor', ids === null ? null : toggleAtCursor);
  useShortcut('a', 'Select all that match', ids === null ? null : () => pickOnly(ids));
  const lineAt = (event: Event) => rows.current[indexOf(keyAt(event))];
  return {
    onFocusIn(event) {
      cursor.value = keyAt(event) ?? cursor.value;
    },
    onKeyDown(event) {
      const line = lineAt(event);
      const run = event.ctrlKey || event.metaKey || event.altKey ? undefined : keys[shortcutOf(event)];
      // Buttons and checkboxes handle Space themselves.
      if (line === undefined || run === undefined || (event.key === ' ' && !isIn(event, 'a'))) return;
      event.preventDefault();
      run(line);
    },
    onClick(event) {
      const line = lineAt(event);
      if (line === undefined) return;
      if (event.target instanceof HTMLInputElement)
        pickLine(rows.current, rows.current.indexOf(line), { isOn: event.target.checked, isRange: event.shiftKey });
      else if ('folder' in line && isIn(event, 'button')) toggle(line);
    },
  };
}

/** Returns the folder around a row; undefined if there is none. */
function parentOf(rows: readonly Line[], line: Line): Line | undefined {
  const end = rows.indexOf(line);
  return rows.slice(0, Math.max(0, end)).findLast(({ depth }) => depth < line.depth);
}

function keyAt({ target }: Event): string | null {
  return target instanceof Element ? (target.closest<HTMLElement>('[data-key]')?.dataset['key'] ?? null) : null;
}

function shortcutOf({ key, shiftKey }: KeyboardEvent): string {
  return shiftKey && key.startsWith('Arrow') ? `Shift+${key}` : key;
}

function isIn({ target }: Event, selector: string): boolean {
  return target instanceof Element && target.closest(selector) !== null;
}
