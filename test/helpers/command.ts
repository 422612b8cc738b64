import { spawn } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { ownEnvironment, ROOT } from './program.ts';

/** What a command said and how it ended. */
export type CommandResult = { status: number | null; stdout: string; stderr: string };

/** Runs `spotcheck <args>`; it sees only the given environment. */
export function runSpotcheck(args: readonly string[], env: Record<string, string>): Promise<CommandResult> {
  return runCommand([process.execPath, 'cli/spotcheck.ts', ...args], env);
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

/** Whether a program is on the PATH. */
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
