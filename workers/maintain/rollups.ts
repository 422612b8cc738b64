import { HOUR_MS } from '../../core/rollup-spans.ts';
import { remakeLateHours } from '../../models/late-hours.ts';
import { createRollupPartitions, findOldestDay, indexNewTimes } from '../../models/partitions.ts';
import { beginRollups, databaseNowMs, rolledUntilMs, rollNextHour } from '../../models/rollups.ts';
import { runOn } from '../../models/sql.ts';
import type { Runtime } from '../runtime.ts';

/** A run begins nothing new after this, in milliseconds; the next one goes on. */
const BUDGET_MS = 20_000;

/**
 * Rolls up the hours that are over, oldest first, and makes those again that results came late for. After days away it works through them hour
 * by hour, for a while in each run.
 */
export async function rollUp({ database, now, log, metrics }: Runtime, { signal, budgetMs = BUDGET_MS }: { signal?: AbortSignal; budgetMs?: number } = {}): Promise<{ hours: number; late: number }> {
  const run = runOn(database.pool);
  if ((await rolledUntilMs(run)) === 0) await beginRollups(run, (await findOldestDay(run)) ?? now());
  const untilMs = performance.now() + budgetMs;
  const mayGoOn = (): boolean => performance.now() < untilMs && signal?.aborted !== true;
  let [hours, late] = [0, 0];
  for (let taken = await remakeLateHours(database); taken > 0; taken = mayGoOn() ? await remakeLateHours(database) : 0) late += taken;
  // Where our clock is ahead, an hour would be done before its results are there.
  const nowMs = Math.min(now(), await databaseNowMs(run));
  while (mayGoOn() && (await rollHourAt(database, nowMs))) hours += 1;
  const lagMs = now() - (await rolledUntilMs(run)) - HOUR_MS;
  metrics.hoursRolled({ hours, lagMs });
  if (hours > 0) log.info({ hours, lag_seconds: Math.max(0, Math.round(lagMs / 1000)) }, 'rollups.made');
  return { hours, late };
}

/** Rolls up the next hour, whatever month it lies in; false where there is none to roll up now. */
async function rollHourAt(database: Runtime['database'], nowMs: number): Promise<boolean> {
  const atMs = await rolledUntilMs(runOn(database.pool));
  if (atMs + HOUR_MS > nowMs) return false;
  await createRollupPartitions(database, atMs);
  await indexNewTimes(database, atMs);
  const { outcome } = await rollNextHour(database, nowMs);
  return outcome === 'rolled';
}
