import type { Request, RequestHandler } from 'express';
import { ApiError, badRequest } from '../api-error.ts';
import { contextOf } from '../request-context.ts';

/** Returns the path of `PUBLIC_URL`, without a trailing slash; empty if it has none. */
export function basePathOf(publicUrl: string): string {
  return new URL(publicUrl).pathname.replace(/\/+$/, '');
}

/**
 * Strips the path of `PUBLIC_URL` from requests, so that routes do not depend on it. Proxies in front may have stripped
 * it already. The bare path is redirected to the one with a slash, below which the console's URLs are.
 */
export function cutBasePath(publicUrl: string): RequestHandler {
  const basePath = basePathOf(publicUrl);
  if (basePath === '') return (_request, _response, next) => next();
  return (request, response, next) => {
    if (!request.url.startsWith(basePath)) return next();
    const rest = request.url.slice(basePath.length);
    if (rest === '' || rest.startsWith('?')) return response.redirect(308, `${basePath}/${rest}`);
    if (rest.startsWith('/')) request.url = request.originalUrl = rest;
    next();
  };
}

const VERSIONS = new Set(['1.0', '1.1']);

/**
 * Refuses requests that two servers could interpret differently, though the parser accepts them. These are HTTP/0.9,
 * HTTP/1.1 without a Host header, and any with several (RFC 9112, 3.2).
 */
export const requestForm: RequestHandler = (request, _response, next) => {
  const { httpVersion, rawHeaders } = request;
  if (!VERSIONS.has(httpVersion)) throw badRequest(`the request must be HTTP/1.1, got HTTP/${httpVersion}`);
  const hosts = rawHeaders.filter((name, index) => index % 2 === 0 && name.toLowerCase() === 'host').length;
  if (hosts > 1 || (hosts === 0 && httpVersion === '1.1'))
    throw badRequest(`the request must have one Host header, got ${hosts}`);
  next();
};

/** Handles HEAD as GET (RFC 9110, section 9.3.2): the description has only GET, and Node omits the body. */
export const headAsGet: RequestHandler = (request, response, next) => {
  if (request.method === 'HEAD') {
    contextOf(response).isHead = true;
    request.method = 'GET';
  }
  next();
};

/**
 * Escapes the percent signs of a path that cannot be decoded, which the router would refuse before authentication.
 * `requirePath` refuses it later.
 */
export const escapeUndecodable: RequestHandler = (request, _response, next) => {
  if (!isDecodable(request.path)) request.url = escapePercents(request.url);
  next();
};

/**
 * Refuses with 404 a path that differs from the router's reading of it (a whole URL, a fragment): two servers could
 * interpret it differently. Refuses with 400 a path that is not percent-encoded UTF-8.
 */
export const requirePath: RequestHandler = (request, _response, next) => {
  const written = writtenPath(request);
  const isPlain = isDecodable(written);
  if ((isPlain ? written : escapePercents(written)) !== request.baseUrl + request.path)
    throw new ApiError(404, 'there is no endpoint at this path');
  if (!isPlain) throw badRequest('the path must be percent-encoded UTF-8');
  next();
};

/** Returns the path of a request as it was sent, without the query. */
export function writtenPath({ originalUrl }: Pick<Request, 'originalUrl'>): string {
  return originalUrl.split('?', 1)[0] ?? '';
}

function isDecodable(path: string): boolean {
  try {
    decodeURIComponent(path);
    return true;
  } catch {
    return false;
  }
}

function escapePercents(path: string): string {
  return path.replaceAll('%', '%25');
}
