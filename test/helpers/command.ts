import { fork, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import type { TestFn } from 'ava';
import { ownEnvironment, ROOT } from './program.ts';
import { runInSequence } from './run-in-sequence.ts';

/** Output and exit status of a command. */
export type CommandResult = { status: number | null; stdout: string; stderr: string };

/**
 * Environment for samples in Go. On a new machine Go compiles its standard library first: without inlining that takes
 * two thirds of the time, and only once for all tests with the same flags.
 */
export const GO_ENV = {
  GOTOOLCHAIN: 'local',
  GO111MODULE: 'off',
  CGO_ENABLED: '0',
  GOFLAGS: '-gcflags=all=-l -ldflags=-w',
};

/** Runs `spotcheck <args>` with only the given environment. */
export function runSpotcheck(args: readonly string[], env: Record<string, string>): Promise<CommandResult> {
  return runCommand([process.execPath, 'cli/spotcheck.ts', ...args], env);
}

/** A command of `spotcheck` and its whole environment. */
export type HostedCommand = { args: readonly string[]; env: Record<string, string> };

const HOST = fileURLToPath(new URL('command-host.ts', import.meta.url));

/**
 * Returns a function that runs `spotcheck <args>` in a process shared by a test file, one at a time. Starting a process
 * takes longer than most commands; `runSpotcheck` tests that a command also exits.
 */
export function hostCommands(test: Pick<TestFn, 'after'>): typeof runSpotcheck {
  let host: ChildProcess | null = null;
  test.after.always(async () => {
    if (host?.kill('SIGKILL') === true) await once(host, 'exit');
  });
  return (args, env) =>
    runInSequence(async () => {
      host ??= fork(HOST, { cwd: ROOT, env: ownEnvironment(), stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
      const over = new AbortController();
      const ended = once(host, 'exit', over).then(([status]) => {
        throw new Error(`the host of commands ended with ${String(status)} at ${args.join(' ')}`);
      });
      const answered = once(host, 'message', over).then(([result]) => result as CommandResult);
      host.send({ args, env: { ...ownEnvironment(), ...env } } satisfies HostedCommand);
      return await Promise.race([answered, ended]).finally(() => over.abort());
    });
}

/** Runs a command to its end, in the project's root by default. */
export async function runCommand(
  [command = '', ...args]: readonly string[],
  env: Record<string, string>,
  cwd = ROOT,
): Promise<CommandResult> {
  const child = spawn(command, args, { cwd, env: { ...ownEnvironment(), ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
  const status = new Promise<number | null>((resolve, reject) => child.once('error', reject).once('close', resolve));
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  return { status: await status, stdout, stderr };
}

/** Reports whether a program is on the PATH. */
export function isInstalled(program: string): boolean {
  return (process.env['PATH'] ?? '').split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}
