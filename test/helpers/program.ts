import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Harness } from './harness.ts';
import { until } from './until.ts';

/** The project's root. */
export const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** A program of the project as a child process. */
export type Program = {
  child: ChildProcess;
  pid: number;
  isRunning: () => boolean;
  /** Returns all output so far, of both streams. */
  output: () => string;
  /** Returns the output on standard error so far. */
  errors: () => string;
  /** Resolves to the exit status; null if a signal ended the program. */
  exited: Promise<number | null>;
  stop: (signal?: NodeJS.Signals) => Promise<number | null>;
};

/** A URL without a server: on startup the service requests IANA's registry, and no test may leave the machine. */
const NO_BOOTSTRAP = 'http://127.0.0.1:9/dns.json';

/** Time limit for a program to stop, in milliseconds. */
const STOP_MS = 120_000;

/** Number of final characters of output shown for each program of a failed test. */
const LAST_WORDS = 4000;

/**
 * Account and folder of a program, and the limit of its stored output. Defaults: the current account, the project's
 * root, and all output; `keptCharacters` keeps the beginning.
 */
export type Circumstances = { uid?: number; gid?: number; cwd?: string; keptCharacters?: number };

/** Returns the environment that every program gets: the variables for finding programs and for Node's module cache. */
export function ownEnvironment(): Record<string, string> {
  const names = ['PATH', 'HOME', 'NODE_COMPILE_CACHE', 'NODE_OPTIONS'];
  return Object.fromEntries(
    names.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]])),
  );
}

/** Reports whether `script` of util-linux is installed, which runs a command in a terminal; macOS has another. */
export function hasScript(): boolean {
  return `${spawnSync('script', ['--version'], { encoding: 'utf8' }).stdout}`.includes('util-linux');
}

/**
 * Starts `node <args>` in the project's root with only the given environment; kills it at the end of the test if it
 * still runs.
 */
export function startProgram(t: Harness, args: readonly string[], env: Record<string, string>): Program {
  return startProgramAs(t, { args, env });
}

/** Starts `node <args>` under other circumstances. */
export function startProgramAs(
  t: Harness,
  {
    args,
    env,
    keptCharacters = Number.POSITIVE_INFINITY,
    ...circumstances
  }: Circumstances & { args: readonly string[]; env: Record<string, string> },
): Program {
  const child = spawn(process.execPath, args, {
    cwd: ROOT,
    ...circumstances,
    env: { ...ownEnvironment(), RDAP_BOOTSTRAP_URL: NO_BOOTSTRAP, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const chunks: string[] = [];
  const complaints: string[] = [];
  let kept = 0;
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      if (kept < keptCharacters) chunks.push(text);
      kept += text.length;
    });
  child.stderr.on('data', (text: string) => complaints.push(text));
  const isRunning = () => child.exitCode === null && child.signalCode === null;
  const exited = once(child, 'close').then(([status]: (number | null)[]) => status ?? null);
  t.teardown(async () => {
    if (isRunning()) child.kill('SIGKILL');
    await exited;
    if (t.passed === false) t.log?.(`${args.join(' ')}: ${chunks.join('').slice(-LAST_WORDS)}`);
  });
  return {
    child,
    pid: child.pid ?? 0,
    isRunning,
    output: () => chunks.join(''),
    errors: () => complaints.join(''),
    exited,
    async stop(signal = 'SIGTERM') {
      child.kill(signal);
      // No program takes longer to stop: a hung one fails the test with its last output instead of blocking the run.
      const kill = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
      const status = await exited;
      clearTimeout(kill);
      if (status === null && child.signalCode === 'SIGKILL' && signal !== 'SIGKILL')
        throw new Error(`did not stop: ${chunks.join('').slice(-4000)}`);
      return status;
    },
  };
}

/** Waits until the program's output matches, and returns the match; fails at once if the program exits first. */
export async function outputMatching(program: Program, pattern: RegExp, timeoutMs = 240_000): Promise<RegExpExecArray> {
  const found = () => {
    if (pattern.test(program.output())) return true;
    if (program.child.exitCode !== null) throw new Error(`ended with ${program.child.exitCode}: ${program.output()}`);
    return false;
  };
  await until(found, { timeoutMs });
  const match = pattern.exec(program.output());
  if (match === null) throw new Error(`nothing matches ${String(pattern)}`);
  return match;
}
