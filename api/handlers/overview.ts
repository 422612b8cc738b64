import type { RequestHandler } from 'express';
import { listAllMonitors } from '../../models/monitor-overview.ts';
import type { ApiDependencies } from '../dependencies.ts';
import { presentMonitor } from '../presenters/monitor.ts';
import { callerOf } from '../request-context.ts';
import type { components } from '../schema.generated.ts';

/** `GET /overview` */
export function getOverviewHandler({ database }: ApiDependencies): RequestHandler {
  return async (_request, response) => {
    const monitors = (await listAllMonitors(database, callerOf(response).tenantId)).map(presentMonitor);
    const count = (status: string) => monitors.filter((monitor) => monitor.status === status).length;
    response.json({ total: monitors.length, up: count('up'), down: count('down'), monitors } satisfies components['schemas']['Overview']);
  };
}
