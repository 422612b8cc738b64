import { setTimeout as delay } from 'node:timers/promises';
import { cpuSecondsOf } from '../test/helpers/process-tree.ts';
import type { BenchContext } from './benchmark.ts';
import { median } from './figures.ts';
import { addTokens } from './harness/accounts.ts';
import { forkChild } from './harness/child.ts';
import { BACKENDS, startInstallation } from './harness/installation.ts';
import { addMonitors } from './harness/monitors.ts';
import { startProcess } from './harness/running-service.ts';
import { readable } from './report.ts';

const MONITORS = 1000;
const CONNECTIONS = 16;
const WARM_UP_ROUNDS = 2;

/** Enough tokens that none reaches its limit in a round. */
const TOKENS = 400;

/** Least ratio of the API's rate to that of the bare handler. */
const LEAST_RATIO = 0.5;

type Round = { perSecond: number; statuses: Record<string, number> };

/**
 * Compares `GET /v1/monitors/{id}` of the API with a bare Express handler that runs the same query, in turns, loaded by
 * a third process.
 */
export async function api({ isQuick, report, withHarness }: BenchContext): Promise<void> {
  for (const backend of BACKENDS) {
    await withHarness(async (harness) => {
      const installation = await startInstallation(harness, backend);
      await addMonitors(installation, {
        count: MONITORS,
        intervalSeconds: 60,
        targets: ['http://127.0.0.1/m/'],
        downAfterFailures: 2,
      });
      const tokens = await addTokens(installation, TOKENS);
      const web = await startProcess(harness, 'web', installation.env);
      const bare = await forkChild<number>(harness, 'bare-api', {
        databaseUrl: installation.databaseUrl,
        tenantId: installation.tenantId,
      });
      const contestants = [
        {
          name: 'the API',
          url: `${web.url}/v1/monitors/`,
          pid: web.program.pid,
          rates: [] as number[],
          costs: [] as number[],
        },
        {
          name: 'a bare Express handler',
          url: `http://127.0.0.1:${bare.ready}/`,
          pid: bare.pid,
          rates: [] as number[],
          costs: [] as number[],
        },
      ] as const;
      const load = await forkChild<null>(harness, 'api-load', { tokens, connections: CONNECTIONS, monitors: MONITORS });
      const rounds = WARM_UP_ROUNDS + (isQuick ? 3 : 9);
      for (let round = 0; round < rounds; round += 1) {
        for (const { url, pid, rates, costs } of contestants) {
          const before = await cpuSecondsOf([pid]);
          const { perSecond, statuses } = await load.ask<Round>({ url, seconds: isQuick ? 2 : 4 });
          const answered = statuses['200'] ?? 0;
          if (Object.keys(statuses).length !== 1) report.figure(`answers other than 200: ${JSON.stringify(statuses)}`);
          if (round < WARM_UP_ROUNDS) continue;
          rates.push(perSecond);
          costs.push(((await cpuSecondsOf([pid])) - before) / answered);
        }
        await delay(100);
      }
      for (const { name, rates, costs } of contestants) {
        report.figure(
          `${name} with limits counted in ${backend}: ${readable(median(rates))} requests/s, ` +
            `${readable(median(costs) * 1e6)} us of its own CPU each`,
        );
      }
      const [ours, limit] = contestants;
      report.bound({
        name: `a validated read on ${backend}, to the bare handler`,
        value: median(ours.rates) / median(limit.rates),
        unit: ' times',
        atLeast: LEAST_RATIO,
      });
    });
  }
}
