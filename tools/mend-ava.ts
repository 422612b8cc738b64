/**
 * Loaded before ava, mends two things in it. Its TAP reporter ends the whole run at an error that YAML cannot express,
 * such as that of a failed `fetch`, whose cause has undefined properties: those are left out here. And it forgets what
 * a test file says last where the end of the process is seen first, as happens when several end at once.
 */
import childProcess, { type ChildProcess } from 'node:child_process';
import { createRequire, findPackageJSON } from 'node:module';

type Yaml = { safeDump(value: unknown, options?: { skipInvalid: boolean }): string };

const supertap = findPackageJSON('supertap', import.meta.resolve('ava'));
if (supertap === undefined) throw new Error('ava has no supertap any more: the first half of this file can go');
const yaml: Yaml = createRequire(supertap)('js-yaml');
const { safeDump } = yaml;
yaml.safeDump = (value) => safeDump(value, { skipInvalid: true });

const { fork } = childProcess;
childProcess.fork = ((...args: Parameters<typeof fork>) => exitAfterMessages(fork(...args))) as typeof fork;

/** A child whose `exit` comes after everything that it has sent. */
function exitAfterMessages(child: ChildProcess): ChildProcess {
  const emit = child.emit.bind(child) as (name: string, ...values: unknown[]) => boolean;
  child.emit = (name: string, ...values: unknown[]) => {
    if (name !== 'exit' || !child.connected) return emit(name, ...values);
    child.once('disconnect', () => emit(name, ...values));
    return true;
  };
  return child;
}
