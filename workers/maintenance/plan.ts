import { releaseUnmuted } from '../../models/alerts/mutes.ts';
import {
  ANNOUNCED_AT_ONCE,
  COVERED_AT_ONCE,
  announceOccurrences,
  coverInProgress,
  coverNext,
  type Covered,
} from '../../models/maintenance/maintenance-times.ts';
import { PLANNED_AT_ONCE, planWindows, releaseUncovered } from '../../models/maintenance/occurrences.ts';
import { inTransaction, runOn, withAdvisoryLock } from '../../models/sql.ts';
import { enqueueDeliveries } from '../../queues/enqueue-committed.ts';
import type { Runtime } from '../runtime.ts';

/** Maximum transactions in which one run of the chore plans, or covers; the next run, a minute later, continues. */
const MAX_TRANSACTIONS = 20;

/**
 * Creates the occurrences of recurring windows in advance, and updates which monitors are in maintenance. Returns how
 * many windows were planned, and how many monitors entered maintenance and left it.
 */
export async function planMaintenance({
  database,
  now,
}: Pick<Runtime, 'database' | 'now'>): Promise<{ planned: number; added: number; ended: number }> {
  let planned = 0;
  for (let made = 0; made < MAX_TRANSACTIONS && planned === made * PLANNED_AT_ONCE; made += 1)
    planned += await planWindows(database, now());
  const covered = await withAdvisoryLock(database, 'maintenance', () => coverAll({ database, now }));
  return { planned, ...(covered ?? { added: 0, ended: 0 }) };
}

/** Covers some occurrences per transaction, so that those of one account, however many, do not delay others'. */
async function coverAll({ database, now }: Pick<Runtime, 'database' | 'now'>): Promise<Covered> {
  const total = { added: 0, ended: 0 };
  const count = ({ added, ended }: Covered) => {
    total.added += added;
    total.ended += ended;
  };
  let isMore = true;
  for (let made = 0; made < MAX_TRANSACTIONS && isMore; made += 1) {
    const next = await inTransaction(database, (run) => coverNext(run, now()));
    isMore = next.occurrences === COVERED_AT_ONCE;
    count(next);
  }
  for (let afterNo: number | null = 0; afterNo !== null;) {
    const page: { afterNo: number; nowMs: number } = { afterNo, nowMs: now() };
    const refreshed = await inTransaction(database, (run) => coverInProgress(run, page));
    afterNo = refreshed.lastNo;
    count(refreshed);
  }
  return total;
}

/** Sends alerts that need not wait for maintenance or a mute any more and were not sent yet; returns their number. */
export async function releaseAlerts({
  database,
  queues,
  log,
  now,
}: Pick<Runtime, 'database' | 'queues' | 'log' | 'now'>): Promise<{ released: number }> {
  const run = runOn(database.pool);
  const released = [...(await releaseUncovered(run, now())), ...(await releaseUnmuted(run, now()))];
  await enqueueDeliveries(queues, log, released);
  return { released: released.length };
}

/** Notifies accounts of maintenance that has begun or ended; returns whether there may be more. */
export async function watchMaintenance({ database, now }: Pick<Runtime, 'database' | 'now'>): Promise<boolean> {
  return (await announceOccurrences(database, now())) === ANNOUNCED_AT_ONCE;
}
