import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, gzip } from 'node:zlib';

/** How a file can go over the line, the shortest first; '' = as it is. */
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

/** Of the build's own: no page asks for them. */
const INTERNAL = new Set(['stamp', 'paths.json', 'manifest.json']);

/** A file of the console with the forms that it can be sent in. */
export type ConsoleFile = { type: string; etag: string; forms: ReadonlyMap<(typeof CODINGS)[number]['name'], Buffer> };

/**
 * The built console in memory: its files by the path that they are served at, and the addresses of its pages, `:name`
 * for one segment.
 */
export type ConsoleFiles = { files: ReadonlyMap<string, ConsoleFile>; index: ConsoleFile; paths: readonly string[] };

/**
 * Reads what `npm run console` made; null where it was not run. It is less than a megabyte. The page gets the path that
 * the console is served below, which is '' at the root.
 */
export async function readConsole(folder: string, basePath: string): Promise<ConsoleFiles | null> {
  const paths = await readFile(join(folder, 'paths.json'), 'utf8').catch(ignoreMissing);
  if (paths === null) return null;
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const names = entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length).replaceAll('\\', '/').replace(/^\/?/, '/'));
  const plain = names.filter((name) => TYPES[extname(name)] !== undefined && !INTERNAL.has(name.slice(1)));
  const files = new Map(await Promise.all(plain.map(async (name) => [name, await readForms(folder, name)] as const)));
  const index = files.get('/index.html');
  if (index === undefined) throw new Error(`${folder} has no index.html: run npm run console`);
  files.delete('/index.html');
  return { files, index: await locate(index, basePath), paths: JSON.parse(paths) };
}

/** The page with the addresses of its files, which the build writes relative to the page at `/`. */
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

async function readForms(folder: string, name: string): Promise<ConsoleFile> {
  const forms = new Map<(typeof CODINGS)[number]['name'], Buffer>();
  for (const coding of CODINGS) {
    const bytes = await readFile(join(folder, `${name}${coding.suffix}`)).catch(ignoreMissing);
    if (bytes !== null) forms.set(coding.name, bytes);
  }
  return fileOf(TYPES[extname(name)] ?? 'application/octet-stream', forms);
}

function fileOf(type: string, forms: ConsoleFile['forms']): ConsoleFile {
  const etag = createHash('sha256')
    .update(forms.get('') ?? '')
    .digest('base64url')
    .slice(0, 22);
  return { type, etag, forms };
}

function ignoreMissing(error: unknown): null {
  if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
  throw error;
}
