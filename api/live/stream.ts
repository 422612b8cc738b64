import type { ServerResponse } from 'node:http';
import { writeEvent } from './changes.ts';

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
 * How many bytes may wait for a reader. With more the client does not read, and it reconnects by itself when it does.
 */
const MOST_WAITING_BYTES = 512 * 1024;

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
    response.write(text);
    if (response.writableLength <= MOST_WAITING_BYTES) return;
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
