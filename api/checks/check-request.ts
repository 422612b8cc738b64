import { noScheduleChange } from '../../core/checks/slots.ts';
import { requestCheck, type CheckRequest } from '../../models/checks/check-request.ts';
import { findMonitor } from '../../models/monitors/monitors.ts';
import { conflict, notFound } from '../api-error.ts';
import type { Parts } from '../dependencies.ts';
import type { Handler } from '../handler.ts';
import { announceSchedule } from '../monitors/schedule-changes.ts';
import { authorOf, callerOf, idOf } from '../request-context.ts';
import type { components } from '../schema.generated.ts';

/** How long a monitor counts as new after its creation or last change, in milliseconds (D-397). */
const NEW_FOR_MS = 60_000;

/** `POST /monitors/{id}/check` */
export function requestCheckHandler(
  dependencies: Parts<'database' | 'now' | 'rateLimits' | 'onScheduleChange' | 'logger'>,
): Handler<'requestCheck'> {
  const { database, now, rateLimits } = dependencies;
  return async (request, response) => {
    const { tenantId } = callerOf(response);
    const id = idOf(request);
    await rateLimits.take('check', `${tenantId} ${id}`);
    await rateLimits.take('accountCheck', tenantId);
    const nowMs = now();
    const monitor = (await findMonitor(database, { tenantId, id }))?.monitor;
    // Else a change and a request after it would contact any address at once.
    const mayChangeState = monitor !== undefined && nowMs - monitor.updatedAt * 1000 < NEW_FOR_MS;
    if (mayChangeState) await rateLimits.takeFor(`${id} ${monitor.checksVersion}`, 'earlyCheck', tenantId);
    const requested = await requestCheck(database, { author: authorOf(response), tenantId, id, nowMs });
    if (requested === null) throw notFound('monitor', id);
    if (requested.sources.length === 0) throw conflict(whyNot(requested));
    announceSchedule(dependencies, {
      ...noScheduleChange(),
      rechecks: requested.sources.filter(({ state }) => state === 'asked').map(({ agentNo }) => agentNo),
    });
    response.status(202).json(presentRequest(id, requested, nowMs));
  };
}

function presentRequest(id: string, { sources }: CheckRequest, nowMs: number): components['schemas']['CheckRequested'] {
  return {
    id,
    requested_at: Math.floor(nowMs / 1000),
    // The service itself is no agent that customers meet.
    sources: sources
      .filter(({ kind }) => kind !== 'service')
      .map(({ agentId, state, inability }) => ({
        id: agentId,
        state,
        ...(inability !== null && { reason: inability }),
      })),
  };
}

function whyNot({ monitor: { type, enabled, target } }: CheckRequest): string {
  if (type === 'heartbeat') return 'a heartbeat waits for pings and is not checked: send it one';
  if (!enabled) return 'the monitor is paused: resume it first';
  if (target === '') return 'the monitor has no target yet: give it one first';
  return 'the monitor has no agents to check it: choose some first';
}
