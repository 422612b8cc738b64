import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { endedPeriods } from '../core/statistics/reports/periods.ts';
import { DAY_MS } from '../core/time.ts';
import { createTenant } from '../models/accounts/tenants.ts';
import { createIdSource } from '../models/secrets/ids.ts';
import { runOn } from '../models/sql.ts';
import { rolledUntilMs } from '../models/statistics/rollups.ts';
import { readStatistics } from '../models/statistics/statistics.ts';
import { makeReport } from '../workers/statistics/reports.ts';
import type { BenchContext } from './benchmark.ts';
import { median, percentile } from './figures.ts';
import { fillWithOutages } from './harness/history.ts';
import { startInstallation, type Installation } from './harness/installation.ts';
import { addMonitors } from './harness/monitors.ts';
import { fillWithRollups } from './harness/rollups.ts';
import { startProcess, type Service } from './harness/running-service.ts';
import { readable } from './report.ts';

const MONITORS = 10_000;
const DAYS = 90;

/** Number of monitors of the account that the report is made for. */
const REPORTED = 1000;

/** Bounds of single calls in milliseconds, and of a report in seconds. */
const STATS_MS = 10;
const OVERVIEW_MS = 150;
const REPORT_SECONDS = 5;

/** Calls per round, below the rate limit of a token. */
const CALLS = 500;
const OVERVIEWS = 20;

/**
 * Measures statistics over 90 days of roll-ups of 10,000 monitors. One monitor by the model and by the API, all in the
 * overview, and a month's report of 1,000.
 */
export async function statistics({ isQuick, report, withHarness }: BenchContext): Promise<void> {
  await withHarness(async (harness) => {
    const installation = await startInstallation(harness, 'redis');
    const { database } = installation;
    const run = runOn(database.pool);
    const monitors = isQuick ? MONITORS / 10 : MONITORS;
    await addMonitors(installation, {
      count: monitors + REPORTED,
      intervalSeconds: 60,
      targets: ['http://127.0.0.1/m/'],
      downAfterFailures: 1,
    });
    await createTenant(database, {
      id: 'ten_reported',
      name: 'reported',
      plan: 'pro',
      nowMs: Date.now(),
      author: null,
    });
    await run(`UPDATE monitors SET tenant_id = 'ten_reported' WHERE no > $1`, [monitors]);
    const untilMs = Math.floor(Date.now() / DAY_MS) * DAY_MS;
    await fillWithOutages(database, { days: DAYS, untilMs });
    await fillWithRollups(database, { monitors: monitors + REPORTED, days: DAYS, untilMs });
    // Gigabytes were just written: pending disk writes would distort the measured reads.
    await promisify(execFile)('sync');
    const [size] = await run<{ hourly: number; daily: number }>(
      `SELECT (SELECT sum(pg_total_relation_size(inhrelid)) FROM pg_inherits
       WHERE inhparent = 'hourly_rollups'::regclass)::bigint AS hourly,
              (SELECT sum(pg_total_relation_size(inhrelid)) FROM pg_inherits
                WHERE inhparent = 'daily_rollups'::regclass)::bigint AS daily`,
    );
    report.figure(
      `${DAYS} days of ${readable(monitors + REPORTED)} monitors take ${readable((size?.hourly ?? 0) / 2 ** 20)} ` +
        `MB by hour and ${readable((size?.daily ?? 0) / 2 ** 20)} MB by day`,
    );

    const span = { fromMs: untilMs - DAYS * DAY_MS, toMs: untilMs, nowMs: Date.now() };
    const monitorNos = Array.from({ length: CALLS }, (_, call) => 1 + ((call * 7919) % monitors));
    const model = await timesOf(monitorNos, async (monitorNo) =>
      readStatistics(database, {
        monitorNo,
        ...span,
        stepMs: DAY_MS,
        rolledMs: await rolledUntilMs(runOn(database.pool)),
      }),
    );
    bind(report, {
      name: `${DAYS} days of one monitor and its series by day, by the model`,
      times: model,
      atMost: STATS_MS,
    });

    const web = await startProcess(harness, 'web', installation.env);
    const ids = new Map(
      (await run<{ no: number; id: string }>('SELECT no, id FROM monitors')).map(({ no, id }) => [no, id]),
    );
    const path = (no: number): string =>
      `/v1/monitors/${ids.get(no)}/stats?from=${span.fromMs / 1000}&to=${span.toMs / 1000}&resolution=day`;
    const api = await timesOf(monitorNos, (no) => get(installation, web, path(no)));
    bind(report, { name: `${DAYS} days of one monitor by the API`, times: api, atMost: STATS_MS });
    const overviews = await timesOf(monitorNos.slice(0, OVERVIEWS), () => get(installation, web, '/v1/overview'));
    bind(report, { name: `the overview of ${readable(monitors)} monitors`, times: overviews, atMost: OVERVIEW_MS });

    const window = endedPeriods(Date.now()).findLast(({ period }) => period === 'month');
    if (window === undefined) throw new Error('No month has ended');
    const startedAt = performance.now();
    const { isMade } = await makeReport(
      { database, newId: createIdSource(), publicUrl: 'http://localhost:3000' },
      { tenantId: 'ten_reported', window, nowMs: Date.now(), isNotified: false },
    );
    if (!isMade) throw new Error('No report was made');
    report.bound({
      name: `a month's report of ${readable(REPORTED)} monitors`,
      value: (performance.now() - startedAt) / 1000,
      unit: ' s',
      atMost: REPORT_SECONDS,
    });
  });
}

/** Returns the duration of each call in milliseconds, one after the other; the first fifth warms up. */
async function timesOf<Item>(items: readonly Item[], call: (item: Item) => Promise<unknown>): Promise<number[]> {
  const times: number[] = [];
  for (const item of items) {
    const startedAt = performance.now();
    await call(item);
    times.push(performance.now() - startedAt);
  }
  return times.slice(Math.ceil(items.length / 5));
}

function bind(
  report: BenchContext['report'],
  { name, times, atMost }: { name: string; times: readonly number[]; atMost: number },
): void {
  report.figure(`${name}: p50 ${readable(median(times))} ms, p99 ${readable(percentile(times, 0.99))} ms`);
  report.bound({ name: `${name}, p50`, value: median(times), unit: ' ms', atMost });
}

async function get({ token }: Installation, { url }: Service, path: string): Promise<void> {
  const response = await fetch(`${url}${path}`, { headers: { authorization: `Bearer ${token}` } });
  const body = await response.text();
  if (response.status !== 200) throw new Error(`${path} was answered with ${response.status}: ${body}`);
}
