import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Harness } from './harness.ts';
import { testDataDirectory } from './test-servers.ts';
import { until } from './until.ts';

/** Base path of the console in a second run of its tests: `npm run test:base-path`. */
export const CONSOLE_BASE_PATH = process.env['CONSOLE_BASE_PATH'] ?? '';

/** Name of the session cookie over http, which contains the path. */
export const SESSION_COOKIE = `spotcheck${CONSOLE_BASE_PATH.replaceAll('/', '-')}`;

/** Debian's path; without nginx the tests behind it are skipped. */
const PROGRAM = '/usr/sbin/nginx';

/** nginx configuration as in docs/operations.md, with one server for each way to pass a path on. */
const CONFIGURATION = `
daemon off;
worker_processes 1;
pid <folder>/nginx.pid;
error_log <folder>/error.log;
events {}
http {
  access_log off;
  client_body_temp_path <folder>/body;
  proxy_temp_path <folder>/proxy;
  fastcgi_temp_path <folder>/fastcgi;
  uwsgi_temp_path <folder>/uwsgi;
  scgi_temp_path <folder>/scgi;
  server {
    listen 127.0.0.1:<port>;
    location = <path> { return 308 <path>/; }
    location <path>/ {
      proxy_pass <upstream>;
      proxy_http_version 1.1;
      proxy_set_header Host $http_host;
      proxy_buffering off;
      proxy_read_timeout 1h;
    }
  }
}
`;

export function isNginxInstalled(): boolean {
  return existsSync(PROGRAM);
}

/**
 * Starts nginx on a port of 127.0.0.1. It forwards requests below the path to the upstream unchanged; to an upstream
 * that ends with a slash, without the path.
 */
export async function startNginx(
  t: Harness,
  { port, path, upstream }: { port: number; path: string; upstream: string },
): Promise<void> {
  const folder = await mkdtemp(join(testDataDirectory(), 'spotcheck-nginx-'));
  t.teardown(() => rm(folder, { recursive: true, force: true, maxRetries: 10 }));
  const configuration = join(folder, 'nginx.conf');
  const values: Record<string, string> = { folder, path, upstream, port: String(port) };
  await writeFile(
    configuration,
    CONFIGURATION.replaceAll(/<(\w+)>/g, (_, name: string) => values[name] ?? ''),
  );
  const nginx = spawn(PROGRAM, ['-c', configuration, '-p', folder], { stdio: 'ignore' });
  t.teardown(() => void nginx.kill('SIGQUIT'));
  await until(
    () =>
      fetch(`http://127.0.0.1:${port}/`).then(
        () => true,
        () => false,
      ),
    { timeoutMs: 60_000 },
  );
}
