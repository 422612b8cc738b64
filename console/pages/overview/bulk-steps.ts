import type { Monitor } from '../../client/shapes.ts';
import { isCheckable } from '../../parts/statuses.ts';

/** What can be done with many monitors at once. */
export type BulkAction = 'pause' | 'resume' | 'check' | 'tag' | 'untag' | 'delete';

/** One request of the API; `tags` are what is added or removed. `undo` reverts exactly what it changes. */
export type Step = { action: BulkAction; ids: readonly string[]; tags: readonly string[]; undo: readonly Step[] };

/** The most monitors that a request may name. */
const MOST_IDS = 5000;

/** The monitors among these that an action would change: those that are paused already are not paused again. */
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

/** The requests for an action, each with those that revert it; none where nothing would change. */
export function stepsFor(action: BulkAction, monitors: readonly Monitor[], tags: readonly string[] = []): Step[] {
  const changed = affected(action, monitors, tags);
  const steps: Step[] = [];
  for (let start = 0; start < changed.length; start += MOST_IDS) {
    const part = changed.slice(start, start + MOST_IDS);
    steps.push({ action, ids: idsOf(part), tags, undo: undoOf(action, part, tags) });
  }
  return steps;
}

/** The body of a step's request. */
export function bodyOf({ action, ids, tags }: Step) {
  return { select: { ids: [...ids] }, action, ...(tags.length > 0 && { patch: { tags: [...tags] } }) };
}

/** Takes monitors out of steps, as those that could not be changed. */
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
  // Of several tags, some have one already and others another.
  const groups = Map.groupBy(monitors, (monitor) => changedTags(action, monitor, tags).join(' '));
  return [...groups].map(([own, members]) => ({ action: undo, ids: idsOf(members), tags: own.split(' '), undo: [] }));
}

/** The tags that a monitor would get or lose. */
function changedTags(action: 'tag' | 'untag', monitor: Monitor, tags: readonly string[]): readonly string[] {
  return tags.filter((tag) => monitor.tags.includes(tag) === (action === 'untag'));
}

function idsOf(monitors: readonly Monitor[]): string[] {
  return monitors.map(({ id }) => id);
}
