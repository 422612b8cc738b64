import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { runOn } from '../models/sql.ts';
import type { BenchContext } from './benchmark.ts';
import { median, slope } from './figures.ts';
import { addChannels, spreadOverAccounts } from './harness/accounts.ts';
import { forkChild, type Child } from './harness/child.ts';
import { startFleet } from './harness/fleet.ts';
import { startInstallation } from './harness/installation.ts';
import { addMonitors, monitorId, unscheduleMonitors } from './harness/monitors.ts';
import { growth, histogramPercentile } from './harness/scrape.ts';
import { startTarget } from './harness/target.ts';
import { countTicks, type TickCount } from './harness/ticks.ts';
import { takeSample, watch, type Sample, type Watched } from './harness/watch.ts';
import { readable, type Report } from './report.ts';

/** Sizes for 1,667 checks a second; the quick form reaches that with fewer monitors at shorter intervals. */
const FULL = {
  monitors: 100_000,
  intervalSeconds: 60,
  warmUpSeconds: 30,
  aloneSeconds: 60,
  normalSeconds: 600,
  overloadSeconds: 180,
};
const QUICK = {
  monitors: 16_670,
  intervalSeconds: 10,
  warmUpSeconds: 10,
  aloneSeconds: 10,
  normalSeconds: 20,
  overloadSeconds: 30,
};

const REQUESTS_PER_SECOND = 500;
const ACCOUNTS = 100;
const TOKENS_EACH = 4;

/** Least share of the customers' requests that succeed. */
const ANSWERED_SHARE = 0.99;

const SAMPLE_EVERY_MS = 10_000;

/** Bound of the 99th percentile of start lateness under normal load, in milliseconds. */
const LATENESS_MS = 250;

/** Most memory of a process in the last third of the normal load, relative to the middle third. */
const MEMORY_RATIO = 1.05;

/** Lateness in seconds that counts as recovered, and the time until then after the overload. */
const CALM_SECONDS = 5;
const CALM_WITHIN_SECONDS = 120;

type ApiFigures = {
  statuses: Record<string, number>;
  unsent: number;
  latencies: Record<'reads' | 'writes', { count: number; p50: number; p99: number; slowest: number }>;
};
type Run = Watched & { report: Report; api: Child<null> };

/**
 * Runs all processes with 100,000 monitors at 60 s and API customers for ten minutes, then with twice as many monitors,
 * then measures the recovery.
 */
