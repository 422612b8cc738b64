import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { Request, Response } from 'express';

/** Below this many bytes it would take longer than it saves. */
const WORTHWHILE_BYTES = 16_384;

/** A third of the time of zlib's own choice, for a sixth more bytes. */
const LEVEL = 3;

/**
 * Answers with JSON, compressed where that is worth it and the caller takes it: thousands of monitors are megabytes,
 * and a tenth of that over the line. For answers that hold no secret and nothing of the request: the length of a
 * compressed one tells something of what it is made of.
 */
export async function sendCompressedJson(request: Request, response: Response, body: object): Promise<void> {
  const bytes = Buffer.from(JSON.stringify(body));
  response.vary('Accept-Encoding').type('json');
  if (bytes.length < WORTHWHILE_BYTES || request.acceptsEncodings('gzip') !== 'gzip') {
    response.send(bytes);
    return;
  }
  const zipped = await promisify(gzip)(bytes, { level: LEVEL });
  response.set('Content-Encoding', 'gzip').send(zipped);
}
