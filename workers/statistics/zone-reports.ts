import { buildReportMessage } from '../../core/statistics/reports/message.ts';
import { periodBefore } from '../../core/statistics/reports/periods.ts';
import { DAY_SECONDS } from '../../core/time.ts';
import { insertDeliveries, type NewDelivery } from '../../models/alerts/deliveries.ts';
import { inTransaction } from '../../models/sql.ts';
import { composeReport } from '../../models/statistics/period-facts.ts';
import {
  filterUnreported,
  insertZoneReport,
  listReportZones,
  listZoneReportChannels,
  type ZonePeriod,
} from '../../models/statistics/reports.ts';
import { firstAttempt } from '../../queues/enqueue-committed.ts';
import { announce } from '../alerts/announce.ts';
import type { Runtime } from '../runtime.ts';

/** A period that ended longer ago is not reported any more, in seconds: it would be no news. */
const LATEST_SECONDS = 3 * DAY_SECONDS;

/** Until when one round begins reports, and up to where roll-ups are whole, both in Unix milliseconds. */
export type ZoneRound = { endMs: number; readyMs: number; signal?: AbortSignal };

/** The newest week and month of each zone that have ended and are to be reported by email, and are not yet. */
export async function listDueZonePeriods(runtime: Pick<Runtime, 'database' | 'now'>): Promise<ZonePeriod[]> {
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
 * Makes these reports, each once whatever runs at once, with the deliveries of their emails. One that cannot be made
 * holds up no other; the first failure is thrown in the end.
 */
export async function makeZoneReports(
  runtime: Runtime,
  due: readonly ZonePeriod[],
  { endMs, readyMs, signal }: ZoneRound,
): Promise<{ reports: number; isUnfinished: boolean }> {
  let reports = 0;
  const failures: unknown[] = [];
  for (const one of due.filter(({ window }) => window.endSeconds * 1000 <= readyMs)) {
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
