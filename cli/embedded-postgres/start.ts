import { once } from 'node:events';
import { mkdir, realpath, statfs } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { lockExclusively } from '../../config/exclusive-lock.ts';
import { withConnection } from '../../postgres/client.ts';
import { openCluster, type Cluster } from './cluster.ts';
import { removeRuntime, writeRuntime } from './connection.ts';
import {
  adoptPostmaster,
  databaseUrlOf,
  isPostmasterAlive,
  launchPostmaster,
  stopPostmaster,
  type Postmaster,
} from './postmaster.ts';

export type EmbeddedPostgres = {
  /** Stays the same while this process runs, even if the server restarts. */
  databaseUrl: string;
  /** Stops the server and releases the data directory; resolves when both are done. */
  stop: () => Promise<void>;
};

type EmbeddedPostgresOptions = {
  dataDir: string;
  onProgress: (text: string) => void;
  /** False if a power cut may lose committed work, for databases of one test run. */
  isDurable?: boolean;
  /** Additional environment of the server; tests set its clock with it. */
  env?: Readonly<Record<string, string>>;
};

const DATABASE = 'spotcheck';
const WATCH_INTERVAL_MS = 1000;

/** Minimum interval between reports of a server that does not start, in milliseconds; each poll retries it. */
const REPORT_EVERY_MS = 60_000;

/** Size of a file of the write-ahead log; a server that cannot begin one stops. */
const WAL_FILE_BYTES = 16 * 1024 * 1024;

/**
 * Runs PostgreSQL on a data directory. Prepares it on the first start, adopts a server that a killed process left
 * behind, and restarts it when it dies. Throws if another living process owns the directory, or this platform has no
 * PostgreSQL programs.
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  await mkdir(options.dataDir, { recursive: true });
  const dataDir = await realpath(options.dataDir);
  const unlock = await lockDataDir(dataDir);
  try {
    return await supervise({ ...options, dataDir }, unlock);
  } catch (error) {
    await unlock();
    throw error;
  }
}

async function supervise(
  { dataDir, onProgress, isDurable = true, env = {} }: EmbeddedPostgresOptions,
  unlock: () => Promise<void>,
): Promise<EmbeddedPostgres> {
  const cluster = await openCluster(dataDir, onProgress);
  const logPath = join(dataDir, 'postgres.log');
  let postmaster =
    (await adoptPostmaster(cluster)) ??
    (await launchPostmaster(cluster, { port: await findFreePort(), isDurable, logPath, env }));
  const databaseUrl = databaseUrlOf(cluster, postmaster.port, DATABASE);

  let reportedAtMs = Number.NEGATIVE_INFINITY;
  const revive = async () => {
    if (await isPostmasterAlive(postmaster)) return;
    const isReported = performance.now() - reportedAtMs >= REPORT_EVERY_MS;
    if (isReported) {
      reportedAtMs = performance.now();
      onProgress('the database stopped unexpectedly, restarting it');
    }
    try {
      postmaster = await launchPostmaster(cluster, { port: postmaster.port, isDurable, logPath, env });
      reportedAtMs = Number.NEGATIVE_INFINITY;
    } catch (error) {
      if (isReported) onProgress(await describeStandstill(error, dataDir));
    }
  };
  try {
    await createDatabase(cluster, postmaster);
    await writeRuntime(dataDir, { databaseUrl });
  } catch (error) {
    await stopPostmaster(postmaster);
    throw error;
  }
  const stopWatching = repeat(revive, (error) => onProgress(error.message));
  const stop = async () => {
    await stopWatching();
    await stopPostmaster(postmaster);
    await removeRuntime(dataDir);
    await unlock();
  };
  let stopped: Promise<void> | null = null;
  // Only once: after the first stop the directory may have another owner.
  return { databaseUrl, stop: () => (stopped ??= stop()) };
}

/**
 * Describes why the server is down. Its own log is on the same disk, and is silent when that is full. A server that
 * failed to begin a file of its write-ahead log has removed the part it wrote.
 */
async function describeStandstill(error: unknown, dataDir: string): Promise<string> {
  const text = error instanceof Error ? error.message : String(error);
  const { bavail, bsize } = await statfs(dataDir);
  return bavail * bsize < WAL_FILE_BYTES
    ? `${text}\nThe disk of ${dataDir} is full: the database restarts automatically once there is space`
    : text;
}

async function createDatabase(cluster: Cluster, { port }: Postmaster): Promise<void> {
  await withConnection(databaseUrlOf(cluster, port, 'postgres'), async (client) => {
    const { rowCount } = await client.query('SELECT FROM pg_database WHERE datname = $1', [DATABASE]);
    if (rowCount === 0) await client.query(`CREATE DATABASE ${DATABASE}`);
  });
}

/**
 * Runs a task repeatedly, one run at a time, without keeping the process alive. The returned stop waits for a current
 * run.
 */
function repeat(task: () => Promise<void>, onError: (error: Error) => void): () => Promise<void> {
  let running = Promise.resolve();
  let isIdle = true;
  const timer = setInterval(() => {
    if (!isIdle) return;
    isIdle = false;
    running = task()
      .catch(onError)
      .finally(() => (isIdle = true));
  }, WATCH_INTERVAL_MS);
  timer.unref();
  return async () => {
    clearInterval(timer);
    await running;
  };
}

/**
 * Makes this process the only owner of a data directory and returns the release. Throws while another owner lives; the
 * lock of a dead one is taken over.
 */
async function lockDataDir(dataDir: string): Promise<() => Promise<void>> {
  const refusal = (pid: number) =>
    new Error(`${dataDir} is in use by another Spotcheck (process ${pid}): stop it first, or set another DATA_DIR`);
  return await lockExclusively(join(dataDir, 'owner.json'), refusal);
}

/** Returns a port of 127.0.0.1 that is currently free. */
export async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('the system gave no free port on 127.0.0.1');
  return address.port;
}
