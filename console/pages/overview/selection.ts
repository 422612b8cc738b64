import type { Incident, Monitor } from '../../client/shapes.ts';
import { STATUS_ORDER, type Status } from '../../parts/statuses.ts';

/** The filter and the order of the overview; empty strings do not filter. */
export type Selection = { status: string; type: string; text: string; sort: string };

export type SortName = keyof typeof SORTS;

/** A monitor with its sort keys, computed once: sorting thousands compares each a dozen times. */
type Keyed = { monitor: Monitor; order: string; rank: number; start: number };
type Compare = (a: Keyed, b: Keyed) => number;

const RANK = new Map(STATUS_ORDER.map((status, rank) => [status, rank]));
const byName: Compare = (a, b) => compareTexts(a.order, b.order) || compareTexts(a.monitor.id, b.monitor.id);

/** The orders to choose from. The first one puts trouble first, the newest on top. */
export const SORTS = {
  attention: { label: 'Trouble first', compare: (a, b) => a.rank - b.rank || b.start - a.start || byName(a, b) },
  name: { label: 'By name', compare: byName },
  type: { label: 'By type', compare: (a, b) => compareTexts(a.monitor.type, b.monitor.type) || byName(a, b) },
  newest: {
    label: 'Newest first',
    compare: ({ monitor: a }, { monitor: b }) => b.created_at - a.created_at || compareTexts(b.id, a.id),
  },
  oldest: {
    label: 'Oldest first',
    compare: ({ monitor: a }, { monitor: b }) => a.created_at - b.created_at || compareTexts(a.id, b.id),
  },
} as const satisfies Record<string, { label: string; compare: Compare }>;

/** The monitors that match a selection, in its order. */
export function select(
  monitors: readonly Monitor[],
  { status, type, text, sort }: Selection,
  incidents: ReadonlyMap<string, Incident>,
): readonly Monitor[] {
  const words = plain(text).split(/\s+/).filter(Boolean);
  const { compare } = SORTS[isSort(sort) ? sort : 'attention'];
  return monitors
    .filter(
      (monitor) =>
        (status === '' || monitor.status === status) &&
        (type === '' || monitor.type === type) &&
        matches(monitor, words),
    )
    .map((monitor): Keyed => ({
      monitor,
      order: orderOf(monitor),
      rank: rankOf(monitor),
      start: startOf(monitor, incidents),
    }))
    .toSorted(compare)
    .map(({ monitor }) => monitor);
}

/** The number of monitors of each status. */
export function countStatuses(monitors: readonly Monitor[]): Record<Status, number> {
  const counts = { down: 0, degraded: 0, pending: 0, up: 0, paused: 0 };
  for (const { status } of monitors) counts[status] += 1;
  return counts;
}

/** Summarizes the state of all monitors in a few words. */
export function summarize(counts: Readonly<Record<Status, number>>): string {
  const total = Object.values(counts).reduce((sum, count) => sum + count, 0);
  const trouble = (['down', 'degraded'] as const)
    .filter((status) => counts[status] > 0)
    .map((status) => `${counts[status]} ${status}`);
  if (trouble.length > 0) return trouble.join(', ');
  if (total === 0) return 'Monitors';
  if (counts.up === total) return total === 1 ? 'The one monitor is up' : `All ${total} are up`;
  if (counts.up > 0) return `${counts.up} of ${total} are up, none is down`;
  return counts.paused === total ? `All ${total} are paused` : 'Nothing is known yet';
}

/** Cached sort and search keys of monitors. Comparing by the rules of a language would take ten times as long. */
const orders = new WeakMap<Monitor, string>();
const texts = new WeakMap<Monitor, string>();

function orderOf(monitor: Monitor): string {
  return remembered(orders, monitor, ({ name }) =>
    plain(name).replaceAll(/\d+/g, (digits) => digits.padStart(10, '0')),
  );
}

function textOf(monitor: Monitor): string {
  return remembered(texts, monitor, ({ name, target, type }) => plain(`${name} ${target} ${type}`));
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

function compareTexts(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

function rankOf({ status }: Monitor): number {
  return RANK.get(status) ?? 0;
}

function startOf({ id }: Monitor, incidents: ReadonlyMap<string, Incident>): number {
  return incidents.get(id)?.started_at ?? 0;
}

function isSort(name: string): name is SortName {
  return Object.hasOwn(SORTS, name);
}
