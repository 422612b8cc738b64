import { HOUR_MS } from '../../core/time.ts';
import { beginPacking, packNextHour } from '../../models/checks/packed-results.ts';
import { restoreRecentResults } from '../../models/checks/recent-results.ts';
import { runOn } from '../../models/sql.ts';
import { countSetAside, type SetAsideHour } from '../../models/statistics/make-rollups.ts';
import {
  beginRollups,
  databaseNowMs,
  recordRollupRun,
  remakeLateHours,
  rollNextHour,
  rolledUntilMs,
  unrolledSinceMs,
} from '../../models/statistics/rollups.ts';
import { createRollupPartitions, findOldestDay, indexNewTimes } from '../../models/system/partitions.ts';
import type { Runtime } from '../runtime.ts';

/** Time after which a run starts nothing new, in milliseconds; the next one continues. */
const BUDGET_MS = 20_000;

/** Maximum sources set aside that a run names in the log; the others are counted. */
const MAX_NAMED = 10;

/**
 * Shares of the budget after which each part starts nothing new. One account can fill the last part, by late results;
 * it also gets the time that the others leave.
 */
const ENDS = { hours: 0.6, packing: 0.8, late: 1 } as const;

type Round = { runtime: Runtime; mayGoOn: () => boolean };

/** Hours rolled up, and hours rolled up again because of late results. */
type Made = { hours: number; late: number };

/**
 * Rolls up the hours that are over, oldest first, and repeats those with late results. After days away it works through
 * them hour by hour, for a while in each run. Sources that cannot be rolled up are set aside. Steady results are packed
 * an hour later. None of the three parts depends on the success of another.
 */
export async function rollUp(
  runtime: Runtime,
  { signal, budgetMs = BUDGET_MS }: { signal?: AbortSignal; budgetMs?: number } = {},
): Promise<Made> {
  const { database, now, log, metrics } = runtime;
  const run = runOn(database.pool);
  if ((await rolledUntilMs(run)) === 0) await beginRollups(run, (await findOldestDay(run)) ?? now());
  const beganMs = performance.now();
  const until = (share: number): Round => ({
    runtime,
    mayGoOn: () => performance.now() < beganMs + share * budgetMs && signal?.aborted !== true,
  });
  const restored = await tryTo(() => restoreRecentResults(database).then(() => 0));
  const first = await tryTo(() => makeHours(until(ENDS.hours)));
  const packed = await tryTo(() => packHours(until(ENDS.packing)));
  const late = await tryTo(() => remakeHours(until(ENDS.late)));
  // The hours get the time that the other parts left.
  const more = first.failure === null ? await tryTo(() => makeHours(until(ENDS.late))) : { ...first, made: 0 };
  const hours = { made: first.made + more.made, failure: more.failure };
  const failures = [restored, hours, packed, late].flatMap(({ failure }) => failure ?? []);
  const lagMs = now() - ((await unrolledSinceMs(run)) ?? now());
  metrics.hoursRolled({ hours: hours.made, lagMs });
  metrics.rollupsSetAside(await countSetAside(run));
  if (hours.made > 0)
    log.info({ hours: hours.made, lag_seconds: Math.max(0, Math.round(lagMs / 1000)) }, 'rollups.made');
  await recordRollupRun(run, { failed: hours.failure !== null, nowMs: now() });
  if (failures.length > 0) throw failures[0];
  return { hours: hours.made, late: late.made };
}

async function remakeHours({ runtime, mayGoOn }: Round): Promise<number> {
  let late = 0;
  for (;;) {
    const { taken, setAside } = await remakeLateHours(runtime.database, runtime.now());
    logSetAside(runtime, setAside);
    late += taken;
    if (taken === 0 || !mayGoOn()) return late;
  }
}

async function makeHours({ runtime, mayGoOn }: Round): Promise<number> {
  // If this machine's clock is ahead, an hour would be rolled up before its results arrive.
  const nowMs = Math.min(runtime.now(), await databaseNowMs(runOn(runtime.database.pool)));
  let hours = 0;
  while (mayGoOn() && (await rollHourAt(runtime, nowMs))) hours += 1;
  return hours;
}

async function packHours({ runtime: { database, now }, mayGoOn }: Round): Promise<number> {
  const run = runOn(database.pool);
  if (!(await beginPacking(run, now()))) return 0;
  let hours = 0;
  while (mayGoOn() && (await packNextHour(database, Math.min(now(), await databaseNowMs(run))))) hours += 1;
  return hours;
}

/** Rolls up the next hour, in any month; returns false if there is none to roll up now. */
async function rollHourAt(runtime: Runtime, nowMs: number): Promise<boolean> {
  const { database } = runtime;
  const atMs = await rolledUntilMs(runOn(database.pool));
  if (atMs + HOUR_MS > nowMs) return false;
  await createRollupPartitions(database, atMs);
  await indexNewTimes(database, atMs);
  const rolled = await rollNextHour(database, nowMs);
  if (rolled.outcome !== 'rolled') return false;
  logSetAside(runtime, rolled.setAside);
  return true;
}

function logSetAside({ log, metrics }: Runtime, hours: readonly SetAsideHour[]): void {
  if (hours.length === 0) return;
  metrics.rollupSourcesFailed(hours.length);
  for (const { error, atMs, monitorNo, agentNo, attempts } of hours.slice(0, MAX_NAMED)) {
    log.error(
      { err: error, hour: atMs, monitor_no: monitorNo, agent_no: agentNo, attempts, failed: hours.length },
      'rollups.set_aside',
    );
  }
}

async function tryTo(make: () => Promise<number>): Promise<{ made: number; failure: unknown }> {
  try {
    return { made: await make(), failure: null };
  } catch (error) {
    return { made: 0, failure: error };
  }
}
