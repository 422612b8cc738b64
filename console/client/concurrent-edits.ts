import { Failure } from './answer.ts';

/** Reports whether two values of a form are the same: each is built in one place, so their keys have one order. */
export function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

/** The values that a draft was made from, and their present versions. */
type Bases<Draft> = { from: Draft; to: Draft };

/**
 * A draft on top of another person's saved changes. `changed` contains the fields that they changed to something else
 * than the draft, `kept` those among them where the draft has changes of its own.
 */
export type Rebased<Draft> = { draft: Draft; changed: readonly (keyof Draft)[]; kept: readonly (keyof Draft)[] };

/** Applies the changes between two bases to a draft, except where the draft has changes of its own. */
export function rebase<Draft extends object>(draft: Draft, { from, to }: Bases<Draft>): Rebased<Draft> {
  const fields = Object.keys(to) as (keyof Draft)[];
  const changed = fields.filter((field) => !isSame(from[field], to[field]) && !isSame(draft[field], to[field]));
  const merged = Object.fromEntries(
    changed.map((field) => [field, merge(draft[field], { from: from[field], to: to[field] })]),
  ) as Partial<Draft>;
  return {
    draft: { ...draft, ...merged },
    changed,
    kept: changed.filter((field) => !isSame(merged[field], to[field])),
  };
}

/** Merges the parts of a group, such as headers and body of a request; any other value is one whole. */
function merge(value: unknown, { from, to }: { from: unknown; to: unknown }): unknown {
  if (!isGroup(value) || !isGroup(from) || !isGroup(to)) return isSame(value, from) ? to : value;
  return Object.fromEntries(
    Object.entries(value).map(([part, own]) => [part, isSame(own, from[part]) ? to[part] : own]),
  );
}

function isGroup(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Fields of a form as the API takes them. */
type Fields = {
  all_monitors?: boolean;
  monitor_ids?: readonly string[];
  monitor_tags?: object | null;
  tags?: readonly string[];
};

/** Fields that together choose the monitors of a channel or window. */
const ROUTE = ['all_monitors', 'monitor_ids', 'monitor_tags', 'tags'] as const;

/**
 * Returns the fields that differ from the form's initial ones: a save sends these, and undoes no other person's change.
 */
export function changesOf<T extends object>(before: T, after: T): Partial<T> {
  const known = new Map(Object.entries(before));
  const changed = Object.entries(after).filter(([name, value]) => !isSameUnordered(value, known.get(name)));
  return Object.fromEntries(changed) as Partial<T>;
}

/** Reports whether two values of a field are the same; the order of monitors and tags does not matter. */
function isSameUnordered(one: unknown, other: unknown): boolean {
  const [a, b] = [one, other].map((value) => (Array.isArray(value) ? value.toSorted() : value));
  return isSame(a, b);
}

/** Other fields that a change of a field conflicts with. */
const CONFLICTS: Readonly<Record<string, readonly string[]>> = {
  all_monitors: ROUTE,
  starts_at: ['timezone'],
  timezone: ['starts_at'],
  cron: ['rrule'],
  rrule: ['cron'],
};

/**
 * Merges the changes of a form into the stored values: monitors are added and removed one by one. `theirs` are another
 * person's conflicting changes, unless they are the same; null if there are none (D-674). Once they are part of the
 * initial values, the next save replaces them.
 */
export function joinChanges<T extends Fields>(
  before: T,
  after: T,
  present: T,
): { changes: Partial<T>; theirs: Partial<T> | null } {
  const changes = changesOf(before, after);
  const stored = changesOf(before, present);
  const wanted = new Map(Object.entries(after));
  const isOurs = (name: string) => [name, ...(CONFLICTS[name] ?? [])].some((each) => each in changes);
  const theirs = Object.entries(stored).filter(
    ([name, value]) => name !== 'monitor_ids' && isOurs(name) && !isSameUnordered(value, wanted.get(name)),
  );
  // A list chosen instead of all monitors has no previous list.
  if (changes.monitor_ids !== undefined && changes.all_monitors === undefined) {
    const [begun, chosen] = [new Set(before.monitor_ids), new Set(changes.monitor_ids)];
    const remaining = (present.monitor_ids ?? []).filter((id) => chosen.has(id) || !begun.has(id));
    changes.monitor_ids = [...new Set([...remaining, ...[...chosen].filter((id) => !begun.has(id))])];
  }
  const isRouteOurs = ROUTE.some((name) => name in changes);
  const isRouteOther = ROUTE.some((name) => !isSameUnordered(present[name], after[name]));
  const isEmptied = coversSome(after) && !coversSome({ ...present, ...changes });
  const isReplaced = isRouteOurs && isRouteOther && ('all_monitors' in stored || isEmptied);
  const route = ROUTE.filter((name) => isReplaced && (name in before || name in after));
  const conflicts = new Map<string, unknown>([...theirs, ...route.map((name) => [name, present[name]] as const)]);
  return { changes, theirs: conflicts.size === 0 ? null : (Object.fromEntries(conflicts) as Partial<T>) };
}

/** Reports whether a route can contain any monitor. */
function coversSome({ all_monitors: all, monitor_ids: ids = [], monitor_tags: anyOrAll, tags = [] }: Fields): boolean {
  return all === true || ids.length > 0 || tags.length > 0 || (anyOrAll ?? null) !== null;
}

/**
 * Stops a save that would replace another person's change; `known` is the form's initial value. If the present value
 * equals the form's, nothing would be replaced.
 */
export function refuseStale<T>(known: { current: T }, { present, sent }: { present: T; sent: T }, what: string): void {
  const isChanged = !isSame(known.current, present);
  // So that the next save goes ahead.
  known.current = present;
  if (isChanged && !isSame(present, sent)) throw staleFailure(what);
}

/** Returns the failure that a form shows if another person changed the value that it would replace. */
export function staleFailure(what: string): Failure {
  return new Failure(`someone else changed ${what}. Reload to see the changes, or save again to replace them`, {
    status: 409,
  });
}
