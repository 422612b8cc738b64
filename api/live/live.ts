import type { ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import { Counter, Gauge, type Registry } from 'prom-client';
import { listValidCallers } from '../../models/accounts/sessions.ts';
import { listenToChanges, type Change } from '../../models/changes.ts';
import type { Database } from '../../models/database.ts';
import { ApiError } from '../api-error.ts';
import type { Handler, Live } from '../handler.ts';
import { callerOf, contextOf, type Caller } from '../request-context.ts';
import { Broadcast, openStream, readChanges, writeEvent, type LiveStream } from './broadcast.ts';

type LiveDependencies = {
  database: Database;
  /** Unix milliseconds. */
  now: () => number;
  logger: Logger;
  metrics: Registry;
  /** Aborted when this process stops. */
  stopping: AbortSignal;
};

type Opened = { stream: LiveStream; caller: Caller; isBack: boolean; isGreeted: boolean };

/** Maximum number of streams of a person or a token in one process; each page of the console has one. */
const MAX_STREAMS = 20;

/**
 * Interval at which streams send a heartbeat and callers are checked again, in milliseconds. Most proxies close
 * connections that are silent for 60 s.
 */
const BEAT_MS = 15_000;

/** The streams of a process. While there are any, one connection listens for the changes of all tenants. */
export class LiveStreams implements Live {
  readonly #dependencies: LiveDependencies;
  readonly #beatMs: number;
  readonly #gauge: Gauge;
  readonly #cuts: Counter;
  readonly #opened = new Set<Opened>();
  readonly #broadcasts = new Map<string, Broadcast>();
  #listening: { stop: () => Promise<void> } | null = null;
  #isListening = false;
  #beat: NodeJS.Timeout | null = null;

  constructor(dependencies: LiveDependencies, { beatMs } = { beatMs: BEAT_MS }) {
    const { metrics, stopping } = dependencies;
    this.#dependencies = dependencies;
    this.#beatMs = beatMs;
    this.#gauge = new Gauge({
      name: 'spotcheck_live_streams',
      help: 'Open event streams',
      registers: [metrics],
    });
    this.#cuts = new Counter({
      name: 'spotcheck_live_streams_cut_total',
      help: 'Event streams closed because the client did not keep up',
      registers: [metrics],
    });
    stopping.addEventListener('abort', () => {
      for (const { stream } of this.#opened) stream.end();
    });
  }

  open(response: ServerResponse, { caller, isBack }: { caller: Caller; isBack: boolean }): void {
    // If the client disconnected during authentication, its close event has passed already.
    if (response.destroyed) return;
    const own = [...this.#opened].filter((reader) => keyOf(reader.caller) === keyOf(caller)).length;
    if (own >= MAX_STREAMS)
      throw new ApiError(429, `at most ${MAX_STREAMS} streams may be open at a time: close one`, {
        'Retry-After': '60',
      });
    const stream = openStream(response, { onCut: () => this.#cuts.inc() });
    if (this.#dependencies.stopping.aborted) {
      stream.end();
      return;
    }
    const reader: Opened = { stream, caller, isBack, isGreeted: false };
    this.#opened.add(reader);
    this.#gauge.set(this.#opened.size);
    this.#broadcastOf(caller.tenantId).streams.add(stream);
    response.once('close', () => this.#leave(reader));
    this.#listen();
    if (!this.#isListening) return;
    this.#greet(reader);
    void this.#endOver([reader]);
  }

  #leave(reader: Opened): void {
    this.#opened.delete(reader);
    this.#gauge.set(this.#opened.size);
    const broadcast = this.#broadcasts.get(reader.caller.tenantId);
    broadcast?.streams.delete(reader.stream);
    if (broadcast?.streams.size === 0) {
      broadcast.close();
      this.#broadcasts.delete(reader.caller.tenantId);
    }
    if (this.#opened.size === 0) this.#stopListening();
  }

  #greet(reader: Opened): void {
    const { now } = this.#dependencies;
    reader.isGreeted = true;
    if (reader.isBack) reader.stream.reset(1, now());
    else reader.stream.send(writeEvent('ready', {}, now()));
  }

  #broadcastOf(tenantId: string): Broadcast {
    const known = this.#broadcasts.get(tenantId);
    if (known !== undefined) return known;
    const { database, now, logger } = this.#dependencies;
    const made = new Broadcast({
      read: (changed) => readChanges(database, tenantId, { changed, nowMs: now() }),
      now,
      onFailure: (error) => logger.warn({ err: error, tenant_id: tenantId }, 'live.not_read'),
    });
    this.#broadcasts.set(tenantId, made);
    return made;
  }

  #listen(): void {
    if (this.#listening !== null) return;
    this.#listening = listenToChanges(this.#dependencies.database, {
      onListening: () => this.#resume(),
      onChange: (change) => this.#pass(change),
      onLost: (error) => this.#pause(error),
    });
    this.#beat = setInterval(() => void this.#keepUp(), this.#beatMs);
  }

  #stopListening(): void {
    void this.#listening?.stop();
    this.#listening = null;
    this.#isListening = false;
    if (this.#beat !== null) clearInterval(this.#beat);
  }

  /**
   * Called once the connection listens: sends `ready` to waiting readers, and a gap to those from before an
   * interruption. Sessions may have ended before as well.
   */
  #resume(): void {
    this.#isListening = true;
    const waiting = new Set([...this.#opened].filter(({ isGreeted }) => !isGreeted));
    for (const reader of waiting) this.#greet(reader);
    const interrupted = [...this.#opened].filter((reader) => !waiting.has(reader));
    for (const tenantId of new Set(interrupted.map(({ caller }) => caller.tenantId)))
      this.#broadcasts.get(tenantId)?.addGap();
    void this.#endOver([...this.#opened]);
  }

  #pass({ tenantId, kind, id }: Change): void {
    if (kind === 'session') {
      void this.#endOver([...this.#opened].filter(({ caller }) => caller.kind === 'session' && caller.user.id === id));
      return;
    }
    const concerned = tenantId === null ? [...this.#broadcasts.values()] : [this.#broadcasts.get(tenantId)];
    for (const broadcast of concerned) broadcast?.add(kind, id);
  }

  #pause(error: unknown): void {
    this.#isListening = false;
    this.#dependencies.logger.warn({ err: error }, 'live.not_listening');
  }

  async #keepUp(): Promise<void> {
    const { now } = this.#dependencies;
    for (const { stream } of this.#opened) stream.keepAlive(now());
    await this.#endOver([...this.#opened]);
  }

  /** Ends the streams of readers whose session or token has ended, and sends the reason. */
  async #endOver(readers: readonly Opened[]): Promise<void> {
    if (readers.length === 0) return;
    const { database, now, logger } = this.#dependencies;
    try {
      for (const { stream, reason } of await findEnded(database, readers, now())) {
        stream.send(writeEvent('ended', { reason }, now()));
        stream.end();
      }
    } catch (error) {
      logger.warn({ err: error }, 'live.callers_not_held');
    }
  }
}

