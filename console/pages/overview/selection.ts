import type { Incident, Monitor, Schemas } from '../../client/api.ts';
import type { Status } from '../../parts/monitors.ts';

/**
 * Statuses of the filter. Overdue monitors do not count as up, because their status is unknown; with any other status
 * they count under that as well.
 */
export const STATUS_FILTERS = ['down', 'degraded', 'overdue', 'pending', 'up', 'paused'] as const;
export type StatusFilter = (typeof STATUS_FILTERS)[number];

/** Data of the overview besides the monitors; `overdue` contains ids. */
type Known = {
  incidents: ReadonlyMap<string, Incident>;
  figures: ReadonlyMap<string, SortFigures>;
  overdue: ReadonlySet<string>;
};

/** Filter and order of the overview; empty strings do not filter. */
export type Selection = { status: string; type: string; tag: string; text: string; sort: string };

export type SortName = keyof typeof SORTS;

/** Figures of a monitor that lists are sorted by; they are loaded when such an order is chosen. */
export type SortFigures = Schemas['MonitorFigures'];
type FigureName = Exclude<keyof SortFigures, 'id'>;

/** A monitor with its sort keys, computed once: sorting thousands compares each a dozen times. */
type Keyed = { monitor: Monitor; order: string; rank: number; start: number; figures: SortFigures | undefined };
type Compare = (a: Keyed, b: Keyed) => number;
type Sort = { label: string; compare: Compare; figure?: FigureName };

const RANK = new Map(STATUS_FILTERS.map((filter, rank) => [filter, rank]));
const byName: Compare = (a, b) => compareTexts(a.order, b.order) || compareTexts(a.monitor.id, b.monitor.id);

/** Sorts by a figure; monitors without it come last in either direction. */
function byFigure(figure: FigureName, direction: 1 | -1): Pick<Sort, 'compare' | 'figure'> {
  const last = Number.POSITIVE_INFINITY;
  const keyOf = ({ figures }: Keyed) => {
    const value = figures?.[figure] ?? null;
    return value === null ? last : value * direction;
  };
  return {
    figure,
    compare(a, b) {
      const [left, right] = [keyOf(a), keyOf(b)];
      return left === right ? byName(a, b) : left - right;
    },
  };
}

/** Orders to choose from. The first puts down monitors first, newest on top, then degraded and overdue ones. */
export const SORTS = {
  attention: { label: 'Down first', compare: (a, b) => a.rank - b.rank || b.start - a.start || byName(a, b) },
  name: { label: 'Name, A to Z', compare: byName },
  'name-desc': { label: 'Name, Z to A', compare: (a, b) => byName(b, a) },
  type: { label: 'Type', compare: (a, b) => compareTexts(a.monitor.type, b.monitor.type) || byName(a, b) },
  uptime: { label: 'Lowest uptime', ...byFigure('uptime_percent', 1) },
  'uptime-desc': { label: 'Highest uptime', ...byFigure('uptime_percent', -1) },
  slowest: { label: 'Slowest', ...byFigure('median_latency_ms', -1) },
  fastest: { label: 'Fastest', ...byFigure('median_latency_ms', 1) },
  checked: { label: 'Last check, newest', ...byFigure('last_check_at', -1) },
  'checked-asc': { label: 'Last check, oldest', ...byFigure('last_check_at', 1) },
  newest: {
    label: 'Newest first',
    compare: ({ monitor: a }, { monitor: b }) => b.created_at - a.created_at || compareTexts(b.id, a.id),
  },
  oldest: {
    label: 'Oldest first',
    compare: ({ monitor: a }, { monitor: b }) => a.created_at - b.created_at || compareTexts(a.id, b.id),
  },
} as const satisfies Record<string, Sort>;

/** Reports whether an order needs the figures of all monitors. */
export function needsFigures(sort: string): boolean {
  return isSort(sort) && 'figure' in SORTS[sort];
}

/** Returns the monitors that match a selection, in its order. */
export function select(
  monitors: readonly Monitor[],
  { status, type, tag, text, sort }: Selection,
  known: Known,
): readonly Monitor[] {
  const words = plain(text).split(/\s+/).filter(Boolean);
  const { compare } = SORTS[isSort(sort) ? sort : 'attention'];
  return monitors
    .filter(
      (monitor) =>
        (status === '' || filtersOf(monitor, known.overdue).some((filter) => filter === status)) &&
        (type === '' || monitor.type === type) &&
        (tag === '' || monitor.tags.includes(tag)) &&
        matches(monitor, words),
    )
    .map((monitor): Keyed => ({
      monitor,
      order: orderOf(monitor),
      rank: rankOf(monitor, known.overdue),
      start: known.incidents.get(monitor.id)?.started_at ?? 0,
      figures: known.figures.get(monitor.id),
    }))
    .toSorted(compare)
    .map(({ monitor }) => monitor);
}

