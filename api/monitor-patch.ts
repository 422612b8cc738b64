import { readMonitorPatch } from '../core/monitor-input/read.ts';
import type { Monitor } from '../core/monitor.ts';
import type { ScheduleChange } from '../core/schedule.ts';
import { updateMonitor } from '../models/monitor-changes.ts';
import { accept } from './api-error.ts';
import type { Caller } from './caller.ts';
import type { HandlerDependencies } from './dependencies.ts';
import { draftOf, findPageToPatch, loadMonitorContext, type MonitorBody } from './monitor-context.ts';

export type MonitorPatch = { caller: Caller; monitorId: string; body: MonitorBody };

/** The most times that a patch starts anew because the vendor changed while the page of the last one was read. */
const MOST_ATTEMPTS = 3;

/** What `updateMonitor` leaves the monitor alone for: its vendor is no longer the one whose page was read. */
class VendorChanged extends Error {}

/**
 * Judges a PATCH against the monitor as it is when it is locked, and stores it (D-07); null where there is no such
 * monitor. A vendor's page is read before that, for it may take seconds: where another write has named a different one
 * meanwhile, the PATCH starts over with that, and the last time counts its page as one that could not be read (D-154,
 * D-155).
 */
export async function patchMonitor(
  dependencies: HandlerDependencies,
  patch: MonitorPatch,
): Promise<{ monitor: Monitor; schedule: ScheduleChange } | null> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await tryPatch(dependencies, patch, attempt === MOST_ATTEMPTS);
    } catch (error) {
      if (!(error instanceof VendorChanged)) throw error;
    }
  }
}

async function tryPatch(dependencies: HandlerDependencies, { caller, monitorId, body }: MonitorPatch, isLast: boolean) {
  const { database, now } = dependencies;
  const context = await loadMonitorContext(dependencies, { caller, monitorId, body, isNew: false });
  const key = { tenantId: caller.tenantId, id: monitorId, nowMs: now(), holdsRechecks: true };
  return await updateMonitor(database, key, (current) => {
    const page = findPageToPatch(body, current.monitor);
    if (page?.pageUrl !== context.vendorReading?.page.pageUrl && !isLast) throw new VendorChanged();
    const { settings, agentSources, secrets } = accept(readMonitorPatch(body, { current: draftOf(current), context }));
    return { settings, secrets, agentIds: agentSources };
  });
}
