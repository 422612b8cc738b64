import type { ChangeKind } from '../../models/changes.ts';
import { createGathering } from './gathering.ts';
import type { Changed } from './news.ts';
import type { LiveStream } from './stream.ts';

/** What a tenant's streams are told, all the same. */
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
  /** Told that what changed could not be read. */
  onFailure: (error: unknown) => void;
};

/**
 * The first change waits this long for those that come with it, in milliseconds: a monitor and its incident, a batch of
 * results.
 */
const GATHER_MS = 40;

/**
 * So far apart are two tellings, after news and after a gap, in milliseconds: whoever loads everything is not told to
 * do so again meanwhile.
 */
const AFTER_NEWS_MS = 300;
const AFTER_GAP_MS = 2000;

/** Each of the streams that load anew gets this much time of the server, in milliseconds. */
const LOAD_MS = 20;

/** Makes the broadcast of one tenant: what changes is gathered, read once, and sent to all. */
export function createBroadcast({ read, now, onFailure }: BroadcastOptions): Broadcast {
  const streams = new Set<LiveStream>();
  const gathering = createGathering();
  let notBeforeMs = 0;
  let timer: NodeJS.Timeout | null = null;
  let isTelling = false;

  const plan = () => {
    if (timer !== null || isTelling || gathering.isEmpty()) return;
    timer = setTimeout(() => void tell(), Math.max(GATHER_MS, notBeforeMs - now()));
  };
  const tell = async () => {
    timer = null;
    isTelling = true;
    const changed = gathering.take();
    const isTold = changed === 'gap' ? tellGap() : await tellNews(changed);
    isTelling = false;
    if (!isTold) gathering.addGap();
    notBeforeMs = now() + (changed === 'gap' || !isTold ? AFTER_GAP_MS : AFTER_NEWS_MS);
    plan();
  };
  const tellGap = (): boolean => {
    for (const stream of streams) stream.reset(streams.size * LOAD_MS, now());
    return true;
  };
  /** False where it could not be read: then it is told as a gap later. */
  const tellNews = async (changed: Changed): Promise<boolean> => {
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
