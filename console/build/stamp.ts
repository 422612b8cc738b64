import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { globSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

const BUILDER = join(ROOT, 'tools', 'console.ts');

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
  const built = await readFile(join(DIST, 'stamp'), 'utf8').catch(() => null);
  return built === stampSources();
}

/** Returns a hash of all sources of the console. Every start makes one: read one by one they take half the time. */
export function stampSources(): string {
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
 * Builds the console where its sources changed since it was built last, in a process of its own: the bundler is larger
 * than the service. Monitoring does not wait for a page: where it cannot be built, that is said, and the service starts
 * without.
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
