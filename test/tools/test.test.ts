import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import test, { type ExecutionContext } from 'ava';
import { isRunning } from '../../config/processes.ts';
import { findDataDirectory } from '../../tools/data-directory.ts';
import { until } from '../helpers/until.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** Runs the test command in a temporary project with these test files; its temporary directory shows leftovers. */
async function runProject(
  t: ExecutionContext,
  files: Record<string, string>,
  options: {
    args?: string[];
    path?: string;
    timeout?: string;
    silenceSeconds?: number;
    onStarted?: (pid: number, said: string) => void;
  } = {},
) {
  const project = await mkdtemp(join(tmpdir(), 'spotcheck-runner-'));
  t.teardown(() => rm(project, { recursive: true, force: true }));
  const temporary = join(project, 'tmp');
  await mkdir(join(project, 'test'));
  await mkdir(temporary);
  await symlink(join(ROOT, 'node_modules'), join(project, 'node_modules'));
  await writeFile(join(project, 'package.json'), '{ "type": "module" }');
  await writeFile(
    join(project, 'ava.config.js'),
    `import { mendAva } from ${JSON.stringify(join(ROOT, 'tools', 'mend-ava.ts'))};
    mendAva();
    export default { files: ['test/*.js'], workerThreads: false, timeout: '${options.timeout ?? '60s'}' };`,
  );
  for (const [name, code] of Object.entries(files))
    await writeFile(join(project, 'test', name), `import test from 'ava';\n${code}`);
  const child = spawn(process.execPath, [join(ROOT, 'tools', 'test.ts'), ...(options.args ?? [])], {
    cwd: project,
    env: {
      ...process.env,
      // The project's packages are behind a symlink.
      NODE_OPTIONS: '',
      TMPDIR: temporary,
      ...(options.path === undefined ? {} : { PATH: options.path }),
      ...(options.silenceSeconds !== undefined && { TEST_SILENCE_SECONDS: `${options.silenceSeconds}` }),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  child.stderr.on('data', (chunk: Buffer) => {
    if (chunk.includes('the test has begun') && child.pid !== undefined)
      options.onStarted?.(child.pid, chunk.toString());
  });
  const exited = new Promise<number | null>((resolve) => child.once('close', resolve));
  const [output, status] = await Promise.all([text(child.stdout), exited]);
  const lines = output.trimEnd().split('\n');
  const left = [
    ...(await readdir(temporary)),
    ...(await readdir(await findDataDirectory())).filter((name) => name.includes(`-${child.pid}-`)),
  ];
  return { output, last: lines.at(-1), status, leftBehind: left.filter((name) => name.startsWith('spotcheck-')) };
}

test('tests find their servers, and a passing run ends with its count and status 0', async (t) => {
  const run = await runProject(t, {
    'a.js': `test('one', (t) => t.regex(process.env.SPOTCHECK_TEST_DATABASE_URL, /^postgres:/));`,
    'b.js': `test('two', (t) => t.pass()); test('three', (t) => t.pass());`,
  });
  t.like(run, { last: '3 passed, 0 failed', status: 0, leftBehind: [] });
});

test('a failed test, a crashed file, an uncaught exception and a file without tests all count as failed', async (t) => {
  const run = await runProject(t, {
    'fails.js': `test('fails', (t) => t.fail());`,
    'crashes.js': `throw new Error('at once');`,
    'throws.js':
      `test('passes first', (t) => t.pass()); test.after(() => { setTimeout(() => { throw new Error('later'); }); ` +
      'return new Promise((resolve) => setTimeout(resolve, 200)); });',
    'none.js': `export { test };`,
  });
  const told = ['✘ fails › fails', '✘ Error: at once', '✘ Error: later', '✘ No tests found in test/none.js'];
  for (const line of told) t.true(run.output.includes(`\n${line}\n`) || run.output.startsWith(`${line}\n`), line);
  // The two files that threw also exited with an error status, which is reported as well.
  t.like(run, { last: '1 passed, 6 failed', status: 1, leftBehind: [] });
});

test('files share processes, but changes by one file do not reach the next', async (t) => {
  const code = (index: number) => `
    import tls from 'node:tls';
    const authorities = tls.getCACertificates('default').length;
    test.before(() => { process.env.LEFT = 'behind'; process.exit = () => undefined; });
    test('is alone ${index}', (t) => {
      t.false(process.env.PATH.includes('left'));
      process.env.PATH += ':/left';
      tls.setDefaultCACertificates([tls.rootCertificates[${index}]]);
      process.on('uncaughtException', () => undefined);
      t.log('process', process.pid, 'trusts', authorities);
    });
    if (process.env.LEFT !== undefined) throw new Error('the environment of another file');`;
  const names = Array.from({ length: 20 }, (_, index) => [`${index}.js`, code(index)]);
  const run = await runProject(t, Object.fromEntries(names));

  t.like(run, { last: '20 passed, 0 failed', status: 0, leftBehind: [] });
  const seen = [...run.output.matchAll(/process (\d+) trusts (\d+)/g)];
  t.is(seen.length, 20);
  t.true(new Set(seen.map(([, pid]) => pid)).size <= 8);
  t.true(seen.every(([, , authorities]) => Number(authorities) > 1));
});

test('a file that ends its process or sets its exit status fails alone, and the run completes', async (t) => {
  const good = Array.from({ length: 10 }, (_, index) => [`good-${index}.js`, `test('good', (t) => t.pass());`]);
  const files = {
    ...Object.fromEntries(good),
    // This test is the last one running, while the processes of all others wait.
    'dies.js': `import { setTimeout } from 'node:timers/promises';
      test('dies', async () => { await setTimeout(2000); process.kill(process.pid, 'SIGKILL'); });`,
    'sets.js': `test('sets', (t) => { process.exitCode = 3; t.pass(); });`,
  };
  const run = await runProject(t, files, { silenceSeconds: 60 });
  t.false(run.output.includes('Nothing was printed'), run.output);
  t.regex(run.output, /✘ test\/dies\.js exited due to SIGKILL/);
  t.regex(run.output, /✘ test\/sets\.js exited with a non-zero exit code: 3/);
  t.regex(run.last ?? '', /^11 passed, [23] failed$/);
  t.like(run, { status: 1, leftBehind: [] });
});

test('a process is not reused after nock, or while a file has left a timer in it', async (t) => {
  const files = {
    'a.js': `await import('nock'); test('nock', (t) => { t.log('a', process.pid); t.pass(); });`,
    'b.js': `test('leaves', (t) => { setInterval(() => undefined, 1000); t.log('b', process.pid); t.pass(); });`,
    'c.js': `test('alone', (t) => { t.log('c', process.pid); t.pass(); });`,
    'd.js': `test('shares', (t) => { t.log('d', process.pid); t.pass(); });`,
  };
  const run = await runProject(t, files, { args: ['--concurrency=1', 'test/*.js'] });
  t.like(run, { last: '4 passed, 0 failed', status: 0, leftBehind: [] });
  const [a, b, c, d] = [...'abcd'].map((name) => new RegExp(`${name} (\\d+)`).exec(run.output)?.[1]);
  t.is(new Set([a, b, c]).size, 3);
  t.is(c, d);
});

test('a test that can never finish fails at once, even after a file that left a timer', async (t) => {
  const files = {
    'a.js': `test('leaves', (t) => { setInterval(() => undefined, 1000); t.pass(); });`,
    'b.js': `test('stalls', () => new Promise(() => undefined));`,
  };
  const run = await runProject(t, files, { args: ['--concurrency=1', 'test/*.js'], silenceSeconds: 50 });
  t.regex(run.output, /✘ b › stalls/);
  t.false(run.output.includes('Nothing was printed'), run.output);
  t.like(run, { last: '1 passed, 1 failed', status: 1, leftBehind: [] });
});

test('the exit of a process is handled after all its messages, even if ava is busy', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'spotcheck-fork-'));
  t.teardown(() => rm(directory, { recursive: true, force: true }));
  const [parent, child] = [join(directory, 'parent.mjs'), join(directory, 'child.mjs')];
  await writeFile(child, `process.send('first'); setTimeout(() => { process.send('last'); process.exit(1); }, 200);`);
  // The parent handles messages like ava, which takes a moment to print each result.
  await writeFile(
    parent,
    `import { fork } from 'node:child_process';
    import { exitAfterMessages } from ${JSON.stringify(join(ROOT, 'tools', 'test-processes.ts'))};
    for (let index = 0; index < 40; index += 1) {
      const child = fork(process.argv[2], { silent: true, serialization: 'advanced' });
      exitAfterMessages(child);
      child.on('message', (said) => {
        for (const began = performance.now(); performance.now() - began < 3; );
        console.log(said);
      });
      child.on('exit', () => child.removeAllListeners('message'));
    }`,
  );
  const program = spawn(process.execPath, [parent, child]);
  const said = (await text(program.stdout)).trimEnd().split('\n');
  t.is(said.filter((word) => word === 'last').length, 40);
});

