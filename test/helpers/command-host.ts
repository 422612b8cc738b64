/**
 * Runs commands of `spotcheck` sent as messages, one after another in one process, so that shared modules load once.
 * Each runs `cli/spotcheck.ts` from the start, with only its own arguments and environment.
 */
import type { CommandResult, HostedCommand } from './command.ts';

let commands = 0;
let last: Promise<unknown> = Promise.resolve();

async function run({ args, env }: HostedCommand): Promise<CommandResult> {
  for (const name of Object.keys(process.env)) delete process.env[name];
  Object.assign(process.env, env);
  process.argv.splice(2, Number.POSITIVE_INFINITY, ...args);
  process.exitCode = undefined;
  const written = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const)
    process[name].write = (text: string | Uint8Array) => {
      written[name] += String(text);
      return true;
    };
  // Each query evaluates the module anew, while its imports are loaded already.
  await import(`../../cli/spotcheck.ts?command=${(commands += 1)}`);
  return { status: Number(process.exitCode), ...written };
}

process.on('message', (command: HostedCommand) => {
  last = last.then(() => run(command)).then((result) => process.send?.(result));
});
