import { fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Harness } from './harness.ts';

/** A running program of the project. */
export type Program = { pid: number; output: () => string; isRunning: () => boolean; exited: Promise<unknown> };

/** The project's root. */
const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** The time that a program has to finish its work, in milliseconds. */
const STOP_WITHIN_MS = 30_000;

/**
 * Starts `node <args>` in the project's root with the given environment only; the harness stops it as an operator
 * would.
 */
export function startProgram(harness: Harness, args: readonly string[], env: Record<string, string>): Program {
  const child = spawn(process.execPath, args, {
    cwd: ROOT,
    env: { PATH: process.env['PATH'] ?? '', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const output: string[] = [];
  // Only the beginning is of interest, and two minutes of logs are not kept for it.
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => output.length < 1000 && output.push(text));
  const exited = once(child, 'exit');
  harness.defer(async () => {
    child.kill('SIGTERM');
    const giveUp = setTimeout(() => child.kill('SIGKILL'), STOP_WITHIN_MS);
    await exited;
    clearTimeout(giveUp);
  });
  return {
    pid: child.pid ?? 0,
    output: () => output.join(''),
    isRunning: () => child.exitCode === null && child.signalCode === null,
    exited,
  };
}

/** A child process that answers each message with one. */
export type Child<Answer> = { pid: number; ready: Answer; ask: <Reply>(message: object) => Promise<Reply> };

/** Forks one of `bench/children`; its first message says that it is ready. */
export async function forkChild<Answer>(harness: Harness, name: string, settings: object): Promise<Child<Answer>> {
  const child = fork(new URL(`../children/${name}.ts`, import.meta.url), [JSON.stringify(settings)]);
  const exited = once(child, 'exit');
  const answer = async () => {
    const [message] = await Promise.race([
      once(child, 'message'),
      exited.then(([status]) => Promise.reject(new Error(`${name} ended with ${status}`))),
    ]);
    return message;
  };
  const ready: Answer = await answer();
  harness.defer(async () => {
    child.kill('SIGKILL');
    await exited;
  });
  return {
    pid: child.pid ?? 0,
    ready,
    async ask(message) {
      const reply = answer();
      child.send(message);
      return await reply;
    },
  };
}
