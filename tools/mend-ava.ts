import childProcess from 'node:child_process';
import { createRequire, findPackageJSON } from 'node:module';
import { forkTestFile } from './test-processes.ts';

type Yaml = { safeDump(value: unknown, options?: { skipInvalid: boolean }): string };

/**
 * Patches ava in two ways before it runs. Its TAP reporter aborts the whole run on an error that YAML cannot express,
 * such as that of a failed `fetch`, whose cause has undefined properties: those are left out. And test files share
 * processes.
 */
export function mendAva(): void {
  const supertap = findPackageJSON('supertap', import.meta.resolve('ava'));
  if (supertap === undefined) throw new Error('ava has no supertap any more: the first half of this function can go');
  const yaml: Yaml = createRequire(supertap)('js-yaml');
  const { safeDump } = yaml;
  yaml.safeDump = (value) => safeDump(value, { skipInvalid: true });

  childProcess.fork = forkTestFile as typeof childProcess.fork;
}