export async function fleet({ isQuick, report, withHarness }: BenchContext): Promise<void> {
  const size = isQuick ? QUICK : FULL;
  const { monitors, intervalSeconds } = size;
  await withHarness(async (harness) => {
    const installation = await startInstallation(harness, 'redis');
    const { database } = installation;
    const target = await startTarget(harness);
    const wave = { count: monitors, intervalSeconds, targets: target.urls, downAfterFailures: 2 };
    await addMonitors(installation, wave);
    const accounts = await spreadOverAccounts(installation, { monitors, accounts: ACCOUNTS, tokensEach: TOKENS_EACH });
    // The channels exist but should receive no alerts.
    await addChannels(installation, { accounts: ACCOUNTS, types: ['webhook'] });
    const running = await startFleet(harness, installation);
    const api = await forkChild<null>(harness, 'mixed-load', {
      url: running.web.url,
      accounts,
      perSecond: REQUESTS_PER_SECOND,
      target: target.urls[0],
    });
    const redis = new Redis(installation.redisUrls[0] ?? '');
    harness.teardown(() => redis.quit());
    const [postgresPid = 0, redisPid = 0] = installation.serverPids;
    const members = Object.entries(running).map(([name, { program }]) => [name, program.pid]);
    const processes = {
      ...Object.fromEntries(members),
      PostgreSQL: postgresPid,
      Redis: redisPid,
      target: target.child.pid,
      customers: api.pid,
    };
    const run: Run = { processes, fleet: running, redis, report, api };
    await delay(size.warmUpSeconds * 1000);
    await loadFor(run, { name: 'checks alone', seconds: size.aloneSeconds, withCustomers: false });
    await askFor(run, size.warmUpSeconds);

    const normal = await loadFor(run, { name: 'normal', seconds: size.normalSeconds, withCustomers: true });
    reportMemory(run, normal.samples, isQuick);
    const before = normal.samples.at(-1);
    await addMonitors(installation, { ...wave, first: monitors + 1 });
    const overload = await loadFor(run, { name: 'overload', seconds: size.overloadSeconds, withCustomers: true });
    await unscheduleMonitors(installation, { first: monitors + 1, count: monitors });
    const recoveredAfter = await untilCalm(run);

    const ticks = await countTicks(database, { monitors, intervalSeconds, ...normal.window });
    report.figure(
      `normal: ${readable(ticks.due)} checks due, each monitor checked in ${ticks.fewest} to ${ticks.most} intervals`,
    );
    report.bound({ name: 'ticks missed under the normal load', value: ticks.missed, unit: '', atMost: 0 });
    report.bound({
      name: 'start lateness p99 under the normal load',
      value: normal.latenessMs,
      unit: ' ms',
      atMost: LATENESS_MS,
    });
    const late = await countTicks(database, { monitors: 2 * monitors, intervalSeconds, ...overload.window });
    report.figure(
      `overload: ${readable(late.missed)} of ${readable(late.due)} checks left out, each monitor checked in ` +
        `${late.fewest} to ${late.most} intervals`,
    );
    report.bound({
      name: 'intervals that one monitor was checked in more often than another under overload',
      value: late.most - late.fewest,
      unit: '',
      atMost: evenSpread(size.overloadSeconds / intervalSeconds, late),
    });
    report.bound({
      name: 'after the overload, until no check is late by 5 s',
      value: recoveredAfter,
      unit: ' s',
      atMost: CALM_WITHIN_SECONDS,
    });
    const after = await takeSample(run);
    report.figure(
      'memory before the overload, at its end and after the recovery, MB: ' +
        `${memoryOf(before, overload.samples.at(-1), after)}`,
    );
    const ours = [monitorId(1), monitorId(2 * monitors), normal.window.fromMs];
    const changed = await runOn(database.pool)<{
      change: string;
      reason: string;
      count: number;
      first: number;
      is_overload: boolean;
    }>(
      `SELECT t.from_state || ' to ' || t.to_state AS change, coalesce(min(t.reason), '') AS reason, count(*)::int,
       min(t.detected_at) AS first, u.sequence IS NOT NULL AS is_overload
       FROM transitions t LEFT JOIN unchecked_times u ON u.monitor_id = t.monitor_id AND (u.sequence = t.sequence
         OR (u.sequence + 1 = t.sequence AND u.from_state = t.to_state))
       WHERE t.monitor_id BETWEEN $1 AND $2 AND t.detected_at >= $3 GROUP BY 1, 5 ORDER BY 3 DESC`,
      ours,
    );
    for (const { change, reason, count, first } of changed)
      report.figure(
        `${readable(count)} changed from ${change}, the first ` +
          `${readable((first - overload.window.fromMs) / 1000)} s after the overload began: ${reason}`,
      );
    const wrong = changed.filter(({ is_overload: isOverload }) => !isOverload);
    report.bound({
      name: 'changes of state that are not reported as our overload, where every target answers all the time',
      value: wrong.reduce((sum, { count }) => sum + count, 0),
      unit: '',
      atMost: 0,
    });
    const [alerts] = await runOn(database.pool)<{ count: number }>(
      'SELECT count(*)::int AS count FROM deliveries WHERE monitor_id BETWEEN $1 AND $2 AND created_at >= $3',
      ours,
    );
    report.bound({ name: 'alerts', value: alerts?.count ?? 0, unit: '', atMost: 0 });
    const [left] = await runOn(database.pool)<{ count: number }>(
      'SELECT count(*)::int AS count FROM unchecked_times u JOIN monitors m ON m.no = u.monitor_no WHERE ' +
        'u.ended_at IS NULL AND m.id BETWEEN $1 AND $2',
      [monitorId(1), monitorId(monitors)],
    );
    report.bound({
      name: 'monitors still unknown through the overload, of those that are checked after it',
      value: left?.count ?? 0,
      unit: '',
      atMost: 0,
    });
    report.bound({
      name: 'processes that ended',
      value: Object.values(running).filter(({ program }) => !program.isRunning()).length,
      unit: '',
      atMost: 0,
    });
  });
}

