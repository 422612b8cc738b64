import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { EXPOSITION_TYPE } from '../core/statistics/prometheus-metrics.ts';
import type { Harness } from '../test/helpers/harness.ts';
import { cpuSecondsOf } from '../test/helpers/process-tree.ts';
import {
  accountScrape,
  isPrometheusInstalled,
  startPrometheus,
  type PrometheusQuery,
} from '../test/helpers/prometheus.ts';
import { until } from '../test/helpers/until.ts';
import type { BenchContext } from './benchmark.ts';
import { median } from './figures.ts';
import { startInstallation } from './harness/installation.ts';
import { addMonitors } from './harness/monitors.ts';
import { startService } from './harness/running-service.ts';
import { startTarget } from './harness/target.ts';
import { readable } from './report.ts';

const MONITORS = 10_000;
const SCRAPED_EVERY_SECONDS = 15;

/**
 * Bounds of a scrape as Prometheus measures it, and of the cost of scrapes. The first scrape is compared with one of
 * the same text from a static server; PostgreSQL's CPU counts too.
 */
const SCRAPE_SECONDS = 2;
const FIRST_TIMES_STATIC = 2;
const CPU_PERCENT = 5;

/** Time for the first checks of the monitors, all of which are due within a minute. */
const SETTLED_MS = 75_000;

/** Measures how long Prometheus takes to scrape 10,000 checked monitors of an account every 15 s, and what it costs. */
export async function metrics({ isQuick, report, withHarness }: BenchContext): Promise<void> {
  if (!isPrometheusInstalled()) {
    report.figure('left out: prometheus is not installed');
    return;
  }
  await withHarness(async (harness) => {
    const installation = await startInstallation(harness, 'postgres');
    const { urls } = await startTarget(harness);
    await addMonitors(installation, { count: MONITORS, intervalSeconds: 60, targets: urls, downAfterFailures: 2 });
    const service = await startService(harness, installation.env);
    const pids = [service.program.pid, installation.postgresPid];
    await delay(SETTLED_MS);
    const windowMs = (isQuick ? 2 : 4) * SCRAPED_EVERY_SECONDS * 1000;
    const percentOfCore = async () => {
      const before = await cpuSecondsOf(pids);
      await delay(windowMs);
      return (((await cpuSecondsOf(pids)) - before) / (windowMs / 1000)) * 100;
    };
    const without: number[] = [];
    const during: number[] = [];
    const seconds: number[] = [];
    const firstTimesStatic: number[] = [];
    for (let round = 0; round < (isQuick ? 2 : 3); round += 1) {
      without.push(await percentOfCore());
      await withHarness(async (scraping) => {
        const query = await startPrometheus(scraping, {
          scrapes: [accountScrape({ url: service.url, token: installation.token })],
          everySeconds: SCRAPED_EVERY_SECONDS,
        });
        // The first scrape finds no snapshot, and Prometheus makes its series.
        const first = await firstScrape(query);
        const copy = await copyOf(scraping, { url: service.url, token: installation.token });
        const ofCopy = await withHarness(
          async (copied) =>
            await firstScrape(
              await startPrometheus(copied, { scrapes: [accountScrape(copy)], everySeconds: SCRAPED_EVERY_SECONDS }),
            ),
        );
        firstTimesStatic.push(first / ofCopy);
        during.push(await percentOfCore());
        const [longest] = await query(`max_over_time(scrape_duration_seconds[${windowMs}ms])`);
        const [samples] = await query('scrape_samples_scraped');
        seconds.push(Number(longest?.value[1]));
        report.figure(
          `a scrape has ${readable(Number(samples?.value[1]))} samples; the first took ${readable(first)} s, and ` +
            `${readable(ofCopy)} s from a static server`,
        );
      });
      // The snapshot is dropped two minutes after the last scrape.
      await delay(130_000);
    }
    const costs = median(during) - median(without);
    report.figure(
      `${readable(median(without))} % of a core without scrapes and ${readable(median(during))} % with them, ` +
        `by rounds: ${without.map(readable).join(' ')} and ${during.map(readable).join(' ')}`,
    );
    report.bound({
      name: 'the first scrape to one of a static server',
      value: median(firstTimesStatic),
      unit: ' times',
      atMost: FIRST_TIMES_STATIC,
    });
    report.bound({
      name: 'a later scrape, the longest',
      value: Math.max(...seconds),
      unit: ' s',
      atMost: SCRAPE_SECONDS,
    });
    report.bound({ name: 'CPU of scrapes', value: costs, unit: ' % of a core', atMost: CPU_PERCENT });
  });
}

/** Returns the duration of the first scrape, in seconds, once there is one. */
async function firstScrape(query: PrometheusQuery): Promise<number> {
  return await until(async () => {
    const [seconds] = await query('scrape_duration_seconds');
    return Number(seconds?.value[1] ?? 0);
  });
}

/** Serves the current content of a scrape from memory, compressed as received. */
async function copyOf(
  harness: Pick<Harness, 'teardown'>,
  { url, token }: { url: string; token: string },
): Promise<{ url: string; token: string }> {
  const headers = { authorization: `Bearer ${token}` };
  const response = await fetch(`${url}/v1/metrics`, { headers });
  const page = gzipSync(await response.text(), { level: 1 });
  const server = createServer((_, answer) => {
    answer.setHeader('Content-Type', EXPOSITION_TYPE).setHeader('Content-Encoding', 'gzip').end(page);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  harness.teardown(() => void server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, token };
}
