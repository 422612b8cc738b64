import { createHash } from 'node:crypto';
import { readFile, readdir } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, gzip } from 'node:zlib';
import type { Request, RequestHandler, Response } from 'express';
import { methodNotAllowed } from '../api-error.ts';
import { ignoreMissing } from '../description.ts';
import { sendPlainPage } from './plain-page.ts';

/** Content codings of files, the smallest first; '' = uncompressed. */
const CODINGS = [
  { name: 'br', suffix: '.br' },
  { name: 'gzip', suffix: '.gz' },
  { name: '', suffix: '' },
] as const;

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** A file of the console in its available codings. */
type ConsoleFile = { type: string; etag: string; forms: ReadonlyMap<(typeof CODINGS)[number]['name'], Buffer> };

/**
 * The built console in memory: its files by the path that they are served at. `paths` are those of its pages, with
 * `:name` for one segment.
 */
type ConsoleFiles = { files: ReadonlyMap<string, ConsoleFile>; index: ConsoleFile; paths: readonly string[] };

/**
 * Reads the output of `npm run console`, less than a megabyte; null if it was not run. The page gets the path that the
 * console is served below, which is '' at the root.
 */
export async function readConsole(folder: string, basePath: string): Promise<ConsoleFiles | null> {
  const paths = await readFile(join(folder, 'paths.json'), 'utf8').catch(ignoreMissing);
  if (paths === null) return null;
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const names = entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length).replaceAll('\\', '/').replace(/^\/?/, '/'));
  // The build's internal files have other types: no page requests them.
  const read = names.flatMap((name) => {
    const type = TYPES[extname(name)];
    return type === undefined ? [] : readForms(folder, { name, type });
  });
  const files = new Map(await Promise.all(read));
  const index = files.get('/index.html');
  if (index === undefined) throw new Error(`${folder} has no index.html: run npm run console`);
  files.delete('/index.html');
  return { files, index: await locate(index, basePath), paths: JSON.parse(paths) };
}

/** Returns the page with the URLs of its files adjusted, which the build writes relative to the page at `/`. */
async function locate({ type, forms }: ConsoleFile, basePath: string): Promise<ConsoleFile> {
  const html = (forms.get('') ?? Buffer.alloc(0)).toString();
  const bytes = Buffer.from(
    html.replaceAll(/ (src|href)="\.\//g, ` $1="${basePath}/`).replace('<html ', `<html data-base="${basePath}" `),
  );
  const [br, gz] = await Promise.all([promisify(brotliCompress)(bytes), promisify(gzip)(bytes)]);
  return fileOf(
    type,
    new Map([
      ['br', br],
      ['gzip', gz],
      ['', bytes],
    ]),
  );
}

async function readForms(
  folder: string,
  { name, type }: { name: string; type: string },
): Promise<[name: string, file: ConsoleFile]> {
  const forms = new Map<(typeof CODINGS)[number]['name'], Buffer>();
  for (const coding of CODINGS) {
    const bytes = await readFile(join(folder, `${name}${coding.suffix}`)).catch(ignoreMissing);
    if (bytes !== null) forms.set(coding.name, bytes);
  }
  return [name, fileOf(type, forms)];
}

function fileOf(type: string, forms: ConsoleFile['forms']): ConsoleFile {
  const etag = createHash('sha256')
    .update(forms.get('') ?? '')
    .digest('base64url')
    .slice(0, 22);
  return { type, etag, forms };
}

/**
 * Nothing is loaded from elsewhere, nothing is inlined, and no site may frame the page. Only its script sets styles of
 * elements.
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

/** Path of files with a hash of their content in their names. */
const HASHED = '/assets/';

/** Paths of programs' endpoints: browsers get the same response. */
const API_PATHS = /^\/(?:v1|agent|ping|queues|telegram|connect|healthz|readyz|metrics|openapi\.json)(?:\/|$)/;

/**
 * Serves the console: its files, and its page at the path of every page. Browsers get the page at any other path too,
 * with 404; other clients are passed on to the next handler. If `built` is null, because the console was not built, a
 * page below `basePath` explains that.
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
    if (!isKnown && (API_PATHS.test(path) || request.headers.accept?.includes('text/html') !== true)) return next();
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
    // The tag distinguishes the codings for caches and for conditional requests.
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

/** Makes the test whether a path is one of the pages'. */
function pageTest(paths: readonly string[]): (path: string) => boolean {
  const patterns = paths.map((path) => new RegExp(`^${path.replaceAll(/:\w+/g, '[^/]+')}/?$`));
  return (path) => patterns.some((pattern) => pattern.test(path));
}
