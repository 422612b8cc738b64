import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { ownEnvironment, ROOT } from './program.ts';

/** What a command said and how it ended. */
export type CommandResult = { status: number | null; stdout: string; stderr: string };

/** Runs `spotcheck <args>`; it sees only the given environment. */
export function runSpotcheck(args: readonly string[], env: Record<string, string>): Promise<CommandResult> {
  return runCommand([process.execPath, 'cli/spotcheck.ts', ...args], env);
}

/** Runs a command in the project's root to its end. */
export async function runCommand([command = '', ...args]: readonly string[], env: Record<string, string>): Promise<CommandResult> {
  const child = spawn(command, args, { cwd: ROOT, env: { ...ownEnvironment(), ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
  const status = new Promise<number | null>((resolve, reject) => child.once('error', reject).once('close', resolve));
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  return { status: await status, stdout, stderr };
}
