import type { Response } from 'express';
import {
  LONGEST_SECONDS,
  statusOfWindow,
  type MaintenanceWindow,
  type Occurrence,
  type WindowSettings,
} from '../../core/maintenance/window.ts';
import { toLocalTime } from '../../core/time-zones.ts';
import { DAY_MS, DAY_SECONDS, toUnixSeconds } from '../../core/time.ts';
import { previewMonitors } from '../../models/maintenance/maintenance-times.ts';
import {
  isRecurring,
  listOccurrences,
  scheduleOf,
  type ListedOccurrence,
  type Released,
} from '../../models/maintenance/occurrences.ts';
import { listStarts } from '../../models/maintenance/recurrence.ts';
import {
  TooManyWindows,
  UnknownMonitors,
  WindowConflict,
  createWindow,
  deleteWindow,
  findWindow,
  firstMs,
  listWindows,
  moveEnd,
  skipOccurrence,
  updateWindow,
} from '../../models/maintenance/windows.ts';
import { findMonitor } from '../../models/monitors/monitors.ts';
import { enqueueCommitted } from '../../queues/enqueue-committed.ts';
import { accept, badRequest, conflict, notFound } from '../api-error.ts';
import type { Answer, Handler, Parts } from '../handler.ts';
import { byCreation, cutPage, readPage, requireWholeNumbers } from '../pagination.ts';
import type { RateLimits } from '../rate-limits.ts';
import { authorOf, callerOf, idOf, isId } from '../request-context.ts';
import type { components } from '../schema.generated.ts';
import { readWindow } from './window-input.ts';

type Schemas = components['schemas'];

/** Dependencies for creating windows. */
type CreatingParts = Parts<'database' | 'makeId' | 'now' | 'rateLimits'>;

/** Dependencies of changes that release alerts. */
type ReleasingParts = Parts<'database' | 'now' | 'enqueueAttempts' | 'logger'>;

/** Default number of windows in a page. */
const PAGE = 500;

/** `GET /maintenance-windows` */
export function listMaintenanceWindowsHandler({
  database,
  config,
  now,
}: Parts<'database' | 'config' | 'now'>): Handler<'listMaintenanceWindows'> {
  return async (request, response) => {
    const { limit: asked, after } = readPage(request);
    const limit = asked ?? PAGE;
    const windows = await listWindows(database, {
      tenantId: callerOf(response).tenantId,
      key: request.query.key ?? null,
      ...(after && { after: { createdAt: after.at, id: after.id } }),
      limit: limit + 1,
      nowMs: now(),
    });
    const page = cutPage(
      windows,
      { limit, positionOf: byCreation },
      { request, response, publicUrl: config.publicUrl },
    );
    response.json({ maintenance_windows: page.map(presentWindow) });
  };
}

/** `POST /maintenance-windows` */
export function createMaintenanceWindowHandler(parts: CreatingParts): Handler<'createMaintenanceWindow'> {
  return async (request, response) => {
    const settings = accept(readWindow(request.body, { current: null, nowMs: parts.now() }));
    await answerCreated(parts, response, { settings, key: request.body.key ?? null });
  };
}

/** `POST /monitors/{id}/maintenance` */
export function startMonitorMaintenanceHandler(parts: CreatingParts): Handler<'startMonitorMaintenance'> {
  return async (request, response) => {
    const key = { tenantId: callerOf(response).tenantId, id: idOf(request) };
    const found = await findMonitor(parts.database, key);
    if (found === null) throw notFound('monitor', key.id);
    const { key: scriptKey = null, name, ...sent } = request.body;
    const body = { ...sent, name: name ?? found.monitor.name, monitor_ids: [key.id] };
    const settings = accept(readWindow(body, { current: null, nowMs: parts.now() }));
    await answerCreated(parts, response, { settings, key: scriptKey });
  };
}

/** Number of monitors counted for a window that selects all or by tags. */
const COVERED_BY_MANY = 1000;

