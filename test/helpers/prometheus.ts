import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findFreePort } from '../../cli/embedded-postgres/start.ts';
import type { Harness } from './harness.ts';
import { until } from './until.ts';

const PROGRAM = 'prometheus';

type Sample = { metric: Record<string, string>; value: [number, string] };

/** Returns the current samples of an expression. */
export type PrometheusQuery = (expression: string) => Promise<Sample[]>;

/** Reports whether Debian's `prometheus` is installed. */
export function isPrometheusInstalled(): boolean {
  return spawnSync(PROGRAM, ['--version']).status === 0;
}

/** Returns the documented scrape configuration for an account's metrics. */
export function accountScrape({ url, token }: { url: string; token: string }): object {
  return {
    job_name: 'spotcheck',
    honor_labels: true,
    metrics_path: '/v1/metrics',
    authorization: { credentials: token },
    static_configs: [{ targets: [new URL(url).host] }],
  };
}

/** Starts a Prometheus with these entries of `scrape_configs`; it stops with the harness. */
export async function startPrometheus(
  harness: Pick<Harness, 'teardown'>,
  { scrapes, everySeconds }: { scrapes: readonly object[]; everySeconds: number },
): Promise<PrometheusQuery> {
  const folder = mkdtempSync(join(tmpdir(), 'spotcheck-prometheus-'));
  harness.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const every = `${everySeconds}s`;
  const config = { global: { scrape_interval: every, scrape_timeout: every }, scrape_configs: scrapes };
  // JSON is a subset of YAML.
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

/** Dashboards in `deploy/grafana/`. */
type Dashboard = 'monitors' | 'probe' | 'service';

/** Waits until each query of a dashboard's panels and variables has data, for every value of its filters. */
export async function awaitDashboard(query: PrometheusQuery, dashboard: Dashboard): Promise<void> {
  await awaitSamples(query, readQueries(dashboard));
}

/** Waits until each expression has data. Prometheus stores nothing of a scrape that exceeds its interval. */
export async function awaitSamples(query: PrometheusQuery, expressions: readonly string[]): Promise<void> {
  let silent = expressions;
  const ask = async () => {
    const answers = await Promise.all(expressions.map(query));
    silent = expressions.filter((_, index) => answers[index]?.every(({ value }) => value[1] === 'NaN') !== false);
    return silent.length === 0;
  };
  await until(ask).catch(() => {
    throw new Error(`no data for ${silent.join('\n')}`);
  });
}

function readQueries(dashboard: Dashboard): string[] {
  const file = new URL(`../../deploy/grafana/${dashboard}.json`, import.meta.url);
  const { panels, templating } = JSON.parse(readFileSync(file, 'utf8')) as {
    panels: { targets: { expr: string }[] }[];
    templating: { list: { definition?: string }[] };
  };
  const variables = templating.list.map(({ definition }) => /^label_values\((.+), \w+\)$/.exec(definition ?? '')?.[1]);
  return [...panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)), ...variables]
    .filter((text) => text !== undefined)
    .map((text) => text.replaceAll(/\$__(?:rate_interval|range)\b/g, '1m').replaceAll(/\$\w+/g, '.*'));
}
