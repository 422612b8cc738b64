import { signal } from '@preact/signals';
import type { Line } from './folders.ts';

/** The ids of the monitors that are selected for a bulk change. They stay while filters and pages change (D-487). */
export const picked = signal<ReadonlySet<string>>(new Set());

/** The key of the row that a range begins at: the one that was selected or not last. */
let anchor: string | null = null;

/** The person who selected them. */
let owner: string | null = null;

/** Drops what another person selected in this tab. */
export function keepPickedOf(userId: string): void {
  if (owner !== userId) clearPicked();
  owner = userId;
}

/** Selects monitors, or takes them out of the selection. */
export function pick(ids: Iterable<string>, isOn: boolean): void {
  const next = new Set(picked.peek());
  for (const id of ids) {
    if (isOn) next.add(id);
    else next.delete(id);
  }
  picked.value = next;
}

/** Selects nothing. */
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
 * Selects a row, or takes it out. `isRange`: with all rows from the one before, as a click with Shift does. A folder
 * stands for all that is inside.
 */
export function pickLine(lines: readonly Line[], index: number, { isOn, isRange }: PickHow): void {
  const line = lines[index];
  if (line === undefined) return;
  const from = isRange ? lines.findIndex(({ key }) => key === anchor) : -1;
  anchor = line.key;
  const between = from < 0 ? [] : lines.slice(Math.min(from, index), Math.max(from, index) + 1);
  pick([...between.flatMap(ownIds), ...idsOf(line)], isOn);
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

/** Whether all monitors of a row are selected. */
export function isPicked(line: Line): boolean {
  return idsOf(line).every((id) => picked.peek().has(id));
}

/** The monitors of a row; for a folder all that are inside. */
function idsOf(line: Line): readonly string[] {
  return 'folder' in line ? line.folder.ids : [line.monitor.id];
}

/** The monitors of a row in a range: those of an open folder have rows of their own. */
function ownIds(line: Line): readonly string[] {
  return 'folder' in line && line.folder.isOpen ? [] : idsOf(line);
}
