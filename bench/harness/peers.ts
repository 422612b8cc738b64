import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readdir, stat, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { findFreePort } from '../../cli/embedded-postgres/start.ts';
import type { Harness } from '../../test/helpers/harness.ts';
import { temporaryFolder } from '../../test/helpers/temporary-folder.ts';
import { until } from '../../test/helpers/until.ts';
import { forkChild } from './child.ts';
import { startInstallation } from './installation.ts';
import { addMonitors } from './monitors.ts';
import { startService } from './running-service.ts';

/** Targets that are checked once a second each. */
type Work = { targets: readonly string[]; perSecond: number };

/**
 * A running service: its processes, without those that only drive it, and the bytes on disk where it stores results.
 */
type AtWork = { pids: readonly number[]; storedBytes: (() => Promise<number>) | null };

/** A service that can be measured; `findProblem` returns the reason why it cannot run here, or null. */
export type Peer = {
  name: string;
  findProblem: () => string | null;
  start: (harness: Harness, work: Work) => Promise<AtWork>;
};

const STARTS_WITHIN_MS = 60_000;
const STOPS_WITHIN_MS = 10_000;

const BLACKBOX = findProgram(process.env['BLACKBOX_EXPORTER'] ?? 'prometheus-blackbox-exporter');
const GATUS = findProgram(process.env['GATUS'] ?? 'gatus');
const KUMA = process.env['UPTIME_KUMA_DIR'] ?? '';

/** Spotcheck first, then its peers. */
export const PEERS: readonly Peer[] = [
  { name: 'Spotcheck, PostgreSQL alone', findProblem: () => null, start: startSpotcheck },
  {
    name: 'blackbox_exporter, only probing',
    findProblem: () => (BLACKBOX === null ? 'it is not installed (BLACKBOX_EXPORTER is its path)' : null),
    start: startBlackbox,
  },
  ...(['memory', 'sqlite'] as const).map((type) => ({
    name: type === 'memory' ? 'Gatus, in memory' : 'Gatus, SQLite',
    findProblem: () => (GATUS === null ? 'it is not installed (GATUS is its path)' : null),
    start: (harness: Harness, work: Work) => startGatus(harness, work, type),
  })),
  {
    name: 'Uptime Kuma, SQLite',
    findProblem: () =>
      existsSync(join(KUMA, 'server/server.js')) && KUMA !== ''
        ? null
        : 'it is not installed (UPTIME_KUMA_DIR is its folder)',
    start: startUptimeKuma,
  },
];

async function startSpotcheck(harness: Harness, { targets, perSecond }: Work): Promise<AtWork> {
  const installation = await startInstallation(harness, 'postgres');
  // Each monitor appends its own path to the address that it is given.
  const addresses = [...new Set(targets.map((target) => target.replace(/\d+$/, '')))];
  const settings = { count: perSecond, intervalSeconds: 1, targets: addresses, downAfterFailures: 2 };
  await addMonitors(installation, settings);
  const service = await startService(harness, installation.env);
  const storedBytes = async () => {
    const { rows } = await installation.database.pool.query<{ bytes: string }>(
      'SELECT pg_database_size(current_database()) AS bytes',
    );
    return Number(rows[0]?.bytes);
  };
  return { pids: [service.program.pid, installation.postgresPid], storedBytes };
}

/**
 * Starts the Blackbox exporter, which has no schedule: a loop in this process requests each probe, and is not counted.
 */
async function startBlackbox(harness: Harness, { targets, perSecond }: Work): Promise<AtWork> {
  const config = join(await temporaryFolder(harness), 'blackbox.yml');
  const http = { preferred_ip_protocol: 'ip4', valid_status_codes: [200] };
  await writeFile(config, JSON.stringify({ modules: { http_2xx: { prober: 'http', timeout: '5s', http } } }));
  const port = await findFreePort();
  const child = await startPeer(harness, {
    command: [BLACKBOX ?? '', `--config.file=${config}`, `--web.listen-address=127.0.0.1:${port}`, '--log.level=error'],
    url: `http://127.0.0.1:${port}/-/healthy`,
  });
  const addresses = [...new Set(targets.map((target) => target.replace(/\d+$/, '')))];
  const urls = addresses.map((address) => `http://127.0.0.1:${port}/probe?module=http_2xx&target=${address}`);
  await forkChild(harness, 'bare-loop', { urls, perSecond });
  return { pids: pidsOf(child), storedBytes: null };
}

