import { buildReportMessage } from '../../core/statistics/reports/message.ts';
import { endedPeriods, periodBefore, type ReportWindow } from '../../core/statistics/reports/periods.ts';
import { MAX_STANDSTILL_MS } from '../../core/statistics/service-gaps.ts';
import { DAY_SECONDS, HOUR_MS } from '../../core/time.ts';
import { insertDeliveries, type NewDelivery } from '../../models/alerts/deliveries.ts';
import { listReportChannels } from '../../models/alerts/routes.ts';
import { inTransaction, runOn, withAdvisoryLock } from '../../models/sql.ts';
import { composeReport } from '../../models/statistics/period-facts.ts';
import {
  filterUnreported,
  insertReport,
  insertZoneReport,
  listMissingReports,
  listReportZones,
  listTenantsWithout,
  listZoneReportChannels,
  type ZonePeriod,
} from '../../models/statistics/reports.ts';
import { rolledUntilMs } from '../../models/statistics/rollups.ts';
import { isTimeUncertain } from '../../models/statistics/service-time.ts';
import { findLastSweep } from '../../models/system/service-marks.ts';
import { firstAttempt } from '../../queues/enqueue-committed.ts';
import { announce } from '../incidents/record-changes.ts';
import type { Runtime } from '../runtime.ts';

/**
 * How long after a period's end its report waits for unfinished roll-ups, in milliseconds: then it is made from the
 * existing ones.
 */
const PATIENCE_MS = 6 * HOUR_MS;

/** How long one round starts reports, and then those of other zones, in milliseconds. The next round continues. */
const ROUND_MS = 20_000;

type ReportsOptions = {
  /** Aborted when the process stops: the current report is finished, and no other is started. */
  signal?: AbortSignal;
};

type Made = { reports: number; isUnfinished: boolean };

/** Dependencies of making one report. */
type ReportTools = Pick<Runtime, 'database' | 'newId' | 'publicUrl'>;

/**
 * Makes the reports of periods that have ended (D-62), each tenant's in the order in which they ended. Chats that want
 * it are notified of the newest of each kind. Each report is made once even by simultaneous rounds, and made up for
 * after days of standstill, once the sweep has detected that. If no report is due and no email has its own time zone,
 * these are two queries.
 */
export async function makeReports(runtime: Runtime, { signal }: ReportsOptions = {}): Promise<Made> {
  const { database, now } = runtime;
  const ended = endedPeriods(now());
  const newest = newestOf(ended);
  const tenants = await listTenantsWithout(database, newest);
  const zonePeriods = await listDueZonePeriods(runtime);
  if (tenants.length === 0 && zonePeriods.length === 0) return { reports: 0, isUnfinished: false };
  if (!(await isWatched(runtime))) return { reports: 0, isUnfinished: true };
  const readyMs = Math.max(await rolledUntilMs(runOn(database.pool)), now() - PATIENCE_MS);
  const ready = ended.filter(({ endSeconds }) => endSeconds * 1000 <= readyMs);
  const round: Round = {
    endMs: now() + ROUND_MS,
    readyMs,
    ready,
    newest: new Set(newest.map(nameOf)),
    ...(signal && { signal }),
  };
  const made = await withAdvisoryLock(database, 'reports', async () => {
    const making = makeAll(runtime, tenants, round);
    // Reports by other zones are made even if that fails.
    await making.catch(() => undefined);
    const inZones = await makeZoneReports(runtime, zonePeriods, { ...round, endMs: now() + ROUND_MS });
    const inUtc = await making;
    return { reports: inUtc.reports + inZones.reports, isUnfinished: inUtc.isUnfinished || inZones.isUnfinished };
  });
  return made ?? { reports: 0, isUnfinished: false };
}

/**
 * Reports whether a standstill of the service that has just ended is recorded, and PostgreSQL's clock is certain. A
 * report made before would lack the gap for good, or be made for a period that only seems to have ended.
 */
async function isWatched({ database, now }: Runtime): Promise<boolean> {
  const sweptAtMs = await findLastSweep(runOn(database.pool));
  if (sweptAtMs === null || now() - sweptAtMs > MAX_STANDSTILL_MS) return false;
  return !(await isTimeUncertain(database, { nowMs: now(), jumpWindowMs: 0 }));
}

/**
 * Makes one report with the deliveries of its summary, in one transaction. Returns false if there is nothing to report,
 * or another process made it first. The caller adds the deliveries' jobs.
 */
export async function makeReport(
  { database, newId, publicUrl }: ReportTools,
  {
    tenantId,
    window,
    nowMs,
    isNotified,
  }: { tenantId: string; window: ReportWindow; nowMs: number; isNotified: boolean },
): Promise<{ isMade: boolean; deliveries: NewDelivery[] }> {
  const report = await composeReport(database, { tenantId, window, nowMs });
  if (report === null) return { isMade: false, deliveries: [] };
  const id = newId('rep');
  return await inTransaction(database, async (run) => {
    if (!(await insertReport(run, { id, tenantId, window, ...report, nowMs })))
      return { isMade: false, deliveries: [] };
    const channelIds = isNotified ? await listReportChannels(run, tenantId) : [];
    const message = buildReportMessage({ id, window, summary: report.content.summary, publicUrl });
    const deliveries = channelIds.map((channelId) => ({
      id: newId('dlv'),
      tenantId,
      channelId,
      monitorId: null,
      message,
      createdAtMs: nowMs,
    }));
    await insertDeliveries(run, deliveries);
    return { isMade: true, deliveries };
  });
}

/**
 * Shuffles items in each round, so that one that takes long, or fails late, does not always hold up the same others.
 */
