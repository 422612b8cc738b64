import { createIdSource } from '../models/secrets/ids.ts';
import { runOn } from '../models/sql.ts';
import { createEvaluator } from '../workers/incidents/evaluate.ts';
import { planMaintenance, watchMaintenance } from '../workers/maintenance/plan.ts';
import type { BenchContext } from './benchmark.ts';
import { median } from './figures.ts';
import { addChannels, spreadOverAccounts } from './harness/accounts.ts';
import { cpuOf, startInstallation, type Installation } from './harness/installation.ts';
import { fillWithMaintenance } from './harness/maintenance.ts';
import { addMonitors, resultOf } from './harness/monitors.ts';
import { readable } from './report.ts';

const MONITORS = 100_000;
const WINDOWS = 10_000;

/** An account has at most 500 windows. */
const ACCOUNTS = WINDOWS / 500;

const RESULTS_A_ROUND = 10_000;
const BATCH = 500;

/** One result in this many changes a status: only those require a maintenance lookup. */
const CHANGED_ONE_IN = 100;

/** Number of cycles that warm up: in each, some monitors go down, and up again. */
const WARM_UP_CYCLES = 2;

/** Bound of the cost of windows for the evaluator's CPU, PostgreSQL's included, as a factor. */
const MAX_TIMES = 1.02;

/** CPU of the chore, PostgreSQL's included, in milliseconds: a hundredth of the minute between two of its runs. */
const CHORE_MS = 600;

/** Windows that one run of the chore plans, once a day each, and its CPU for that, in seconds. */
const PLANNED_AT_MOST = 1000;
const PLANNING_SECONDS = 10;

/** CPU of a poll for windows that have begun or ended, likewise, in milliseconds. */
const POLL_MS = 25;

/**
 * Measures the cost of 10,000 daily windows over 100,000 monitors, ten each. The evaluator runs with them and without,
 * in turns; the chore of every minute and the poll of every five seconds are timed separately.
 */
export async function maintenance({ isQuick, report, withHarness }: BenchContext): Promise<void> {
  await withHarness(async (harness) => {
    const scale = isQuick ? 10 : 1;
    const without = await prepare(await startInstallation(harness, 'postgres'), MONITORS / scale);
    const having = await prepare(await startInstallation(harness, 'postgres'), MONITORS / scale);
    const { database } = having.installation;
    const made = await fillWithMaintenance(database, {
      accounts: ACCOUNTS,
      windows: WINDOWS / scale,
      monitors: MONITORS / scale,
    });
    report.figure(
      `${readable(made.windows)} windows: ${readable(made.occurrences)} occurrences, ${readable(made.times)} times ` +
        `of monitors, ${readable(made.inProgress)} in progress`,
    );
    const ratios: number[] = [];
    const costs: number[] = [];
    for (let cycle = 0; cycle < WARM_UP_CYCLES + (isQuick ? 8 : 24); cycle += 1) {
      // The order alternates, because the first run of a cycle finds the processor's caches as the other left them.
      const order = cycle % 2 === 0 ? [without, having] : [having, without];
      const seconds = new Map<Side, number>();
      for (const isDown of [true, false])
        for (const side of order)
          seconds.set(side, (seconds.get(side) ?? 0) + (await evaluateRound(side, { cycle, isDown })));
      const [base = Number.NaN, cost = Number.NaN] = [seconds.get(without), seconds.get(having)];
      if (cycle < WARM_UP_CYCLES) continue;
      costs.push((cost / (2 * RESULTS_A_ROUND)) * 1e6);
      ratios.push(cost / base);
    }
    report.figure(
      `${readable(median(costs))} us a result with windows; ${readable(median(ratios))} times that without ` +
        `(${readable(Math.min(...ratios))} to ${readable(Math.max(...ratios))})`,
    );
    report.bound({ name: 'evaluating with windows', value: median(ratios), unit: ' times', atMost: MAX_TIMES });

    await makeDue(having.installation);
    const planning = await cpuOf(having.installation, async () => {
      const { planned } = await planMaintenance({ database, now: Date.now });
      if (planned !== PLANNED_AT_MOST) throw new Error(`The chore planned ${planned} windows`);
    });
    report.bound({
      name: `planning a day of ${PLANNED_AT_MOST} windows, as many as a run does, CPU`,
      value: planning,
      unit: ' s',
      atMost: PLANNING_SECONDS,
    });
    const chores = [
      { name: 'the chore', atMost: CHORE_MS, work: () => planMaintenance({ database, now: Date.now }) },
      {
        name: 'a poll for what begins or ends',
        atMost: POLL_MS,
        work: () => watchMaintenance({ database, now: Date.now }),
      },
    ];
    for (const { name, atMost, work } of chores)
      report.bound({ name: `${name}, CPU`, value: await cpuMsOf(having, work), unit: ' ms', atMost });
  });
}

