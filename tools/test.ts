import { spawn } from 'node:child_process';
import { glob, lstat, mkdir, mkdtemp, readFile, readdir, rm } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { startEmbeddedPostgres } from '../cli/embedded-postgres/start.ts';
import { prepareConsole } from '../console/build/build.ts';
import { withConnection } from '../postgres/client.ts';
import { NO_FAKETIME, findFaketime } from '../test/helpers/set-clock.ts';
import { COMPILE_CACHE, findDataDirectory } from './data-directory.ts';
import { startRedis } from './redis-server.ts';
import { reportTap, type Tally } from './tap-report.ts';

const AVA = join(fileURLToPath(import.meta.resolve('ava')), '..', 'cli.js');
/**
 * Test files that only `npm run test:all` runs. They cover attackers, faults, fuzz, chaos, clients in other languages,
 * tools and most browser tests, and repeat at length what shorter tests prove.
 */
const ONLY_IN_ALL = [
  /^test\/(?:attackers|faults|fuzz|simulation|clients|tools|deploy)\//,
  /^test\/console\/(?!overview\.)/,
  /^test\/(?:api\/statistics\/independent-year|cli\/options|e2e\/(?:cells|fleet-on-postgres))\./,
  /^test\/(?:models\/statistics\/report-year|workers\/alerts\/large-outage)\./,
];
const NO_REDIS =
  'redis-server is not installed: the Redis half of the queue tests did not run (Debian: apt-get install redis-server)';

/**
 * Silence after which a run counts as stuck, in milliseconds; no test may take as long. Ava's own timeout is longer: it
 * names no test, and ends a file only by a signal that a process may ignore.
 */
const SILENCE_MS = Number(process.env['TEST_SILENCE_SECONDS'] ?? 280) * 1000;

/** Number of the slowest files that are listed at the end of a longer run. */
const SLOWEST_FILES = 10;

/** Time limit for a stuck test file to report what it waits for, in milliseconds. */
const WORDS_MS = 3000;

const print = (line: string): void => void process.stdout.write(`${line}\n`);

/** Runs ava against servers of its own, with our arguments. An interrupted run counts as failed. */
async function runTests(interrupted: AbortSignal): Promise<Tally> {
  const closers: (() => Promise<unknown>)[] = [];
  try {
    // Once here, instead of in every process that a test starts.
    await import('./description.ts');
    await prepareConsole(print);
    const directory = await mkdtemp(join(tmpdir(), 'spotcheck-test-'));
    // Deleted last, with everything that killed tests left behind; a PostgreSQL of theirs exits once its files are
    // gone.
    closers.push(() => rm(directory, { recursive: true, force: true, maxRetries: 10 }));
    const temporary = join(directory, 'tmp');
    await mkdir(temporary);
    const dataParent = await mkdtemp(join(await findDataDirectory(), `spotcheck-test-${process.pid}-`));
    closers.push(() => rm(dataParent, { recursive: true, force: true, maxRetries: 10 }));
    const postgres = await startEmbeddedPostgres({
      dataDir: join(dataParent, 'data'),
      onProgress: () => undefined,
      isDurable: false,
    });
    closers.push(postgres.stop);
    await easeConnecting(postgres.databaseUrl);
    const redis = await startRedis();
    if (redis !== null) closers.push(redis.stop);
    const servers = {
      SPOTCHECK_TEST_DATABASE_URL: postgres.databaseUrl,
      SPOTCHECK_TEST_REDIS_URL: redis?.url ?? '',
      SPOTCHECK_TEST_DATA_DIR: dataParent,
      TMPDIR: temporary,
      NODE_COMPILE_CACHE: COMPILE_CACHE,
      NODE_OPTIONS: await nodeOptions(),
      SPOTCHECK_TEST_TIMES: join(directory, 'times'),
    };
    const tally = await runAva(servers, interrupted);
    await printSlowest(servers.SPOTCHECK_TEST_TIMES);
    if (redis === null) print(NO_REDIS);
    if (findFaketime() === null) print(NO_FAKETIME);
    return tally;
  } finally {
    for (const close of closers.toReversed()) await close();
  }
}

/**
 * Returns the options of every process of a run. Each loads up to 1,500 modules: not resolving symbolic links saves a
 * twelfth, and `npm ci` creates none. Where `node_modules` is a link itself, links are followed.
 */
async function nodeOptions(): Promise<string> {
  const given = process.env['NODE_OPTIONS'] ?? '';
  return (await lstat('node_modules')).isSymbolicLink() ? given : `${given} --preserve-symlinks`.trim();
}

/**
 * Reduces the cost of a connection, since a run opens many thousands. The password is 24 random bytes that cannot be
 * guessed, however often it is hashed.
 */
