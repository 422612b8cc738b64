import type { Logger } from 'pino';
import { Counter, Gauge, type Registry } from 'prom-client';
import { listValidCallers } from '../../models/accounts/sessions.ts';
import { listenToChanges, type Change } from '../../models/changes.ts';
import type { Database } from '../../models/database.ts';
import { ApiError } from '../api-error.ts';
import type { Caller } from '../caller.ts';
import type { Live } from '../dependencies.ts';
import type { Handler } from '../handler.ts';
import { callerOf, contextOf } from '../request-context.ts';
import { createBroadcast, type Broadcast } from './broadcast.ts';
import { readChanges, writeEvent } from './changes.ts';
import { openStream, type LiveStream } from './stream.ts';

export type LiveDependencies = {
  database: Database;
  /** Unix milliseconds. */
  now: () => number;
  logger: Logger;
  metrics: Registry;
  /** Aborted once this process is to stop. */
  stopping: AbortSignal;
};

type Opened = { stream: LiveStream; caller: Caller; isBack: boolean; isGreeted: boolean };

/** Streams of a person, or of a token, in one process; a page of the console has one. */
const MOST_STREAMS = 20;

/**
 * Streams say that they live, and callers are held against what is stored, so often, in milliseconds. Proxies mostly
 * close what is silent for 60 s.
 */
const BEAT_MS = 15_000;

/**
 * Makes the streams of a process. While there are any, one connection listens to the changes of all tenants; without
 * any it costs nothing.
 */
export function createLive(
  { database, now, logger, metrics, stopping }: LiveDependencies,
  { beatMs } = { beatMs: BEAT_MS },
): Live {
  const gauge = new Gauge({
    name: 'spotcheck_live_streams',
    help: 'Streams of events that are open',
    registers: [metrics],
  });
  const cuts = new Counter({
    name: 'spotcheck_live_streams_cut_total',
    help: 'Streams of events cut off because their readers did not keep up',
    registers: [metrics],
  });
  const opened = new Set<Opened>();
  const broadcasts = new Map<string, Broadcast>();
  let listening: { stop: () => Promise<void> } | null = null;
  let isListening = false;
  let beat: NodeJS.Timeout | null = null;

  const greet = (reader: Opened) => {
    reader.isGreeted = true;
    if (reader.isBack) reader.stream.reset(1, now());
    else reader.stream.send(writeEvent('ready', {}, now()));
  };
  const onListening = () => {
    isListening = true;
    const waiting = new Set([...opened].filter(({ isGreeted }) => !isGreeted));
    for (const reader of waiting) greet(reader);
    // Who was greeted before the interruption has missed what happened in it.
    const interrupted = [...opened].filter((reader) => !waiting.has(reader));
    for (const tenantId of new Set(interrupted.map(({ caller }) => caller.tenantId)))
      broadcasts.get(tenantId)?.addGap();
  };
  const onChange = ({ tenantId, kind, id }: Change) => {
    const concerned = tenantId === null ? [...broadcasts.values()] : [broadcasts.get(tenantId)];
    for (const broadcast of concerned) broadcast?.add(kind, id);
  };
  const onLost = (error: unknown) => {
    isListening = false;
    logger.warn({ err: error }, 'live.not_listening');
  };

  const begin = () => {
    if (listening !== null) return;
    listening = listenToChanges(database, { onListening, onChange, onLost });
    beat = setInterval(() => void keepUp(), beatMs);
  };
  const cease = () => {
    if (opened.size > 0) return;
    void listening?.stop();
    listening = null;
    isListening = false;
    if (beat !== null) clearInterval(beat);
  };
  const keepUp = async () => {
    for (const { stream } of opened) stream.keepAlive(now());
    try {
      const ended = await findEnded(database, [...opened], now());
      for (const { stream } of ended) stream.end();
    } catch (error) {
      logger.warn({ err: error }, 'live.callers_not_held');
    }
  };

  const broadcastOf = (tenantId: string): Broadcast => {
    const known = broadcasts.get(tenantId);
    if (known !== undefined) return known;
    const made = createBroadcast({
      read: (changed) => readChanges(database, tenantId, { changed, nowMs: now() }),
      now,
      onFailure: (error) => logger.warn({ err: error, tenant_id: tenantId }, 'live.not_read'),
    });
    broadcasts.set(tenantId, made);
    return made;
  };
  const leave = (reader: Opened) => {
    opened.delete(reader);
    gauge.set(opened.size);
    const broadcast = broadcasts.get(reader.caller.tenantId);
    broadcast?.streams.delete(reader.stream);
    if (broadcast?.streams.size === 0) {
      broadcast.close();
      broadcasts.delete(reader.caller.tenantId);
    }
    cease();
  };

  stopping.addEventListener('abort', () => {
    for (const { stream } of opened) stream.end();
  });

  return {
    open(response, { caller, isBack }) {
      const own = [...opened].filter((reader) => keyOf(reader.caller) === keyOf(caller)).length;
      if (own >= MOST_STREAMS)
        throw new ApiError(429, `at most ${MOST_STREAMS} streams may be open at a time: close one`, {
          'Retry-After': '60',
        });
      const stream = openStream(response, { onCut: () => cuts.inc() });
      if (stopping.aborted) {
        stream.end();
        return;
      }
      const reader: Opened = { stream, caller, isBack, isGreeted: false };
      opened.add(reader);
      gauge.set(opened.size);
      broadcastOf(caller.tenantId).streams.add(stream);
      response.once('close', () => leave(reader));
      begin();
      if (isListening) greet(reader);
    },
  };
}

function keyOf(caller: Caller): string {
  return caller.kind === 'session' ? caller.user.id : caller.tokenId;
}

/** Readers whose session or token is over. */
async function findEnded(database: Database, readers: readonly Opened[], nowMs: number): Promise<Opened[]> {
  const sessionIds = readers.flatMap(({ caller }) => (caller.kind === 'session' ? [caller.sessionId] : []));
  const tokenIds = readers.flatMap(({ caller }) => (caller.kind === 'token' ? [caller.tokenId] : []));
  const valid = await listValidCallers(database, { sessionIds, tokenIds, nowMs });
  return readers.filter(({ caller }) => !valid.has(caller.kind === 'session' ? caller.sessionId : caller.tokenId));
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
