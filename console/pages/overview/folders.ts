import type { Monitor } from '../../client/api.ts';
import { STATUS_FILTERS, compareTexts, filtersOf, orderText, type StatusFilter } from './selection.ts';

/** How many monitors of a folder are listed under each status filter. */
type FolderCounts = Readonly<Record<StatusFilter, number>>;

/** A folder of the overview. `path` is empty for the monitors that are in none; `ids` are the monitors inside. */
export type Folder = {
  path: string;
  name: string;
  isOpen: boolean;
  ids: readonly string[];
  counts: FolderCounts;
  worst: StatusFilter;
};

/** A row of the overview: a monitor, or a folder. `depth` is the number of folders that it is in. */
export type MonitorLine = { key: string; depth: number; monitor: Monitor };
export type FolderLine = { key: string; depth: number; folder: Folder };
export type Line = MonitorLine | FolderLine;

/** The key of the tags that folders are made of: `group:shop/checkout` is the folder `checkout` in `shop`. */
const GROUP = 'group:';

/** The name of the folder with the monitors that have no group. */
export const NO_GROUP = 'No group';

/** A folder while it is filled. */
type Node = {
  path: string;
  name: string;
  /** What its name is sorted by. */
  order: string;
  children: Map<string, Node>;
  monitors: Monitor[];
  ids: string[];
  counts: Record<StatusFilter, number>;
};

type Arranging = {
  sort: string;
  overdue: ReadonlySet<string>;
  /** Whether the folder of a path shows what is inside. */
  isOpen: (path: string) => boolean;
  /** The lines before a change, of which those that stay the same are used again, so that nothing is redrawn. */
  before?: readonly Line[];
};

/** The paths of the folders that a monitor is in, each once: `shop/checkout`. */
export function groupsOf(monitor: Monitor): readonly string[] {
  const known = groups.get(monitor);
  if (known !== undefined) return known;
  const paths = monitor.tags
    .filter((tag) => tag.startsWith(GROUP))
    .map((tag) => tag.slice(GROUP.length).split('/').filter(Boolean).join('/'))
    .filter(Boolean);
  const found = [...new Set(paths)];
  groups.set(monitor, found);
  return found;
}

const groups = new WeakMap<Monitor, readonly string[]>();

/** One line for each monitor. A line of `before` is used again where it stands: it is not drawn anew. */
export function listLines(monitors: readonly Monitor[], before: readonly Line[]): readonly Line[] {
  return monitors.map((monitor, index) => {
    const same = before[index];
    const isKept = same !== undefined && 'monitor' in same && same.monitor === monitor && same.depth === 0;
    return isKept ? same : { key: monitor.id, depth: 0, monitor };
  });
}

/**
 * Folders with the monitors inside, which keep their order; those without a group come last (D-486). Folders stand
 * before the monitors beside them, and are sorted by name where monitors are, by the worst status inside where monitors
 * are sorted by status, and else by their first monitor.
 */
export function arrange(monitors: readonly Monitor[], { before = [], ...how }: Arranging): readonly Line[] {
  const root = newNode('', '');
  const rest = newNode('', NO_GROUP);
  const chains = new Map<string, readonly Node[]>();
  for (const monitor of monitors) {
    const paths = groupsOf(monitor);
    const filters = filtersOf(monitor, how.overdue);
    if (paths.length === 0) {
      add(rest, monitor, filters);
      rest.monitors.push(monitor);
    }
    for (const path of paths) {
      const chain = chains.get(path) ?? chainOf(root, path);
      chains.set(path, chain);
      // Two folders inside count it once.
      for (const node of chain) if (node.ids.at(-1) !== monitor.id) add(node, monitor, filters);
      chain.at(-1)?.monitors.push(monitor);
    }
  }
  const known = new Map<string, FolderLine>();
  for (const line of before) if ('folder' in line) known.set(line.key, line);
  const lines: Line[] = [];
  for (const node of sorted(root.children, how.sort)) push(lines, node, { depth: 0, how, known });
  if (rest.ids.length > 0) push(lines, rest, { depth: 0, how, known });
  return lines;
}

