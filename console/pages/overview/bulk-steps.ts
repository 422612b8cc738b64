import { signal } from '@preact/signals';
import type { Monitor } from '../../client/api.ts';
import { isCheckable } from '../../parts/monitors.ts';
import type { Line } from './folders.ts';

/** Ids of the monitors that are selected for a bulk change. They stay while filters and pages change (D-487). */
export const picked = signal<ReadonlySet<string>>(new Set());

/** Key of the row that a range begins at: the last one that was selected or deselected. */
let anchor: string | null = null;

/** The person who made the selection. */
let owner: string | null = null;

/** Clears a selection that another person made in this tab. */
export function keepPickedOf(userId: string): void {
  if (owner !== userId) clearPicked();
  owner = userId;
}

/** Selects or deselects monitors. */
export function pick(ids: Iterable<string>, isOn: boolean): void {
  const next = new Set(picked.peek());
  for (const id of ids) {
    if (isOn) next.add(id);
    else next.delete(id);
  }
  picked.value = next;
}

/** Clears the selection. */
export function clearPicked(): void {
  anchor = null;
  picked.value = new Set();
}

/** Selects exactly these monitors. */
export function pickOnly(ids: readonly string[]): void {
  anchor = null;
  picked.value = new Set(ids);
}

/**
 * Selects or deselects a row. `isRange`: with all rows from the previous one, as a click with Shift does. A folder
 * represents all monitors inside.
 */
export function pickLine(lines: readonly Line[], index: number, { isOn, isRange }: PickHow): void {
  const line = lines[index];
  if (line === undefined) return;
  const from = isRange ? lines.findIndex(({ key }) => key === anchor) : -1;
  anchor = line.key;
  const between = from < 0 ? [] : lines.slice(Math.min(from, index), Math.max(from, index) + 1);
  pick([...between.flatMap(ownIds), ...idsOfLine(line)], isOn);
}

type PickHow = { isOn: boolean; isRange: boolean };

/** Moves the end of a range from one row to another, as the arrows do with Shift: it grows, or shrinks. */
export function extendTo(lines: readonly Line[], from: number, to: number): void {
  const [left, reached] = [lines[from], lines[to]];
  if (left === undefined || reached === undefined) return;
  let start = lines.findIndex(({ key }) => key === anchor);
  if (start < 0) {
    start = from;
    anchor = left.key;
  }
  const isGrowing = Math.abs(to - start) > Math.abs(from - start);
  if (isGrowing) pick([...ownIds(left), ...ownIds(reached)], true);
  else if (from !== to) pick(ownIds(left), false);
}

/** Reports whether all monitors of a row are selected. */
export function isPicked(line: Line): boolean {
  return idsOfLine(line).every((id) => picked.peek().has(id));
}

/** Returns the monitors of a row; for a folder all those inside. */
function idsOfLine(line: Line): readonly string[] {
  return 'folder' in line ? line.folder.ids : [line.monitor.id];
}

/** Returns the monitors of a row in a range: those of an open folder have rows of their own. */
function ownIds(line: Line): readonly string[] {
  return 'folder' in line && line.folder.isOpen ? [] : idsOfLine(line);
}

/** Actions on many monitors at once. */
export type BulkAction = 'pause' | 'resume' | 'check' | 'tag' | 'untag' | 'delete';

/** One request of the API; `tags` are added or removed. `undo` reverts exactly its changes. */
export type Step = { action: BulkAction; ids: readonly string[]; tags: readonly string[]; undo: readonly Step[] };

/** Most monitors that a request may name. */
const MAX_IDS = 5000;

/** Returns those of the monitors that an action would change: paused ones are not paused again. */
export function affected(action: BulkAction, monitors: readonly Monitor[], tags: readonly string[] = []): Monitor[] {
  return monitors.filter((monitor) => {
    switch (action) {
      case 'pause':
        return monitor.enabled === 1;
      case 'resume':
        return monitor.enabled === 0;
      case 'check':
        return isCheckable(monitor);
      case 'tag':
      case 'untag':
        return changedTags(action, monitor, tags).length > 0;
      case 'delete':
        return true;
    }
  });
}

/** Returns the requests for an action, each with those that revert it; empty if nothing would change. */
export function stepsFor(action: BulkAction, monitors: readonly Monitor[], tags: readonly string[] = []): Step[] {
  const changed = affected(action, monitors, tags);
  const steps: Step[] = [];
  for (let start = 0; start < changed.length; start += MAX_IDS) {
    const part = changed.slice(start, start + MAX_IDS);
    steps.push({ action, ids: idsOf(part), tags, undo: undoOf(action, part, tags) });
  }
  return steps;
}

/** Returns the body of a step's request. */
export function bodyOf({ action, ids, tags }: Step) {
  return { select: { ids: [...ids] }, action, ...(tags.length > 0 && { patch: { tags: [...tags] } }) };
}

/** Removes monitors from steps, such as those that could not be changed. */
export function without(steps: readonly Step[], gone: ReadonlySet<string>): Step[] {
  return steps
    .map((step) => ({ ...step, ids: step.ids.filter((id) => !gone.has(id)) }))
    .filter(({ ids }) => ids.length > 0);
}

const OPPOSITES = { pause: 'resume', resume: 'pause', tag: 'untag', untag: 'tag' } as const;

function undoOf(action: BulkAction, monitors: readonly Monitor[], tags: readonly string[]): Step[] {
  if (action === 'check' || action === 'delete') return [];
  const undo = OPPOSITES[action];
  if (action === 'pause' || action === 'resume') return [{ action: undo, ids: idsOf(monitors), tags: [], undo: [] }];
  // Each monitor may already have some of the tags, so their undo steps differ.
  const groups = Map.groupBy(monitors, (monitor) => changedTags(action, monitor, tags).join(' '));
  return [...groups].map(([own, members]) => ({ action: undo, ids: idsOf(members), tags: own.split(' '), undo: [] }));
}

/** Returns the tags that a monitor would get or lose. */
function changedTags(action: 'tag' | 'untag', monitor: Monitor, tags: readonly string[]): readonly string[] {
  return tags.filter((tag) => monitor.tags.includes(tag) === (action === 'untag'));
}

function idsOf(monitors: readonly Monitor[]): string[] {
  return monitors.map(({ id }) => id);
}
