import { createPartitions, dropOldPartitions } from '../../models/partitions.ts';
import { PLAN_LIMITS } from '../../core/plans.ts';
import type { Runtime } from '../runtime.ts';

/** The longest that any plan keeps single results, in days: a partition holds those of every tenant. */
const KEEP_DAYS = Math.max(...Object.values(PLAN_LIMITS).map((limits) => limits.resultDays));

/** Makes the partitions of the days to come and drops those that no plan keeps. */
export async function keepPartitions({ database, now }: Runtime): Promise<{ dropped: string[] }> {
  await createPartitions(database, now());
  return { dropped: await dropOldPartitions(database, now(), KEEP_DAYS) };
}
