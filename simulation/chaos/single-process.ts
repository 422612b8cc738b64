import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Harness } from '../../bench/harness/harness.ts';
import { ownEnvironment, ROOT } from '../../test/helpers/program.ts';
import type { Member } from './fleet.ts';

/** Prepares the database as a release does. */
export async function migrateDatabase(env: Record<string, string>): Promise<void> {
  const child = spawn(process.execPath, ['cli/spotcheck.ts', 'migrate'], {
    cwd: ROOT,
    env: { ...ownEnvironment(), ...env },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const [status] = (await once(child, 'exit')) as [number | null];
  if (status !== 0) throw new Error('the database could not be prepared');
}

/** Runs one more process beside the fleet, unsupervised; returns how to end it. */
export async function runBeside(harness: Harness, { args, env }: Member): Promise<() => Promise<void>> {
  const child = spawn(process.execPath, args, { cwd: ROOT, env: { ...ownEnvironment(), ...env }, stdio: 'ignore' });
  const exited = once(child, 'exit');
  const end = async (): Promise<void> => {
    child.kill('SIGKILL');
    await exited;
  };
  harness.defer(end);
  return end;
}
