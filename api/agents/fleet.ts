import type { Spread } from '../../core/statistics/latency-histogram.ts';
import { planRetirement, retireRegion, type RetirementObstacle } from '../../models/agents/retired-regions.ts';
import { readFleet } from '../../models/agents/shared-agents.ts';
import { listProcesses, type ProcessRecord } from '../../models/system/processes.ts';
import { badRequest, conflict } from '../api-error.ts';
import type { Handler, Parts } from '../handler.ts';
import { announceSchedule } from '../monitors/changes.ts';
import type { components } from '../schema.generated.ts';

type Schemas = components['schemas'];

/** `GET /fleet` */
export function getFleetHandler({
  database,
  readQueues,
  now,
}: Parts<'database' | 'readQueues' | 'now'>): Handler<'getFleet'> {
  return async (_request, response) => {
    const [{ agents, customersAgents }, processes, queues] = await Promise.all([
      readFleet(database),
      listProcesses(database, now()),
      readQueues(),
    ]);
    response.json({
      processes: processes.map(presentProcess),
      agents: agents.map(({ lastSeenAt, offlineSince, retiredAt, ...agent }) => ({
        ...agent,
        last_seen_at: lastSeenAt,
        offline_since: offlineSince,
        retired_at: retiredAt,
      })),
      customers_agents: customersAgents,
      queues: queues?.depths ?? null,
      oldest_results_seconds:
        queues === null || queues.oldestResultsAtMs === null
          ? null
          : Math.max(0, Math.round((now() - queues.oldestResultsAtMs) / 1000)),
    });
  };
}

/** Maximum number of monitors that leave a region within one request. */
const MOVED_AT_ONCE = 1000;

/** `POST /fleet/retirements`: returns the plan, and with `confirmed` carries it out. */
export function retireRegionHandler(
  dependencies: Parts<'database' | 'now' | 'makeId' | 'onScheduleChange' | 'logger'>,
): Handler<'retireRegion'> {
  const { database, now, makeId } = dependencies;
  return async (request, response) => {
    const { region, move_to: moveTo = null, confirmed = false } = request.body;
    const retirement = { region, moveTo, nowMs: now() };
    const plan = granted(await planRetirement(database, retirement), retirement);
    const done = confirmed
      ? granted(await retireRegion(database, { ...retirement, newId: makeId, limit: MOVED_AT_ONCE }), retirement)
      : null;
    if (done !== null) announceSchedule(dependencies, done.schedule);
    const { monitors, onlySource, moved, quorumLowered } = plan;
    response.json({
      region,
      move_to: moveTo,
      monitors,
      only_source: onlySource,
      moved,
      down_min_sources_lowered: quorumLowered,
      retired: done !== null,
      left: done?.left ?? monitors,
    });
  };
}

function granted<Result extends object>(
  outcome: Result | RetirementObstacle,
  { region, moveTo }: { region: string; moveTo: string | null },
): Result {
  if (typeof outcome !== 'string') return outcome;
  if (outcome === 'no such region')
    throw badRequest(`region must be the region of a shared agent, got ${JSON.stringify(region)}`);
  if (outcome === 'no such target')
    throw badRequest(
      `move_to must be another region that has a shared agent and is not retired, got ${JSON.stringify(moveTo)}`,
    );
  if (outcome === 'target is away')
    throw conflict(`no check process is running in ${moveTo}: start one before you move monitors there`);
  throw conflict(
    `some monitors are checked only from ${region}, and no other region is running: start a check process in ` +
      'another region first',
  );
}

function presentProcess({
  kind,
  version,
  host,
  pid,
  figures,
  startedAt,
  lastSeenAt,
}: ProcessRecord): Schemas['FleetProcess'] {
  const { lateness = null, evaluationLag = null } = figures ?? {};
  return {
    kind,
    version,
    host,
    pid,
    started_at: startedAt,
    seen_at: lastSeenAt,
    lateness: lateness && presentSpread(lateness),
    evaluation_lag: evaluationLag && presentSpread(evaluationLag),
  };
}

function presentSpread({ count, p50, p99 }: Spread): Schemas['Spread'] {
  return { count, p50_ms: Math.round(p50 * 10_000) / 10, p99_ms: Math.round(p99 * 10_000) / 10 };
}