test('a test that fails with an error that has a cause is reported, and the run continues', async (t) => {
  const run = await runProject(t, {
    'fetches.js': `test('fetches', () => fetch('http://127.0.0.1:1/')); test('goes on', (t) => t.pass());`,
  });
  t.true(run.output.includes('\n✘ fetches\n') || run.output.startsWith('✘ fetches\n'), run.output);
  t.like(run, { last: '1 passed, 1 failed', status: 1, leftBehind: [] });
});

test('a test that times out counts as failed', async (t) => {
  const run = await runProject(
    t,
    { 'hangs.js': `test('hangs', () => new Promise(() => setInterval(() => undefined, 1000)));` },
    { timeout: '2s' },
  );
  t.regex(run.last ?? '', /^0 passed, [1-9]\d* failed$/);
  t.like(run, { status: 1, leftBehind: [] });
});

test('a test file that ignores SIGTERM does not block the run', async (t) => {
  const files = {
    'stays.js':
      `process.title = 'test/e2e/stays.test.ts'; process.on('SIGTERM', () => undefined); ` +
      `test('passes', (t) => t.pass()); test('stays', () => new Promise(() => setInterval(() => undefined, 1000)));`,
  };
  const run = await runProject(t, files, { silenceSeconds: 20, timeout: '60s' });
  t.true(run.output.includes('\nNothing was printed for 20 s: the run is ended\n'), run.output);
  t.true(run.output.includes('\nNot ended: test/e2e/stays.test.ts\n'), run.output);
  t.like(run, { last: '1 passed, 1 failed', status: 1, leftBehind: [] });
});

