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

/** What changed for a tenant, by kind. */
export type Changed = ReadonlyMap<ChangeKind, ReadonlySet<string>>;

/** More than this at once is reported as a gap: to load everything anew is cheaper then for both sides. */
const MAX_CHANGES = 250;

/**
 * The longest batch of events, in bytes; more is a gap, too. So many changes mostly take less, and one batch is less
 * than what may wait for a reader.
 */
const MAX_BATCH_BYTES = 480 * 1024;

/** Changes of a tenant that were not sent yet; a thing that changes again before it was sent is sent once. */
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

  /** What was missed cannot be reported thing by thing. */
  addGap(): void {
    this.#clear();
    this.#hasGap = true;
  }

  isEmpty(): boolean {
    return this.#size === 0 && !this.#hasGap;
  }

  /** Takes what is there: changes, or `gap` where there were too many of them, or some were missed. */
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

/** The events of one tenant's streams, the same for all: what changes is gathered, read once, and sent to all. */
export class Broadcast {
  readonly streams = new Set<LiveStream>();
  readonly #options: BroadcastOptions;
  readonly #gathering = new Gathering();
  /** Of bulk changes, which a gap does not swallow: what these change is mostly too much for single events. */
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

  /** Some changes were missed. */
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

  /** What could not be read is reported as a gap later; what is too much for one batch is not sent but a gap now. */
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

/** What can be reported thing by thing. */
function listed(changed: Changed | 'gap'): Changed {
  return changed === 'gap' ? new Map() : changed;
}

/** A stream of events to one reader. */
export type LiveStream = {
  /** Sends an event that says nothing but that the stream is alive. */
  keepAlive(nowMs: number): void;
  /** Sends events as they are written; a reader that does not keep up is cut off. */
  send(events: string): void;
  /**
   * Has the reader reload what it knows. Streams that are reset at once get different moments for it, at most
   * `spreadMs` from now.
   */
  reset(spreadMs: number, nowMs: number): void;
  end(): void;
};

/**
 * How many bytes of earlier events may wait for a reader. With more the client does not read, and it reconnects by
 * itself when it does.
 */
const MAX_WAITING_BYTES = 512 * 1024;

/**
 * The shortest time after which a reader whose stream ended reconnects, in milliseconds. It waits up to as long again,
 * so that the readers of a process that stops do not all come back at once.
 */
const RETRY_MS = 1000;

const HEADERS = {
  'Content-Type': 'text/event-stream; charset=utf-8',
  // Proxies neither keep nor rewrite it, and do not wait until they have a buffer full (the last one is nginx's own).
  'Cache-Control': 'no-store, no-transform',
  'X-Accel-Buffering': 'no',
};

/** Begins an answer that is a stream. `onCut` is called for a reader that did not keep up. */
export function openStream(response: ServerResponse, { onCut }: { onCut: () => void }): LiveStream {
  response.writeHead(200, HEADERS);
  response.write(`retry: ${RETRY_MS + Math.floor(Math.random() * RETRY_MS)}\n\n`);
  const write = (text: string) => {
    if (response.writableEnded || response.destroyed) return;
    // Before the write: what is written now is handed to the system at the end of the turn, however fast the reader is.
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
 * Reads the current state of what changed, and writes it as events of a stream. It runs one statement per kind, or one
 * per changed thing where they are few. What is gone is reported as deleted.
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
 * Writes one event of a stream (WHATWG HTML, 9.2); JSON has no line breaks. The id distinguishes a stream that comes
 * back from a new one.
 */
export function writeEvent(event: string, data: object, nowMs: number): string {
  return `event: ${event}\nid: ${nowMs}\ndata: ${JSON.stringify(data)}\n\n`;
}
