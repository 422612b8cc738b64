import type { DrillAnswer } from '../../core/alerts/drill.ts';
import { toUnixSeconds } from '../../core/time.ts';
import {
  findDrill,
  findDrillByKey,
  findDrillRefusal,
  listChannelDrills,
  listDrills,
  startDrill,
  type Drill,
  type DrillDelivery,
  type DrillRecord,
  type DrillRefusal,
} from '../../models/alerts/drills.ts';
import { findNextMonthly } from '../../models/alerts/monthly-drills.ts';
import { findMonitor } from '../../models/monitors/monitors.ts';
import { enqueueCommitted } from '../../queues/enqueue-committed.ts';
import { conflict, notFound, type ApiError } from '../api-error.ts';
import type { Handler, Parts } from '../handler.ts';
import { authorOf, callerOf, idOf } from '../request-context.ts';
import type { components } from '../schema.generated.ts';
import { getOwnChannel } from './channels.ts';

/** Maximum number of drills in a list. */
const MAX_LISTED = 20;

type StartingParts = Parts<'database' | 'now' | 'makeId' | 'rateLimits' | 'enqueueDrill' | 'logger'>;

/** `POST /monitors/{id}/drill`: repeating a request with the same key returns the same drill. */
export function startDrillHandler(dependencies: StartingParts): Handler<'startDrill'> {
  const { database, now, makeId, rateLimits } = dependencies;
  return async (request, response) => {
    const { tenantId } = callerOf(response);
    const monitorId = idOf(request);
    const requestKey = request.header('Idempotency-Key') ?? null;
    const known = await findKnown(database, { tenantId, monitorId, requestKey });
    if (known !== null) {
      response.status(202).json(presentDrill(known));
      return;
    }
    let refusal = await findDrillRefusal(database, { tenantId, monitorId });
    if (refusal === null) {
      await rateLimits.take('drill', tenantId);
      const started = await startDrill(database, {
        id: makeId('drl'),
        incidentId: makeId('inc'),
        tenantId,
        monitorId,
        isMonthly: false,
        requestKey,
        nowMs: now(),
        author: authorOf(response),
      });
      if ('drill' in started) {
        await enqueue(dependencies, started.drill);
        response.status(202).json(presentDrill({ ...started.drill, deliveries: [], skippedDeliveries: [] }));
        return;
      }
      refusal = started.refusal;
    }
    // The second of two concurrent requests with one key finds the first one's drill in progress.
    const first = await findKnown(database, { tenantId, monitorId, requestKey });
    if (first === null) throw errorOf(refusal, monitorId);
    response.status(202).json(presentDrill(first));
  };
}

/** `GET /monitors/{id}/drills` */
export function listDrillsHandler({ database }: Parts<'database'>): Handler<'listDrills'> {
  return async (request, response) => {
    const key = { tenantId: callerOf(response).tenantId, id: idOf(request) };
    if ((await findMonitor(database, key)) === null) throw notFound('monitor', key.id);
    const drills = await listDrills(database, { tenantId: key.tenantId, monitorId: key.id, limit: MAX_LISTED });
    const nextMs = await findNextMonthly(database, { tenantId: key.tenantId, monitorId: key.id });
    response.json({ drills: drills.map(presentDrill), next_at: nextMs && toUnixSeconds(nextMs) });
  };
}

/** `GET /channels/{id}/drills`: each drill with this channel's part only. */
export function listChannelDrillsHandler({ database }: Parts<'database'>): Handler<'listChannelDrills'> {
  return async (request, response) => {
    const { id: channelId, tenantId } = await getOwnChannel(
      { database },
      { tenantId: callerOf(response).tenantId, id: idOf(request) },
    );
    const drills = await listChannelDrills(database, { tenantId, channelId, limit: MAX_LISTED });
    response.json({ drills: drills.map(presentDrill) });
  };
}

/** `GET /drills/{id}` */
export function getDrillHandler({ database }: Parts<'database'>): Handler<'getDrill'> {
  return async (request, response) => {
    const id = idOf(request);
    const drill = await findDrill(database, { tenantId: callerOf(response).tenantId, id });
    if (drill === null) throw notFound('drill', id);
    response.json(presentDrill(drill));
  };
}

