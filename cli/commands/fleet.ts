import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { FLEET, type ProcessName } from '../../config/processes.ts';
import { Refusal } from '../output.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** The processes that stay up by their names, and what each of them does. */
export const PROCESSES = {
  web: 'run the API, the console and the pings',
  check: 'run the probes of the region that AGENT_REGION names',
  evaluate: 'run the decisions about results',
  deliver: 'run the deliveries of alerts',
  maintain: 'run the chores and the watches of heartbeats and agents',
  clock: 'run the timer of the chores',
} as const satisfies Record<ProcessName, string>;

/** Becomes a process of a fleet, with the options of Node that the Procfile gives it. */
export function runFleetProcess(name: ProcessName, env: NodeJS.ProcessEnv): never {
  return become(FLEET[name], env);
}

/** `agent run`: becomes the private agent. */
export function runAgent(env: NodeJS.ProcessEnv): never {
  return become(['agent/main.ts'], env);
}

/**
 * Replaces this program by another one of ours: its process id stays, so that signals of a supervisor or container
 * reach it. Throws a `Refusal` on Windows, which cannot replace a program.
 */
function become(args: readonly string[], env: NodeJS.ProcessEnv): never {
  if (process.platform === 'win32') throw new Refusal(`Start it as node ${args.join(' ')} on this system`);
  const absolute = args.map((part) => (part.includes('/') ? path.join(ROOT, part) : part));
  return process.execve?.(process.execPath, [process.execPath, ...absolute], env) as never;
}
