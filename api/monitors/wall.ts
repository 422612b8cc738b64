import type { MonitorStatus } from '../../core/incidents/state.ts';
import { listAllMonitors } from '../../models/monitors/monitor-overview.ts';
import type { Parts } from '../dependencies.ts';
import type { Answer, Handler } from '../handler.ts';
import { callerOf } from '../request-context.ts';
import { sendCompressedJson } from './overview.ts';
import { presentMonitor } from './presenter.ts';

/** More than a screen shows; the others are counted. */
const MOST_SHOWN = 500;

/** What needs a person first. */
const ORDER: readonly MonitorStatus[] = ['down', 'degraded', 'pending', 'up', 'paused'];

/**
 * `GET /wall`: names and statuses alone. The link may hang in a corridor, so ids, targets and reasons, which can name
 * what is inside a network, are left out.
 */
export function getWallHandler({ database, now }: Parts<'database' | 'now'>): Handler<'getWall'> {
  return async (request, response) => {
    const monitors = (await listAllMonitors(database, callerOf(response).tenantId))
      .map(presentMonitor)
      .map(({ name, status, state_since }) => ({ name, status, state_since }));
    const count = (status: MonitorStatus) => monitors.filter((monitor) => monitor.status === status).length;
    await sendCompressedJson(request, response, {
      at: Math.floor(now() / 1000),
      total: monitors.length,
      counts: {
        down: count('down'),
        degraded: count('degraded'),
        pending: count('pending'),
        up: count('up'),
        paused: count('paused'),
      },
      monitors: ORDER.flatMap((status) => monitors.filter((monitor) => monitor.status === status)).slice(0, MOST_SHOWN),
    } satisfies Answer<'getWall'>);
  };
}