/**
 * Returns the most by which monitors may differ in a window of `intervals` intervals when all are checked equally
 * often. Checks count by their due times, which are up to an interval before them: a window can be up to an interval
 * longer for one monitor than for another.
 */
function evenSpread(intervals: number, { due, missed }: TickCount): number {
  const turnEvery = due / Math.max(1, due - missed);
  return Math.min(intervals, Math.ceil((intervals + 1) / turnEvery)) - Math.floor((intervals - 1) / turnEvery);
}

type Load = { samples: Sample[]; window: { fromMs: number; toMs: number }; latenessMs: number };

/** Runs a load for the given seconds, with API customers or without, and prints its cost and the lateness of checks. */
async function loadFor(
  run: Run,
  { name, seconds, withCustomers }: { name: string; seconds: number; withCustomers: boolean },
): Promise<Load> {
  const { report } = run;
  const fromMs = Date.now();
  const [{ samples, wokeLateMs }, answers] = await Promise.all([
    watch(run, { forMs: seconds * 1000, everyMs: SAMPLE_EVERY_MS }),
    withCustomers ? askFor(run, seconds) : null,
  ]);
  const [first, last] = [samples[0], samples.at(-1)];
  if (first === undefined || last === undefined) throw new Error('No samples');
  const forSeconds = (last.atMs - first.atMs) / 1000;
  const checks = growth('spotcheck_checks_total', first.check, last.check);
  const used = Object.keys(run.processes).map(
    (process) => [process, (last.cpuSeconds[process] ?? 0) - (first.cpuSeconds[process] ?? 0)] as const,
  );
  const total = used.reduce((sum, [, one]) => sum + one, 0);
  const cores = used.map(([process, one]) => `${process} ${(one / forSeconds).toFixed(3)}`);
  report.figure(
    `${name}: ${readable(checks / forSeconds)} checks/s, ${readable((total * 1e6) / checks)} us of CPU for each ` +
      `over all processes; cores: ${cores.join(', ')}`,
  );
  report.figure(
    `${name}: ${readable(total / forSeconds)} cores in all, ` +
      `${readable((last.machineSeconds - first.machineSeconds) / forSeconds)} busy on the machine; an idle process ` +
      `woke up ${readable(wokeLateMs)} ms late (p99)`,
  );
  const percentiles = (histogram: string, of: 'check' | 'evaluate') =>
    [0.5, 0.99, 1].map((share) => histogramPercentile(histogram, share, [first[of], last[of]]) * 1000);
  const [p50 = 0, p99 = 0, latest = 0] = percentiles('spotcheck_check_lateness_seconds', 'check');
  const [lagP50 = 0, lagP99 = 0, lagMost = 0] = percentiles('spotcheck_evaluation_lag_seconds', 'evaluate');
  report.figure(
    `${name}: start lateness p50 ${readable(p50)} ms, p99 ${readable(p99)} ms, the latest under ` +
      `${readable(latest)} ms; evaluation lag p50 ${readable(lagP50)} ms, p99 ${readable(lagP99)} ms, under ` +
      `${readable(lagMost)} ms`,
  );
  report.figure(
    `${name}: lateness p50 in ms every ${SAMPLE_EVERY_MS / 1000} s: ${between(samples)
      .map((pair) => readable(histogramPercentile('spotcheck_check_lateness_seconds', 0.5, pair) * 1000))
      .join(' ')}`,
  );
  if (answers !== null) reportAnswers(report, { name, seconds, answers });
  return { samples, window: { fromMs, toMs: fromMs + seconds * 1000 }, latenessMs: p99 };
}

