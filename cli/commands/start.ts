import { once } from 'node:events';
import { lstatSync, mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import { enableCompileCache, flushCompileCache } from 'node:module';
import { createServer } from 'node:net';
import path from 'node:path';
import { readEnvironment, type Environment } from '../../config/environment.ts';
import { describePortFailure } from '../../config/failures.ts';
import { awaitStopSignal } from '../../config/processes.ts';
import { removeServerVariables } from '../../config/variables.ts';
import { Refusal } from '../output.ts';
import type { RunningService } from '../start.ts';

/** Interval at which a service run by npm polls whether npm still exists, in milliseconds. */
const WATCH_INTERVAL_MS = 500;

const ABSENT = { throwIfNoEntry: false } as const;

/**
 * Resolves when the service must stop. That is with the first signal to stop or, if npm runs it, when npm ended without
 * a signal, which would leave an orphaned service. A second signal calls `onImpatience`.
 */
function awaitStopRequest({
  isRunByNpm,
  onImpatience,
}: {
  isRunByNpm: boolean;
  onImpatience: () => void;
}): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  void awaitStopSignal(onImpatience).then(() => resolve());
  if (isRunByNpm) watchParent(resolve);
  return promise;
}

/** Calls back when the parent is gone: an orphan gets another parent. */
function watchParent(onGone: () => void): void {
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    onGone();
  }, WATCH_INTERVAL_MS);
  timer.unref();
}

/** `start`: runs the whole service in one process, until a signal ends it or npm, if that runs it, is gone. */
export async function start(env: NodeJS.ProcessEnv): Promise<void> {
  // A full disk behind these streams must not end the service.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  const say = (text: string) => void process.stdout.write(`${text}\n`);
  const onImpatience = () => {
    say('Stopped immediately');
    // The next start repairs the consequences.
    process.exit(1);
  };
  const stopping = awaitStopRequest({ isRunByNpm: env['npm_lifecycle_event'] !== undefined, onImpatience });
  const environment = readEnvironment(env);
  await refuseTakenPort(environment);
  keepCompiledCode(environment);
  if (environment.databaseUrl === null) removeServerVariables(env);
  // The signal handlers come first: the whole service takes longer to load than any other command takes to run.
  const { startService } = await import('../start.ts');
  const service = await startService(environment, say);
  greet(service, say);
  if (service.firstStart !== null) await service.endFirstStart();
  // The cache is written now, because a killed service writes nothing at its end.
  flushCompileCache();
  await stopping;
  say('Stopping: finishing work in progress (press Ctrl-C again to stop immediately)');
  await service.stop();
  say('Stopped');
  process.exit(0);
}

/** `router`: routes requests to the cells of `CELLS`, until a signal ends it. */
export async function startRouter(env: NodeJS.ProcessEnv): Promise<void> {
  const stopping = awaitStopRequest({
    isRunByNpm: env['npm_lifecycle_event'] !== undefined,
    onImpatience: () => process.exit(1),
  });
  const environment = readEnvironment(env, ['CELLS']);
  await refuseTakenPort(environment);
  const [{ serveCellRouter }, { createLogger }, { collectProcessMetrics }, { createIdSource }, { Registry }] =
    await Promise.all([
      import('../../api/cell-router.ts'),
      import('../../config/logger.ts'),
      import('../../config/process-metrics.ts'),
      import('../../models/secrets/ids.ts'),
      import('prom-client'),
    ]);
  const logger = createLogger({ process: 'router', level: environment.logLevel });
  const metrics = new Registry();
  collectProcessMetrics(metrics);
  const router = await serveCellRouter({ ...environment, metrics, logger, makeId: createIdSource() });
  logger.info({ port: router.port, cells: environment.cells.map(({ name }) => name) }, 'process.started');
  await stopping;
  logger.info('process.stopping');
  await router.stop((environment.stopGraceSeconds ?? 0) * 1000);
  logger.info({ outcome: 'clean' }, 'process.stopped');
  process.exit(0);
}

function greet({ url, firstStart }: RunningService, say: (text: string) => void): void {
  if (firstStart !== null) {
    say('');
    const isShown = firstStart.token !== null || firstStart.password !== null;
    say(`This is the first start.${isShown ? ' Save these credentials, they are shown only once:' : ''}`);
    say(`  API token   ${firstStart.token ?? 'set by BOOTSTRAP_TOKEN'}`);
    const password =
      firstStart.password === null ? 'password set by BOOTSTRAP_PASSWORD' : `password ${firstStart.password}`;
    say(`  Console     ${firstStart.email}, ${password}`);
    say('');
  }
  say(`Spotcheck is ready at ${url}`);
}

/** Refuses a taken port before any work, so that no database is prepared for a service that cannot listen. */
async function refuseTakenPort({ port, host }: Environment): Promise<void> {
  const server = createServer().listen({ port, ...(host !== null && { host }) });
  try {
    await once(server, 'listening');
  } catch (error) {
    throw new Refusal(describePortFailure(error, { variable: 'PORT', port, host }));
  }
  server.close();
  await once(server, 'close');
}

/**
 * Caches compiled code in the data directory, so that the next start is ready sooner. It does so only if no other user
 * can put code there, and deletes the cache of other Node versions.
 */
function keepCompiledCode({ databaseUrl, dataDir }: Environment): void {
  const folder = path.resolve(dataDir, 'compiled');
  try {
    // A service on its operator's database may run without the directory.
    mkdirSync(folder, { recursive: databaseUrl === null, mode: 0o700 });
  } catch {
    // The folder exists, or the service will report the problem with its directory.
  }
  if (!isOurs(folder)) return;
  enableCompileCache(folder);
  for (const name of readdirSync(folder)) {
    if (!name.startsWith(`${process.version}-`)) rmSync(path.join(folder, name), { recursive: true, force: true });
  }
}

/**
 * Reports whether only this user and root can write in a folder, and only they and this user's group can replace it.
 */
function isOurs(folder: string): boolean {
  const [own, parent] = [lstatSync(folder, ABSENT), statSync(path.dirname(folder), ABSENT)];
  const uid = process.geteuid?.();
  return (
    own?.isDirectory() === true &&
    own.uid === uid &&
    (own.mode & 0o077) === 0 &&
    parent?.uid === uid &&
    (parent.mode & 0o002) === 0
  );
}
