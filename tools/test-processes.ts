import { fork, type ChildProcess, type ForkOptions } from 'node:child_process';
import { EventEmitter } from 'node:events';
import { PassThrough } from 'node:stream';
import { fileURLToPath } from 'node:url';
import type { FileDone, FileNext } from './test-process.ts';

const PROGRAM = fileURLToPath(new URL('test-process.ts', import.meta.url));

/** Processes in which a file runs. */
const busy = new Map<ChildProcess, FileProcess>();
/** Processes that wait for another file. */
const idle = new Set<ChildProcess>();

/** Stands in for the process that ava expects for a test file. It exits with the file; the real process may stay. */
class FileProcess extends EventEmitter {
  readonly stdout = new PassThrough();
  readonly stderr = new PassThrough();
  readonly send: ChildProcess['send'];
  readonly kill: ChildProcess['kill'];
  readonly #child: ChildProcess;

  constructor(child: ChildProcess) {
    super();
    this.#child = child;
    this.send = child.send.bind(child);
    this.kill = child.kill.bind(child);
  }

  get connected(): boolean {
    return this.#child.connected;
  }
}

/**
 * Replaces the `fork` by which ava starts a worker for each file. A file gets an idle process, or a new one: loading
 * its imports takes longer than running most files.
 */
export function forkTestFile(avaWorker: string, args: readonly string[] = [], options: ForkOptions = {}): ChildProcess {
  const [child = startProcess(avaWorker, args, options)] = idle;
  idle.delete(child);
  const file = new FileProcess(child);
  busy.set(child, file);
  child.send({ fileNext: true } satisfies FileNext);
  return file as unknown as ChildProcess;
}

function startProcess(avaWorker: string, args: readonly string[], options: ForkOptions): ChildProcess {
  const execArgv = options.execArgv?.filter((argument) => argument !== '--enable-source-maps') ?? [];
  const child = fork(PROGRAM, [avaWorker, ...args], { ...options, execArgv });
  exitAfterMessages(child);
  child.stdout?.on('data', (chunk) => busy.get(child)?.stdout.write(chunk));
  child.stderr?.on('data', (chunk) => busy.get(child)?.stderr.write(chunk));
  child.on('message', (message: FileDone | object) => {
    if ('fileDone' in message) leaveProcess(child, message);
    else busy.get(child)?.emit('message', message);
  });
  child.on('disconnect', () => idle.delete(child));
  child.on('error', (error) => busy.get(child)?.emit('error', error));
  child.on('exit', (status, signal) => {
    idle.delete(child);
    const file = busy.get(child);
    busy.delete(child);
    file?.emit('exit', status, signal);
    endAfterRun();
  });
  return child;
}

function leaveProcess(child: ChildProcess, { isReusable }: FileDone): void {
  const file = busy.get(child);
  busy.delete(child);
  if (isReusable) idle.add(child);
  else child.disconnect();
  file?.emit('exit', 0, null);
  endAfterRun();
}

/** Ends the idle processes after the last file. The next run of `--watch` has to load everything again. */
function endAfterRun(): void {
  // By then ava has started the next file, if there is one.
  setImmediate(() => {
    if (busy.size > 0) return;
    for (const child of idle) child.disconnect();
    idle.clear();
  });
}

/**
 * Delays a process's exit event until all its messages have arrived. Ava loses a file's last messages if it receives
 * the exit first, as happens when several end at once.
 */
export function exitAfterMessages(child: ChildProcess): void {
  const emit = child.emit.bind(child) as (name: string, ...values: unknown[]) => boolean;
  child.emit = (name: string, ...values: unknown[]) => {
    if (name !== 'exit' || !child.connected) return emit(name, ...values);
    child.once('disconnect', () => emit(name, ...values));
    return true;
  };
}
