import type { RequestHandler } from 'express';

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