/** Charges a window's monitors to the account's daily limit of newly covered monitors. */
async function takeCovered(
  rateLimits: RateLimits,
  tenantId: string,
  { allMonitors, tags, monitorIds }: Pick<WindowSettings, 'allMonitors' | 'tags' | 'monitorIds'>,
): Promise<void> {
  await rateLimits.take('covered', tenantId, allMonitors || tags.length > 0 ? COVERED_BY_MANY : monitorIds.length);
}

async function answerCreated(
  { database, makeId, now, rateLimits }: CreatingParts,
  response: Response<Answer<'createMaintenanceWindow'>>,
  { settings, key }: { settings: WindowSettings; key: string | null },
): Promise<void> {
  const nowMs = now();
  const { tenantId } = callerOf(response);
  const known = key === null ? [] : await listWindows(database, { tenantId, key, limit: 1, nowMs });
  if (known.length === 0) await takeCovered(rateLimits, tenantId, settings);
  const { window, isNew } = await createWindow(database, {
    ...settings,
    id: makeId('mnt'),
    tenantId,
    key,
    createdAt: toUnixSeconds(nowMs),
    author: authorOf(response),
    nowMs,
  }).catch(refuse);
  if (!isNew && hasNothingInCommon(settings, window))
    throw conflict(
      `key ${key} is that of maintenance window ${window.id}, which covers other monitors: use a key of its own`,
    );
  response.status(isNew ? 201 : 200).json(presentWindow(window));
}

/**
 * Reports whether a request shares no monitors or tags with the existing window of its key: it is another deployment,
 * not a repeat.
 */
function hasNothingInCommon(wanted: WindowSettings, window: MaintenanceWindow): boolean {
  if (wanted.allMonitors || window.allMonitors) return wanted.allMonitors !== window.allMonitors;
  return (
    !wanted.monitorIds.some((id) => window.monitorIds.includes(id)) &&
    !wanted.tags.some((tag) => window.tags.includes(tag))
  );
}

/** `GET /maintenance-windows/{id}` */
export function getMaintenanceWindowHandler({
  database,
  now,
}: Parts<'database' | 'now'>): Handler<'getMaintenanceWindow'> {
  return async (request, response) => {
    const key = { tenantId: callerOf(response).tenantId, id: idOf(request) };
    const window = await findWindow(database, key, now());
    if (window === null) throw notFound('maintenance window', key.id);
    response.json(presentWindow(window));
  };
}

/** `PATCH /maintenance-windows/{id}` */
export function updateMaintenanceWindowHandler({
  database,
  now,
  rateLimits,
}: Parts<'database' | 'now' | 'rateLimits'>): Handler<'updateMaintenanceWindow'> {
  return async (request, response) => {
    const key = { tenantId: callerOf(response).tenantId, id: idOf(request) };
    const nowMs = now();
    const { all_monitors: allMonitors = false, monitor_ids: monitorIds = [], tags = [] } = request.body;
    if (allMonitors || tags.length > 0 || monitorIds.length > 0)
      await takeCovered(rateLimits, key.tenantId, { allMonitors, monitorIds, tags });
    const read = (current: MaintenanceWindow) => accept(readWindow(request.body, { current, nowMs }));
    const window = await updateWindow(database, { ...key, author: authorOf(response) }, { read, nowMs }).catch(refuse);
    if (window === null) throw notFound('maintenance window', key.id);
    response.json(presentWindow(window));
  };
}

/** `DELETE /maintenance-windows/{id}` */
export function deleteMaintenanceWindowHandler(parts: ReleasingParts): Handler<'deleteMaintenanceWindow'> {
  return async (request, response) => {
    const key = { tenantId: callerOf(response).tenantId, id: idOf(request) };
    const released = await deleteWindow(parts.database, { ...key, author: authorOf(response) }, parts.now());
    if (released === null) throw notFound('maintenance window', key.id);
    await enqueueReleased(parts, released);
    response.json({ ok: true });
  };
}

