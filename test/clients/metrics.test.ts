import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import test from 'ava';
import { findKeptPort } from '../../tools/kept-port.ts';
import { isInstalled } from '../helpers/command.ts';
import { startHttpServer } from '../helpers/http-server.ts';
import { ROOT } from '../helpers/program.ts';
import { awaitDashboard, isPrometheusInstalled, startPrometheus } from '../helpers/prometheus.ts';
import { newPreparedDataDir, startService } from '../helpers/running-service.ts';

const suffix = isInstalled('promtool') ? '' : ' (not installed here, so not run)';

test(`the service exposes exactly the metrics in docs/operations.md, and promtool${suffix} accepts them`, async (t) => {
  const [address, port] = [await startHttpServer(t, (_request, response) => response.end()), await findKeptPort()];
  const { url } = await startService(t, {
    // The canary gives every metric of the dashboard a value.
    PORT: String(port),
    WATCH_URLS: `http://127.0.0.1:${address.port}`,
    WATCH_SECONDS: '5',
    DATA_DIR: await newPreparedDataDir(t),
    // Nothing listens there: OTLP metrics exist only with a collector.
    OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9',
  });
  const metrics = await (await fetch(`${url}/metrics`)).text();

  const shown = [...metrics.matchAll(/^# TYPE (spotcheck_\w+) (\w+)$/gm)].map(([, name, type]) => `${name} ${type}`);
  const page = await readFile(join(ROOT, 'docs', 'operations.md'), 'utf8');
  const documented = [...page.matchAll(/^\| `(spotcheck_\w+)`(?: [wbm])? \| (\w+) \|/gm)].map(
    ([, name, type]) => `${name} ${type}`,
  );
  t.deepEqual(documented.toSorted(), shown.toSorted());

  if (isPrometheusInstalled()) {
    const scrapes = [{ job_name: 'spotcheck', static_configs: [{ targets: [new URL(url).host] }] }];
    await awaitDashboard(await startPrometheus(t, { scrapes, everySeconds: 1 }), 'service');
  }
  if (isInstalled('promtool')) t.deepEqual(await askPromtool(metrics), { status: 0, said: ['', ''] });
});

async function askPromtool(metrics: string): Promise<{ status: number | null; said: string[] }> {
  const promtool = spawn('promtool', ['check', 'metrics'], { stdio: ['pipe', 'pipe', 'pipe'] });
  const ended = new Promise<number | null>((resolve) => promtool.once('close', resolve));
  promtool.stdin.end(metrics);
  const said = await Promise.all([text(promtool.stdout), text(promtool.stderr)]);
  return { status: await ended, said };
}