/** The paths of all folders of some monitors, those around others included. */
export function listPaths(monitors: readonly Monitor[]): ReadonlySet<string> {
  const paths = new Set<string>();
  for (const monitor of monitors) {
    const own = groupsOf(monitor);
    if (own.length === 0) paths.add('');
    for (const path of own) {
      for (let end = path.indexOf('/'); end > 0; end = path.indexOf('/', end + 1)) paths.add(path.slice(0, end));
      paths.add(path);
    }
  }
  return paths;
}

type Level = { depth: number; how: Arranging; known: ReadonlyMap<string, FolderLine> };

/** Adds a folder, and what it shows while it is open. */
function push(lines: Line[], { path, name, ids, counts, ...inside }: Node, { depth, how, known }: Level): void {
  const isOpen = how.isOpen(path);
  const worst = STATUS_FILTERS.find((filter) => counts[filter] > 0) ?? 'up';
  const made = { key: `folder ${path}`, depth, folder: { path, name, isOpen, ids, counts, worst } };
  const old = known.get(made.key);
  lines.push(old !== undefined && isSame(old.folder, made.folder) ? old : made);
  if (!isOpen) return;
  for (const child of sorted(inside.children, how.sort)) push(lines, child, { depth: depth + 1, how, known });
  for (const monitor of inside.monitors) lines.push(lineOf(monitor, path, depth + 1));
}

function newNode(path: string, name: string): Node {
  return {
    path,
    name,
    order: orderText(name),
    children: new Map(),
    monitors: [],
    ids: [],
    counts: { down: 0, degraded: 0, overdue: 0, pending: 0, up: 0, paused: 0 },
  };
}

/** The folders of a path, the outermost first; those that are missing are made. */
function chainOf(root: Node, path: string): readonly Node[] {
  let node = root;
  return path.split('/').map((name) => {
    const known = node.children.get(name);
    const child = known ?? newNode(node.path === '' ? name : `${node.path}/${name}`, name);
    node.children.set(name, child);
    node = child;
    return child;
  });
}

function add(node: Node, { id }: Monitor, filters: readonly StatusFilter[]): void {
  node.ids.push(id);
  for (const filter of filters) node.counts[filter] += 1;
}

function sorted(children: ReadonlyMap<string, Node>, sort: string): readonly Node[] {
  const nodes = [...children.values()];
  const byName = (a: Node, b: Node) => compareTexts(a.order, b.order) || compareTexts(a.path, b.path);
  if (sort === 'name') return nodes.toSorted(byName);
  if (sort === 'name-desc') return nodes.toSorted((a, b) => byName(b, a));
  if (sort === 'attention') return nodes.toSorted((a, b) => rankOf(a) - rankOf(b) || byName(a, b));
  return nodes;
}

function rankOf({ counts }: Node): number {
  return STATUS_FILTERS.findIndex((filter) => counts[filter] > 0);
}

/** The lines of a monitor by path, made once: an unchanged line is not drawn again. */
const monitorLines = new WeakMap<Monitor, { path: string; line: MonitorLine }[]>();

function lineOf(monitor: Monitor, path: string, depth: number): MonitorLine {
  const known = monitorLines.get(monitor);
  const same = known?.find((each) => each.path === path);
  if (same !== undefined) return same.line;
  // One in no folder has the key that it has in a list.
  const line = { key: path === '' ? monitor.id : `${monitor.id} ${path}`, depth, monitor };
  if (known === undefined) monitorLines.set(monitor, [{ path, line }]);
  else known.push({ path, line });
  return line;
}

function isSame(a: Folder, b: Folder): boolean {
  return (
    a.isOpen === b.isOpen &&
    a.ids.length === b.ids.length &&
    STATUS_FILTERS.every((filter) => a.counts[filter] === b.counts[filter]) &&
    a.ids.every((id, index) => id === b.ids[index])
  );
}
