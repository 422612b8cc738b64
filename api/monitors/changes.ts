import type { Author } from '../../core/accounts/audit-entry.ts';
import { PLAN_LIMITS, type Plan } from '../../core/accounts/plans.ts';
import { noScheduleChange, type ScheduleChange } from '../../core/checks/slots.ts';
import { explainUnknownAgents, type MonitorContext } from '../../core/monitors/input/complete.ts';
import type { MonitorBody } from '../../core/monitors/input/fields.ts';
import { readMonitorPatch } from '../../core/monitors/input/read.ts';
import type { Monitor } from '../../core/monitors/monitor.ts';
import { TOO_MANY_ROUTES } from '../../models/alerts/channel-limits.ts';
import { requestCheck, scheduleRechecks, type CheckRequest } from '../../models/checks/schedule.ts';
import { lockDependencies } from '../../models/monitors/dependencies.ts';
import {
  MonitorRefusal,
  deleteMonitor,
  lockMonitor,
  pauseMonitor,
  resumeMonitor,
  updateMonitor,
  type BeforeCommit,
  type ChangeKey,
  type MonitorRefusalReason,
  type StoredMonitor,
} from '../../models/monitors/monitor-changes.ts';
import { findMonitor } from '../../models/monitors/monitors.ts';
import { inTransaction, runOn } from '../../models/sql.ts';
import { ApiError, accept, badRequest, conflict, notFound } from '../api-error.ts';
import type { Parts } from '../handler.ts';
import { draftOf, findPageToPatch, loadMonitorContext, type ContextSources } from './monitor-context.ts';
import { settingsVersionOf } from './presenter.ts';

/**
 * A change of one monitor, requested alone or in bulk, with its account and author. `beforeCommit` runs at the end of
 * its transaction. Each function below throws an `ApiError` if the change is refused, and 404 if the account has no
 * such monitor.
 */
export type MonitorChangeRequest = {
  account: { tenantId: string; plan: Plan };
  author: Author;
  monitorId: string;
  beforeCommit?: BeforeCommit;
};

/**
 * A PATCH. `ifVersion`: the settings version that the change is based on; absent = any. `keepsOmitted` as in
 * `readMonitorPatch`. `tagsOf` computes the tags from the monitor's current ones.
 */
type MonitorPatch = {
  body: MonitorBody;
  ifVersion?: string | undefined;
  keepsOmitted?: boolean;
  tagsOf?: (current: Monitor) => readonly string[];
};

type PatchingParts = AnnouncingParts & Omit<ContextSources, 'rateLimits'>;

/** Maximum number of attempts at a patch whose vendor changes while the previous page is read. */
const MAX_ATTEMPTS = 3;

/**
 * Validates a PATCH against the locked monitor, and stores it (D-07). A vendor's page is read before that, because it
 * may take seconds: if another write has named a different page meanwhile, the PATCH starts over with that one. The
 * last attempt treats its page as unreadable (D-154, D-155).
 */
export async function patchMonitor(
  dependencies: PatchingParts,
  request: MonitorChangeRequest,
  patch: MonitorPatch,
): Promise<StoredMonitor> {
  const { account, monitorId } = request;
  for (let attempt = 1; ; attempt += 1) {
    const context = await loadMonitorContext(dependencies, { account, monitorId, body: patch.body, isNew: false });
    const stored = await storePatch(dependencies, request, { ...patch, context, isLast: attempt === MAX_ATTEMPTS });
    if (stored === 'vendor_changed') continue;
    await announceMonitor(dependencies, stored);
    return stored;
  }
}

/**
 * Locks the monitor, computes its new state and stores it, in one transaction. `vendor_changed`: the patch must start
 * over.
 */
