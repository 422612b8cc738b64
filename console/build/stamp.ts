import { createHash } from 'node:crypto';
import { glob, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** Where the built console lies. */
export const DIST = join(ROOT, 'console', 'dist');

/**
 * What a build is made of: the console itself, the rules that it shares with the service, and what is installed. Of the
 * API it has types alone, which leave no trace.
 */
const SOURCES = [
  'console/**/*.{ts,tsx,css,html,js,svg,json}',
  'console/samples/*',
  'core/**/*.ts',
  'package-lock.json',
];
const MADE = ['console/dist/**', 'console/.dist-*/**'];

/** Whether the console was built from what lies there now. */
export async function isConsoleBuilt(): Promise<boolean> {
  const [built, current] = await Promise.all([readFile(join(DIST, 'stamp'), 'utf8').catch(() => null), stampSources()]);
  return built === current;
}

/** A hash of everything that the console is built from. */
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