function inAnyOrder<Item>(items: readonly Item[]): Item[] {
  return items
    .map((item) => ({ item, place: Math.random() }))
    .toSorted((a, b) => a.place - b.place)
    .map(({ item }) => item);
}

type Round = ZoneRound & { ready: readonly ReportWindow[]; newest: ReadonlySet<string> };

async function makeAll(
  runtime: Runtime,
  tenants: readonly { id: string; createdAt: number }[],
  round: Round,
): Promise<Made> {
  const { log, now } = runtime;
  let reports = 0;
  let failure: unknown = null;
  for (const tenant of inAnyOrder(tenants)) {
    try {
      for (const window of await listMissingReports(runtime.database, tenant, round.ready)) {
        if (now() >= round.endMs || round.signal?.aborted === true) return { reports, isUnfinished: true };
        if (await makeOne(runtime, { tenantId: tenant.id, window, isNotified: round.newest.has(nameOf(window)) }))
          reports += 1;
      }
    } catch (error) {
      // The tenant's later reports wait for this one, because the next round detects it by the missing newest one.
      // Other tenants do not wait.
      log.error({ err: error, tenant_id: tenant.id }, 'report.failed');
      failure ??= error;
    }
  }
  if (failure !== null) throw failure;
  return { reports, isUnfinished: false };
}

async function makeOne(
  runtime: Runtime,
  { tenantId, window, isNotified }: { tenantId: string; window: ReportWindow; isNotified: boolean },
): Promise<boolean> {
  const startMs = runtime.now();
  const { isMade, deliveries } = await makeReport(runtime, { tenantId, window, nowMs: startMs, isNotified });
  if (!isMade) return false;
  const { period, startSeconds } = window;
  runtime.log.info(
    {
      tenant_id: tenantId,
      period,
      period_start: startSeconds,
      duration_ms: runtime.now() - startMs,
      deliveries: deliveries.length,
    },
    'report.made',
  );
  await announce(runtime, { transitions: [], deliveries: deliveries.map(firstAttempt) });
  return true;
}

/** Returns the last one of each kind. */
function newestOf(ended: readonly ReportWindow[]): ReportWindow[] {
  return (['week', 'month'] as const).flatMap((period) => ended.findLast((window) => window.period === period) ?? []);
}

function nameOf({ period, startSeconds }: ReportWindow): string {
  return `${period} ${startSeconds}`;
}

/** Age beyond which an ended period is not reported any more, in seconds: it would be outdated. */
const LATEST_SECONDS = 3 * DAY_SECONDS;

/** Until when one round starts reports, and up to when roll-ups are complete, both in Unix milliseconds. */
type ZoneRound = { endMs: number; readyMs: number; signal?: AbortSignal };

/** Returns the newest ended week and month of each zone that are to be reported by email, and have not been. */
async function listDueZonePeriods(runtime: Pick<Runtime, 'database' | 'now'>): Promise<ZonePeriod[]> {
  const nowSeconds = Math.floor(runtime.now() / 1000);
  const zones = await listReportZones(runtime.database);
  const ended = zones.flatMap(({ tenantId, timezone, sinceSeconds }) =>
    (['week', 'month'] as const)
      .map((period) => ({ tenantId, window: { ...periodBefore(period, nowSeconds, timezone), timezone } }))
      .filter(({ window }) => window.endSeconds > Math.max(sinceSeconds, nowSeconds - LATEST_SECONDS)),
  );
  return await filterUnreported(runtime.database, ended);
}

/**
 * Makes these reports, each once even by simultaneous rounds, with the deliveries of their emails. A failed one holds
 * up no other; the first failure is thrown at the end.
 */
async function makeZoneReports(
  runtime: Runtime,
  due: readonly ZonePeriod[],
  { endMs, readyMs, signal }: ZoneRound,
): Promise<Made> {
  let reports = 0;
  const failures: unknown[] = [];
  for (const one of inAnyOrder(due.filter(({ window }) => window.endSeconds * 1000 <= readyMs))) {
    if (runtime.now() >= endMs || signal?.aborted === true) return { reports, isUnfinished: true };
    try {
      if (await makeZoneReport(runtime, one)) reports += 1;
    } catch (error) {
      runtime.log.error({ err: error, tenant_id: one.tenantId, timezone: one.window.timezone }, 'report.failed');
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
  return { reports, isUnfinished: false };
}

async function makeZoneReport(runtime: Runtime, { tenantId, window }: ZonePeriod): Promise<boolean> {
  const { database, newId, publicUrl, now, log } = runtime;
  const nowMs = now();
  const report = await composeReport(database, { tenantId, window, nowMs });
  const content = report?.content ?? null;
  const deliveries = await inTransaction(database, async (run): Promise<NewDelivery[] | null> => {
    if (!(await insertZoneReport(run, { tenantId, window, content, nowMs }))) return null;
    if (content === null) return [];
    const message = buildReportMessage({ id: null, window, summary: content.summary, publicUrl });
    const channelIds = await listZoneReportChannels(run, { tenantId, timezone: window.timezone });
    const written = channelIds.map((channelId) => ({
      id: newId('dlv'),
      tenantId,
      channelId,
      monitorId: null,
      message,
      createdAtMs: nowMs,
    }));
    await insertDeliveries(run, written);
    return written;
  });
  if (deliveries === null) return false;
  const { period, startSeconds, timezone } = window;
  log.info(
    {
      tenant_id: tenantId,
      period,
      period_start: startSeconds,
      timezone,
      duration_ms: now() - nowMs,
      deliveries: deliveries.length,
    },
    'report.made',
  );
  await announce(runtime, { transitions: [], deliveries: deliveries.map(firstAttempt) });
  return true;
}
