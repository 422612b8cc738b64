import type { ChangeKind } from '../../models/changes.ts';
import type { Changed } from './changes.ts';

/** Changes of a tenant that nobody was notified of yet. */
export type Gathering = {
  add(kind: ChangeKind, id: string): void;
  /** What was missed cannot be reported thing by thing. */
  addGap(): void;
  isEmpty(): boolean;
  /** Takes what is there: changes, or `gap` where there were too many of them, or some were missed. */
  take(): Changed | 'gap';
};

/** More than this at once is reported as a gap: to load everything anew is cheaper then for both sides. */
const MOST_CHANGES = 250;

/** Makes a gathering; a thing that changes again before it was sent is sent once. */
export function createGathering(): Gathering {
  let changed = new Map<ChangeKind, Set<string>>();
  let size = 0;
  let hasGap = false;
  const clear = () => {
    changed = new Map();
    size = 0;
  };
  return {
    add(kind, id) {
      const ids = changed.get(kind) ?? new Set();
      if (hasGap || ids.has(id)) return;
      changed.set(kind, ids.add(id));
      size += 1;
      if (size > MOST_CHANGES) this.addGap();
    },
    addGap() {
      hasGap = true;
      clear();
    },
    isEmpty: () => size === 0 && !hasGap,
    take() {
      const taken = hasGap ? 'gap' : changed;
      hasGap = false;
      clear();
      return taken;
    },
  };
}
