import type { Channel } from '../../core/alerts/channel.ts';
import type { StoredMessage } from '../../core/alerts/envelope.ts';
import { toUnixSeconds } from '../../core/time.ts';
import { findChannel } from '../../models/alerts/channels.ts';
import {
  MAX_ATTEMPTS,
  findDelivery,
  listDeliveries,
  reopenDelivery,
  replayDeliveries,
  type Attempt,
  type Delivery,
  type ReopenedDelivery,
} from '../../models/alerts/delivery-record.ts';
import type { RowKey } from '../../models/sql.ts';
import { enqueueCommitted } from '../../queues/enqueue-committed.ts';
import { badRequest, conflict, notFound } from '../api-error.ts';
import type { Body, Handler, Parts } from '../handler.ts';
import { cutPage, readPage } from '../pagination.ts';
import { authorOf, callerOf, idOf } from '../request-context.ts';
import type { components } from '../schema.generated.ts';

/** Time range of the deliveries to send again, by creation, in Unix milliseconds, both ends included. */
type Replay = { sinceMs: number; untilMs: number };

/** Reads the body of a replay; `until` defaults to now. Throws 400 if it ends before it begins. */
function readReplay({ since, until }: Body<'replayDeliveries'>, nowMs: number): Replay {
  if (until !== undefined && until < since) throw badRequest(`until must be ${since} (since) or later, got ${until}`);
  return { sinceMs: since * 1000, untilMs: until === undefined ? nowMs : until * 1000 + 999 };
}

/** Default number of deliveries in a page: the record is unbounded (D-05). */
const DEFAULT_LIMIT = 500;

/** `GET /channels/{id}/deliveries` */
export function listDeliveriesHandler({ database, config }: Parts<'database' | 'config'>): Handler<'listDeliveries'> {
  return async (request, response) => {
    const page = readPage(request);
    const limit = page.limit ?? DEFAULT_LIMIT;
    const { outcome, event } = request.query;
    const key = { tenantId: callerOf(response).tenantId, id: idOf(request) };
    if ((await findChannel(database, key)) === null) throw notFound('channel', key.id);
    const deliveries = await listDeliveries(database, {
      tenantId: key.tenantId,
      channelId: key.id,
      filter: { ...(outcome && { outcome }), ...(event && { event }) },
      ...(page.after && { before: { createdAtMs: page.after.at, id: page.after.id } }),
      limit: limit + 1,
    });
    const shown = cutPage(
      deliveries,
      { limit, positionOf: ({ createdAtMs, id }) => ({ at: createdAtMs, id }) },
      { request, response, publicUrl: config.publicUrl },
    );
    response.json({ deliveries: shown.map(presentDelivery) });
  };
}

/** `GET /deliveries/{id}` */
export function getDeliveryHandler({ database }: Parts<'database'>): Handler<'getDelivery'> {
  return async (request, response) => {
    const id = idOf(request);
    const delivery = await findDelivery(database, { tenantId: callerOf(response).tenantId, id });
    if (delivery === null) throw notFound('delivery', id);
    response.json(presentDeliveryDetail(delivery));
  };
}

/** Dependencies for sending deliveries again. */
type ResendingParts = Parts<'database' | 'now' | 'rateLimits' | 'enqueueAttempts' | 'logger'>;

/** `POST /deliveries/{id}/redeliver`: sends the same delivery again, with the full retry schedule. */
export function redeliverHandler(dependencies: ResendingParts): Handler<'redeliver'> {
  const { database, now, rateLimits } = dependencies;
  return async (request, response) => {
    const key = { tenantId: callerOf(response).tenantId, id: idOf(request) };
    const delivery = await findDelivery(database, key);
    if (delivery === null) throw notFound('delivery', key.id);
    if (delivery.drillId !== null)
      throw conflict(`delivery ${key.id} belongs to a drill, which is not sent again: start another drill instead`);
    await requireOpenChannel(dependencies, { tenantId: key.tenantId, id: delivery.channelId });
    if (delivery.attemptCount >= MAX_ATTEMPTS)
      throw conflict(`delivery ${key.id} has reached the limit of ${MAX_ATTEMPTS} attempts and cannot be sent again`);
    await rateLimits.take('redelivery', key.tenantId);
    const reopened = await reopenDelivery(database, { ...key, author: authorOf(response) }, now());
    if (reopened === null)
      throw conflict(`delivery ${key.id} is pending: it is being sent, or waits for its next attempt`);
    await enqueue(dependencies, reopened);
    response.status(202).json({ id: key.id, outcome: 'pending' });
  };
}

