/**
 * The process in which ava's test files run, one after another. What they import is loaded once for all of them, except
 * for ava itself: its modules hold the tests of one file, and each file gets its own.
 */
import { appendFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { relative } from 'node:path';
import tls from 'node:tls';
import { pathToFileURL } from 'node:url';

/** Sent to the process: a file is next. Ava itself then says which. */
export type FileNext = { fileNext: true };
/** Sent by the process once a file is done with: whether another one can follow. */
export type FileDone = { fileDone: true; isReusable: boolean };

type AvaMessage = { ava: { type: string; options: { file: string } } };

/** What a process may have in memory and still take another file, in bytes. */
const MAX_RESIDENT_BYTES = 400 * 2 ** 20;

const AVA_WORKER = pathToFileURL(process.argv[2] ?? '');
const AVA_PACKAGE = new URL('../../', AVA_WORKER).href;

// Ava has Node read the map of every source that names one. Ours run as they are written, and reading those of all
// packages takes a test file longer than many a test.
process.setSourceMapsEnabled(false);

const original = { exit: process.exit, env: { ...process.env }, authorities: tls.getCACertificates('default') };

/** The files that ran to their end. */
const finished: string[] = [];
let fileNumber = 0;
/** Nock replaces parts of Node for good. */
let hasNock = false;
registerHooks({
  resolve(specifier, context, nextResolve) {
    const resolved = nextResolve(specifier, context);
    hasNock ||= specifier === 'nock';
    if (!resolved.url.startsWith(AVA_PACKAGE)) return resolved;
    // A module is evaluated once for each query.
    const url = new URL(resolved.url);
    url.search = `?file=${fileNumber}`;
    return { ...resolved, url: url.href };
  },
});

async function runFile(): Promise<void> {
  fileNumber += 1;
  const begunAt = performance.now();
  const { registerCompletionHandler }: { registerCompletionHandler: (done: () => void) => void } = await import(
    new URL('completion-handlers.js', AVA_WORKER).href
  );
  registerCompletionHandler(() => {
    // The runner prints the slowest files.
    const times = process.env['SPOTCHECK_TEST_TIMES'];
    const seconds = ((performance.now() - begunAt) / 1000).toFixed(1);
    if (times !== undefined) appendFileSync(times, `${seconds} ${process.title}\n`);
    // A file that set a status for its process has failed.
    if (process.exitCode !== undefined) process.exit();
    // What was closed a moment ago is held until the loop has turned.
    setImmediate(endFile);
  });
  await import(AVA_WORKER.href);
}

function endFile(): void {
  finished.push(process.title);
  restoreProcess();
  const isFull = process.memoryUsage.rss() > MAX_RESIDENT_BYTES;
  // A timer or a socket that was left could fail another file, or keep ava from seeing that nothing moves any more.
  const isHeld = process.getActiveResourcesInfo().some((resource) => resource !== 'PipeWrap');
  process.send?.({ fileDone: true, isReusable: !hasNock && !isFull && !isHeld } satisfies FileDone);
}

/** Takes back what ava and the file have changed in the process. */
function restoreProcess(): void {
  process.title = 'between test files';
  process.exit = original.exit;
  for (const name of Object.keys(process.env)) if (!Object.hasOwn(original.env, name)) delete process.env[name];
  Object.assign(process.env, original.env);
  if (tls.getCACertificates('default') !== original.authorities) {
    tls.setDefaultCACertificates(original.authorities);
    original.authorities = tls.getCACertificates('default');
  }
  for (const event of ['message', 'error', 'uncaughtException', 'unhandledRejection', 'rejectionHandled', 'exit'])
    process.removeAllListeners(event);
  listen();
}

function listen(): void {
  process.on('message', (message: FileNext | AvaMessage) => {
    if ('fileNext' in message) void runFile();
    // A test that hangs is found by the name of its process.
    else if (message.ava.type === 'options') process.title = relative(process.cwd(), message.ava.options.file);
  });
  // Ava lets a process end that has nothing left to do.
  process.channel?.ref();
  process.on('exit', (status) => {
    if (status !== 0 && finished.length > 0)
      process.stderr.write(`Before ${process.title} the process ran ${finished.join(', ')}\n`);
  });
}

listen();
// Ava sees the status only if a file is running.
process.once('disconnect', () => original.exit(1));

// Where a file hangs the runner asks what it waits for.
process.on('SIGUSR2', () => {
  const { libuv } = process.report.getReport() as { libuv: { is_active?: boolean; is_referenced?: boolean }[] };
  const busy = libuv.filter((handle) => handle.is_active === true && handle.is_referenced === true);
  const resources = process.getActiveResourcesInfo().join(', ');
  process.stderr.write(`${process.title} waits for ${resources}: ${JSON.stringify(busy)}\n`);
});
