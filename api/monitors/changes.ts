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
 * A change of one monitor, requested by itself or with others: in whose account and name. `beforeCommit` runs at the
 * end of its transaction. Each of the changes below throws an `ApiError` where it is refused, and 404 where the account
 * has no such monitor.
 */
export type MonitorChangeRequest = {
  account: { tenantId: string; plan: Plan };
  author: Author;
  monitorId: string;
  beforeCommit?: BeforeCommit;
};

/**
 * What a PATCH says. `ifVersion`: the settings that the change was made from; absent = any. `keepsOmitted` as in
 * `readMonitorPatch`. `tagsOf` decides the tags from those that the monitor has.
 */
type MonitorPatch = {
  body: MonitorBody;
  ifVersion?: string | undefined;
  keepsOmitted?: boolean;
  tagsOf?: (current: Monitor) => readonly string[];
};

type PatchingParts = AnnouncingParts & Omit<ContextSources, 'rateLimits'>;

/** The most times that a patch starts over because the vendor changed while the previous page was read. */
const MAX_ATTEMPTS = 3;

/**
 * Judges a PATCH against the monitor as it is when it is locked, and stores it (D-07). A vendor's page is read before
 * that, for it may take seconds: where another write has named a different one meanwhile, the PATCH starts over with
 * that, and the last time counts its page as one that could not be read (D-154, D-155).
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

/** One transaction: lock the monitor, decide what it becomes, store that. `vendor_changed`: the patch starts over. */
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

/** What was stored of a monitor, or a 400 with the reason why it was not. */
export async function acceptStored<T>(stored: Promise<T>): Promise<T> {
  return await stored.catch((error: unknown) => {
    throw withSentence(error);
  });
}

/** The refusal of a monitor as a 400 whose sentence says why; any other error as it is. */
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

/** Why a plan allows no further monitor, and what helps. */
export function explainPlanLimit(plan: Plan): string {
  return (
    `the ${plan} plan allows at most ${PLAN_LIMITS[plan].monitors} monitors, and this account has reached the limit: ` +
    'delete one first'
  );
}

/** Deletes a monitor and takes it out of the schedules. */
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

/** How long a monitor counts as new after its creation or last change, in milliseconds (D-397). */
const NEW_FOR_MS = 60_000;

/** Has the sources of a monitor check it at once, as far as the rate limits allow: 429, and 409 where none can. */
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
  // Otherwise a change followed by a request could contact any address at once.
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

/** Why a monitor without sources cannot be checked. */
function whyNot({ monitor: { type, enabled, target } }: Pick<CheckRequest, 'monitor'>): string {
  if (type === 'heartbeat') return 'heartbeat monitors wait for pings and cannot be checked: send a ping instead';
  if (!enabled) return 'the monitor is paused: resume it first';
  if (target === '') return 'the monitor has no target: set target first';
  return 'the monitor has no agents to check it: set agent_sources first';
}

/** What announcing a committed change of a monitor needs. */
export type AnnouncingParts = Parts<'database' | 'now' | 'rateLimits' | 'onScheduleChange' | 'logger'>;

/**
 * Notifies the queue of a committed change without waiting for it. The row is what counts: the reconcile chore repairs
 * what the queue missed while it was away.
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
