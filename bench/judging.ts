import { setTimeout as delay } from 'node:timers/promises';
import type { Assertion } from '../core/monitors/monitor.ts';
import { createTenant } from '../models/accounts/tenants.ts';
import { runOn } from '../models/sql.ts';
import { cpuSecondsOf } from '../test/helpers/process-tree.ts';
import type { BenchContext } from './benchmark.ts';
import { median } from './figures.ts';
import { forkChild } from './harness/child.ts';
import { startInstallation, type Installation } from './harness/installation.ts';
import { addMonitors, monitorId } from './harness/monitors.ts';
import { startService, type Service } from './harness/running-service.ts';
import { startTarget } from './harness/target.ts';
import { readable } from './report.ts';

const HOSTILE = 50;
const HONEST = 50;
const PLAIN = 200;
const INTERVAL_SECONDS = 1;

/** Length of the text that hostile patterns search, in characters: a second of work each. */
const LETTERS = 54_000;

/** Lines of the page of honest monitors: about 200 kB. */
const LINES = 3000;

/**
 * Bounds of the event loop's delay with hostile monitors: its p99 relative to without them, and the added maximum in
 * milliseconds.
 */
const P99_TIMES = 2;
const LONGEST_MORE_MS = 50;

/** Time after a round within which its last results are stored, in milliseconds. */
const STORED_WITHIN_MS = 5000;

const HONEST_ASSERTIONS: Assertion[] = [
  { source: 'text_body', op: 'matches', value: String.raw`id="version">v\d+\.\d+\.\d+<` },
  { source: 'text_body', op: 'not_contains', value: 'Internal Server Error' },
  { source: 'text_body', op: 'matches', value: String.raw`(?i)prices in (?:euro|dollars): \d+\.\d\d` },
];
const HOSTILE_ASSERTIONS: Assertion[] = Array.from({ length: 50 }, (_, index) => ({
  source: 'text_body',
  op: 'matches',
  value: `^ok$|a[ab]{${300 + index}}[cd]`,
}));

type Round = { p99Ms: number; longestMs: number; cores: number };

/**
 * Runs 50 monitors at 1 s with slow patterns beside honest ones. It measures the event loop's delay with and without
 * them, and that honest ones are judged.
 */
export async function judging({ isQuick, report, withHarness }: BenchContext): Promise<void> {
  await withHarness(async (harness) => {
    const installation = await startInstallation(harness, 'postgres');
    const site = await forkChild<string>(harness, 'pages', { letters: LETTERS, lines: LINES });
    const { urls } = await startTarget(harness);
    await addFleet(installation, { plain: urls, site: site.ready });
    const service = await startService(harness, installation.env);
    await delay(isQuick ? 10_000 : 30_000);

    const roundMs = isQuick ? 15_000 : 30_000;
    const rounds = { without: [] as Round[], with: [] as Round[] };
    const beganMs = Date.now();
    // In turns, so that other load of the machine affects both. The extra round at the beginning warms up.
    for (let round = 0; round < (isQuick ? 2 : 4); round += 1) {
      for (const which of ['without', 'with'] as const) {
        await site.ask({ isHostile: which === 'with' });
        await delay(2000);
        const measured = await measure(service, roundMs);
        if (round > 0) rounds[which].push(measured);
      }
    }
    await delay(STORED_WITHIN_MS);

    for (const [which, list] of Object.entries(rounds)) {
      report.figure(
        `${which} hostile monitors: event loop late by ${list.map(({ p99Ms }) => readable(p99Ms)).join(', ')} ms ` +
          `(p99), ${list.map(({ longestMs }) => readable(longestMs)).join(', ')} ms at the most; ` +
          `${list.map(({ cores }) => readable(cores)).join(', ')} cores`,
      );
    }
    const middle = (which: keyof typeof rounds, figure: keyof Round) =>
      median(rounds[which].map((round) => round[figure]));
    for (const [kind, first, count] of GROUPS) {
      const counts = await countResults(installation, { first, count, sinceMs: beganMs });
      report.figure(`${kind}: ${counts.map(({ reason, results }) => `${results} ${reason}`).join('; ')}`);
    }
    const ofOthers = await countResults(installation, { first: 1, count: PLAIN + HONEST, sinceMs: beganMs });
    report.bound({
      name: 'p99 of the event loop with hostile monitors',
      value: middle('with', 'p99Ms') / middle('without', 'p99Ms'),
      unit: ' times',
      atMost: P99_TIMES,
    });
    report.bound({
      name: 'what they add to its longest delay',
      value: Math.max(0, middle('with', 'longestMs') - middle('without', 'longestMs')),
      unit: ' ms',
      atMost: LONGEST_MORE_MS,
    });
    report.bound({
      name: 'checks of other monitors that were not up',
      value: ofOthers.filter(({ reason }) => reason !== 'up').reduce((sum, { results }) => sum + results, 0),
      unit: '',
      atMost: 0,
    });
  });
}