/** Counts the monitors that match a selection except for its status, in total and by filter. */
export function countMatches(
  monitors: readonly Monitor[],
  { type, tag, text }: Selection,
  overdue: ReadonlySet<string>,
): Record<StatusFilter | 'all', number> {
  const words = plain(text).split(/\s+/).filter(Boolean);
  const counts = { all: 0, down: 0, degraded: 0, overdue: 0, pending: 0, up: 0, paused: 0 };
  for (const monitor of monitors) {
    if ((type !== '' && monitor.type !== type) || (tag !== '' && !monitor.tags.includes(tag))) continue;
    if (!matches(monitor, words)) continue;
    counts.all += 1;
    for (const filter of filtersOf(monitor, overdue)) counts[filter] += 1;
  }
  return counts;
}

/** Returns the number of monitors of each status. */
export function countStatuses(monitors: readonly Monitor[]): Record<Status, number> {
  const counts = { down: 0, degraded: 0, pending: 0, up: 0, paused: 0 };
  for (const { status } of monitors) counts[status] += 1;
  return counts;
}

/** Summarizes the state of all monitors in a few words; overdue ones do not count as up. */
export function summarize(counts: Readonly<Record<Status, number>>, overdue = 0): string {
  const total = Object.values(counts).reduce((sum, count) => sum + count, 0);
  const trouble = (['down', 'degraded'] as const)
    .filter((status) => counts[status] > 0)
    .map((status) => `${counts[status]} ${status}`);
  if (trouble.length > 0) return [...trouble, ...(overdue > 0 ? [`${overdue} overdue`] : [])].join(', ');
  if (overdue > 0) return total === 1 ? '1 monitor is overdue' : `${overdue} of ${total} monitors overdue`;
  if (total === 0) return 'Monitors';
  if (counts.up === total) return total === 1 ? '1 monitor is up' : `All ${total} monitors are up`;
  if (counts.up > 0) return `${counts.up} of ${total} monitors up, none down`;
  if (counts.paused === total) return total === 1 ? '1 monitor is paused' : `All ${total} monitors are paused`;
  return 'Waiting for first checks';
}

/** Cached sort and search keys of monitors. Comparing by the rules of a language would take ten times as long. */
const orders = new WeakMap<Monitor, string>();
const texts = new WeakMap<Monitor, string>();

function orderOf(monitor: Monitor): string {
  return remembered(orders, monitor, ({ name }) => orderText(name));
}

/** Returns the sort key of a name: without case and accents, and with numbers compared as numbers. */
export function orderText(name: string): string {
  return plain(name).replaceAll(/\d+/g, (digits) => digits.padStart(10, '0'));
}

function textOf(monitor: Monitor): string {
  return remembered(texts, monitor, ({ name, target, type, tags }) => plain([name, target, type, ...tags].join(' ')));
}

function remembered(known: WeakMap<Monitor, string>, monitor: Monitor, make: (monitor: Monitor) => string): string {
  const before = known.get(monitor);
  if (before !== undefined) return before;
  const made = make(monitor);
  known.set(monitor, made);
  return made;
}

/** Removes case and accents; most names have none. */
function plain(text: string): string {
  return (/[^ -~]/.test(text) ? text.normalize('NFKD').replaceAll(/\p{M}/gu, '') : text).toLowerCase();
}

function matches(monitor: Monitor, words: readonly string[]): boolean {
  return words.every((word) => textOf(monitor).includes(word));
}

/** Compares two texts by their characters' codes. */
export function compareTexts(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

/** Returns the filters that a monitor is listed under. A paused one is never overdue, even if older data list it so. */
export function filtersOf({ id, status }: Monitor, overdue: ReadonlySet<string>): readonly StatusFilter[] {
  if (!overdue.has(id) || status === 'paused') return [status];
  return status === 'up' ? ['overdue'] : [status, 'overdue'];
}

/** Returns the rank of a monitor's worst filter. */
function rankOf(monitor: Monitor, overdue: ReadonlySet<string>): number {
  let rank: number = STATUS_FILTERS.length;
  for (const filter of filtersOf(monitor, overdue)) rank = Math.min(rank, RANK.get(filter) ?? rank);
  return rank;
}

function isSort(name: string): name is SortName {
  return Object.hasOwn(SORTS, name);
}
