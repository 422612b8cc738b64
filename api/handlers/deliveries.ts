import type { RequestHandler } from 'express';
import type { Channel } from '../../core/channel.ts';
import { findChannel } from '../../models/channels.ts';
import {
  findDelivery,
  listDeliveries,
  MOST_ATTEMPTS,
  reopenDelivery,
  replayDeliveries,
  type ReopenedDelivery,
} from '../../models/delivery-record.ts';
import { accept, conflict, notFound } from '../api-error.ts';
import type { ApiDependencies, HandlerDependencies } from '../dependencies.ts';
import { cutPage, readPage } from '../pagination.ts';
import { presentDelivery, presentDeliveryDetail } from '../presenters/delivery.ts';
import { readReplay } from '../replay-input.ts';
import { callerOf, idOf } from '../request-context.ts';
import type { operations } from '../schema.generated.ts';

/** How many deliveries come when the caller sets no limit: the record has no end (D-05). */
const DEFAULT_LIMIT = 500;

type ListQuery = NonNullable<operations['listDeliveries']['parameters']['query']>;

/** `GET /channels/{id}/deliveries` */
export function listDeliveriesHandler({ database, config }: ApiDependencies): RequestHandler {
  return async (request, response) => {
    const page = readPage(request);
    const limit = page.limit ?? DEFAULT_LIMIT;
    const { outcome, event } = request.query as ListQuery;
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
export function getDeliveryHandler({ database }: ApiDependencies): RequestHandler {
  return async (request, response) => {
    const id = idOf(request);
    const delivery = await findDelivery(database, { tenantId: callerOf(response).tenantId, id });
    if (delivery === null) throw notFound('delivery', id);
    response.json(presentDeliveryDetail(delivery));
  };
}

/** `POST /deliveries/{id}/redeliver`: the same delivery once more, with a whole timetable of retries. */
export function redeliverHandler(dependencies: HandlerDependencies): RequestHandler {
  const { database, now, rateLimits } = dependencies;
  return async (request, response) => {
    const key = { tenantId: callerOf(response).tenantId, id: idOf(request) };
    const delivery = await findDelivery(database, key);
    if (delivery === null) throw notFound('delivery', key.id);
    await requireOpenChannel(dependencies, { tenantId: key.tenantId, id: delivery.channelId });
    if (delivery.attemptCount >= MOST_ATTEMPTS)
      throw conflict(`delivery ${key.id} has had its ${MOST_ATTEMPTS} attempts and is not sent again`);
    await rateLimits.take('redelivery', key.tenantId);
    const reopened = await reopenDelivery(database, key, now());
    if (reopened === null)
      throw conflict(`delivery ${key.id} is pending: it is being sent, or waits for its next attempt`);
    await enqueue(dependencies, reopened);
    response.status(202).json({ id: key.id, outcome: 'pending' });
  };
}

/** `POST /channels/{id}/replay`: all failed deliveries of a time, in order. */
export function replayHandler(dependencies: HandlerDependencies): RequestHandler {
  const { database, now, rateLimits } = dependencies;
  return async (request, response) => {
    const key = { tenantId: callerOf(response).tenantId, id: idOf(request) };
    const nowMs = now();
    const { sinceMs, untilMs } = accept(readReplay(request.body, nowMs));
    await requireOpenChannel(dependencies, key);
    await rateLimits.take('replay', key.id);
    const { count, first } = await replayDeliveries(database, {
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

/** What would end at once with this reason is refused instead. */
async function requireOpenChannel(
  { database }: ApiDependencies,
  key: { tenantId: string; id: string },
): Promise<Channel> {
  const channel = await findChannel(database, key);
  if (channel === null) throw notFound('channel', key.id);
  if (!channel.enabled) throw conflict(`channel ${key.id} is disabled: set enabled to true first`);
  if (channel.status !== 'connected') throw conflict(`channel ${key.id} is not connected: connect it first`);
  return channel;
}

/**
 * One job is enough for whatever the channel has due. A queue that is away costs seconds: the row is there, and
 * reconcile adds the job.
 */
async function enqueue(
  { enqueueAttempts, now, logger }: ApiDependencies,
  { id, channelId, attempt }: ReopenedDelivery,
): Promise<void> {
  try {
    await enqueueAttempts([{ deliveryId: id, channelId, attempt, dueAtMs: now() }]);
  } catch (error) {
    logger.warn({ err: error, delivery_id: id, channel_id: channelId }, 'delivery.not_queued');
  }
}
