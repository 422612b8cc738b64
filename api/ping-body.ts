import type { IncomingMessage } from 'node:http';
import { cleanPingBody, MAX_PING_BODY_BYTES } from '../core/heartbeat/ping-body.ts';
import { badRequest } from './api-error.ts';

/**
 * Reads a ping's body to its end, whatever its type and length, and returns the beginning that is kept (D-29): a long
 * one must not cost the ping. Null = there is none. Rejects with a 400 where the caller breaks off.
 */
export async function readPingBody(request: IncomingMessage): Promise<string | null> {
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of request as AsyncIterable<Buffer>) {
      if (length < MAX_PING_BODY_BYTES) chunks.push(chunk);
      length += chunk.length;
    }
  } catch {
    throw badRequest('the body must be as long as Content-Length says');
  }
  // As a stream: a character that the cut left incomplete is dropped, not replaced.
  const text = new TextDecoder().decode(Buffer.concat(chunks).subarray(0, MAX_PING_BODY_BYTES), { stream: true });
  return cleanPingBody(text);
}