/** Returns the drill that a request with this key started; throws 409 if it was for another monitor. */
async function findKnown(
  database: StartingParts['database'],
  { tenantId, monitorId, requestKey }: { tenantId: string; monitorId: string; requestKey: string | null },
): Promise<DrillRecord | null> {
  const first = requestKey === null ? null : await findDrillByKey(database, { tenantId, requestKey });
  if (first === null) return null;
  if (first.monitor.id !== monitorId)
    throw conflict(`this Idempotency-Key began a drill of monitor ${first.monitor.id}: use a new key for another one`);
  return await findDrill(database, { tenantId, id: first.id });
}

function errorOf(refusal: DrillRefusal, monitorId: string): ApiError {
  if (typeof refusal === 'object')
    return conflict(`drill ${refusal.running} of monitor ${monitorId} is in progress: wait until it has ended`);
  return refusal === 'gone' ? notFound('monitor', monitorId) : conflict(`monitor ${monitorId} ${REFUSALS[refusal]}`);
}

const REFUSALS = {
  paused: 'is paused: resume it first',
  outage: 'has an open incident: its alerts are being sent already',
  unwatched: 'is checked from nowhere: choose agent_sources first, or wait until a location was assigned',
  no_channel: 'notifies no channel: enable and connect one that is routed to it first',
  key_in_use: 'cannot have a drill by this Idempotency-Key, which is in use: try again in a second',
} as const satisfies Record<Exclude<DrillRefusal, object | 'gone'>, string>;

/** Enqueues a drill's answers. The stored row lists them too, so a queue outage only delays the drill by seconds. */
async function enqueue({ enqueueDrill, logger }: StartingParts, { id, monitor }: Drill): Promise<void> {
  const answers = monitor.sources.map(({ agentNo }) => ({ drillId: id, agentNo, verdict: 'down' as const }));
  await enqueueCommitted(() => enqueueDrill(answers), {
    log: logger,
    line: 'drill.not_queued',
    fields: { drill_id: id },
  });
}

/** Returns a drill with its timings, which are at least 0 ms because clocks of two processes differ. */
function presentDrill(drill: DrillRecord): components['schemas']['Drill'] {
  const { monitor, startedAtMs, alertedAtMs, answers } = drill;
  const firstAtMs = firstOf(answers, 'down');
  return {
    id: drill.id,
    monitor_id: monitor.id,
    monitor_name: monitor.name,
    incident_id: drill.incidentId,
    trigger: drill.isMonthly ? 'monthly' : 'request',
    status: drill.status,
    started_at: toUnixSeconds(startedAtMs),
    ends_at: drill.endsAtMs && toUnixSeconds(drill.endsAtMs),
    ended_at: drill.endedAtMs && toUnixSeconds(drill.endedAtMs),
    first_failure_ms: since(startedAtMs, firstAtMs),
    decided_ms: since(firstAtMs, alertedAtMs),
    locations: monitor.sources.map(({ agentNo, name }) => ({
      name,
      answered_ms: since(
        startedAtMs,
        firstOf(
          answers.filter((answer) => answer.agentNo === agentNo),
          'down',
        ),
      ),
    })),
    deliveries: drill.deliveries.map((delivery) =>
      presentDelivery(delivery, firstOf(answers, delivery.event === 'monitor.up' ? 'up' : 'down')),
    ),
    skipped: drill.skippedDeliveries.map(({ channelId, channelName, event, reason }) => ({
      channel_id: channelId,
      channel_name: channelName,
      event,
      reason,
    })),
  };
}

function presentDelivery(delivery: DrillDelivery, firstAtMs: number | null): components['schemas']['DrillDelivery'] {
  return {
    delivery_id: delivery.id,
    channel_id: delivery.channelId,
    channel_name: delivery.channelName,
    channel_type: delivery.channelType,
    event: delivery.event,
    outcome: delivery.outcome,
    attempt_count: delivery.attemptCount,
    last_error: delivery.lastError,
    written_ms: since(firstAtMs, delivery.writtenAtMs) ?? 0,
    begun_ms: since(firstAtMs, delivery.begunAtMs),
    delivered_ms: since(firstAtMs, delivery.deliveredAtMs),
  };
}

function firstOf(answers: readonly DrillAnswer[], verdict: DrillAnswer['verdict']): number | null {
  const moments = answers.filter((answer) => answer.verdict === verdict).map(({ atMs }) => atMs);
  return moments.length === 0 ? null : Math.min(...moments);
}

function since(fromMs: number | null, toMs: number | null): number | null {
  return fromMs === null || toMs === null ? null : Math.max(0, toMs - fromMs);
}
