import { cpuSecondsOf } from '../test/helpers/process-tree.ts';
import type { BenchContext } from './benchmark.ts';
import { median } from './figures.ts';
import { spreadOverAccounts } from './harness/accounts.ts';
import { forkChild } from './harness/child.ts';
import { startInstallation } from './harness/installation.ts';
import { addMonitors } from './harness/monitors.ts';
import { startProcess } from './harness/running-service.ts';
import { startTarget } from './harness/target.ts';
import { readable } from './report.ts';

const MONITORS = 20_000;

/** A rate so low that each request is processed alone. */
const CALM_RATE = 200;

/** A rate above capacity, at which waiting requests are processed together. */
const FULL_RATE = 600;

/** Bound of the CPU per request over all processes, in microseconds: at 500 a second they have one core. */
const REQUEST_US = 2000;

type Answers = { statuses: Record<string, number>; unsent: number; kinds: string[] };

/**
 * Measures the CPU per request of `fleet`'s customer mix in each process, then of each kind alone. It measures CPU
 * instead of time, so that it works on a busy machine.
 */
export async function mixed({ isQuick, report, withHarness }: BenchContext): Promise<void> {
  await withHarness(async (harness) => {
    const installation = await startInstallation(harness, 'redis');
    const target = await startTarget(harness);
    await addMonitors(installation, {
      count: MONITORS,
      intervalSeconds: 60,
      targets: target.urls,
      downAfterFailures: 2,
    });
    const accounts = await spreadOverAccounts(installation, { monitors: MONITORS, accounts: 100, tokensEach: 4 });
    const web = await startProcess(harness, 'web', installation.env);
    const customers = await forkChild<null>(harness, 'mixed-load', {
      url: web.url,
      accounts,
      perSecond: CALM_RATE,
      target: target.urls[0],
    });
    const [postgresPid = 0, redisPid = 0] = installation.serverPids;
    const pids = { web: web.program.pid, PostgreSQL: postgresPid, Redis: redisPid, customers: customers.pid };

    const { kinds } = await customers.ask<Answers>({ seconds: isQuick ? 5 : 20 });
    const rounds = [];
    for (let round = 0; round < (isQuick ? 3 : 5); round += 1) {
      for (const perSecond of [CALM_RATE, FULL_RATE]) {
        const us = await measure(`the mix at ${perSecond}/s`, { seconds: isQuick ? 5 : 10, perSecond });
        if (perSecond === FULL_RATE) rounds.push(us);
      }
    }
    report.bound({
      name: `CPU of a request of the mix at ${FULL_RATE}/s, the median of ${rounds.length} rounds`,
      value: median(rounds),
      unit: ' us',
      atMost: REQUEST_US,
    });
    if (!isQuick) for (const only of kinds) await measure(only, { seconds: 5, only });

    async function measure(
      name: string,
      what: { seconds: number; only?: string; perSecond?: number },
    ): Promise<number> {
      const before = await cpuOf();
      const { statuses, unsent } = await customers.ask<Answers>(what);
      const after = await cpuOf();
      const { '2xx': answered = 0, ...refused } = statuses;
      const costs = Object.keys(pids).map(
        (process) => [process, (((after[process] ?? 0) - (before[process] ?? 0)) * 1e6) / answered] as const,
      );
      const total = costs.reduce((sum, [, us]) => sum + us, 0);
      report.figure(
        `${name}: ${readable(total)} us of CPU a request ` +
          `(${costs.map(([process, us]) => `${process} ${readable(us)}`).join(', ')}); ` +
          `${JSON.stringify(statuses)}, ${unsent} not sent`,
      );
      if (Object.keys(refused).length > 0) throw new Error(`Requests were refused: ${JSON.stringify(refused)}`);
      return total;
    }

    async function cpuOf(): Promise<Record<string, number>> {
      return Object.fromEntries(
        await Promise.all(
          Object.entries(pids).map(async ([process, pid]) => [process, await cpuSecondsOf([pid])] as const),
        ),
      );
    }
  });
}
