import express from 'express';
import type { RequestHandler } from 'express';
import type { IncomingMessage } from 'node:http';
import { ApiError } from '../api-error.ts';

/** The largest body, in bytes (D-03). */
export const MAX_BODY_BYTES = 262_144;

const JSON_TYPE = /^application\/json *(?:;|$)/i;

/**
 * Reads bodies as JSON, whatever the operation: 415 for another content type, 413 when too large, 400 when it does not parse. The header
 * is then brought to one spelling, because the validator keeps compiled schemas for each spelling that it meets, for ever.
 */
export function jsonBody(): RequestHandler[] {
  return [requireJson, express.json({ limit: MAX_BODY_BYTES, strict: false, type: hasBody })];
}

const requireJson: RequestHandler = (request, _response, next) => {
  const type = request.headers['content-type'];
  if (hasBody(request) && !JSON_TYPE.test(type ?? '')) {
    throw new ApiError(415, `Content-Type must be application/json, got ${type === undefined ? 'none' : type.slice(0, 100)}`);
  }
  request.headers['content-type'] = 'application/json';
  next();
};

/** A length of 0 is no body: the parser would take it for an empty object. */
function hasBody(request: IncomingMessage): boolean {
  return request.headers['transfer-encoding'] !== undefined || Number(request.headers['content-length'] ?? 0) > 0;
}
