import { setTimeout as delay } from 'node:timers/promises';
import { cpuSecondsOf } from '../test/helpers/process-tree.ts';
import { isPrometheusInstalled, startPrometheus } from '../test/helpers/prometheus.ts';
import type { BenchContext } from './benchmark.ts';
import { median } from './figures.ts';
import { startInstallation } from './harness/installation.ts';
import { addMonitors } from './harness/monitors.ts';
import { startService } from './harness/running-service.ts';
import { startTarget } from './harness/target.ts';
import { readable } from './report.ts';

const MONITORS = 10_000;
const SCRAPED_EVERY_SECONDS = 15;

/** Bounds of a scrape as Prometheus measures it, and of what scrapes cost, PostgreSQL included. */
const SCRAPE_SECONDS = 2;
const CPU_PERCENT = 5;

/** The first checks of the monitors, of which all are due within a minute. */
const SETTLED_MS = 75_000;

/** Prometheus scrapes 10,000 checked monitors of an account every 15 s: how long it takes, and what it costs more. */
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
    for (let round = 0; round < (isQuick ? 2 : 3); round += 1) {
      without.push(await percentOfCore());
      await withHarness(async (scraping) => {
        const query = await startPrometheus(scraping, {
          url: service.url,
          token: installation.token,
          everySeconds: SCRAPED_EVERY_SECONDS,
        });
        // The first scrape finds no snapshot.
        await delay(SCRAPED_EVERY_SECONDS * 1000);
        during.push(await percentOfCore());
        const [longest] = await query(`max_over_time(scrape_duration_seconds[${windowMs + 15_000}ms])`);
        const [samples] = await query('scrape_samples_scraped');
        seconds.push(Number(longest?.value[1]));
        report.figure(`a scrape has ${readable(Number(samples?.value[1]))} samples`);
      });
      // Its snapshot is dropped two minutes after the last scrape.
      await delay(130_000);
    }
    const costs = median(during) - median(without);
    report.figure(
      `${readable(median(without))} % of a core without scrapes and ${readable(median(during))} % with them, ` +
        `by rounds: ${without.map(readable).join(' ')} and ${during.map(readable).join(' ')}`,
    );
    report.bound({ name: 'a scrape, the longest', value: Math.max(...seconds), unit: ' s', atMost: SCRAPE_SECONDS });
    report.bound({ name: 'CPU of scrapes', value: costs, unit: ' % of a core', atMost: CPU_PERCENT });
  });
}