/** `POST /maintenance-windows/{id}/end` */
export function endMaintenanceWindowHandler(parts: ReleasingParts): Handler<'endMaintenanceWindow'> {
  return async (request, response) => {
    const nowMs = parts.now();
    await answerMoved(parts, { request, response }, { endOf: () => nowMs, nowMs });
  };
}

/** `POST /maintenance-windows/{id}/extend` */
export function extendMaintenanceWindowHandler(parts: ReleasingParts): Handler<'extendMaintenanceWindow'> {
  return async (request, response) => {
    const { duration_seconds: seconds } = request.body;
    const endOf = ({ startsAtMs, endsAtMs }: Occurrence) => {
      const end = endsAtMs + seconds * 1000;
      if (end - startsAtMs > LONGEST_SECONDS * 1000)
        throw badRequest('duration_seconds must leave the end at most 30 days after the start: plan another window');
      return end;
    };
    await answerMoved(parts, { request, response }, { endOf, nowMs: parts.now() });
  };
}

async function answerMoved(
  parts: ReleasingParts,
  { request, response }: { request: { params: { id: string } }; response: Response<Answer<'endMaintenanceWindow'>> },
  move: Parameters<typeof moveEnd>[2],
): Promise<void> {
  const key = { tenantId: callerOf(response).tenantId, id: idOf(request) };
  const moved = await moveEnd(parts.database, { ...key, author: authorOf(response) }, move).catch(refuse);
  if (moved === null) throw notFound('maintenance window', key.id);
  await enqueueReleased(parts, moved.released);
  response.json(presentWindow(moved.window));
}

/** `POST /maintenance-windows/{id}/skip` */
export function skipMaintenanceOccurrenceHandler({
  database,
  now,
}: Parts<'database' | 'now'>): Handler<'skipMaintenanceOccurrence'> {
  return async (request, response) => {
    const key = { tenantId: callerOf(response).tenantId, id: idOf(request) };
    // The body is optional.
    const startsAt = request.body?.starts_at ?? null;
    const window = await skipOccurrence(
      database,
      { ...key, author: authorOf(response) },
      { startsAt, nowMs: now() },
    ).catch(refuse);
    if (window === null) throw notFound('maintenance window', key.id);
    response.json(presentWindow(window));
  };
}

/** Maximum number of listed occurrences, and the maximum and default time range, in seconds. */
const MAX_LISTED = 2000;
const LONGEST_LIST_SECONDS = 400 * DAY_SECONDS;
const USUAL_LIST_SECONDS = 60 * DAY_SECONDS;

/** `GET /maintenance-windows/occurrences` */
export function listMaintenanceOccurrencesHandler({
  database,
  now,
}: Parts<'database' | 'now'>): Handler<'listMaintenanceOccurrences'> {
  return async (request, response) => {
    requireWholeNumbers(request, ['from', 'to']);
    const from = request.query.from ?? toUnixSeconds(now());
    const { to = from + USUAL_LIST_SECONDS, window_id: windowId = null } = request.query;
    if (to <= from) throw badRequest('to must be after from');
    if (to - from > LONGEST_LIST_SECONDS) throw badRequest('to must be at most 400 days after from');
    if (windowId !== null && !isId(windowId)) throw badRequest('window_id must be the id of a maintenance window');
    const occurrences = await listOccurrences(database, {
      tenantId: callerOf(response).tenantId,
      windowId,
      fromMs: from * 1000,
      toMs: to * 1000,
      limit: MAX_LISTED,
    });
    response.json({ occurrences: occurrences.map(presentOccurrence) });
  };
}

/** Number of occurrences in a preview, and how far it reaches ahead and back. */
const PREVIEWED = 10;
const AHEAD_MS = 3660 * DAY_MS;
const BACK_MS = 30 * DAY_MS;
const MAX_STARTS = 1500;

