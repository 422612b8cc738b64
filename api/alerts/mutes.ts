import type { Response } from 'express';
import { DAY_SECONDS, toUnixSeconds } from '../../core/time.ts';
import { muteMonitor, snoozeIncident, type MovedAttempts } from '../../models/alerts/mutes.ts';
import { findIncident } from '../../models/incidents/incidents.ts';
import { enqueueCommitted } from '../../queues/enqueue-committed.ts';
import { badRequest, conflict, notFound } from '../api-error.ts';
import type { Handler, Parts } from '../handler.ts';
import { presentIncident } from '../incidents/presenter.ts';
import { authorOf, callerOf, idOf } from '../request-context.ts';

/** Maximum mute of a monitor and snooze of an incident, in seconds: each ends by itself. */
const MAX_MUTED_SECONDS = 30 * DAY_SECONDS;
const MAX_SNOOZED_SECONDS = 7 * DAY_SECONDS;

type Enqueuing = Parts<'database' | 'now' | 'enqueueAttempts' | 'logger'>;

/** `POST /monitors/{id}/mute` */
export function muteMonitorHandler(dependencies: Enqueuing): Handler<'muteMonitor'> {
  const { database, now } = dependencies;
  return async (request, response) => {
    const key = { tenantId: callerOf(response).tenantId, id: idOf(request), author: authorOf(response) };
    const nowMs = now();
    const untilMs = readUntil(request.body.until, { nowMs, mostSeconds: MAX_MUTED_SECONDS });
    const moved = await muteMonitor(database, key, { untilMs, nowMs });
    if (moved === null) throw notFound('monitor', key.id);
    await enqueue(dependencies, moved);
    response.json({ id: key.id, muted_until: toUnixSeconds(untilMs) });
  };
}

/** `DELETE /monitors/{id}/mute` */
export function unmuteMonitorHandler(dependencies: Enqueuing): Handler<'unmuteMonitor'> {
  const { database, now } = dependencies;
  return async (request, response) => {
    const key = { tenantId: callerOf(response).tenantId, id: idOf(request), author: authorOf(response) };
    const moved = await muteMonitor(database, key, { untilMs: null, nowMs: now() });
    if (moved === null) throw notFound('monitor', key.id);
    await enqueue(dependencies, moved);
    response.json({ id: key.id, muted_until: null });
  };
}

/** `POST /incidents/{id}/snooze` */
export function snoozeIncidentHandler(dependencies: Enqueuing): Handler<'snoozeIncident'> {
  return async (request, response) => {
    const nowMs = dependencies.now();
    const untilMs = readUntil(request.body.until, { nowMs, mostSeconds: MAX_SNOOZED_SECONDS });
    await snooze(dependencies, { request, response }, untilMs);
  };
}

/** `DELETE /incidents/{id}/snooze` */
export function unsnoozeIncidentHandler(dependencies: Enqueuing): Handler<'unsnoozeIncident'> {
  return async (request, response) => await snooze(dependencies, { request, response }, null);
}

async function snooze(
  dependencies: Enqueuing,
  { request, response }: { request: { params: { id: string } }; response: Response },
  untilMs: number | null,
): Promise<void> {
  const { database, now } = dependencies;
  const key = { tenantId: callerOf(response).tenantId, id: idOf(request) };
  const moved = await snoozeIncident(database, { ...key, author: authorOf(response) }, { untilMs, nowMs: now() });
  if (moved === 'resolved') throw conflict('the incident is resolved: there is nothing left to snooze');
  const incident = moved === null ? null : await findIncident(database, key);
  if (moved === null || incident === null) throw notFound('incident', key.id);
  await enqueue(dependencies, moved);
  response.json(presentIncident(incident, now()));
}

function readUntil(until: number, { nowMs, mostSeconds }: { nowMs: number; mostSeconds: number }): number {
  const seconds = until - toUnixSeconds(nowMs);
  if (seconds <= 0 || seconds > mostSeconds)
    throw badRequest(
      `until must be Unix seconds in the next ${mostSeconds / DAY_SECONDS} days, got ${until}: it is ` +
        `${toUnixSeconds(nowMs)} now`,
    );
  return until * 1000;
}

/** Enqueues moved attempts. The rows store the times, so a queue outage only makes them late. */
async function enqueue({ enqueueAttempts, logger }: Enqueuing, attempts: MovedAttempts): Promise<void> {
  if (attempts.length === 0) return;
  const absence = { log: logger, line: 'delivery.not_queued', fields: { deliveries: attempts.length } };
  await enqueueCommitted(() => enqueueAttempts(attempts), absence);
}
