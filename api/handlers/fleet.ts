import type { RequestHandler } from 'express';
import { readFleet } from '../../models/fleet.ts';
import { listProcesses, type NotedProcess } from '../../models/processes.ts';
import type { Spread } from '../../core/bucket-quantile.ts';
import type { ApiDependencies } from '../dependencies.ts';
import type { components } from '../schema.generated.ts';

type Schemas = components['schemas'];

/** `GET /fleet` */
export function getFleetHandler({ database, readQueues, now }: ApiDependencies): RequestHandler {
  return async (_request, response) => {
    const [{ agents, customersAgents }, processes, queues] = await Promise.all([readFleet(database), listProcesses(database, now()), readQueues()]);
    response.json({
      processes: processes.map(presentProcess),
      agents: agents.map(({ lastSeenAt, offlineSince, ...agent }) => ({ ...agent, last_seen_at: lastSeenAt, offline_since: offlineSince })),
      customers_agents: customersAgents,
      queues: queues?.depths ?? null,
      oldest_results_seconds: queues === null || queues.oldestResultsAtMs === null ? null : Math.max(0, Math.round((now() - queues.oldestResultsAtMs) / 1000)),
    } satisfies Schemas['Fleet']);
  };
}

function presentProcess({ kind, version, host, pid, figures, startedAt, seenAt }: NotedProcess): Schemas['FleetProcess'] {
  const { lateness = null, evaluationLag = null } = figures ?? {};
  return { kind, version, host, pid, started_at: startedAt, seen_at: seenAt, lateness: lateness && presentSpread(lateness), evaluation_lag: evaluationLag && presentSpread(evaluationLag) };
}

function presentSpread({ count, p50, p99 }: Spread): Schemas['Spread'] {
  return { count, p50_ms: Math.round(p50 * 10_000) / 10, p99_ms: Math.round(p99 * 10_000) / 10 };
}
