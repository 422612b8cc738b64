/**
 * The process in which ava's test files run, one after another. Their imports are loaded once for all of them, except
 * for ava itself: its modules hold the tests of one file, and each file gets its own.
 */
import { appendFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { relative } from 'node:path';
import tls from 'node:tls';
import { pathToFileURL } from 'node:url';

/** Sent to the process: another file follows. Ava itself then names it. */
export type FileNext = { fileNext: true };
/** Sent by the process when a file is finished: whether another one can follow. */
export type FileDone = { fileDone: true; isReusable: boolean };

type AvaMessage = { ava: { type: string; options: { file: string } } };

/** Most resident memory with which a process may take another file, in bytes. */
const MAX_RESIDENT_BYTES = 400 * 2 ** 20;

const AVA_WORKER = pathToFileURL(process.argv[2] ?? '');
const AVA_PACKAGE = new URL('../../', AVA_WORKER).href;

// Ava enables source maps, and Node then reads that of every source that names one. Our sources run as written, and
// reading the maps of all packages takes longer than many a test.
process.setSourceMapsEnabled(false);

const original = { exit: process.exit, env: { ...process.env }, authorities: tls.getCACertificates('default') };

/** Files that ran to their end. */
const finished: string[] = [];
let fileNumber = 0;
/** Whether nock was loaded, which permanently replaces parts of Node. */
let hasNock = false;
registerHooks({
  resolve(specifier, context, nextResolve) {
    const resolved = nextResolve(specifier, context);
    hasNock ||= specifier === 'nock';
    if (!resolved.url.startsWith(AVA_PACKAGE)) return resolved;
    // Node evaluates a module once for each query.
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
    // Handles that were just closed stay active until the event loop has turned.
    setImmediate(endFile);
  });
  await import(AVA_WORKER.href);
}

function endFile(): void {
  finished.push(process.title);
  restoreProcess();
  const isFull = process.memoryUsage.rss() > MAX_RESIDENT_BYTES;
  // A leftover timer or socket could fail another file, or keep ava from noticing that nothing happens any more.
  const isHeld = process.getActiveResourcesInfo().some((resource) => resource !== 'PipeWrap');
  process.send?.({ fileDone: true, isReusable: !hasNock && !isFull && !isHeld } satisfies FileDone);
}

/** Reverts the changes that ava and the file have made to the process. */
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
    // The name of the process identifies a test that hangs.
    else if (message.ava.type === 'options') process.title = relative(process.cwd(), message.ava.options.file);
  });
  // Ava lets a process exit that has nothing left to do.
  process.channel?.ref();
  process.on('exit', (status) => {
    if (status !== 0 && finished.length > 0)
      process.stderr.write(`Before ${process.title} the process ran ${finished.join(', ')}\n`);
  });
}

listen();
// Ava notices the status only while a file is running.
process.once('disconnect', () => original.exit(1));

// When a file hangs, the runner requests its open handles by this signal.
process.on('SIGUSR2', () => {
  const { libuv } = process.report.getReport() as { libuv: { is_active?: boolean; is_referenced?: boolean }[] };
  const busy = libuv.filter((handle) => handle.is_active === true && handle.is_referenced === true);
  const resources = process.getActiveResourcesInfo().join(', ');
  process.stderr.write(`${process.title} waits for ${resources}: ${JSON.stringify(busy)}\n`);
});