/** The groups of monitors with their numbers. */
const GROUPS = [
  ['plain', 1, PLAIN],
  ['honest', PLAIN + 1, HONEST],
  ['hostile', PLAIN + HONEST + 1, HOSTILE],
] as const;

async function addFleet(
  installation: Installation,
  { plain, site }: { plain: readonly string[]; site: string },
): Promise<void> {
  const { database } = installation;
  const hostileTenant = 'ten_hostile';
  await createTenant(database, {
    id: hostileTenant,
    name: hostileTenant,
    plan: 'pro',
    nowMs: Date.now(),
    author: null,
  });
  const common = { intervalSeconds: INTERVAL_SECONDS, downAfterFailures: 2 };
  await addMonitors(installation, { ...common, count: PLAIN, targets: plain });
  await addMonitors(installation, { ...common, first: PLAIN + 1, count: HONEST, targets: [`${site}page/`] });
  await addMonitors(
    { ...installation, tenantId: hostileTenant },
    { ...common, first: PLAIN + HONEST + 1, count: HOSTILE, targets: [`${site}letters/`] },
  );
  for (const [[, first, count], assertions] of [
    [GROUPS[1], HONEST_ASSERTIONS],
    [GROUPS[2], HOSTILE_ASSERTIONS],
  ] as const) {
    await runOn(database.pool)('UPDATE monitors SET check_spec = $3, timeout_ms = 900 WHERE id BETWEEN $1 AND $2', [
      monitorId(first),
      monitorId(first + count - 1),
      JSON.stringify({ assertions }),
    ]);
  }
}

/** Measures the process for a duration; each scrape resets its histogram of event loop delay. */
async function measure(service: Service, forMs: number): Promise<Round> {
  const pids = [service.program.pid];
  await service.scrape();
  const cpu = await cpuSecondsOf(pids);
  await delay(forMs);
  const cores = ((await cpuSecondsOf(pids)) - cpu) / (forMs / 1000);
  const scrape = await service.scrape();
  const read = (name: string) => (scrape.get(`nodejs_eventloop_lag_${name}_seconds`) ?? Number.NaN) * 1000;
  return { p99Ms: read('p99'), longestMs: read('max'), cores };
}

async function countResults(
  { database }: Installation,
  { first, count, sinceMs }: { first: number; count: number; sinceMs: number },
): Promise<{ reason: string; results: number }[]> {
  return await runOn(database.pool)<{ reason: string; results: number }>(
    `SELECT CASE WHEN r.verdict = 1 THEN 'up' ELSE coalesce(left(regexp_replace(r.detail::jsonb ->> 'reason', '"[^"]*"',
     '...'), 90), 'without a reason') END AS reason, count(*)::int AS results
     FROM single_results r JOIN monitors m ON m.no = r.monitor_no WHERE m.id BETWEEN $1 AND $2 AND r.due_at >= $3
       GROUP BY 1 ORDER BY 2 DESC`,
    [monitorId(first), monitorId(first + count - 1), sinceMs],
  );
}
