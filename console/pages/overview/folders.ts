import type { Monitor } from '../../client/api.ts';
import { STATUS_FILTERS, compareTexts, filtersOf, orderText, type StatusFilter } from './selection.ts';

/** Number of a folder's monitors under each status filter. */
type FolderCounts = Readonly<Record<StatusFilter, number>>;

/** A folder of the overview. `path` is empty for the monitors that are in none; `ids` are the monitors inside. */
type Folder = {
  path: string;
  name: string;
  isOpen: boolean;
  ids: readonly string[];
  counts: FolderCounts;
  worst: StatusFilter;
};

/** A row of the overview: a monitor, or a folder. `depth` is the number of surrounding folders. */
type MonitorLine = { key: string; depth: number; monitor: Monitor };
export type FolderLine = { key: string; depth: number; folder: Folder };
export type Line = MonitorLine | FolderLine;

/** Prefix of the tags that form folders: `group:shop/checkout` is the folder `checkout` in `shop`. */
const GROUP = 'group:';

/** Name of the folder with the monitors that have no group. */
const NO_GROUP = 'No group';

/** A folder while it is being filled. */
type Node = {
  path: string;
  name: string;
  /** Sort key of its name. */
  order: string;
  children: Map<string, Node>;
  monitors: Monitor[];
  ids: string[];
  counts: Record<StatusFilter, number>;
};

type Arranging = {
  sort: string;
  overdue: ReadonlySet<string>;
  /** Reports whether the folder of a path is open. */
  isOpen: (path: string) => boolean;
  /** Lines before a change; unchanged ones are reused, so that they are not redrawn. */
  before?: readonly Line[];
};

/** Returns the paths of the folders that a monitor is in, each once: `shop/checkout`. */
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

/** Returns one line for each monitor. Unchanged lines of `before` at the same index are reused, and not redrawn. */
export function listLines(monitors: readonly Monitor[], before: readonly Line[]): readonly Line[] {
  return monitors.map((monitor, index) => {
    const same = before[index];
    const isKept = same !== undefined && 'monitor' in same && same.monitor === monitor && same.depth === 0;
    return isKept ? same : { key: monitor.id, depth: 0, monitor };
  });
}

/**
 * Returns folders with the monitors inside, which keep their order; those without a group come last (D-486). Folders
 * come before the monitors beside them. They are sorted by name if monitors are, by the worst status inside if monitors
 * are sorted by status, and otherwise by their first monitor.
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
      // A monitor in two folders inside is counted once.
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

/** Returns the paths of all folders of some monitors, including surrounding ones. */
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

/** Adds a folder, and its content if it is open. */
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

/** Returns the folders of a path, the outermost first; creates missing ones. */
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

/** Lines of a monitor by path, created once: an unchanged line is not redrawn. */
const monitorLines = new WeakMap<Monitor, { path: string; line: MonitorLine }[]>();

function lineOf(monitor: Monitor, path: string, depth: number): MonitorLine {
  const known = monitorLines.get(monitor);
  const same = known?.find((each) => each.path === path);
  if (same !== undefined) return same.line;
  // A monitor in no folder has the same key as in a list.
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
