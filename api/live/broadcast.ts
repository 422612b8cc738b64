import type { ChangeKind } from '../../models/changes.ts';
import type { Changed } from './changes.ts';
import type { LiveStream } from './stream.ts';

/** Changes of a tenant that were not sent yet. */
type Gathering = {
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

/** The events of a tenant's streams, the same for all. */
export type Broadcast = {
  readonly streams: Set<LiveStream>;
  add(kind: ChangeKind, id: string): void;
  /** Some changes were missed. */
  addGap(): void;
  close(): void;
};

export type BroadcastOptions = {
  /** Reads what changed and writes it as events. */
  read: (changed: Changed) => Promise<string>;
  now: () => number;
  /** Called when what changed could not be read. */
  onFailure: (error: unknown) => void;
};

/**
 * The first change waits this long for those that come with it, in milliseconds: a monitor and its incident, a batch of
 * results.
 */
const GATHER_MS = 40;

/**
 * Milliseconds between two batches of events, after changes and after a gap: a page that loads everything is not asked
 * to do so again meanwhile.
 */
const AFTER_CHANGES_MS = 300;
const AFTER_GAP_MS = 2000;

/** Each of the streams that load anew gets this much time of the server, in milliseconds. */
const LOAD_MS = 20;

/** Makes the broadcast of one tenant: what changes is gathered, read once, and sent to all. */
export function createBroadcast({ read, now, onFailure }: BroadcastOptions): Broadcast {
  const streams = new Set<LiveStream>();
  const gathering = createGathering();
  let notBeforeMs = 0;
  let timer: NodeJS.Timeout | null = null;
  let isSending = false;

  const plan = () => {
    if (timer !== null || isSending || gathering.isEmpty()) return;
    timer = setTimeout(() => void sendGathered(), Math.max(GATHER_MS, notBeforeMs - now()));
  };
  const sendGathered = async () => {
    timer = null;
    isSending = true;
    const changed = gathering.take();
    const isNotified = changed === 'gap' ? sendGap() : await sendChanges(changed);
    isSending = false;
    if (!isNotified) gathering.addGap();
    notBeforeMs = now() + (changed === 'gap' || !isNotified ? AFTER_GAP_MS : AFTER_CHANGES_MS);
    plan();
  };
  const sendGap = (): boolean => {
    for (const stream of streams) stream.reset(streams.size * LOAD_MS, now());
    return true;
  };
  /** False where it could not be read: then it is reported as a gap later. */
  const sendChanges = async (changed: Changed): Promise<boolean> => {
    try {
      const events = await read(changed);
      for (const stream of streams) stream.send(events);
      return true;
    } catch (error) {
      onFailure(error);
      return false;
    }
  };

  return {
    streams,
    add(kind, id) {
      gathering.add(kind, id);
      plan();
    },
    addGap() {
      gathering.addGap();
      plan();
    },
    close() {
      if (timer !== null) clearTimeout(timer);
      streams.clear();
    },
  };
}
