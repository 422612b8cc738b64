import { signal, type Signal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import { signedIn } from '../../client/session-state.ts';
import type { Monitor } from '../../client/shapes.ts';
import type { IconName } from '../../parts/icon.tsx';
import { ToggleButton } from './controls.tsx';
import { listPaths, type Line } from './folders.ts';
import type { Selection } from './selection.ts';

/** What a person chose: whether monitors are listed in folders, and the paths of those that are closed. */
type Choice = { isOn: boolean; closed: readonly string[] };

const DEFAULT: Choice = { isOn: false, closed: [] };

/** The most closed folders that are stored. */
const MOST_CLOSED = 2000;

/** By the id of the person, whom a browser may be shared by. */
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
  choice().value = { ...next, closed: next.closed.slice(-MOST_CLOSED) };
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

/** The folders of the overview: whether they are shown, and which of them are open. */
export type FolderView = {
  isOn: boolean;
  closed: ReadonlySet<string>;
  setOpen: (path: string, isOpen: boolean) => void;
  closeAll: (paths: Iterable<string>) => void;
};

/**
 * The folders as the person left them. A search or filter opens all that it finds something in; what is closed then is
 * closed for this search.
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

/** Switches between a list and folders, and closes or opens all of these where there is room for it. */
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

/** Says how folders are made, while there are none. */
export function FolderHint() {
  return (
    <p class="border-b border-line px-4 py-2.5 text-sm text-soft md:px-3">
      No folders yet. Give monitors a tag such as <code class="font-mono text-ink">group:shop</code>, or{' '}
      <code class="font-mono text-ink">group:shop/checkout</code> for a folder inside.
    </p>
  );
}
