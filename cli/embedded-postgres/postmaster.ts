import { spawn } from 'node:child_process';
import { open, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { commandLineOf, identifyProcess, isRunning } from '../../config/processes.ts';
import { SUPERUSER, dataDirectoryArguments, programEnvironment, type Cluster } from './cluster.ts';
import { awaitConnection } from './connection.ts';

/**
 * Settings for one service on one machine, given on the command line so that a new release brings its own. They favor
 * small size over speed: the operating system does most of the caching, and an idle installation should not be
 * noticeable.
 */
const SETTINGS = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: 100,
  timezone: 'UTC',
  log_timezone: 'UTC',

  shared_buffers: '64MB',
  work_mem: '4MB',
  maintenance_work_mem: '32MB',
  // A backup of a running server needs this level. One machine has no replicas, so processes that would wait for work
  // are off.
  wal_level: 'replica',
  max_wal_senders: 0,
  max_logical_replication_workers: 0,
  max_parallel_workers: 0,
  max_parallel_workers_per_gather: 0,
  max_parallel_maintenance_workers: 0,
  io_method: 'sync',
  min_wal_size: '64MB',
  max_wal_size: '256MB',
  checkpoint_timeout: '10min',
  autovacuum_max_workers: 2,
  huge_pages: 'off',
  // Compiling costs more than any of the short queries here.
  jit: 'off',
  // The queue's statements lock rows in varying order; a deadlock is detected quickly and its victim retries.
  deadlock_timeout: '50ms',
  log_min_messages: 'warning',
  log_checkpoints: 'off',
} as const satisfies Record<string, string | number>;

/**
 * Settings for databases that exist for one test run, and serve many services at once. A killed server still recovers,
 * but a power cut loses data.
 */
const FORGETFUL = { fsync: 'off', full_page_writes: 'off', max_connections: 400 } as const;

/** Returns the command-line arguments for the settings. */
function settingArguments(isDurable: boolean): readonly string[] {
  return Object.entries({ ...SETTINGS, ...(isDurable ? {} : FORGETFUL) }).flatMap(([name, value]) => [
    '-c',
    `${name}=${value}`,
  ]);
}

/** A PostgreSQL server that accepts sessions. `identity` distinguishes it from a later process with the same pid. */
export type Postmaster = { pid: number; identity: string; port: number };

/**
 * Timeout of a start, in milliseconds. Crash recovery replays at most `max_wal_size`; this is generous on a slow disk.
 */
const START_TIMEOUT_MS = 120_000;
/**
 * Timeout of a fast shutdown, which writes a checkpoint, in milliseconds; after it the server stops without one and
 * recovers at its next start.
 */
const STOP_TIMEOUT_MS = 30_000;
const POLL_MS = 25;
/**
 * Errors that pass in a moment: sessions of a killed server that still hold its shared memory, another connection on
 * the port.
 */
const NOT_YET = /pre-existing shared memory block|Address already in use/;
const NOT_YET_ATTEMPTS = 50;
const NOT_YET_DELAY_MS = 200;

/** Returns a superuser's connection string for one database of the cluster. */
export function databaseUrlOf(cluster: Cluster, port: number, database: string): string {
  return `postgres://${SUPERUSER}:${cluster.password}@127.0.0.1:${port}/${database}`;
}

/**
 * Finds a server that still runs on the cluster because its last owner was killed; null if there is none and one can be
 * launched. Removes the pid file of a dead server whose pid another program has by now, which PostgreSQL would take for
 * a living server.
 */
export async function adoptPostmaster(cluster: Cluster): Promise<Postmaster | null> {
  const path = join(cluster.directory, 'postmaster.pid');
  const lines = (await readFile(path, 'utf8').catch(() => '')).split('\n');
  const pid = Number(lines[0]);
  const port = Number(lines[3]);
  if (!(pid > 0) || !isRunning(pid)) return null;
  const commandLine = await commandLineOf(pid);
  if (commandLine !== null && !commandLine.includes(markOf(cluster))) {
    await rm(path);
    return null;
  }
  // The system may hide processes of other accounts: this is none of ours, and PostgreSQL ignores it as well.
  const identity = await identifyProcess(pid);
  if (identity === null) return null;
  // Only a session with the cluster's password proves it; a pid and a port alone could be another program's.
  const isReady =
    port > 0 &&
    (await awaitConnection(databaseUrlOf(cluster, port, 'postgres'), {
      timeoutMs: START_TIMEOUT_MS,
      isAlive: () => isRunning(pid),
    }));
  if (!(await isPostmasterAlive({ pid, identity, port }))) return null;
  if (!isReady)
    throw new Error(
      `process ${pid} holds the database in ${cluster.directory} and does not respond: stop it, then start again`,
    );
  return { pid, identity, port };
}

