import { createHash } from 'node:crypto';
import type { Request, Response } from 'express';
import { badRequest } from './api-error.ts';
import { isId } from './request-context.ts';

/**
 * The entry that a page starts after. `at` is the time that the list is ordered by, in the list's own unit; the id
 * breaks ties.
 */
type Position = { at: number; id: string };

/** Returns the position of an entry in a list ordered by creation. */
export function byCreation({ createdAt, id }: { createdAt: number; id: string }): Position {
  return { at: createdAt, id };
}

/** Page of a list that a caller requested (D-05). `limit` null = the whole list. */
type PageRequest = { limit: number | null; after: Position | null };

/** A request with its unmodified URL. */
export type WrittenRequest = Pick<Request, 'originalUrl'>;

/** The query parameters of every list. */
type PageQuery = { limit?: number; cursor?: string };

/** Query parameters of lists that must be whole numbers. */
const WHOLE_NUMBERS = ['limit', 'since', 'until'] as const;

/**
 * Throws 400 for a query parameter that is not written as a whole number. The validator accepts all JavaScript
 * notations, `0x10` and `1e2` included.
 */
export function requireWholeNumbers({ originalUrl }: WrittenRequest, names: readonly string[]): void {
  const written = new URL(originalUrl, 'http://unused').searchParams;
  for (const name of names) {
    const text = written.get(name);
    if (text !== null && !/^\d+$/.test(text))
      throw badRequest(`${name} must be a whole number in decimal digits, got ${JSON.stringify(text.slice(0, 40))}`);
  }
}

/** Throws 400 for a query parameter that is not written as a number in decimal digits, such as 99.95. */
export function requireDecimal({ originalUrl }: WrittenRequest, name: string): void {
  const text = new URL(originalUrl, 'http://unused').searchParams.get(name);
  if (text !== null && !/^\d+(\.\d+)?$/.test(text))
    throw badRequest(`${name} must be a number in decimal digits, got ${JSON.stringify(text.slice(0, 40))}`);
}

/**
 * Reads `limit` and `cursor`, which the validator has accepted. Throws 400 for a cursor that this list did not issue,
 * and for a number that is not written as a whole number.
 */
export function readPage(request: WrittenRequest & { query: PageQuery }): PageRequest {
  requireWholeNumbers(request, WHOLE_NUMBERS);
  const { limit, cursor } = request.query;
  const after = cursor === undefined ? null : decodeCursor(cursor, pathOf(request));
  if (cursor !== undefined && after === null)
    throw badRequest('cursor must come from the Link header of this list, got a different value');
  return { limit: limit ?? null, after };
}

/**
 * Cuts a list to one page; it was read with one entry more than the page holds. If that entry exists, `Link` names the
 * next page. `limit` null = the whole list, which has no next page, unless reading it was cut short (`isCut`).
 * `searchedTo`: where the search ended, without further entries up to there.
 */
export function cutPage<Entry>(
  entries: readonly Entry[],
  {
    limit,
    isCut = false,
    searchedTo = null,
    positionOf,
  }: {
    limit: number | null;
    isCut?: boolean;
    searchedTo?: Position | null;
    positionOf: (entry: Entry) => Position;
  },
  answer: { request: WrittenRequest; response: Response; publicUrl: string },
): readonly Entry[] {
  const hasMore = isCut || (limit !== null && entries.length > limit);
  if (!hasMore && searchedTo === null) return entries;
  const page = limit === null ? entries : entries.slice(0, limit);
  const last = page.at(-1);
  const position = hasMore ? last && positionOf(last) : searchedTo;
  if (position) answer.response.setHeader('Link', `<${nextUrl(answer, { limit, position })}>; rel="next"`);
  return page;
}

function nextUrl(
  { request, publicUrl }: { request: WrittenRequest; response: Response; publicUrl: string },
  { limit, position }: { limit: number | null; position: Position },
): string {
  const url = new URL(request.originalUrl, 'http://unused');
  if (limit !== null) url.searchParams.set('limit', String(limit));
  url.searchParams.set('cursor', encodeCursor(position, url.pathname));
  return `${publicUrl}${url.pathname}${url.search}`;
}

function pathOf({ originalUrl }: WrittenRequest): string {
  return new URL(originalUrl, 'http://unused').pathname;
}

/**
 * The checksum verifies that a cursor is complete and belongs to this list: a position in another list would silently
 * skip entries.
 */
function encodeCursor({ at, id }: Position, path: string): string {
  const checksum = createHash('sha256').update(`${path} ${at}.${id}`).digest('base64url').slice(0, 6);
  return Buffer.from(`${at}.${id}.${checksum}`).toString('base64url');
}

function decodeCursor(cursor: string, path: string): Position | null {
  const [at = '', id = ''] = Buffer.from(cursor, 'base64url').toString('utf8').split('.');
  if (!/^\d{1,15}$/.test(at) || !isId(id)) return null;
  const position = { at: Number(at), id };
  return cursor === encodeCursor(position, path) ? position : null;
}