async function startGatus(harness: Harness, { targets }: Work, type: 'memory' | 'sqlite'): Promise<AtWork> {
  const folder = await temporaryFolder(harness);
  const config = join(folder, 'config.yaml');
  const port = await findFreePort();
  const endpoints = targets.map((url, n) => ({
    name: `monitor-${n}`,
    url,
    interval: '1s',
    conditions: ['[STATUS] == 200'],
  }));
  const storage = type === 'memory' ? { type } : { type, path: join(folder, 'data.db') };
  await writeFile(
    config,
    JSON.stringify({
      web: { address: '127.0.0.1', port },
      storage,
      'disable-monitoring-lock': true,
      endpoints,
    }),
  );
  const child = await startPeer(harness, {
    command: [GATUS ?? ''],
    env: { GATUS_CONFIG_PATH: config, GATUS_LOG_LEVEL: 'ERROR' },
    url: `http://127.0.0.1:${port}/health`,
  });
  return { pids: pidsOf(child), storedBytes: type === 'memory' ? null : () => sizeOf(folder) };
}

/**
 * Starts Uptime Kuma, whose first start creates the database; monitors are written into it, because it has no API to
 * create them.
 */
async function startUptimeKuma(harness: Harness, { targets }: Work): Promise<AtWork> {
  const folder = await temporaryFolder(harness);
  const port = await findFreePort();
  const program = {
    command: [process.execPath, 'server/server.js'],
    cwd: KUMA,
    env: {
      DATA_DIR: `${folder}/`,
      UPTIME_KUMA_DB_TYPE: 'sqlite',
      UPTIME_KUMA_HOST: '127.0.0.1',
      UPTIME_KUMA_PORT: String(port),
      NODE_ENV: 'production',
    },
    url: `http://127.0.0.1:${port}/`,
  };
  const first = await startPeer(harness, program);
  await stopProcess(first);
  const database = new DatabaseSync(join(folder, 'kuma.db'));
  const insert = database.prepare(
    `INSERT INTO monitor (name, active, interval, retry_interval, timeout, url, type)
     VALUES (?, 1, 1, 1, 5, ?, 'http')`,
  );
  for (const [n, url] of targets.entries()) insert.run(`Monitor ${n}`, url);
  database.close();
  return { pids: pidsOf(await startPeer(harness, program)), storedBytes: () => sizeOf(folder) };
}

type PeerProgram = { command: readonly string[]; url: string; env?: Record<string, string>; cwd?: string };

/** Starts a program, and waits until one of its URLs answers. */
async function startPeer(harness: Harness, { command, url, env = {}, cwd }: PeerProgram): Promise<ChildProcess> {
  const [program = '', ...args] = command;
  const child = spawn(program, args, {
    env: { PATH: process.env['PATH'] ?? '', HOME: process.env['HOME'] ?? '', ...env },
    stdio: 'ignore',
    ...(cwd !== undefined && { cwd }),
  });
  const failed = new Promise<never>((_resolve, reject) => child.once('error', reject));
  harness.teardown(() => stopProcess(child));
  const answers = () =>
    fetch(url).then(
      ({ status }) => status < 500,
      () => false,
    );
  await Promise.race([failed, until(answers, { timeoutMs: STARTS_WITHIN_MS, intervalMs: 200 })]);
  return child;
}

function pidsOf({ pid }: ChildProcess): number[] {
  return pid === undefined ? [] : [pid];
}

async function stopProcess(child: ChildProcess): Promise<void> {
  const hasEnded = () => child.exitCode !== null || child.signalCode !== null;
  if (hasEnded()) return;
  child.kill('SIGTERM');
  await until(hasEnded, { timeoutMs: STOPS_WITHIN_MS }).catch(() => child.kill('SIGKILL'));
}

async function sizeOf(folder: string): Promise<number> {
  const files = await readdir(folder, { recursive: true });
  const sizes = await Promise.all(files.map((file) => stat(join(folder, file)).catch(() => null)));
  return sizes.reduce((sum, found) => sum + (found?.isFile() === true ? found.size : 0), 0);
}

/** Returns the path of a program: as given, or in the folders of PATH; null if it is not found. */
function findProgram(name: string): string | null {
  const folders = name.includes('/') ? [''] : (process.env['PATH'] ?? '').split(delimiter);
  return folders.map((folder) => join(folder, name)).find((path) => existsSync(path)) ?? null;
}
