import { PLAN_LIMITS } from '../../core/accounts/plans.ts';
import { HOURLY_DAYS } from '../../core/statistics/rollup-spans.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../core/time.ts';
import { deleteOldAuditEntries } from '../../models/accounts/audit-log.ts';
import { deleteUsedOnce } from '../../models/accounts/identities.ts';
import { deletePastInvitations } from '../../models/accounts/invitations.ts';
import { deleteOverSessions } from '../../models/accounts/sessions.ts';
import { deleteOldSignInClients } from '../../models/accounts/sign-in-clients.ts';
import { deleteOldDeliveries } from '../../models/alerts/deliveries.ts';
import { deletePastRates } from '../../models/alerts/delivery-rates.ts';
import { deleteOldDrills } from '../../models/alerts/drills.ts';
import { deleteOldUpdates } from '../../models/alerts/telegram-updates.ts';
import { deleteIdleRegistries, deleteOldDomains, deleteUnusedVendorPages } from '../../models/checks/lookups.ts';
import { deleteOrphanedPings } from '../../models/heartbeats/ping-record.ts';
import { deleteOldMaintenance } from '../../models/maintenance/occurrences.ts';
import { deleteOldBulkChanges } from '../../models/monitors/bulk-changes.ts';
import { deleteOldZoneReports } from '../../models/statistics/reports.ts';
import { isTimeUncertain } from '../../models/statistics/service-time.ts';
import { CHORE_LOCK_MS, createPartitions, dropOldPartitions } from '../../models/system/partitions.ts';
import type { Runtime } from '../runtime.ts';

/** Maximum days that any plan keeps single results: a partition contains those of every tenant. */
const RAW_DAYS = Math.max(...Object.values(PLAN_LIMITS).map((limits) => limits.resultDays));

/** Retention of daily roll-ups, whatever the plan: more than two years. */
const DAILY_DAYS = 26 * 31;

const KEPT_DAYS = {
  check_results: RAW_DAYS,
  packed_results: RAW_DAYS,
  heartbeat_pings: RAW_DAYS,
  hourly_rollups: HOURLY_DAYS,
  daily_rollups: DAILY_DAYS,
};

/** Creates the partitions of the coming days and drops those that no plan keeps, unless the time is uncertain. */
export async function maintainPartitions({ database, now }: Runtime): Promise<{ dropped: string[] }> {
  await createPartitions(database, now(), { lockMs: CHORE_LOCK_MS });
  if (await isTimeUncertain(database, { nowMs: now(), jumpWindowMs: JUMP_WINDOW_MS })) return { dropped: [] };
  return { dropped: await dropOldPartitions(database, now(), KEPT_DAYS) };
}

/** Retention of finished deliveries, in days. */
export const KEEP_DELIVERIES_DAYS = 30;

/** Retention of audit log entries, in days: a year, and a month to review it. */
const KEEP_AUDIT_DAYS = 400;

/** Retention of domain facts and of queried servers after their last use, in days. */
const KEEP_DOMAINS_DAYS = 30;

/** Retention of ended maintenance windows, in days; their exclusions from the SLA last as long as daily roll-ups. */
const KEEP_WINDOWS_DAYS = 90;

/** Retention of drills, in days. */
const KEEP_DRILLS_DAYS = 90;

/** Retention of an unused vendor's page, in days. */
const KEEP_VENDOR_PAGES_DAYS = 7;

/** Retention of a page without a monitor, read only for a request of the API, in milliseconds. */
const KEEP_UNWATCHED_MS = HOUR_MS;

/** Retention of the results of bulk changes, in days. */
const KEEP_BULK_CHANGES_DAYS = 7;

/** Maximum pings of deleted heartbeats deleted at a time. */
const MAX_PINGS = 500_000;

/**
 * Time after a clock jump in which nothing is deleted, in milliseconds. A clock that was set a year ahead is set back
 * by then.
 */
const JUMP_WINDOW_MS = DAY_MS;

/** Time after which deletions in chunks start no further one, in milliseconds; the next run continues. */
const BUDGET_MS = 5 * MINUTE_MS;

type Deletion = () => Promise<number>;

/**
 * Deletes rows beyond their retention, and ended sessions; returns the number of each kind. No deletion depends on the
 * success of another: throws the first failure after all of them. `signal` is aborted when the process stops.
 */
export async function retainHistory(
  { database, now, log }: Pick<Runtime, 'database' | 'now' | 'log'>,
  { signal }: { signal?: AbortSignal } = {},
): Promise<Record<string, number> | { held: true }> {
  if (await isTimeUncertain(database, { nowMs: now(), jumpWindowMs: JUMP_WINDOW_MS })) return { held: true };
  const endMs = performance.now() + BUDGET_MS;
  const mayGoOn = () => performance.now() < endMs && signal?.aborted !== true;
  const deletions: Record<string, Deletion> = {
    domains: () => deleteOldDomains(database, now() - KEEP_DOMAINS_DAYS * DAY_MS),
    idleRegistries: () => deleteIdleRegistries(database, now() - KEEP_DOMAINS_DAYS * DAY_MS),
    telegramUpdates: () => deleteOldUpdates(database, now()),
    vendorPages: () =>
      deleteUnusedVendorPages(database, now() - KEEP_VENDOR_PAGES_DAYS * DAY_MS, now() - KEEP_UNWATCHED_MS),
    sessions: () => deleteOverSessions(database, now()),
    usedOnce: () => deleteUsedOnce(database, now()),
    signInClients: () => deleteOldSignInClients(database, now()),
    invitations: () => deletePastInvitations(database, now()),
    pings: () => deleteOrphanedPings(database, MAX_PINGS),
    rates: () => deletePastRates(database, now()),
    bulkChanges: () => deleteOldBulkChanges(database, now() - KEEP_BULK_CHANGES_DAYS * DAY_MS),
    zoneReports: () => deleteOldZoneReports(database, now() - KEEP_DELIVERIES_DAYS * DAY_MS),
    drills: () => deleteOldDrills(database, now() - KEEP_DRILLS_DAYS * DAY_MS),
    // The longest deletions come last.
    maintenance: () =>
      deleteOldMaintenance(
        database,
        {
          occurrencesBeforeMs: now() - DAILY_DAYS * DAY_MS,
          windowsBeforeMs: now() - KEEP_WINDOWS_DAYS * DAY_MS,
        },
        mayGoOn,
      ),
    auditEntries: () => deleteOldAuditEntries(database, now() - KEEP_AUDIT_DAYS * DAY_MS, mayGoOn),
    deliveries: () => deleteOldDeliveries(database, now() - KEEP_DELIVERIES_DAYS * DAY_MS, mayGoOn),
  };
  const deleted: Record<string, number> = {};
  const failures: unknown[] = [];
  for (const [what, deletion] of Object.entries(deletions)) {
    try {
      deleted[what] = await deletion();
    } catch (error) {
      log.error({ err: error, what }, 'retention.failed');
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
  return deleted;
}