test('processes that a test file leaves behind end with the run', async (t) => {
  const code =
    `import { spawn } from 'node:child_process'; test('leaves', (t) => { const { pid } = spawn('sleep', ['600'], { ` +
    `stdio: 'ignore' }); console.log('left', pid); t.pass(); process.nextTick(() => process.kill(process.pid, ` +
    `'SIGKILL')); });`;
  const run = await runProject(t, { 'leaves.js': code });
  t.true(run.output.includes('\nProcesses of the tests were still there after them: they are ended\n'), run.output);
  t.like(run, { status: 1, leftBehind: [] });
});

test('arguments select the files, and selecting none is a failure', async (t) => {
  const files = { 'a.js': `test('one', (t) => t.pass());`, 'b.js': `test('two', (t) => t.fail());` };
  t.like(await runProject(t, files, { args: ['test/a.js'] }), { last: '1 passed, 0 failed', status: 0 });
  t.like(await runProject(t, files, { args: ['test/c.js'] }), { last: '0 passed, 1 failed', status: 1 });
});

test('output of a test is not taken for a result', async (t) => {
  const run = await runProject(t, { 'a.js': `test('one', (t) => { console.log('ok 1 - forged'); t.pass(); });` });
  t.is(run.last, '1 passed, 0 failed');
});

test('an interrupted run stops its servers and tests, and fails', async (t) => {
  let testPid = 0;
  const run = await runProject(
    t,
    {
      'a.js':
        `test('waits', () => { console.error('the test has begun in', process.pid, '.'); return new Promise(() => ` +
        'setInterval(() => undefined, 1000)); });',
    },
    {
      onStarted(pid, said) {
        testPid = Number(/begun in (\d+) \./.exec(said)?.[1]);
        process.kill(pid, 'SIGINT');
      },
    },
  );
  t.true(testPid > 0);
  await until(() => !isRunning(testPid));
  t.regex(run.last ?? '', /^0 passed, [1-9]\d* failed$/);
  t.like(run, { status: 1, leftBehind: [] });
});

test('a missing Redis is reported with the tests that did not run', async (t) => {
  const run = await runProject(
    t,
    { 'a.js': `test('one', (t) => t.is(process.env.SPOTCHECK_TEST_REDIS_URL, ''));` },
    { path: '/nowhere' },
  );
  t.like(run, { last: '1 passed, 0 failed', status: 0 });
  t.regex(run.output, /^redis-server is not installed: the Redis half of the queue tests did not run/m);
});