type Side = {
  installation: Installation;
  sources: { monitor_no: number; agent_no: number }[];
  evaluate: ReturnType<typeof createEvaluator>;
};

/** Creates monitors of twenty accounts, each with a webhook and a chat for all of them. */
async function prepare(installation: Installation, count: number): Promise<Side> {
  const { database } = installation;
  const run = runOn(database.pool);
  // Autovacuum would burden either side at random.
  await run('ALTER SYSTEM SET autovacuum = off');
  await run('SELECT pg_reload_conf()');
  await addMonitors(installation, {
    count,
    intervalSeconds: 60,
    targets: ['http://127.0.0.1/m/'],
    downAfterFailures: 1,
  });
  await spreadOverAccounts(installation, { monitors: count, accounts: ACCOUNTS, tokensEach: 1 });
  await addChannels(installation, { accounts: ACCOUNTS, types: ['webhook', 'slack'] });
  await run('ANALYZE');
  return {
    installation,
    sources: await run('SELECT monitor_no, agent_no FROM monitor_sources ORDER BY monitor_no % 997, monitor_no'),
    evaluate: createEvaluator({ database, now: Date.now, newId: createIdSource(), publicUrl: 'http://localhost:3000' }),
  };
}

type Round = { cycle: number; isDown: boolean };

/** Returns the CPU seconds of evaluating a round of results, of other monitors in each cycle. */
async function evaluateRound(side: Side, { cycle, isDown }: Round): Promise<number> {
  const { sources, evaluate } = side;
  // Results must be newer than those that the monitors were added with, or they change nothing.
  const dueAtMs = Date.now();
  const results = Array.from({ length: RESULTS_A_ROUND }, (_, index) => {
    const source = sources[(cycle * RESULTS_A_ROUND + index) % sources.length];
    const key = { monitorNo: source?.monitor_no ?? 0, agentNo: source?.agent_no ?? 0, dueAtMs };
    return resultOf(key, isDown && index % CHANGED_ONE_IN === 0);
  });
  let changes = 0;
  const seconds = await cpuOf(side.installation, async () => {
    for (let start = 0; start < results.length; start += BATCH)
      changes += (await evaluate(results.slice(start, start + BATCH))).transitions.length;
  });
  if (changes !== RESULTS_A_ROUND / CHANGED_ONE_IN) throw new Error(`${changes} statuses changed in a round`);
  return seconds;
}

/** Puts as many windows as one run of the chore plans behind schedule. */
async function makeDue({ database }: Installation): Promise<void> {
  await runOn(database.pool)(
    `UPDATE maintenance_windows SET planned_until = planned_until - 2 * 86400000
     WHERE id IN (SELECT id FROM maintenance_windows ORDER BY id LIMIT $1)`,
    [PLANNED_AT_MOST],
  );
}

/** Number of runs in a sample: the kernel counts CPU time in hundredths of a second. */
const RUNS_A_SAMPLE = 20;

/** Returns the CPU of one run, in milliseconds, the median of several samples. */
async function cpuMsOf({ installation }: Side, work: () => Promise<unknown>): Promise<number> {
  const ms: number[] = [];
  for (let sample = 0; sample < 6; sample += 1) {
    const seconds = await cpuOf(installation, async () => {
      for (let made = 0; made < RUNS_A_SAMPLE; made += 1) await work();
    });
    // The first sample includes the windows that have just begun.
    if (sample > 0) ms.push((seconds * 1000) / RUNS_A_SAMPLE);
  }
  return median(ms);
}