function askFor({ api }: Run, seconds: number): Promise<ApiFigures> {
  return api.ask<ApiFigures>({ seconds });
}

function reportAnswers(
  report: Report,
  { name, seconds, answers }: { name: string; seconds: number; answers: ApiFigures },
): void {
  for (const [kind, { count, p50, p99, slowest }] of Object.entries(answers.latencies)) {
    report.figure(
      `${name}: ${readable(count / seconds)} ${kind}/s of the API, p50 ${readable(p50)} ms, p99 ${readable(p99)} ` +
        `ms, slowest ${readable(slowest)} ms`,
    );
  }
  const { '2xx': good = 0, ...others } = answers.statuses;
  const refused = Object.values(others).reduce((sum, count) => sum + count, 0);
  if (refused > 0) report.figure(`${name}: answers of the API other than 2xx: ${JSON.stringify(others)}`);
  report.bound({
    name: `API requests answered with an error, ${name}, of ${readable(good + refused)}`,
    value: refused,
    unit: '',
    atMost: 0,
  });
  report.bound({
    name: `API requests answered, ${name}`,
    value: (good + refused) / seconds,
    unit: '/s',
    atLeast: ANSWERED_SHARE * REQUESTS_PER_SECOND,
  });
}

function between(samples: readonly Sample[]): [Sample['check'], Sample['check']][] {
  return samples.slice(1).map((one, index) => [samples[index]?.check ?? one.check, one.check]);
}

/** Reports each process's memory under normal load: the last third against the middle third, and the slope. */
function reportMemory({ report, processes }: Run, samples: readonly Sample[], isQuick: boolean): void {
  const third = Math.floor(samples.length / 3);
  const minutes = ((samples.at(-1)?.atMs ?? 0) - (samples[0]?.atMs ?? 0)) / 60_000;
  const kinds = [
    ...Object.keys(processes)
      .filter((name) => name !== 'target' && name !== 'customers')
      .map((name) => [name, samples.map(({ memoryMb }) => memoryMb[name] ?? 0)] as const),
    ['data in Redis', samples.map(({ redisMb }) => redisMb)] as const,
  ];
  for (const [name, sizes] of kinds) {
    const [middle, end] = [median(sizes.slice(third, 2 * third)), median(sizes.slice(2 * third))];
    const steps = (samples.length - 1) / minutes;
    report.figure(
      `memory of ${name}: ${readable(sizes[0] ?? 0)} MB at first, ${readable(middle)} in the middle third, ` +
        `${readable(end)} in the last, ${readable(slope(sizes) * steps)} MB a minute`,
    );
    if (!isQuick && name !== 'PostgreSQL')
      report.bound({
        name: `memory of ${name}, last third to middle third`,
        value: end / middle,
        unit: ' times',
        atMost: MEMORY_RATIO,
      });
  }
}

function memoryOf(...samples: readonly (Sample | undefined)[]): string {
  const names = ['web', 'check', 'evaluate', 'PostgreSQL'];
  const each = names.map(
    (name) => `${name} ${samples.map((one) => readable(one?.memoryMb[name] ?? Number.NaN)).join(' ')}`,
  );
  return [...each, `data in Redis ${samples.map((one) => readable(one?.redisMb ?? Number.NaN)).join(' ')}`].join(', ');
}

/**
 * Measures the seconds until five consecutive seconds had checks and none was 5 s late; infinity if that never happens.
 */
async function untilCalm(run: Run): Promise<number> {
  const startedAt = performance.now();
  for (let before = await takeSample(run); performance.now() - startedAt < CALM_WITHIN_SECONDS * 1000;) {
    await delay(CALM_SECONDS * 1000);
    const after = await takeSample(run);
    if (histogramPercentile('spotcheck_check_lateness_seconds', 1, [before.check, after.check]) <= CALM_SECONDS)
      return (performance.now() - startedAt) / 1000;
    before = after;
  }
  return Number.POSITIVE_INFINITY;
}
