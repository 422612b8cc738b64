import { withAdvisoryLock } from '../../models/advisory-lock.ts';
import { coverOccurrences } from '../../models/maintenance/maintenance-times.ts';
import { PLANNED_AT_ONCE, planWindows } from '../../models/maintenance/windows.ts';
import { inTransaction } from '../../models/sql.ts';
import type { Runtime } from '../runtime.ts';

/**
 * Makes the occurrences of recurring windows ahead, and keeps in step which monitors are in maintenance. Returns how
 * many windows were planned, and how many monitors came to maintenance and left it.
 */
export async function planMaintenance({
  database,
  now,
}: Pick<Runtime, 'database' | 'now'>): Promise<{ planned: number; added: number; ended: number }> {
  let planned = 0;
  for (let last = PLANNED_AT_ONCE; last === PLANNED_AT_ONCE; planned += last) last = await planWindows(database, now());
  const covered = await withAdvisoryLock(database, 'maintenance', () =>
    inTransaction(database, (run) => coverOccurrences(run, { nowMs: now() })),
  );
  return { planned, ...(covered ?? { added: 0, ended: 0 }) };
}