/** `POST /maintenance-windows/preview` */
export function previewMaintenanceWindowHandler({
  database,
  now,
  rateLimits,
}: Parts<'database' | 'now' | 'rateLimits'>): Handler<'previewMaintenanceWindow'> {
  return async (request, response) => {
    const nowMs = now();
    const { tenantId } = callerOf(response);
    // The limit is checked first, because reading a rule computes its next ten years.
    await rateLimits.take('maintenance', tenantId);
    const settings = accept(readWindow(request.body, { current: null, nowMs }));
    const schedule = scheduleOf(settings);
    const lengthMs = settings.durationSeconds * 1000;
    const next = listStarts(schedule, {
      fromMs: Math.max(firstMs(settings, nowMs), nowMs - lengthMs + 1),
      toMs: nowMs + AHEAD_MS,
      most: PREVIEWED,
    });
    // The preview assumes that a recurring window also took place before its start.
    const past = listStarts(schedule, {
      fromMs: nowMs - BACK_MS - lengthMs,
      toMs: nowMs,
      most: MAX_STARTS,
      alsoBefore: isRecurring(settings),
    });
    const { monitors, total, heldAlerts } = await previewMonitors(database, {
      ...settings,
      tenantId,
      spans: past.map(({ startsAtMs }) => ({ startMs: startsAtMs, endMs: startsAtMs + lengthMs })),
      sinceMs: nowMs - BACK_MS,
    });
    response.json({
      occurrences: next.map(({ startsAtMs }) => ({
        ...presentTime({ startsAtMs, endsAtMs: startsAtMs + lengthMs }),
        local_start: formatLocal(startsAtMs, settings.timezone),
        local_end: formatLocal(startsAtMs + lengthMs, settings.timezone),
      })),
      monitors: { total, first: monitors },
      held_alerts: heldAlerts,
    });
  };
}

function formatLocal(unixMs: number, zone: string): string {
  return new Date(toLocalTime(unixMs, zone)).toISOString().slice(0, 19);
}

/** Enqueues released alerts; if the queue is away, `reconcile` finds them. */
async function enqueueReleased(
  { enqueueAttempts, logger }: Pick<ReleasingParts, 'enqueueAttempts' | 'logger'>,
  released: readonly Released[],
): Promise<void> {
  if (released.length === 0) return;
  await enqueueCommitted(() => enqueueAttempts(released), {
    log: logger,
    line: 'delivery.not_queued',
    fields: { deliveries: released.length },
  });
}

function refuse(error: unknown): never {
  if (error instanceof TooManyWindows || error instanceof UnknownMonitors) throw badRequest(error.message);
  throw error instanceof WindowConflict ? conflict(error.message) : error;
}

/** Returns a window for responses. */
export function presentWindow(window: MaintenanceWindow): Answer<'getMaintenanceWindow'> {
  return {
    id: window.id,
    name: window.name,
    description: window.description,
    all_monitors: window.allMonitors,
    monitor_ids: [...window.monitorIds],
    tags: [...window.tags],
    starts_at: window.startsAt,
    local_start: window.localStart,
    timezone: window.timezone,
    duration_seconds: window.durationSeconds,
    cron: window.cron,
    rrule: window.rrule,
    alerts: window.alerts,
    sla: window.sla,
    settle_seconds: window.settleSeconds,
    key: window.key,
    status: statusOfWindow(window),
    current: window.current && presentTime(window.current),
    next: window.next && presentTime(window.next),
    created_at: window.createdAt,
    updated_at: window.updatedAt,
  };
}

function presentTime({ startsAtMs, endsAtMs }: Occurrence): Schemas['MaintenanceTime'] {
  return { starts_at: toUnixSeconds(startsAtMs), ends_at: toUnixSeconds(endsAtMs) };
}

function presentOccurrence(occurrence: ListedOccurrence): Schemas['MaintenanceOccurrence'] {
  return {
    window_id: occurrence.windowId,
    name: occurrence.windowName,
    ...presentTime(occurrence),
    local_start: occurrence.localStart,
    skipped: occurrence.isSkipped,
    sla: occurrence.sla,
  };
}
