import { PLAN_LIMITS } from '../../core/plans.ts';
import { createPartitions, dropOldPartitions } from '../../models/partitions.ts';
import { isTimeUncertain } from '../../models/service-time.ts';
import type { Runtime } from '../runtime.ts';
import { JUMP_WINDOW_MS } from './retention.ts';

/** The longest that any plan keeps single results, in days: a partition holds those of every tenant. */
const RAW_DAYS = Math.max(...Object.values(PLAN_LIMITS).map((limits) => limits.resultDays));

/** Roll-ups of hours are kept longer than 90 days, of days longer than two years, whatever the plan. */
const HOURLY_DAYS = 100;
const DAILY_DAYS = 26 * 31;

const KEPT_DAYS = {
  check_results: RAW_DAYS,
  heartbeat_pings: RAW_DAYS,
  hourly_rollups: HOURLY_DAYS,
  daily_rollups: DAILY_DAYS,
};

/** Makes the partitions of the days to come and drops those that no plan keeps, unless the time is uncertain. */
export async function maintainPartitions({ database, now }: Runtime): Promise<{ dropped: string[] }> {
  await createPartitions(database, now());
  if (await isTimeUncertain(database, { nowMs: now(), jumpWindowMs: JUMP_WINDOW_MS })) return { dropped: [] };
  return { dropped: await dropOldPartitions(database, now(), KEPT_DAYS) };
}
