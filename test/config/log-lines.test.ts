import { spawn } from 'node:child_process';
import { on } from 'node:events';
import { open, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import test from 'ava';
import { boundedDisk } from '../helpers/bounded-disk.ts';

const LOGGER = JSON.stringify(new URL('../../config/logger.ts', import.meta.url).href);

/** Runs a program that logs to standard output; returns the texts of its lines and its exit status. */
async function run(body: string) {
  const source =
    `const { createLogger } = await import(${LOGGER}); const log = createLogger({ process: 'web', level: 'info' ` +
    `}); ${body}`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', source], { stdio: ['ignore', 'pipe', 'ignore'] });
  const [printed, status] = await Promise.all([
    buffer(child.stdout),
    new Promise((resolve) => child.once('exit', (code, signal) => resolve(code ?? signal))),
  ]);
  return {
    texts: printed
      .toString()
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line).msg),
    status,
  };
}

test('every line is written in order, whether the program ends by itself, by exit or by an exception', async (t) => {
  const many = Array.from({ length: 1000 }, (_, index) => String(index));
  const write = `for (let index = 0; index < 1000; index += 1) log.info(String(index));`;
  const ends = { 'by itself': '', 'by exit': 'process.exit(0);', 'by an exception': `throw new Error('end');` };
  const runs = await Promise.all(Object.values(ends).map((end) => run(write + end)));
  for (const { texts } of runs) t.deepEqual(texts, many);
  t.deepEqual(
    runs.map(({ status }) => status),
    [0, 0, 1],
  );
});

test('a warning is written at once after the lines buffered before it, so that it survives a kill', async (t) => {
  const { texts, status } = await run(`log.info('before'); log.warn('trouble'); process.kill(process.pid, 'SIGKILL');`);
  t.deepEqual([texts, status], [['before', 'trouble'], 'SIGKILL']);
});

test('a line is written before the program ends', async (t) => {
  const { texts } = await run(`log.info('here'); setTimeout(() => process.kill(process.pid, 'SIGKILL'), 500);`);
  t.deepEqual(texts, ['here']);
});

test('a full disk does not end a program, and buffered lines are written once there is space', async (t) => {
  const disk = await boundedDisk(t, 1);
  if (disk === null) return t.pass();
  const path = join(disk.path, 'log');
  const file = await open(path, 'a');
  t.teardown(() => file.close());
  await disk.fill();
  const source = `const { createLogger } = await import(${LOGGER});
    const log = createLogger({ process: 'web', level: 'info' });
    process.on('message', (text) => { log.warn(text); process.send('went on'); }); process.send('ready');`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', source], {
    stdio: ['ignore', file.fd, 'pipe', 'ipc'],
  });
  t.teardown(() => child.kill('SIGKILL'));
  const answers = on(child, 'message');
  await answers.next();
  for (const text of ['first', 'second', 'x'.repeat(2 * 1024 * 1024)]) {
    child.send(text);
    t.deepEqual((await answers.next()).value, ['went on', undefined]);
  }
  await disk.free();
  child.send('third');
  await answers.next();
  const written = (await readFile(path, 'utf8')).replaceAll('\0', '').split('\n').filter(Boolean);
  t.deepEqual(
    written.map((line) => JSON.parse(line).msg),
    ['first', 'second', 'third'],
  );
});
