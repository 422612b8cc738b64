import { PLAN_LIMITS } from '../../core/accounts/plans.ts';
import { DAY_MS, HOUR_MS } from '../../core/time.ts';
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
import { deleteOldMaintenance } from '../../models/maintenance/windows.ts';
import { deleteOldBulkChanges } from '../../models/monitors/bulk-changes.ts';
import { deleteOldZoneReports } from '../../models/statistics/reports.ts';
import { isTimeUncertain } from '../../models/statistics/service-time.ts';
import { createPartitions, dropOldPartitions } from '../../models/system/partitions.ts';
import type { Runtime } from '../runtime.ts';

/** The longest that any plan keeps single results, in days: a partition holds those of every tenant. */
const RAW_DAYS = Math.max(...Object.values(PLAN_LIMITS).map((limits) => limits.resultDays));

/** Roll-ups of hours are kept longer than 90 days, of days longer than two years, whatever the plan. */
const HOURLY_DAYS = 100;
const DAILY_DAYS = 26 * 31;

const KEPT_DAYS = {
  check_results: RAW_DAYS,
  packed_results: RAW_DAYS,
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

/** Finished deliveries are kept this long, in days. */
export const KEEP_DELIVERIES_DAYS = 30;

/** Entries of the audit log are kept this long, in days: a year, and a month to look back over it. */
const KEEP_AUDIT_DAYS = 400;

/**
 * What is known of a domain, and of the servers that were asked, goes this long after its last use, in days.
 */
const KEEP_DOMAINS_DAYS = 30;

/** A maintenance window that is over is kept this long, in days; what it took out of the SLA as long as the days. */
const KEEP_WINDOWS_DAYS = 90;

/** Drills are kept this long, in days. */
const KEEP_DRILLS_DAYS = 90;

/** An unused vendor's page is deleted after this long, in days. */
const KEEP_VENDOR_PAGES_DAYS = 7;

/** One that no monitor watches, read for a request of the API alone, goes sooner, in milliseconds. */
const KEEP_UNWATCHED_MS = HOUR_MS;

/** What came of a bulk change is kept this long, in days. */
const KEEP_BULK_CHANGES_DAYS = 7;

/** Pings of deleted heartbeats that go at a time. */
const MAX_PINGS = 500_000;

/**
 * After a jump of the time nothing is deleted for so long, in milliseconds. A clock that was set a year ahead is set
 * back by then.
 */
const JUMP_WINDOW_MS = DAY_MS;

/** How many rows of each kind were deleted. */
type Deleted = {
  deliveries: number;
  domains: number;
  idleRegistries: number;
  telegramUpdates: number;
  vendorPages: number;
  sessions: number;
  usedOnce: number;
  signInClients: number;
  invitations: number;
  auditEntries: number;
  pings: number;
  rates: number;
  maintenance: number;
  bulkChanges: number;
  zoneReports: number;
  drills: number;
};

/** Deletes what is older than its promise, and sessions that are over. */
export async function retainHistory({ database, now }: Runtime): Promise<Deleted | { held: true }> {
  if (await isTimeUncertain(database, { nowMs: now(), jumpWindowMs: JUMP_WINDOW_MS })) return { held: true };
  return {
    deliveries: await deleteOldDeliveries(database, now() - KEEP_DELIVERIES_DAYS * DAY_MS),
    domains: await deleteOldDomains(database, now() - KEEP_DOMAINS_DAYS * DAY_MS),
    idleRegistries: await deleteIdleRegistries(database, now() - KEEP_DOMAINS_DAYS * DAY_MS),
    telegramUpdates: await deleteOldUpdates(database, now()),
    vendorPages: await deleteUnusedVendorPages(
      database,
      now() - KEEP_VENDOR_PAGES_DAYS * DAY_MS,
      now() - KEEP_UNWATCHED_MS,
    ),
    sessions: await deleteOverSessions(database, now()),
    usedOnce: await deleteUsedOnce(database, now()),
    signInClients: await deleteOldSignInClients(database, now()),
    invitations: await deletePastInvitations(database, now()),
    auditEntries: await deleteOldAuditEntries(database, now() - KEEP_AUDIT_DAYS * DAY_MS),
    pings: await deleteOrphanedPings(database, MAX_PINGS),
    rates: await deletePastRates(database, now()),
    maintenance: await deleteOldMaintenance(database, {
      occurrencesBeforeMs: now() - DAILY_DAYS * DAY_MS,
      windowsBeforeMs: now() - KEEP_WINDOWS_DAYS * DAY_MS,
    }),
    bulkChanges: await deleteOldBulkChanges(database, now() - KEEP_BULK_CHANGES_DAYS * DAY_MS),
    zoneReports: await deleteOldZoneReports(database, now() - KEEP_DELIVERIES_DAYS * DAY_MS),
    drills: await deleteOldDrills(database, now() - KEEP_DRILLS_DAYS * DAY_MS),
  };
}
