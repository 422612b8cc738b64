import { fileURLToPath } from 'node:url';
import test from 'ava';
import { readSourceFiles, type SourceFile } from '../helpers/source-files.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/**
 * Returns the files and packages that a file may load, directly or through others. Includes run-time imports, but not
 * types.
 */
function reachableFrom(entry: string, files: readonly SourceFile[]): { paths: Set<string>; packages: Set<string> } {
  const byPath = new Map(files.map((file) => [file.path, file]));
  const paths = new Set([entry]);
  const packages = new Set<string>();
  for (const path of paths) {
    const code = byPath.get(path)?.code ?? '';
    for (const imported of byPath.get(path)?.imports ?? []) {
      const specifier = imported.specifier.replaceAll(/[.\\/]/g, '\\$&');
      const isTypeOnly = !new RegExp(
        `(?:import|export)\\s+(?!type\\b)[^;]*?['"]${specifier}['"]|(?:import|require)\\(\\s*['"]${specifier}`,
      ).test(code);
      if (isTypeOnly) continue;
      if (imported.path !== null) paths.add(imported.path);
      else if (imported.package !== null && !imported.specifier.startsWith('node:')) packages.add(imported.package);
    }
  }
  return { paths, packages };
}

test('the agent loads only its own and shared code, no database or queue, and few packages', async (t) => {
  const { paths, packages } = reachableFrom('agent/main.ts', await readSourceFiles(ROOT));
  t.true(
    paths.has('agent/agent.ts') && paths.has('probes/icmp/kernel-socket.ts') && paths.has('core/checks/judge.ts'),
    'imports were followed',
  );
  t.deepEqual([...new Set([...paths].map((path) => path.split('/')[0]))].toSorted(), [
    'agent',
    'config',
    'core',
    'net',
    'package.json',
    'probes',
    'threads',
  ]);
  t.deepEqual(
    [...packages].toSorted(),
    // `tldts` is loaded only after a name lookup has hung.
    ['ipaddr.js', 'js-yaml', 'koffi', 'libsodium-wrappers', 'pino', 're2js', 'tldts'],
  );
});
