import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findFreePort } from '../../cli/embedded-postgres/start.ts';
import type { Harness } from './harness.ts';
import { until } from './until.ts';

const PROGRAM = 'prometheus';

type Sample = { metric: Record<string, string>; value: [number, string] };

/** What a Prometheus knows now of an expression. */
export type PrometheusQuery = (expression: string) => Promise<Sample[]>;

/** Whether Debian's `prometheus` is here. */
export function isPrometheusInstalled(): boolean {
  return spawnSync(PROGRAM, ['--version']).status === 0;
}

/** Starts one that scrapes an account's metrics as the documentation says; it ends with the harness. */
export async function startPrometheus(
  harness: Pick<Harness, 'teardown'>,
  { url, token, everySeconds }: { url: string; token: string; everySeconds: number },
): Promise<PrometheusQuery> {
  const folder = mkdtempSync(join(tmpdir(), 'spotcheck-prometheus-'));
  harness.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const config = {
    scrape_configs: [
      {
        job_name: 'spotcheck',
        scrape_interval: `${everySeconds}s`,
        scrape_timeout: `${everySeconds}s`,
        honor_labels: true,
        metrics_path: '/v1/metrics',
        authorization: { credentials: token },
        static_configs: [{ targets: [new URL(url).host] }],
      },
    ],
  };
  // JSON is YAML.
  writeFileSync(join(folder, 'prometheus.yml'), JSON.stringify(config));
  const port = await findFreePort();
  const address = `127.0.0.1:${port}`;
  const options = ['--config.file=prometheus.yml', '--storage.tsdb.path=data', `--web.listen-address=${address}`];
  const program = spawn(PROGRAM, options, { cwd: folder, stdio: 'ignore' });
  harness.teardown(() => void program.kill('SIGKILL'));
  await until(() =>
    fetch(`http://${address}/-/ready`).then(
      ({ ok }) => ok,
      () => false,
    ),
  );
  return async (expression) => {
    const body = new URLSearchParams({ query: expression });
    const response = await fetch(`http://${address}/api/v1/query`, { method: 'POST', body });
    return ((await response.json()) as { data: { result: Sample[] } }).data.result;
  };
}
