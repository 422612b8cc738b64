import type { Request, RequestHandler } from 'express';
import { ApiError, badRequest } from '../api-error.ts';
import { contextOf } from '../request-context.ts';

/** The path of `PUBLIC_URL`, without a slash at its end: '' where it has none. */
export function basePathOf(publicUrl: string): string {
  return new URL(publicUrl).pathname.replace(/\/+$/, '');
}

/**
 * Cuts the path of `PUBLIC_URL` off a request's, so that routes need not know it. Proxies in front may have cut it off
 * already. The bare path is redirected to the one with a slash, below which the console's addresses are.
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
 * Refuses requests that two readers could take for different ones, though the parser lets them through. These are
 * HTTP/0.9, HTTP/1.1 without a Host header, and any with several (RFC 9112, 3.2).
 */
export const requestForm: RequestHandler = (request, _response, next) => {
  const { httpVersion, rawHeaders } = request;
  if (!VERSIONS.has(httpVersion)) throw badRequest(`the request must be HTTP/1.1, got HTTP/${httpVersion}`);
  const hosts = rawHeaders.filter((name, index) => index % 2 === 0 && name.toLowerCase() === 'host').length;
  if (hosts > 1 || (hosts === 0 && httpVersion === '1.1'))
    throw badRequest(`the request must have one Host header, got ${hosts}`);
  next();
};

/** Answers HEAD as GET (RFC 9110, section 9.3.2): the description has GET only, and Node leaves out the body. */
export const headAsGet: RequestHandler = (request, response, next) => {
  if (request.method === 'HEAD') {
    contextOf(response).isHead = true;
    request.method = 'GET';
  }
  next();
};

/**
 * Escapes the percent signs of a path that cannot be decoded. The router would refuse the path before authentication;
 * `requirePath` refuses it in its turn.
 */
export const escapeUndecodable: RequestHandler = (request, _response, next) => {
  if (!isDecodable(request.path)) request.url = escapePercents(request.url);
  next();
};

/**
 * Refuses with 404 a path that is not written as the router read it (a whole URL, a fragment). Two readers could take
 * such a path for different ones. Refuses with 400 a path that is not percent-encoded UTF-8.
 */
export const requirePath: RequestHandler = (request, _response, next) => {
  const written = writtenPath(request);
  const isPlain = isDecodable(written);
  if ((isPlain ? written : escapePercents(written)) !== request.baseUrl + request.path)
    throw new ApiError(404, 'there is no endpoint at this path');
  if (!isPlain) throw badRequest('the path must be percent-encoded UTF-8');
  next();
};

/** The path of a request as its sender wrote it, without the query. */
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
