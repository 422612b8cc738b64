import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readSourceFiles } from '../test/helpers/source-files.ts';
import { COMPILE_CACHE } from './data-directory.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const AVA = join(fileURLToPath(import.meta.resolve('ava')), '..', 'cli.js');

/** Modules that lead out of the process: tests that import any of them need servers, programs or a browser. */
const OUTSIDE = new Set(
  (
    'node:child_process node:dgram node:http node:http2 node:https node:net node:tls node:worker_threads ' +
    'bullmq ioredis nock pg playwright-core sequelize'
  ).split(' '),
);

/** Lists the test files that need nothing but their process, by their direct and indirect imports. */
async function listUnitTests(): Promise<string[]> {
  const imports = new Map((await readSourceFiles(ROOT)).map((file) => [file.path, file.imports]));
  const reach = new Map<string, boolean>();
  const reachesOutside = (path: string): boolean => {
    const known = reach.get(path);
    if (known !== undefined) return known;
    // Files that import each other are visited once.
    reach.set(path, false);
    const isOutside = (imports.get(path) ?? [])
      .filter(({ isType }) => !isType)
      .some((one) => OUTSIDE.has(one.package ?? '') || (one.path !== null && reachesOutside(one.path)));
    reach.set(path, isOutside);
    return isOutside;
  };
  return [...imports.keys()].filter((path) => path.endsWith('.test.ts') && !reachesOutside(path)).toSorted();
}

/** Runs the unit tests without any server; further arguments are ava's, such as `--watch`. */
const child = spawn(process.execPath, [AVA, ...process.argv.slice(2), ...(await listUnitTests())], {
  cwd: ROOT,
  env: { ...process.env, NODE_COMPILE_CACHE: COMPILE_CACHE },
  stdio: 'inherit',
});
const [status]: (number | null)[] = await once(child, 'exit');
process.exitCode = status ?? 1;
