import { deleteOldDeliveries } from '../../models/deliveries.ts';
import type { Runtime } from '../runtime.ts';

/** Finished deliveries are kept this long, in days. */
const KEEP_DELIVERIES_DAYS = 30;

/** Deletes what is older than its promise. */
export async function retainHistory({ database, now }: Runtime): Promise<{ deliveries: number }> {
  return { deliveries: await deleteOldDeliveries(database, now() - KEEP_DELIVERIES_DAYS * 86_400_000) };
}