async function storePatch(
  { database, now }: Parts<'database' | 'now'>,
  { account: { tenantId }, author, monitorId, beforeCommit }: MonitorChangeRequest,
  {
    body,
    ifVersion,
    keepsOmitted = false,
    tagsOf,
    context,
    isLast,
  }: MonitorPatch & {
    context: MonitorContext;
    isLast: boolean;
  },
): Promise<StoredMonitor | 'vendor_changed'> {
  const nowMs = now();
  return await inTransaction(database, async (run) => {
    if (body.depends_on !== undefined) await lockDependencies(run, tenantId);
    const locked = await lockMonitor(database, run, { tenantId, id: monitorId });
    if (locked === null) throw notFound('monitor', monitorId);
    if (ifVersion !== undefined && ifVersion !== settingsVersionOf(locked.monitor, locked))
      throw conflict(`monitor ${monitorId} has changed since it was read: read it again, then send the change again`);
    const page = findPageToPatch(body, locked.monitor);
    if (page?.pageUrl !== context.vendorReading?.page.pageUrl && !isLast) return 'vendor_changed';
    const whole = tagsOf === undefined ? body : { ...body, tags: tagsOf(locked.monitor) };
    const { settings, agentSources, parents, secrets } = accept(
      readMonitorPatch(whole, { current: draftOf(locked), context, keepsOmitted }),
    );
    const change = { settings, secrets, agentIds: agentSources, parents };
    const stored = await acceptStored(
      updateMonitor({ database, run, author, nowMs, defersRechecks: true }, locked, change),
    );
    await beforeCommit?.(run);
    return stored;
  });
}

/** Returns the stored monitor, or throws a 400 with the reason why it was refused. */
export async function acceptStored<T>(stored: Promise<T>): Promise<T> {
  return await stored.catch((error: unknown) => {
    throw withSentence(error);
  });
}

/** Converts the refusal of a monitor to a 400 that explains it, and returns any other error as it is. */
export function withSentence(error: unknown): unknown {
  return error instanceof MonitorRefusal ? badRequest(...explainRefusal(error.why)) : error;
}

function explainRefusal(why: MonitorRefusalReason): string[] {
  switch (why.reason) {
    case 'plan_limit':
      return [explainPlanLimit(why.plan)];
    case 'too_many_routes':
      return [TOO_MANY_ROUTES];
    case 'agents_gone':
      return [explainUnknownAgents(why.ids)];
    case 'parents':
      return why.problems.map(({ message }) => message);
    default:
      return why satisfies never;
  }
}

/** Explains that a plan allows no further monitor, and the remedy. */
export function explainPlanLimit(plan: Plan): string {
  return (
    `the ${plan} plan allows at most ${PLAN_LIMITS[plan].monitors} monitors, and this account has reached the limit: ` +
    'delete one first'
  );
}

/** Deletes a monitor and removes it from the schedules. */
export async function removeMonitor(
  dependencies: Parts<'database' | 'now' | 'onScheduleChange' | 'logger'>,
  request: MonitorChangeRequest,
): Promise<void> {
  const schedule = await deleteMonitor(dependencies.database, keyOf(request, dependencies.now()));
  if (schedule === null) throw notFound('monitor', request.monitorId);
  announceSchedule(dependencies, schedule);
}

/** Pauses or resumes a monitor. */
export async function switchMonitor(
  dependencies: AnnouncingParts,
  request: MonitorChangeRequest,
  enabled: boolean,
): Promise<void> {
  const change = enabled ? resumeMonitor : pauseMonitor;
  const stored = await change(dependencies.database, {
    ...keyOf(request, dependencies.now()),
    defersRechecks: true,
  });
  if (stored === null) throw notFound('monitor', request.monitorId);
  await announceMonitor(dependencies, stored);
}

function keyOf(
  { account: { tenantId }, author, monitorId, beforeCommit }: MonitorChangeRequest,
  nowMs: number,
): ChangeKey {
  return { tenantId, id: monitorId, author, nowMs, ...(beforeCommit && { beforeCommit }) };
}

/** Time that a monitor counts as new after its creation or last change, in milliseconds (D-397). */
const NEW_FOR_MS = 60_000;

