import { signal } from '@preact/signals';
import { BASE_PATH } from './base-path.ts';

/** Source of the shown data: the stream, polling, or none while the service is away. */
export const liveState = signal<'connecting' | 'live' | 'polling' | 'away'>('connecting');

/**
 * Kinds of objects that the stream reports. A deleted one has only `id` and `deleted`; `maintenance` is a window, also
 * when it begins or ends; `bulk` is the progress of a job that changes many monitors.
 */
export type LiveKind = 'monitor' | 'incident' | 'channel' | 'agent' | 'maintenance' | 'bulk';
export type Change = { kind: LiveKind; data: { id: string; deleted?: boolean } };

/** Why a session is over: it ended, or the user was removed from the account. */
export type EndReason = 'ended' | 'removed';

type StreamEvents = {
  /** Reports whether changes arrive as they happen. */
  onLive: (isLive: boolean) => void;
  /** Called when anything arrives. */
  onReceived: () => void;
  /** Called when an open stream falls silent: the service hangs, or the network drops everything. */
  onSilent: () => void;
  /** Called when the service reports that the session is over. Resolves to whether this browser has a new one. */
  onEnded: (reason: EndReason) => Promise<boolean>;
  /** Called when anything may have changed. */
  onReset: () => void;
  /** Called with a batch of changes, the oldest first. */
  onChanges: (changes: readonly Change[]) => void;
};

const KINDS: readonly LiveKind[] = ['monitor', 'incident', 'channel', 'agent', 'maintenance', 'bulk'];

/** Delay before a refused or lost stream is reopened. */
const RETRY_MS = 30_000;
/** Time after which a hidden page closes its stream. */
const HIDDEN_MS = 60_000;
/** Time after which a silent stream is reopened: the service sends something every 15 s. */
const SILENCE_MS = 24_000;
/** Delays of a batch of changes: a frame for the first one, longer for the next ones, since each redraws the page. */
const BATCH_MS = { first: 16, next: 250 } as const;

/**
 * The stream of changes, open while the page is visible. Over HTTP/1.1 a browser has six connections for all tabs of a
 * host.
 */
export class LiveStream {
  readonly #events: StreamEvents;
  readonly #changes: ChangeBatch;
  readonly #timers = new Set<ReturnType<typeof setTimeout>>();
  #source: EventSource | null = null;
  #silence: ReturnType<typeof setTimeout> | undefined;

  constructor(events: StreamEvents) {
    this.#events = events;
    this.#changes = new ChangeBatch(events.onChanges);
    document.addEventListener('visibilitychange', this.#followVisibility);
    this.#connect();
  }

  close(): void {
    document.removeEventListener('visibilitychange', this.#followVisibility);
    this.#disconnect();
    this.#changes.stop();
  }

  #connect(): void {
    this.#disconnect();
    const source = new EventSource(`${BASE_PATH}/v1/live`);
    this.#source = source;
    const { onLive, onReset, onReceived } = this.#events;
    const listen = (event: string, take: (data: string) => void) =>
      source.addEventListener(event, ({ data }) => {
        this.#watchSilence(source);
        take(data);
        onReceived();
      });
    this.#watchSilence(source);
    listen('keep-alive', () => undefined);
    listen('ready', () => {
      onLive(true);
      onReset();
    });
    listen('reset', (data) => {
      onLive(true);
      this.#after(JSON.parse(data).wait_ms ?? 0, onReset);
    });
    listen('ended', (data) => {
      void this.#end(JSON.parse(data).reason === 'removed' ? 'removed' : 'ended');
    });
    source.addEventListener('error', () => {
      onLive(false);
      // The browser reconnects by itself, unless the response was no stream.
      if (source.readyState !== EventSource.CLOSED) return;
      clearTimeout(this.#silence);
      this.#after(RETRY_MS, () => this.#connect());
    });
    for (const kind of KINDS) listen(kind, (data) => this.#changes.add({ kind, data: JSON.parse(data) }));
  }

  async #end(reason: EndReason): Promise<void> {
    this.#disconnect();
    const retry = this.#after(RETRY_MS, () => this.#connect());
    const isFollowed = await this.#events.onEnded(reason);
    // Meanwhile the stream may have been closed or reopened.
    if (!this.#timers.has(retry)) return;
    this.#events.onLive(false);
    if (isFollowed) this.#connect();
  }

  #watchSilence(source: EventSource): void {
    clearTimeout(this.#silence);
    this.#silence = setTimeout(() => {
      if (source.readyState === EventSource.OPEN) this.#events.onSilent();
      this.#connect();
    }, SILENCE_MS);
  }

  #disconnect(): void {
    this.#source?.close();
    this.#source = null;
    clearTimeout(this.#silence);
    this.#timers.forEach(clearTimeout);
    this.#timers.clear();
  }

  readonly #followVisibility = (): void => {
    if (document.hidden) this.#after(HIDDEN_MS, () => document.hidden && this.#disconnect());
    else if (this.#source === null) {
      this.#events.onLive(false);
      this.#connect();
    }
  };

  #after(ms: number, run: () => void): ReturnType<typeof setTimeout> {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      run();
    }, ms);
    this.#timers.add(timer);
    return timer;
  }
}

/** Collects changes and reports them in batches, the first one within a frame. */
class ChangeBatch {
  readonly #onChanges: StreamEvents['onChanges'];
  #changes: Change[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;
  #flushedAtMs = 0;

  constructor(onChanges: StreamEvents['onChanges']) {
    this.#onChanges = onChanges;
  }

  add(change: Change): void {
    this.#changes.push(change);
    if (this.#changes.length > 1) return;
    const delayMs = Math.max(BATCH_MS.first, this.#flushedAtMs + BATCH_MS.next - performance.now());
    // By a timer, because a hidden page gets no animation frames.
    this.#timer = setTimeout(() => this.#flush(), delayMs);
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  #flush(): void {
    const batch = this.#changes;
    this.#changes = [];
    this.#flushedAtMs = performance.now();
    this.#onChanges(batch);
  }
}
