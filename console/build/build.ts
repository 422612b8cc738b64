import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { globSync, readFileSync } from 'node:fs';
import { chmod, mkdtemp, readFile, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { PATHS } from '../paths.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

const CONSOLE = join(ROOT, 'console');

/** Folder of the built console. */
export const DIST = join(CONSOLE, 'dist');

/** Most bytes of gzip that a browser may load before the first page appears: about two seconds on 3G. */
const FIRST_LOAD_LIMIT = 200_000;

/** The files of a build, and those among them that a first visit needs. */
type Built = { files: readonly FileSize[]; firstLoad: readonly FileSize[] };

/**
 * Builds the console and replaces `console/dist` in one step, so several builds may run at once. Returns null if the
 * bundler is not installed, as without development dependencies. Throws if the sources do not compile or a first visit
 * would load too much.
 */
export async function buildConsole(): Promise<Built | null> {
  const bundle = await loadBundler();
  if (bundle === null) return null;
  const stamp = hashSources();
  const outDir = await mkdtemp(join(CONSOLE, '.dist-'));
  try {
    // The server may run as another user.
    await chmod(outDir, 0o755);
    await bundle(outDir);
    const files = await compressFiles(outDir);
    const firstLoad = await listFirstLoad(outDir, files);
    const size = firstLoad.reduce((sum, file) => sum + file.gzip, 0);
    if (size > FIRST_LOAD_LIMIT)
      throw new Error(`a first visit would load ${size} bytes, more than ${FIRST_LOAD_LIMIT}`);
    await writeFile(join(outDir, 'paths.json'), JSON.stringify(Object.values(PATHS)));
    await writeFile(join(outDir, 'stamp'), stamp);
    await replaceFolder(outDir, DIST);
    return { files, firstLoad };
  } finally {
    await rm(outDir, { recursive: true, force: true });
  }
}

type Chunk = { file: string; isEntry?: boolean; imports?: string[] };

/** Name of the file that contains all styles of the console. */
const STYLES = 'style.css';

/** Pages that a first visit can show: the sign-in page, or the overview for users with a session. */
const FIRST_PAGES = ['pages/sign-in.tsx', 'pages/overview.tsx'];

/** Lists the files that a first visit loads: the HTML page, its styles, all static imports and the first pages. */
async function listFirstLoad(folder: string, files: readonly FileSize[]): Promise<FileSize[]> {
  const manifest: Record<string, Chunk> = JSON.parse(await readFile(join(folder, 'manifest.json'), 'utf8'));
  const wanted = new Set(['index.html', 'early.js', 'favicon.svg']);
  const visit = (name: string): void => {
    const chunk = manifest[name];
    if (chunk === undefined || wanted.has(chunk.file)) return;
    wanted.add(chunk.file);
    chunk.imports?.forEach(visit);
  };
  for (const [name, { isEntry }] of Object.entries(manifest)) if (isEntry) visit(name);
  [STYLES, ...FIRST_PAGES].forEach(visit);
  return files.filter(({ path }) => wanted.has(path));
}

/** Loads the bundler and its plug-in; null if either is missing, since their platform binaries are optional. */
async function loadBundler(): Promise<((outDir: string) => Promise<unknown>) | null> {
  const loaded = await Promise.all([import('vite'), import('@tailwindcss/vite')]).catch(() => null);
  if (loaded === null) return null;
  const [{ build }, { default: tailwindcss }] = loaded;
  return (outDir) =>
    build({
      root: CONSOLE,
      // The server writes the base path into the page.
      base: './',
      configFile: false,
      envDir: false,
      logLevel: 'warn',
      mode: 'production',
      plugins: [tailwindcss()],
      oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
      build: {
        outDir,
        emptyOutDir: true,
        manifest: 'manifest.json',
        // A page that failed to load a style sheet of its own would stay unstyled when it is loaded again (D-732).
        cssCodeSplit: false,
        target: 'es2023',
        cssTarget: ['chrome123', 'firefox121', 'safari17.5'],
        // The page's content security policy forbids `data:` URLs.
        assetsInlineLimit: 0,
        modulePreload: { polyfill: false },
      },
    });
}

/** Replaces a folder. A parallel build may have put its own output there in the meantime; both are equal. */
async function replaceFolder(from: string, to: string): Promise<void> {
  for (let tries = 0; ; tries += 1) {
    const aside = `${from}-old`;
    await rename(to, aside).catch(ignoreMissing);
    try {
      await rename(from, to);
      await rm(aside, { recursive: true, force: true });
      return;
    } catch (error) {
      await rm(aside, { recursive: true, force: true });
      if (tries === 5) throw error;
    }
  }
}

function ignoreMissing(error: unknown): void {
  if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error;
}

const COMPRESSIBLE = /\.(js|css|html|svg)$/;

/** Sizes of a file in bytes, plain and compressed. */
type FileSize = { path: string; bytes: number; gzip: number; brotli: number };

/** Writes a `.br` and a `.gz` file beside each compressible file of a folder, and returns the sizes. */
async function compressFiles(folder: string): Promise<FileSize[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries
    .filter((entry) => entry.isFile() && COMPRESSIBLE.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name));
  return await Promise.all(files.map((path) => compressFile(path, folder)));
}

