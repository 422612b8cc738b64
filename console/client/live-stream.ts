/** What the stream reports. Of what was deleted only `id` and `deleted` come. */
export type LiveKind = 'monitor' | 'incident' | 'channel' | 'agent';
export type Change = { kind: LiveKind; data: { id: string; deleted?: boolean } };

type StreamEvents = {
  /** Whether changes are sent as they happen. */
  onLive: (isLive: boolean) => void;
  /** Everything may have changed. */
  onReset: () => void;
  /** What has changed, the oldest first: many changes at once come together. */
  onChanges: (changes: readonly Change[]) => void;
};

const KINDS: readonly LiveKind[] = ['monitor', 'incident', 'channel', 'agent'];

/** A stream that was refused or lost for good is tried again after so long. */
const RETRY_MS = 30_000;
/** A page that is hidden for this long needs no stream, in milliseconds. */
const HIDDEN_MS = 60_000;
/**
 * A single change is reported within a frame; in a storm so long passes from one batch to the next, for each draws the
 * page anew.
 */
const GATHER_MS = { first: 16, next: 250 } as const;

/**
 * The stream of changes, for as long as the page is visible: browsers have six connections for all tabs of a host that
 * speaks HTTP/1.1.
 */
export function openStream({ onLive, onReset, onChanges }: StreamEvents): { close: () => void } {
  const changes = gatherChanges(onChanges);
  const timers = new Set<ReturnType<typeof setTimeout>>();
  let source: EventSource | null = null;
  const later = (run: () => void, ms: number) => {
    const timer = setTimeout(() => {
      timers.delete(timer);
      run();
    }, ms);
    timers.add(timer);
  };
  const disconnect = () => {
    source?.close();
    source = null;
    timers.forEach(clearTimeout);
    timers.clear();
  };
  const connect = () => {
    disconnect();
    const opened = new EventSource('/v1/live');
    source = opened;
    opened.addEventListener('ready', () => {
      onLive(true);
      onReset();
    });
    opened.addEventListener('reset', ({ data }) => {
      onLive(true);
      later(onReset, JSON.parse(data).wait_ms ?? 0);
    });
    opened.addEventListener('error', () => {
      onLive(false);
      // The browser comes back by itself, unless the answer was no stream.
      if (opened.readyState === EventSource.CLOSED) later(connect, RETRY_MS);
    });
    for (const kind of KINDS)
      opened.addEventListener(kind, ({ data }) => changes.add({ kind, data: JSON.parse(data) }));
  };
  const follow = () => {
    if (document.hidden) later(() => document.hidden && disconnect(), HIDDEN_MS);
    else if (source === null) {
      onLive(false);
      connect();
    }
  };
  document.addEventListener('visibilitychange', follow);
  connect();
  return {
    close() {
      document.removeEventListener('visibilitychange', follow);
      disconnect();
      changes.stop();
    },
  };
}

function gatherChanges(onChanges: StreamEvents['onChanges']): { add: (change: Change) => void; stop: () => void } {
  let gathered: Change[] = [];
  let timer: ReturnType<typeof setTimeout> | undefined;
  let flushedAtMs = 0;
  const flush = () => {
    const batch = gathered;
    gathered = [];
    flushedAtMs = performance.now();
    onChanges(batch);
  };
  return {
    add(change) {
      gathered.push(change);
      // By a timer: a hidden page gets no animation frames.
      if (gathered.length === 1)
        timer = setTimeout(flush, Math.max(GATHER_MS.first, flushedAtMs + GATHER_MS.next - performance.now()));
    },
    stop() {
      clearTimeout(timer);
    },
  };
}