async function easeConnecting(databaseUrl: string): Promise<void> {
  await withConnection(databaseUrl, async (client) => {
    await client.query('SET scram_iterations = 1');
    await client.query(`ALTER ROLE CURRENT_USER PASSWORD ${client.escapeLiteral(new URL(databaseUrl).password)}`);
  });
}

async function runAva(servers: Record<string, string>, interrupted: AbortSignal): Promise<Tally> {
  interrupted.throwIfAborted();
  // Results come on standard output; the tests' own output goes to standard error and cannot be taken for a result. Ava
  // leads a process group, because it does not end its workers when it receives a signal.
  const child = spawn(process.execPath, [AVA, '--tap', ...(await avaArguments())], {
    env: { ...process.env, ...servers },
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true,
  });
  const status = new Promise<number | null>((resolve, reject) => child.once('error', reject).once('exit', resolve));
  interrupted.addEventListener('abort', () => endGroup(child.pid, 'SIGTERM'));
  const silence = setTimeout(() => {
    print(`Nothing was printed for ${SILENCE_MS / 1000} s: the run is ended`);
    void nameTestsUnderWay(child.pid).then(() => endGroup(child.pid, 'SIGKILL'));
  }, SILENCE_MS);
  child.stdout.on('data', () => silence.refresh());
  const tally = await reportTap(createInterface({ input: child.stdout }), print);
  clearTimeout(silence);
  const isClean = (await status) === 0 && !interrupted.aborted;
  if (endGroup(child.pid, 'SIGKILL')) print('Processes of the tests were still there after them: they are ended');
  return isClean ? tally : { ...tally, failed: Math.max(1, tally.failed) };
}

/** Prints the test files that took longest, with the seconds from the load of each to the end of its tests. */
async function printSlowest(timesFile: string): Promise<void> {
  const times = (await readFile(timesFile, 'utf8').catch(() => '')).trimEnd().split('\n');
  if (times.length <= SLOWEST_FILES) return;
  print(`The slowest of ${times.length} files, in seconds:`);
  const slowest = times.toSorted((a, b) => Number.parseFloat(b) - Number.parseFloat(a)).slice(0, SLOWEST_FILES);
  for (const line of slowest) print(line);
}

/** Returns ava's arguments: by default the files of `npm test`, with `--all` all files, else the given ones. */
async function avaArguments(): Promise<string[]> {
  const asked = process.argv.slice(2);
  // Five more than there are processors: long tests mostly wait for timers and sockets. Ava would ignore a repeated
  // option.
  const concurrency = `--concurrency=${Math.min(8, availableParallelism() + 5)}`;
  const isAsked = asked.some((argument) => /^(?:-c|--concurrency)/.test(argument));
  if (asked.length > 0) return [...(isAsked ? [] : [concurrency]), ...asked.filter((argument) => argument !== '--all')];
  const files = [concurrency];
  for await (const file of glob('test/**/*.test.ts')) {
    if (!ONLY_IN_ALL.some((part) => part.test(file))) files.push(file);
  }
  return files;
}

/** Names the test files of a process group that have not ended (on Linux), and makes each report what it waits for. */
async function nameTestsUnderWay(leaderPid: number | undefined): Promise<void> {
  for (const pid of await readdir('/proc').catch(() => [])) {
    const [title, stat] = await Promise.all(
      ['cmdline', 'stat'].map((name) => readFile(join('/proc', pid, name), 'utf8').catch(() => '')),
    );
    // After the name in brackets: state, parent, group.
    const group = Number(stat?.slice(stat.lastIndexOf(')') + 2).split(' ')[2]);
    if (group !== leaderPid || title === undefined || !/^test\/\S+\.test\.ts\b/.test(title)) continue;
    print(`Not ended: ${title.replaceAll('\0', ' ').trim()}`);
    process.kill(Number(pid), 'SIGUSR2');
  }
  await sleep(WORDS_MS);
}

/** Sends a signal to all processes of a group; false if none is left. */
function endGroup(leaderPid: number | undefined, signal: NodeJS.Signals): boolean {
  try {
    return leaderPid !== undefined && process.kill(-leaderPid, signal);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ESRCH') return false;
    throw error;
  }
}

const interruption = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.on(signal, () => interruption.abort(new Error(`interrupted by ${signal}`)));
// A reader that closes the pipe (npm test | head) must not end the run before its servers are stopped.
process.stdout.on('error', () => interruption.abort(new Error('the reader of the results has gone')));

const { passed, failed } = await runTests(interruption.signal).catch((error: Error): Tally => {
  print(error.stack ?? error.message);
  return { passed: 0, failed: 1 };
});
process.exitCode = failed > 0 || passed === 0 ? 1 : 0;
print(`${passed} passed, ${failed} failed`);
