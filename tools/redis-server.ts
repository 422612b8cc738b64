import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { findFreePort } from '../cli/embedded-postgres/start.ts';

export type RedisServer = { url: string; port: number; pid: number; stop: (signal?: NodeJS.Signals) => Promise<void> };

/** Options of a server: more arguments, the folder of its files, and the line that reports that it is ready. */
export type RedisKind = {
  port?: number;
  args?: readonly string[];
  folder?: string;
  isSentinel?: boolean;
  tls?: TlsFiles;
};

/** A certificate, its key and their authority, as files; the server then speaks TLS only. */
export type TlsFiles = { cert: string; key: string; ca: string };

/**
 * Starts a Redis without persistence for tests, on a free port unless one is given; null if redis-server is not
 * installed. It shares the process group of its parent, and ends with it.
 */
export async function startRedis({
  port: givenPort,
  args = [],
  folder = '/',
  isSentinel = false,
  tls,
}: RedisKind = {}): Promise<RedisServer | null> {
  const port = givenPort ?? (await findFreePort());
  const plain = [
    '--bind',
    '127.0.0.1',
    '--port',
    `${port}`,
    '--save',
    '',
    '--appendonly',
    'no',
    '--maxmemory-policy',
    'noeviction',
    '--daemonize',
    'no',
  ];
  const secure =
    tls === undefined
      ? []
      : [
          '--port',
          '0',
          '--tls-port',
          `${port}`,
          '--tls-cert-file',
          tls.cert,
          '--tls-key-file',
          tls.key,
          '--tls-ca-cert-file',
          tls.ca,
          '--tls-auth-clients',
          'no',
        ];
  const child = spawn('redis-server', isSentinel ? args : [...plain, ...secure, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
    cwd: folder,
  });
  const isThere = await new Promise<boolean>((resolve, reject) => {
    child.once('spawn', () => resolve(true));
    child.once('error', (error: NodeJS.ErrnoException) => (error.code === 'ENOENT' ? resolve(false) : reject(error)));
  });
  if (!isThere) return null;
  const exited = once(child, 'exit');
  await awaitLine(child.stdout, isSentinel ? /Sentinel ID is/ : /Ready to accept connections/);
  child.stdout.resume();
  const stop = async (signal: NodeJS.Signals = 'SIGTERM') => {
    child.kill(signal);
    await exited;
  };
  return { url: `${tls === undefined ? 'redis' : 'rediss'}://127.0.0.1:${port}`, port, pid: child.pid ?? 0, stop };
}

async function awaitLine(stream: NodeJS.ReadableStream, pattern: RegExp): Promise<void> {
  const lines: string[] = [];
  for await (const line of createInterface({ input: stream })) {
    if (pattern.test(line)) return;
    lines.push(line);
  }
  throw new Error(`redis-server did not start:\n${lines.slice(-5).join('\n')}`);
}