async function compressFile(path: string, folder: string): Promise<FileSize> {
  const bytes = await readFile(path);
  const [zipped, brotli] = await Promise.all([
    promisify(gzip)(bytes, { level: 9 }),
    promisify(brotliCompress)(bytes, {
      params: {
        [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY,
        [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
      },
    }),
  ]);
  await Promise.all([writeFile(`${path}.gz`, zipped), writeFile(`${path}.br`, brotli)]);
  return { path: path.slice(folder.length + 1), bytes: bytes.length, gzip: zipped.length, brotli: brotli.length };
}

const BUILDER = join(ROOT, 'tools', 'console.ts');

/**
 * Sources of a build: the console, the rules that it shares with the service, and the installed packages. The API adds
 * only types, which leave no trace.
 */
const SOURCES = [
  'console/**/*.{ts,tsx,css,html,js,svg,json}',
  'console/samples/*',
  'core/**/*.ts',
  'package-lock.json',
];
const MADE = ['console/dist/**', 'console/.dist-*/**'];

/** Reports whether the console was built from the present sources. */
export async function isConsoleBuilt(): Promise<boolean> {
  const built = await readFile(join(DIST, 'stamp'), 'utf8').catch(() => null);
  return built === hashSources();
}

/**
 * Returns a hash of all sources of the console. It runs at every start, and concurrent reads would take twice as long.
 */
function hashSources(): string {
  const paths = globSync(SOURCES, { cwd: ROOT, exclude: MADE });
  const hash = createHash('sha256');
  for (const path of paths.toSorted())
    hash
      .update(`${path}\0`)
      .update(readFileSync(join(ROOT, path)))
      .update('\0');
  return hash.digest('hex');
}

/**
 * Builds the console if its sources changed since the last build, in a separate process: the bundler is larger than the
 * service. Monitoring does not wait for a page: if the build fails, that is reported, and the service starts without
 * it.
 */
export async function prepareConsole(say: (text: string) => void): Promise<void> {
  try {
    if (await isConsoleBuilt()) return;
    say('building the console');
    const builder = spawn(process.execPath, [BUILDER, '--if-needed'], { stdio: ['ignore', 'pipe', 'pipe'] });
    const output: string[] = [];
    for (const stream of [builder.stdout, builder.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => output.push(text));
    const [status] = await once(builder, 'close');
    if (status !== 0) say(`The console could not be built:\n${output.join('')}`);
  } catch (error) {
    say(`The console could not be built: ${error instanceof Error ? error.message : String(error)}`);
  }
}
