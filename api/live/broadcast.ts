import type { ServerResponse } from 'node:http';
import { listAgentsById } from '../../models/agents/agents.ts';
import { listChannelsById } from '../../models/alerts/channels.ts';
import type { ChangeKind } from '../../models/changes.ts';
import type { Database } from '../../models/database.ts';
import { listIncidentsById } from '../../models/incidents/incidents.ts';
import { listWindowsById } from '../../models/maintenance/windows.ts';
import { listBulkProgress } from '../../models/monitors/bulk-changes.ts';
import { listMonitorsById } from '../../models/monitors/monitors.ts';
import { presentAgent } from '../agents/agents.ts';
import { presentChannel } from '../alerts/channels.ts';
import { presentIncident } from '../incidents/presenter.ts';
import { presentWindow } from '../maintenance/windows.ts';
import { haveHeartbeats, presentMonitor, readCurrentFacts } from '../monitors/presenter.ts';

/** Ids of changed objects of a tenant, by kind. */
type Changed = ReadonlyMap<ChangeKind, ReadonlySet<string>>;

/** Number of changes beyond which a gap is reported: reloading everything is then cheaper for both sides. */
const MAX_CHANGES = 250;

/**
 * Maximum size of a batch of events, in bytes; beyond it a gap is reported. `MAX_CHANGES` changes usually take less,
 * and a batch always fits into a reader's buffer.
 */
const MAX_BATCH_BYTES = 480 * 1024;

/** Unsent changes of a tenant; an object that changes again before it is sent is sent once. */
export class Gathering {
  #changed = new Map<ChangeKind, Set<string>>();
  #size = 0;
  #hasGap = false;

  add(kind: ChangeKind, id: string): void {
    const ids = this.#changed.get(kind) ?? new Set();
    if (this.#hasGap || ids.has(id)) return;
    this.#changed.set(kind, ids.add(id));
    this.#size += 1;
    if (this.#size > MAX_CHANGES) this.addGap();
  }

  /** Records that changes were missed, which cannot be reported object by object. */
  addGap(): void {
    this.#clear();
    this.#hasGap = true;
  }

  isEmpty(): boolean {
    return this.#size === 0 && !this.#hasGap;
  }

  /** Takes the gathered changes, or `gap` if there were too many or some were missed. */
  take(): Changed | 'gap' {
    const taken = this.#hasGap ? 'gap' : this.#changed;
    this.#clear();
    return taken;
  }

  #clear(): void {
    this.#changed = new Map();
    this.#size = 0;
    this.#hasGap = false;
  }
}

type BroadcastOptions = {
  /** Reads the changed objects and formats them as events. */
  read: (changed: Changed) => Promise<string>;
  now: () => number;
  /** Called if the changed objects could not be read. */
  onFailure: (error: unknown) => void;
};

/**
 * Time that the first change waits for related ones, in milliseconds: a monitor and its incident, a batch of results.
 */
const GATHER_MS = 40;

/**
 * Milliseconds between two batches of events, after changes and after a gap, so that a page that reloads everything
 * need not do so again meanwhile.
 */
const AFTER_CHANGES_MS = 300;
const AFTER_GAP_MS = 2000;

/** Server time allotted to each stream that reloads, in milliseconds. */
const LOAD_MS = 20;

/** The events of one tenant's streams, the same for all: gathers changes, reads them once, and sends them to all. */
export class Broadcast {
  readonly streams = new Set<LiveStream>();
  readonly #options: BroadcastOptions;
  readonly #gathering = new Gathering();
  /** Progress of bulk changes, kept apart from gaps: the changes they make usually are too many for single events. */
  readonly #progress = new Gathering();
  #notBeforeMs = 0;
  #timer: NodeJS.Timeout | null = null;
  #isSending = false;

  constructor(options: BroadcastOptions) {
    this.#options = options;
  }