/** `env` is the server's environment, in addition to that of all PostgreSQL programs. */
type LaunchOptions = {
  port: number;
  isDurable: boolean;
  logPath: string;
  env?: Readonly<Record<string, string>>;
};

/** Launches a server and waits until it accepts sessions; throws with the end of the server's log if it does not. */
export async function launchPostmaster(cluster: Cluster, options: LaunchOptions): Promise<Postmaster> {
  for (let attempt = 1; ; attempt += 1) {
    const postmaster = await tryLaunch(cluster, options);
    if (postmaster !== null) return postmaster;
    const log = await readFile(options.logPath, 'utf8').catch(() => '');
    if (!NOT_YET.test(log) || attempt === NOT_YET_ATTEMPTS) {
      throw new Error(
        `PostgreSQL did not start in ${cluster.directory}:\n${log.trim().split('\n').slice(-5).join('\n')}`,
      );
    }
    await delay(NOT_YET_DELAY_MS);
  }
}

/** Returns a setting that only identifies the cluster of a process, for readers of its command line. */
function markOf({ directory }: Cluster): string {
  return `spotcheck.cluster=${directory}`;
}

async function tryLaunch(
  cluster: Cluster,
  { port, isDurable, logPath, env }: LaunchOptions,
): Promise<Postmaster | null> {
  const { postgres, directory, account } = cluster;
  const log = await open(logPath, 'w', 0o600);
  const own = programEnvironment();
  const args = [
    ...dataDirectoryArguments(directory, account),
    '-p',
    `${port}`,
    '-c',
    markOf(cluster),
    ...settingArguments(isDurable),
  ];
  // Detached, because a Ctrl-C in the terminal goes to its whole process group, and workers that finish their work
  // still need the database.
  const child = spawn(postgres, args, {
    ...account,
    cwd: directory,
    env: own && { ...own, ...env },
    detached: true,
    stdio: ['ignore', log.fd, log.fd],
  });
  let isAlive = true;
  child.once('exit', () => (isAlive = false));
  child.once('error', () => (isAlive = false));
  child.unref();
  await log.close();
  const isReady = await awaitConnection(databaseUrlOf(cluster, port, 'postgres'), {
    timeoutMs: START_TIMEOUT_MS,
    isAlive: () => isAlive,
  });
  const identity = child.pid === undefined ? null : await identifyProcess(child.pid);
  if (isReady && child.pid !== undefined && identity !== null) return { pid: child.pid, identity, port };
  child.kill('SIGQUIT');
  return null;
}

export async function isPostmasterAlive(postmaster: Postmaster): Promise<boolean> {
  return (await identifyProcess(postmaster.pid)) === postmaster.identity;
}

/** Stops a server: open transactions are rolled back, committed ones are on disk. Returns when the process is gone. */
export async function stopPostmaster(postmaster: Postmaster): Promise<void> {
  for (const signal of ['SIGINT', 'SIGQUIT'] as const) {
    if (!(await isPostmasterAlive(postmaster)) || !sendSignal(postmaster.pid, signal)) return;
    if (await awaitEnd(postmaster)) return;
  }
  throw new Error(`PostgreSQL (process ${postmaster.pid}) did not stop`);
}

/** Sends a signal; false if the process has ended in the meantime. */
function sendSignal(pid: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, signal);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ESRCH') return false;
    throw error;
  }
}

async function awaitEnd(postmaster: Postmaster): Promise<boolean> {
  const deadline = performance.now() + STOP_TIMEOUT_MS;
  while (performance.now() < deadline) {
    if (!(await isPostmasterAlive(postmaster))) return true;
    await delay(POLL_MS);
  }
  return false;
}
