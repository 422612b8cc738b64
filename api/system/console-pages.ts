import type { Request, RequestHandler, Response } from 'express';
import { methodNotAllowed } from '../api-error.ts';
import type { ConsoleFile, ConsoleFiles } from './console-files.ts';
import { sendPlainPage } from './plain-page.ts';

/**
 * Nothing comes from elsewhere, nothing is written into the page, no site frames it. The page sets styles of elements
 * by its script alone.
 */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "font-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join('; ');

/** Files below it have their content's hash in their names. */
const HASHED = '/assets/';

/** Paths of machines: a browser that opens one gets what a machine gets. */
const OF_MACHINES = /^\/(?:v1|agent|ping|queues|telegram|connect|healthz|readyz|metrics|openapi\.json)(?:\/|$)/;

/**
 * Serves the console: its files, and its page at every address of a page. A browser that goes anywhere else gets the
 * page as well, with 404; everybody else is left to who comes next. With null, where the console was not built, a page
 * below `basePath` says so.
 */
export function consolePages(built: ConsoleFiles | null, basePath: string): RequestHandler {
  const isPage = pageTest(built?.paths ?? ['/']);
  return (request, response, next) => {
    const { path, method } = request;
    const file = built?.files.get(path);
    const isKnown = isPage(path);
    if (method !== 'GET' && method !== 'HEAD') {
      if (file !== undefined || isKnown) throw methodNotAllowed(method, 'GET, HEAD');
      return next();
    }
    if (file !== undefined) return sendFile(file, { request, response, isForever: path.startsWith(HASHED) });
    if (!isKnown && (OF_MACHINES.test(path) || request.headers.accept?.includes('text/html') !== true)) return next();
    if (built === null) return sendMissing(response, basePath);
    response.status(isKnown ? 200 : 404).set('Content-Security-Policy', CONTENT_SECURITY_POLICY);
    return sendFile(built.index, { request, response, isForever: false });
  };
}

function sendFile(
  { type, etag, forms }: ConsoleFile,
  { request, response, isForever }: { request: Request; response: Response; isForever: boolean },
): void {
  const coding = request.acceptsEncodings([...forms.keys()].filter((name) => name !== '')) || '';
  const name = coding === 'br' || coding === 'gzip' ? coding : '';
  response.set({
    'Content-Type': type,
    // Its forms are distinguished by caches, and by who asks whether it has changed.
    ETag: `"${etag}${name === '' ? '' : `-${name}`}"`,
    Vary: 'Accept-Encoding',
    'Cache-Control': isForever ? 'public, max-age=31536000, immutable' : 'no-cache',
    'Referrer-Policy': 'same-origin',
  });
  if (response.statusCode === 200 && request.fresh) {
    response.status(304).end();
    return;
  }
  if (name !== '') response.set('Content-Encoding', name);
  const bytes = forms.get(name);
  response.set('Content-Length', String(bytes?.length ?? 0));
  response.end(request.method === 'HEAD' ? undefined : bytes);
}

function sendMissing(response: Response, basePath: string): void {
  sendPlainPage(response, {
    status: 503,
    title: 'The console is not built',
    sentences: [
      'The service and its API are running. To build the console, run "npm run console" in a full install and ' +
        'restart the service.',
    ],
    link: { label: 'The API’s description', url: `${basePath}/openapi.json` },
  });
}

/** Whether a path is one of a page's. */
function pageTest(paths: readonly string[]): (path: string) => boolean {
  const patterns = paths.map((path) => new RegExp(`^${path.replaceAll(/:\w+/g, '[^/]+')}/?$`));
  return (path) => patterns.some((pattern) => pattern.test(path));
}
