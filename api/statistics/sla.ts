import { readServiceHours } from '../../core/statistics/service-hours.ts';
import { serviceFigures, type CountedHours } from '../../core/statistics/service-sla.ts';
import { sumSeconds } from '../../core/statistics/sla.ts';
import { readNamedZone } from '../../core/time-zones.ts';
import { DAY_SECONDS } from '../../core/time.ts';
import { MAX_TAGGED, measureTags } from '../../models/statistics/period-facts.ts';
import { badRequest } from '../api-error.ts';
import type { Handler, Parts, Query } from '../handler.ts';
import { requireDecimal, requireWholeNumbers } from '../pagination.ts';
import { callerOf } from '../request-context.ts';
import { readWindow } from './stats-window.ts';

const DEFAULT_SECONDS = 30 * DAY_SECONDS;

/** `GET /sla` */
export function getTagSlaHandler({
  database,
  now,
  rateLimits,
}: Parts<'database' | 'now' | 'rateLimits'>): Handler<'getTagSla'> {
  return async (request, response) => {
    const { tenantId } = callerOf(response);
    requireWholeNumbers(request, ['from', 'to']);
    requireDecimal(request, 'target');
    const { from, to, tag: tags } = request.query;
    const nowMs = now();
    const requested = { ...(from !== undefined && { from }), ...(to !== undefined && { to }) };
    const window = readWindow(requested, { nowMs, defaultSeconds: DEFAULT_SECONDS });
    const counted = readCounted(request.query);
    await rateLimits.take('sla', tenantId);
    const monitors = await measureTags(database, {
      tenantId,
      tags,
      counted,
      fromMs: window.from * 1000,
      toMs: window.to * 1000,
      nowMs,
    });
    if (monitors === 'monitors')
      throw badRequest(`tag must choose at most ${MAX_TAGGED} monitors, got more: repeat it to narrow them`);
    if (monitors === 'changes')
      throw badRequest(
        'from must be later, or tag must choose fewer monitors: these changed, or were in maintenance, more often in ' +
          'the window than is counted at once',
      );
    response.json({
      tags: [...tags],
      ...window,
      total: serviceFigures(counted, sumSeconds(monitors.map(({ seconds }) => seconds))),
      monitors: monitors.map(({ id, name, seconds }) => {
        const { uptime_percent: uptimePercent, met, budget } = serviceFigures(counted, seconds);
        return { id, name, uptime_percent: uptimePercent, met, budget, seconds };
      }),
    });
  };
}

/** Returns the requested service hours, by default all hours; throws a 400 with all problems. */
function readCounted({
  target,
  timezone = 'UTC',
  hours = '24/7',
  exclude_maintenance: excludes,
}: Query<'getTagSla'>): CountedHours {
  const zone = readNamedZone('timezone', timezone);
  const read = readServiceHours(hours);
  const sentences = [...(zone.ok ? [] : [zone.message]), ...(read.ok ? [] : [`hours ${read.problem}`])];
  if (!zone.ok || !read.ok) throw badRequest(...sentences);
  return {
    target: target ?? null,
    timezone: zone.value,
    hours: hours.trim(),
    excludeMaintenance: excludes === undefined || excludes === '1' || excludes === 'true',
  };
}