/** Has the sources of a monitor check it at once. Throws 429 beyond the rate limits, and 409 if no source can. */
export async function checkMonitor(
  dependencies: AnnouncingParts,
  request: MonitorChangeRequest,
): Promise<CheckRequest & { requestedAtMs: number }> {
  const { database, now, rateLimits } = dependencies;
  const {
    account: { tenantId },
    monitorId: id,
  } = request;
  await rateLimits.take('check', `${tenantId} ${id}`);
  await rateLimits.take('accountCheck', tenantId);
  const nowMs = now();
  const monitor = (await findMonitor(database, { tenantId, id }))?.monitor;
  // Without this limit, a change followed by a check request could contact any address at once.
  const isNew = monitor !== undefined && nowMs - monitor.updatedAt * 1000 < NEW_FOR_MS;
  if (isNew) await rateLimits.takeFor(`${id} ${monitor.checksVersion}`, 'earlyCheck', tenantId);
  const requested = await requestCheck(database, keyOf(request, nowMs));
  if (requested === null) throw notFound('monitor', id);
  if (requested.sources.length === 0) throw conflict(whyNot(requested));
  announceSchedule(dependencies, {
    ...noScheduleChange(),
    rechecks: requested.sources.filter(({ state }) => state === 'asked').map(({ agentNo }) => agentNo),
  });
  return { ...requested, requestedAtMs: nowMs };
}

/** Explains why a monitor without sources cannot be checked. */
function whyNot({ monitor: { type, enabled, target } }: Pick<CheckRequest, 'monitor'>): string {
  if (type === 'heartbeat') return 'heartbeat monitors wait for pings and cannot be checked: send a ping instead';
  if (!enabled) return 'the monitor is paused: resume it first';
  if (target === '') return 'the monitor has no target: set target first';
  return 'the monitor has no agents to check it: set agent_sources first';
}

/** Dependencies for announcing a committed change of a monitor. */
export type AnnouncingParts = Parts<'database' | 'now' | 'rateLimits' | 'onScheduleChange' | 'logger'>;

/**
 * Notifies the queue of a committed change without waiting. The row is authoritative: the reconcile chore repairs
 * omissions while the queue is away.
 */
export function announceSchedule(
  { onScheduleChange, logger }: Parts<'onScheduleChange' | 'logger'>,
  change: ScheduleChange,
): void {
  const { occupied, emptied, rechecks, dependents = [] } = change;
  if (occupied.length + emptied.length + rechecks.length + dependents.length === 0) return;
  onScheduleChange(change).catch((error: unknown) => logger.warn({ err: error }, 'schedule.announcement_failed'));
}

/**
 * Plans the rechecks of a committed change of a monitor, as far as the account's rate limit allows, and notifies the
 * queue of the change. Beyond the limit the monitor is checked at its next tick (D-397). Never rejects: the change is
 * stored.
 */
export async function announceMonitor(
  dependencies: AnnouncingParts,
  { monitor, schedule }: StoredMonitor,
): Promise<void> {
  const { database, logger, now } = dependencies;
  const planned = schedule.rechecks.map((agentNo) => ({ monitorNo: monitor.no, agentNo, atMs: now() }));
  try {
    const mayRecheck = planned.length > 0 && (await takesRecheck(dependencies, monitor.tenantId));
    if (mayRecheck) await scheduleRechecks(runOn(database.pool), planned);
    announceSchedule(dependencies, mayRecheck ? schedule : { ...schedule, rechecks: [] });
  } catch (error) {
    logger.warn({ err: error, monitor_id: monitor.id }, 'schedule.recheck_not_planned');
    announceSchedule(dependencies, { ...schedule, rechecks: [] });
  }
}

async function takesRecheck({ rateLimits }: Parts<'rateLimits'>, tenantId: string): Promise<boolean> {
  try {
    await rateLimits.take('earlyCheck', tenantId);
    return true;
  } catch (error) {
    if (error instanceof ApiError) return false;
    throw error;
  }
}
