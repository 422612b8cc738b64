import { createHash } from 'node:crypto';
import { glob, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** The folder of the built console. */
export const DIST = join(ROOT, 'console', 'dist');

/**
 * The sources of a build: the console, the rules it shares with the service, and the installed packages. The API adds
 * types alone, which leave no trace.
 */
const SOURCES = [
  'console/**/*.{ts,tsx,css,html,js,svg,json}',
  'console/samples/*',
  'core/**/*.ts',
  'package-lock.json',
];
const MADE = ['console/dist/**', 'console/.dist-*/**'];

/** Whether the console was built from the present sources. */
export async function isConsoleBuilt(): Promise<boolean> {
  const [built, current] = await Promise.all([readFile(join(DIST, 'stamp'), 'utf8').catch(() => null), stampSources()]);
  return built === current;
}

/** Returns a hash of all sources of the console. */
export async function stampSources(): Promise<string> {
  const paths: string[] = [];
  for await (const path of glob(SOURCES, { cwd: ROOT, exclude: MADE })) paths.push(path);
  const hash = createHash('sha256');
  for (const path of paths.toSorted())
    hash
      .update(`${path}\0`)
      .update(await readFile(join(ROOT, path)))
      .update('\0');
  return hash.digest('hex');
}