  add(kind: ChangeKind, id: string): void {
    (kind === 'bulk' ? this.#progress : this.#gathering).add(kind, id);
    this.#plan();
  }

  /** Records that some changes were missed. */
  addGap(): void {
    this.#gathering.addGap();
    this.#plan();
  }

  close(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.streams.clear();
  }

  #plan(): void {
    if (this.#timer !== null || this.#isSending) return;
    if (this.#gathering.isEmpty() && this.#progress.isEmpty()) return;
    const afterMs = Math.max(GATHER_MS, this.#notBeforeMs - this.#options.now());
    this.#timer = setTimeout(() => void this.#sendGathered(), afterMs);
  }

  async #sendGathered(): Promise<void> {
    this.#timer = null;
    this.#isSending = true;
    const [changed, progress] = [this.#gathering.take(), this.#progress.take()];
    const sent = changed === 'gap' ? 'gap' : await this.#sendChanges(changed);
    if (sent === 'gap') this.#sendGap();
    const isNotified = sent !== 'failed' && (await this.#sendChanges(listed(progress))) !== 'failed';
    this.#isSending = false;
    if (!isNotified) this.#gathering.addGap();
    const pauseMs = sent === 'gap' || !isNotified ? AFTER_GAP_MS : AFTER_CHANGES_MS;
    this.#notBeforeMs = this.#options.now() + pauseMs;
    this.#plan();
  }

  #sendGap(): void {
    for (const stream of this.streams) stream.reset(this.streams.size * LOAD_MS, this.#options.now());
  }

  /**
   * Sends changes as events. Returns `failed` if they could not be read, so that a gap is reported later, and `gap` if
   * they exceed one batch.
   */
  async #sendChanges(changed: Changed): Promise<'sent' | 'gap' | 'failed'> {
    if (changed.size === 0) return 'sent';
    try {
      const events = await this.#options.read(changed);
      if (Buffer.byteLength(events) > MAX_BATCH_BYTES) return 'gap';
      for (const stream of this.streams) stream.send(events);
      return 'sent';
    } catch (error) {
      this.#options.onFailure(error);
      return 'failed';
    }
  }
}

/** Returns the changes that can be reported object by object. */
function listed(changed: Changed | 'gap'): Changed {
  return changed === 'gap' ? new Map() : changed;
}

/** A stream of events to one reader. */
export type LiveStream = {
  /** Sends an empty event that only shows that the stream is alive. */
  keepAlive(nowMs: number): void;
  /** Sends formatted events; a reader that does not keep up is disconnected. */
  send(events: string): void;
  /**
   * Tells the reader to reload everything. Streams that are reset together get different times, at most `spreadMs` from
   * now.
   */
  reset(spreadMs: number, nowMs: number): void;
  end(): void;
};

/**
 * Maximum size of unsent events per reader, in bytes. Beyond it the client is not reading, and it reconnects by itself
 * once it does.
 */
const MAX_WAITING_BYTES = 512 * 1024;

/**
 * Minimum delay before a disconnected reader reconnects, in milliseconds. A random delay of up to as much is added, so
 * that the readers of a stopping process do not all return at once.
 */
const RETRY_MS = 1000;

const HEADERS = {
  'Content-Type': 'text/event-stream; charset=utf-8',
  // Proxies must not store, modify or buffer the stream (the last header is nginx's own).
  'Cache-Control': 'no-store, no-transform',
  'X-Accel-Buffering': 'no',
};

/** Begins a streamed response. `onCut` is called if the reader does not keep up. */
export function openStream(response: ServerResponse, { onCut }: { onCut: () => void }): LiveStream {
  response.writeHead(200, HEADERS);
  response.write(`retry: ${RETRY_MS + Math.floor(Math.random() * RETRY_MS)}\n\n`);
  const write = (text: string) => {
    if (response.writableEnded || response.destroyed) return;
    // The buffer is checked before the write: the new text leaves it only at the end of the turn, however fast the
    // reader is.
    if (response.writableLength <= MAX_WAITING_BYTES) {
      response.write(text);
      return;
    }
    onCut();
    response.destroy();
  };
  return {
    keepAlive: (nowMs) => write(writeEvent('keep-alive', {}, nowMs)),
    send: write,
    reset: (spreadMs, nowMs) => write(writeEvent('reset', { wait_ms: Math.floor(Math.random() * spreadMs) }, nowMs)),
    end: () => void response.end(),
  };
}

type Reader = (
  database: Database,
  keys: { tenantId: string; ids: string[] },
  nowMs: number,
) => Promise<{ id: string }[]>;

const READERS = {
  monitor: async (database, keys, nowMs) => {
    const monitors = await listMonitorsById(database, keys);
    const hasHeartbeats = haveHeartbeats(monitors);
    const facts = await readCurrentFacts(database, { monitorIds: keys.ids, nowMs, hasHeartbeats });
    return monitors.map((monitor) => presentMonitor(monitor, facts(monitor.id)));
  },
  incident: async (database, keys, nowMs) =>
    (await listIncidentsById(database, keys)).map((incident) => presentIncident(incident, nowMs)),
  channel: async (database, keys) => (await listChannelsById(database, keys)).map(presentChannel),
  agent: async (database, keys) => (await listAgentsById(database, keys)).map(presentAgent),
  maintenance: async (database, keys, nowMs) => (await listWindowsById(database, keys, nowMs)).map(presentWindow),
  bulk: async (database, keys) => await listBulkProgress(database, keys),
} satisfies Record<ChangeKind, Reader>;

/**
 * Reads the current state of changed objects and formats it as events. Runs one statement per kind, or one per object
 * if they are few. Missing objects are reported as deleted.
 */
export async function readChanges(
  database: Database,
  tenantId: string,
  { changed, nowMs }: { changed: Changed; nowMs: number },
): Promise<string> {
  const events: string[] = [];
  for (const [kind, ids] of changed) {
    const rows = await READERS[kind](database, { tenantId, ids: [...ids] }, nowMs);
    const found = new Map(rows.map((row) => [row.id, row]));
    for (const id of ids) events.push(writeEvent(kind, found.get(id) ?? { id, deleted: true }, nowMs));
  }
  return events.join('');
}

/**
 * Formats one event of a stream (WHATWG HTML, 9.2); JSON has no line breaks. The id distinguishes a reconnecting stream
 * from a new one.
 */
export function writeEvent(event: string, data: object, nowMs: number): string {
  return `event: ${event}\nid: ${nowMs}\ndata: ${JSON.stringify(data)}\n\n`;
}
