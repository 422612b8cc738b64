import {
  ANNOUNCED_AT_ONCE,
  announceOccurrences,
  coverOccurrences,
} from '../../models/maintenance/maintenance-times.ts';
import { PLANNED_AT_ONCE, planWindows } from '../../models/maintenance/windows.ts';
import { inTransaction, withAdvisoryLock } from '../../models/sql.ts';
import type { Runtime } from '../runtime.ts';

/** Windows are planned in so many transactions in one run of the chore; the next run goes on, a minute later. */
const MOST_TRANSACTIONS = 20;

/**
 * Makes the occurrences of recurring windows ahead, and keeps in step which monitors are in maintenance. Returns how
 * many windows were planned, and how many monitors came to maintenance and left it.
 */
export async function planMaintenance({
  database,
  now,
}: Pick<Runtime, 'database' | 'now'>): Promise<{ planned: number; added: number; ended: number }> {
  let planned = 0;
  for (let made = 0; made < MOST_TRANSACTIONS && planned === made * PLANNED_AT_ONCE; made += 1)
    planned += await planWindows(database, now());
  const covered = await withAdvisoryLock(database, 'maintenance', () =>
    inTransaction(database, (run) => coverOccurrences(run, { nowMs: now() })),
  );
  return { planned, ...(covered ?? { added: 0, ended: 0 }) };
}

/** Notifies accounts of what of their maintenance has begun or is over; says whether there may be more. */
export async function watchMaintenance({ database, now }: Pick<Runtime, 'database' | 'now'>): Promise<boolean> {
  return (await announceOccurrences(database, now())) === ANNOUNCED_AT_ONCE;
}
