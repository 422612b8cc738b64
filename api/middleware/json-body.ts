import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import express, { type RequestHandler } from 'express';
import { addCount } from '../../core/bounded-map.ts';
import { ApiError, badRequest } from '../api-error.ts';
import { contextOf } from '../request-context.ts';

/** Maximum size of a body, in bytes (D-03). */
export const MAX_BODY_BYTES = 262_144;

/**
 * Maximum number of values in a body, at any depth. The validator reports all problems of a body at once, so each
 * invalid value takes time, and a hundred thousand of them fit into the size limit. The largest valid body names 5000
 * monitors.
 */
const MAX_VALUES = 6000;

const JSON_TYPE = /^application\/json *(?:;|$)/i;

/** Matches UTF charsets other than UTF-8: the parser would accept any that begins with these four characters. */
const OTHER_UTF = /; *charset *= *"?utf-(?!8"? *(?:;|$))/i;

/**
 * Reads bodies as JSON, for any operation: 415 for another content type, 413 if too large, 400 if malformed. The header
 * is then normalized, because the validator caches compiled schemas forever for each spelling.
 */
export function jsonBody(): RequestHandler[] {
  return [...readJson(MAX_BODY_BYTES), nameTypeOnce, limitValues];
}

/**
 * Reads bodies of at most `maxBytes` bytes and `maxValues` values as JSON; an absent one stays undefined. Values are
 * counted before the parser creates objects.
 */
export function readJson(maxBytes: number, maxValues = Infinity): RequestHandler[] {
  const verify = (_request: IncomingMessage, _response: unknown, body: Buffer) => {
    requireUtf8(body);
    if (maxValues < body.length && countValues(body) > maxValues) throw tooManyValues(maxValues);
  };
  return [requireJson, limitCompressed(express.json({ limit: maxBytes, strict: false, type: hasBody, verify }))];
}

/**
 * Maximum number of compressed bodies read at a time in a process, of an account and of one agent, token or person in
 * it.
 */
const COMPRESSED_OF_ACCOUNT = 16;
const COMPRESSED_OF_CALLER = 4;
/** The limit for brotli: fourteen bytes can expand to up to 19.5 MiB. */
const BROTLI_OF_ACCOUNT = 1;

/** Numbers of bodies being read, by the ids of accounts and callers. */
const compressed = new Map<string, number>();

/**
 * Limits the compressed bodies read at a time, and refuses those of anonymous callers. An endless one may expand to far
 * more than was sent.
 */
function limitCompressed(read: RequestHandler): RequestHandler {
  return (request, response, next) => {
    if (!hasBody(request) || !isCompressed(request)) return read(request, response, next);
    const { caller, agent, isOpen = false } = contextOf(response);
    const tenantId = isOpen ? undefined : (caller ?? agent)?.tenantId;
    if (tenantId === undefined) throw refusesCompressed();
    const callerId = caller?.actor.id ?? agent?.id ?? tenantId;
    const limits: Limit[] = [
      { id: tenantId, most: COMPRESSED_OF_ACCOUNT, bodies: 'compressed bodies of this account are' },
      { id: callerId, most: COMPRESSED_OF_CALLER, bodies: 'compressed bodies of this caller are' },
    ];
    const coding = codingOf(request);
    // The parser would accept zstd.
    if (coding === 'zstd') throw unknownCoding();
    if (coding === 'br')
      limits.push({ id: `br ${tenantId}`, most: BROTLI_OF_ACCOUNT, bodies: 'brotli body of this account is' });
    for (const limit of limits) requireRoom(limit);
    for (const { id } of limits) addCount(compressed, id, 1);
    let isCounted = true;
    const end = () => {
      if (isCounted) for (const { id } of limits) addCount(compressed, id, -1);
      isCounted = false;
    };
    response.once('close', end);
    return read(request, response, (error?: unknown) => {
      end();
      next(error);
    });
  };
}

/** Refuses compressed bodies: for requests of anonymous callers that are not JSON. */
export const requirePlain: RequestHandler = (request, _response, next) => {
  if (isCompressed(request)) throw refusesCompressed();
  next();
};

function isCompressed(request: IncomingMessage): boolean {
  return codingOf(request) !== 'identity';
}

function codingOf({ headers }: IncomingMessage): string {
  return (headers['content-encoding'] || 'identity').toLowerCase();
}

export function unknownCoding(): ApiError {
  return new ApiError(415, 'Content-Encoding must be gzip, deflate or br, or absent');
}

function refusesCompressed(): ApiError {
  return new ApiError(
    415,
    'Content-Encoding must be absent: compressed bodies are read only where a token or a session is required',
  );
}

/** Maximum number of an id's bodies read at a time. */
type Limit = { id: string; most: number; bodies: string };

function requireRoom({ id, most, bodies }: Limit): void {
  if ((compressed.get(id) ?? 0) >= most)
    throw new ApiError(429, `${most} ${bodies} being read already: send fewer at once`, { 'Retry-After': '1' });
}

function tooManyValues(most: number): ApiError {
  return badRequest(`the body must have at most ${most} values`);
}

const [QUOTE, BACKSLASH, COMMA, LIST, OBJECT] = ['"', '\\', ',', '[', '{'].map((sign) => sign.charCodeAt(0));

/** Counts the values of a JSON text, or slightly more: lists, objects and the commas in them. */
function countValues(body: Buffer): number {
  let values = 0;
  let isQuoted = false;
  for (let at = 0; at < body.length; at += 1) {
    const byte = body[at];
    if (byte === QUOTE) isQuoted = !isQuoted;
    else if (isQuoted) at += byte === BACKSLASH ? 1 : 0;
    else if (byte === COMMA || byte === LIST || byte === OBJECT) values += 1;
  }
  return values;
}

const requireJson: RequestHandler = (request, _response, next) => {
  const type = request.headers['content-type'];
  if (hasBody(request) && !JSON_TYPE.test(type ?? '')) {
    throw new ApiError(
      415,
      `Content-Type must be application/json, got ${type === undefined ? 'none' : type.slice(0, 100)}`,
    );
  }
  if (OTHER_UTF.test(type ?? '')) throw new ApiError(415, 'the charset of Content-Type must be utf-8');
  next();
};

/**
 * Refuses bodies that are not UTF-8 (RFC 8259, 8.1). Invalid bytes would be stored as replacement characters (U+FFFD),
 * so that different bodies would look the same.
 */
function requireUtf8(body: Buffer): void {
  if (!isUtf8(body)) throw new Error('The body is not UTF-8');
}

/** Runs after the parser, which needs the charset that this drops. */
const nameTypeOnce: RequestHandler = (request, _response, next) => {
  request.headers['content-type'] = 'application/json';
  next();
};

/** Reports whether there is a body. The parser would take a length of 0 for an empty object. */
function hasBody(request: IncomingMessage): boolean {
  return request.headers['transfer-encoding'] !== undefined || Number(request.headers['content-length'] ?? 0) > 0;
}

const limitValues: RequestHandler = (request, _response, next) => {
  if (hasMoreValues(request.body, MAX_VALUES)) throw tooManyValues(MAX_VALUES);
  next();
};

/** Walks iteratively: a body may be nested deeper than the stack. */
function hasMoreValues(body: unknown, limit: number): boolean {
  const pending: unknown[] = [body];
  for (let visited = 0; pending.length > 0; visited += 1) {
    if (visited + pending.length > limit) return true;
    const value = pending.pop();
    if (typeof value === 'object' && value !== null) for (const inner of Object.values(value)) pending.push(inner);
  }
  return false;
}