function keyOf(caller: Caller): string {
  return caller.kind === 'session' ? caller.user.id : caller.tokenId;
}

/** Finds readers whose session or token has ended, and whether because the user was removed from the account. */
async function findEnded(
  database: Database,
  readers: readonly Opened[],
  nowMs: number,
): Promise<{ stream: LiveStream; reason: 'ended' | 'removed' }[]> {
  const people = readers.flatMap(({ caller }) => (caller.kind === 'session' ? [caller] : []));
  const tokenIds = readers.flatMap(({ caller }) => (caller.kind === 'token' ? [caller.tokenId] : []));
  const valid = await listValidCallers(database, {
    sessionIds: people.map(({ sessionId }) => sessionId),
    userIds: people.map(({ user }) => user.id),
    tokenIds,
    nowMs,
  });
  return readers
    .filter(({ caller }) => !valid.has(caller.kind === 'session' ? caller.sessionId : caller.tokenId))
    .map(({ stream, caller }) => ({
      stream,
      reason: caller.kind === 'session' && !valid.has(caller.user.id) ? 'removed' : 'ended',
    }));
}

/** `GET /live` */
export function watchLiveHandler({ live }: { live: Live }): Handler<'watchLive'> {
  return (request, response) => {
    const context = contextOf(response);
    if (context.isHead === true) {
      response.type('text/event-stream').end();
      return;
    }
    live.open(response, { caller: callerOf(response), isBack: request.headers['last-event-id'] !== undefined });
    context.isStream = true;
  };
}
