import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { isatty } from 'node:tty';
import { promisify } from 'node:util';

/**
 * Processes of a fleet by name, each with its Node arguments; the Procfile and the scripts of package.json have the
 * same.
 */
export const FLEET = {
  release: ['cli/spotcheck.ts', 'migrate'],
  web: ['--max-semi-space-size=64', 'api/main.ts'],
  check: ['workers/main.ts', 'check'],
  evaluate: ['workers/main.ts', 'evaluate'],
  deliver: ['workers/main.ts', 'deliver'],
  maintain: ['--max-semi-space-size=4', 'workers/main.ts', 'maintain'],
  clock: ['workers/main.ts', 'clock'],
} as const satisfies Record<string, readonly string[]>;

/** A process that keeps running; `release` ends. */
export type ProcessName = Exclude<keyof typeof FLEET, 'release'>;

/** A process that works on the queues: all but the API. */
export type WorkerName = Exclude<ProcessName, 'web'>;

const run = promisify(execFile);

/**
 * Interval within which a second signal is an echo of the first, in milliseconds: npm passes on a signal that the
 * terminal also sent here.
 */
const ECHO_MS = 500;

/**
 * Resolves with the first SIGTERM or SIGINT, or SIGHUP of a terminal that is closed; a second one calls `onImpatience`.
 */
export function awaitStopSignal(onImpatience: () => void): Promise<NodeJS.Signals> {
  const { promise, resolve } = Promise.withResolvers<NodeJS.Signals>();
  let signalledAtMs: number | null = null;
  // Node does not keep what `nohup` sets: only what it redirects shows it, and outside Linux that is not input (D-745).
  const hasTerminal = isatty(1) || isatty(2) || (process.platform === 'linux' && isatty(0));
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const)
    process.on(signal, () => {
      if (signal === 'SIGHUP' && !hasTerminal) return;
      if (signalledAtMs !== null && performance.now() - signalledAtMs > ECHO_MS) onImpatience();
      signalledAtMs ??= performance.now();
      resolve(signal);
    });
  return promise;
}

/**
 * Returns a text that identifies a process for its lifetime and differs once another process has its pid. Null if no
 * such process runs. A pid alone proves nothing: in a container the first start and the second get the same small
 * numbers.
 */
export async function identifyProcess(pid: number): Promise<string | null> {
  if (!isRunning(pid)) return null;
  if (process.platform === 'linux') return linuxStartTime(pid);
  if (process.platform === 'win32') return `${pid}`;
  return run('ps', ['-o', 'lstart=', '-p', `${pid}`]).then(
    ({ stdout }) => stdout.trim(),
    () => null,
  );
}

/** Reports whether a process with this pid exists, of any owner. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}

/**
 * Returns the command line of a process, its arguments separated by one character; null if the system does not provide
 * it. On Linux a container's root may read it of another account's process, too, unlike most information.
 */
export async function commandLineOf(pid: number): Promise<string | null> {
  if (process.platform === 'linux') return readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => null);
  if (process.platform === 'win32') return null;
  return run('ps', ['-ww', '-o', 'command=', '-p', `${pid}`]).then(
    ({ stdout }) => stdout,
    () => null,
  );
}

/**
 * Returns the start time in clock ticks since boot, field 22 of proc(5) stat; the name before it may contain spaces and
 * brackets. A zombie counts as not running.
 */
async function linuxStartTime(pid: number): Promise<string | null> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => null);
  const fields = stat?.slice(stat.lastIndexOf(')') + 2).split(' ') ?? [];
  return fields[0] === undefined || fields[0] === 'Z' ? null : (fields[19] ?? null);
}
