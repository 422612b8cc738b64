import { spawn } from 'node:child_process';
import { buffer } from 'node:stream/consumers';
import test from 'ava';

/** What a program printed that logs to standard output, by the lines' texts, and how it ended. */
async function run(body: string) {
  const logger = JSON.stringify(new URL('../../config/logger.ts', import.meta.url).href);
  const source = `const { createLogger } = await import(${logger}); const log = createLogger({ process: 'web', level: 'info' }); ${body}`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', source], { stdio: ['ignore', 'pipe', 'ignore'] });
  const [printed, status] = await Promise.all([buffer(child.stdout), new Promise((resolve) => child.once('exit', (code, signal) => resolve(code ?? signal)))]);
  return { texts: printed.toString().split('\n').filter(Boolean).map((line) => JSON.parse(line).msg), status };
}

test('every line is there in its order, however the program ends by itself', async (t) => {
  const many = Array.from({ length: 1000 }, (_, index) => String(index));
  const write = `for (let index = 0; index < 1000; index += 1) log.info(String(index));`;
  const ends = { 'by itself': '', 'by exit': 'process.exit(0);', 'by an exception': `throw new Error('end');` };
  const runs = await Promise.all(Object.values(ends).map((end) => run(write + end)));
  for (const { texts } of runs) t.deepEqual(texts, many);
  t.deepEqual(runs.map(({ status }) => status), [0, 0, 1]);
});

test('a warning is written at once with what waits before it, so that not even a kill takes it back', async (t) => {
  const { texts, status } = await run(`log.info('before'); log.warn('trouble'); process.kill(process.pid, 'SIGKILL');`);
  t.deepEqual([texts, status], [['before', 'trouble'], 'SIGKILL']);
});

test('a line does not wait for the end of the program', async (t) => {
  const { texts } = await run(`log.info('here'); setTimeout(() => process.kill(process.pid, 'SIGKILL'), 500);`);
  t.deepEqual(texts, ['here']);
});