/** `POST /channels/{id}/replay`: resends all failed deliveries of a time range, in order. */
export function replayHandler(dependencies: ResendingParts): Handler<'replayDeliveries'> {
  const { database, now, rateLimits } = dependencies;
  return async (request, response) => {
    const key = { tenantId: callerOf(response).tenantId, id: idOf(request) };
    const nowMs = now();
    const { sinceMs, untilMs } = readReplay(request.body, nowMs);
    await requireOpenChannel(dependencies, key);
    await rateLimits.take('replay', key.id);
    const { count, first } = await replayDeliveries(database, {
      author: authorOf(response),
      tenantId: key.tenantId,
      channelId: key.id,
      sinceMs,
      untilMs,
      nowMs,
    });
    if (first !== null) await enqueue(dependencies, first);
    response.json({ replayed: count });
  };
}

/** Throws 404 or 409 for a channel whose deliveries would fail at once. */
async function requireOpenChannel({ database }: Parts<'database'>, key: RowKey): Promise<Channel> {
  const channel = await findChannel(database, key);
  if (channel === null) throw notFound('channel', key.id);
  if (!channel.enabled) throw conflict(`channel ${key.id} is disabled: set enabled to true first`);
  if (channel.status !== 'connected') throw conflict(`channel ${key.id} is not connected: connect it first`);
  return channel;
}

/** Enqueues one job, which handles all of the channel's due deliveries. */
async function enqueue(
  { enqueueAttempts, now, logger }: Parts<'enqueueAttempts' | 'now' | 'logger'>,
  { id, channelId, attempt }: ReopenedDelivery,
): Promise<void> {
  await enqueueCommitted(() => enqueueAttempts([{ deliveryId: id, channelId, attempt, dueAtMs: now() }]), {
    log: logger,
    line: 'delivery.not_queued',
    fields: { delivery_id: id, channel_id: channelId },
  });
}

/** Returns a delivery for lists, never with its destination. */
function presentDelivery(delivery: Delivery): components['schemas']['Delivery'] {
  return {
    id: delivery.id,
    channel_id: delivery.channelId,
    monitor_id: delivery.monitorId,
    ...(delivery.monitorName !== null && { monitor_name: delivery.monitorName }),
    ...(delivery.incidentId !== null && { incident_id: delivery.incidentId }),
    ...(delivery.drillId !== null && { drill_id: delivery.drillId }),
    ...(delivery.agentId !== null && { agent_id: delivery.agentId }),
    ...(delivery.agentName !== null && { agent_name: delivery.agentName }),
    event: delivery.event,
    outcome: delivery.outcome,
    attempt_count: delivery.attemptCount,
    ...(delivery.merged > 0 && { merged: delivery.merged }),
    ...(delivery.heldBy !== null && { held_by: delivery.heldBy }),
    ...(delivery.heldByMonitorId !== null && { held_by_monitor: delivery.heldByMonitorId }),
    last_error: delivery.lastError,
    created_at: toUnixSeconds(delivery.createdAtMs),
    next_attempt_at: delivery.nextAttemptAtMs === null ? null : toUnixSeconds(delivery.nextAttemptAtMs),
    finished_at: delivery.finishedAtMs === null ? null : toUnixSeconds(delivery.finishedAtMs),
  };
}

/** Returns a delivery with its message and the outcome of each attempt. */
function presentDeliveryDetail(
  delivery: Delivery & { message: StoredMessage; attempts: Attempt[] },
): components['schemas']['DeliveryDetail'] {
  return { ...presentDelivery(delivery), message: delivery.message, attempts: delivery.attempts.map(presentAttempt) };
}

function presentAttempt(attempt: Attempt): components['schemas']['DeliveryAttempt'] {
  return {
    attempt: attempt.attempt,
    started_at: toUnixSeconds(attempt.startedAtMs),
    duration_ms: attempt.durationMs,
    outcome: attempt.outcome,
    status_code: attempt.statusCode,
    error: attempt.error,
    response: attempt.response,
  };
}
