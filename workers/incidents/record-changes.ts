import { isEventState, type EventState } from '../../core/alerts/event.ts';
import type { Hold } from '../../core/alerts/hold.ts';
import { findDownParents, holdForParents, type ParentFacts } from '../../core/alerts/parents.ts';
import { blame, findCulprits, type Dependency, type FailingDependency } from '../../core/checks/vendor/dependencies.ts';
import { isBad } from '../../core/checks/verdict.ts';
import type { Change } from '../../core/incidents/change.ts';
import type { MonitorState } from '../../core/incidents/state.ts';
import { awaitOwnResults, releaseToParents } from '../../models/alerts/parent-holds.ts';
import { listRoutes, type Route } from '../../models/alerts/routes.ts';
import type { PlannedRecheck } from '../../models/checks/schedule.ts';
import { storeMonitorStates, type EvaluatedMonitor } from '../../models/incidents/evaluation.ts';
import { insertEvidence, type NewEvidence } from '../../models/incidents/incidents.ts';
import {
  listLastNotified,
  recordTransitions,
  type DecidedTransition,
  type WithIncident,
} from '../../models/incidents/transitions.ts';
import { readParents, recheckDependents } from '../../models/monitors/dependencies.ts';
import { findDependencies } from '../../models/monitors/monitor-rows.ts';
import type { IdPrefix } from '../../models/secrets/ids.ts';
import type { Run } from '../../models/sql.ts';
import { beginUnchecked, endUnchecked, type UncheckedMonitor } from '../../models/statistics/service-gaps.ts';
import { enqueueCommitted, enqueueDeliveries, firstAttempt, type RegionCache } from '../../queues/enqueue-committed.ts';
import type { DueAttempt } from '../../queues/job-queues.ts';
import type { DueRecheck } from '../../queues/schedules.ts';
import { firstOfChannel } from '../alerts/join-parents.ts';
import { writeDeliveries } from '../alerts/write-deliveries.ts';
import type { Runtime } from '../runtime.ts';

/** A monitor as it was locked, and its changes in order. */
type ChangedMonitor = { monitor: EvaluatedMonitor; changes: readonly Change[] };

/** A written transition, for the log. */
type RecordedTransition = {
  tenantId: string;
  monitorId: string;
  sequence: number;
  change: Change;
  incidentId: string | null;
};

/**
 * The written changes. Their transitions are for the log; the caller adds the jobs of their deliveries and rechecks
 * once the transaction is committed.
 */
export type RecordedChanges = {
  transitions: RecordedTransition[];
  deliveries: DueAttempt[];
  rechecks: PlannedRecheck[];
};

export type RecordingParts = { newId: (prefix: IdPrefix) => string; publicUrl: string };

/** `nowMs` is when all the changes were detected, in Unix milliseconds. */
type Recording = RecordingParts & { nowMs: number };

/** A decided change of a monitor, with all its consequences. */
type DecidedChange = DecidedTransition & {
  monitor: EvaluatedMonitor;
  isNotified: boolean;
  lastNotified: EventState | null;
  culprits: readonly FailingDependency[];
  parentHold: (Hold & { sinceMs: number }) | null;
};

/**
 * Writes all consequences of state changes, in the caller's transaction. These are transitions, incidents with the
 * evidence at their sources' first failures, the monitors' states and the deliveries of their events. The caller adds
 * the deliveries' jobs once the transaction is committed.
 */
export async function recordChanges(
  run: Run,
  changed: readonly ChangedMonitor[],
  parts: Recording,
): Promise<RecordedChanges> {
  const { nowMs } = parts;
  const moved = changed.filter(({ changes }) => changes.length > 0);
  if (moved.length === 0) return { transitions: [], deliveries: [], rechecks: [] };
  const routes = await findRoutes(run, moved);
  const dependencies = await findDependenciesOf(run, moved);
  const parents = await findParentsOf(run, moved, nowMs);
  const lastNotified = await findLastNotified(run, moved);
  const decided = moved.flatMap((one) => decideChanges(one, { dependencies, parents, lastNotified, parts }));
  const recorded = await recordTransitions(run, decided);
  await insertEvidence(run, recorded.flatMap(evidenceOf));
  await storeMonitorStates(run, moved.flatMap(stateAfter));
  await endUnchecked(run, moved.flatMap(endOfUnchecked));
  await beginUnchecked(run, recorded.flatMap(beginningOfUnchecked));
  const notified = recorded.filter(({ isNotified }) => isNotified);
  const deliveries = await writeDeliveries(run, notified, { routes, ...parts });
  const behind = await updateDependents(run, moved, nowMs);
  return {
    transitions: recorded.map(transitionOf),
    deliveries: [...deliveries.map(firstAttempt), ...behind.deliveries],
    rechecks: behind.rechecks,
  };
}

/**
 * Releases alerts of dependents into the message of a parent that went down. When a parent is no longer down, its
 * dependents are rechecked, and their alerts wait for that result.
 */
async function updateDependents(
  run: Run,
  moved: readonly ChangedMonitor[],
  nowMs: number,
): Promise<Pick<RecordedChanges, 'deliveries' | 'rechecks'>> {
  const parents = moved.filter(({ monitor }) => monitor.hasDependents);
  if (parents.length === 0) return { deliveries: [], rechecks: [] };
  const down = parents.filter(({ changes }) => changes.at(-1)?.to === 'down');
  const over = parents.filter(
    ({ monitor, changes }) =>
      changes.at(-1)?.to !== 'down' && (monitor.state === 'down' || changes.some(({ to }) => to === 'down')),
  );
  const due = await releaseToParents(
    run,
    down.map(({ monitor }) => monitor.no),
    nowMs,
  );
  const { channels, monitorIds } = await awaitOwnResults(
    run,
    { parentIds: over.map(({ monitor }) => monitor.id), wereDown: true },
    nowMs,
  );
  return {
    deliveries: [...due, ...channels].map(firstOfChannel),
    rechecks: await recheckDependents(run, monitorIds, nowMs),
  };
}

async function findRoutes(run: Run, moved: readonly ChangedMonitor[]): Promise<Map<string, Route[]>> {
  const monitorIds = moved.map(({ monitor }) => monitor.id);
  return Map.groupBy(await listRoutes(run, monitorIds), ({ monitorId }) => monitorId);
}

/** Reads the states that were last notified, only of monitors that come up from a state without an event. */
async function findLastNotified(run: Run, moved: readonly ChangedMonitor[]): Promise<Map<string, EventState>> {
  const recovering = moved.filter(
    ({ monitor, changes }) => notifiedState(monitor, changes[0]) === 'pending' && changes[0]?.to === 'up',
  );
  return await listLastNotified(
    run,
    recovering.map(({ monitor }) => monitor.id),
  );
}

type Decision = {
  dependencies: ReadonlyMap<string, Dependency>;
  parents: ReadonlyMap<number, readonly ParentFacts[]>;
  lastNotified: ReadonlyMap<string, EventState>;
  parts: RecordingParts;
};

function decideChanges({ monitor, changes }: ChangedMonitor, given: Decision): DecidedChange[] {
  const dependencies = monitor.dependencyIds.flatMap((id) => given.dependencies.get(id) ?? []);
  return changes.map((change, index) => {
    const parents = given.parents.get(monitor.no) ?? [];
    const culprits = [...findDownParents(change, parents), ...findCulprits(change, dependencies)];
    const before = index === 0 ? notifiedState(monitor, change) : change.from;
    return {
      monitor,
      sequence: monitor.sequence + 1 + index,
      change: blame(change, culprits),
      // Channels are not notified of an unknown state that the service's own overload caused, nor of its end.
      isNotified: change.isOurs !== true && !(index === 0 && monitor.uncheckedFrom === change.to),
      lastNotified: isEventState(before) ? before : (given.lastNotified.get(monitor.id) ?? null),
      culprits,
      parentHold: holdFor(change, parents),
      newIncidentId: given.parts.newId('inc'),
    };
  });
}

/** Returns the hold of a change's alerts for the parents of its monitor, since its first failure. */
function holdFor(change: Change, parents: readonly ParentFacts[]): DecidedChange['parentHold'] {
  if (change.to === 'up' || parents.length === 0) return null;
  const failures = change.failures.map(({ first }) => first.atMs);
  const sinceMs = failures.length === 0 ? null : Math.min(...failures);
  const hold = holdForParents(parents, { sinceMs, nowMs: change.detectedAtMs });
  return hold && { ...hold, sinceMs: sinceMs ?? change.detectedAtMs };
}

/**
 * Returns the state that channels were last notified of, or would have been: the previous one, if the service's
 * overload made it unknown.
 */
function notifiedState(monitor: EvaluatedMonitor, change: Change | undefined): MonitorState {
  return monitor.uncheckedFrom ?? change?.from ?? monitor.state;
}

/** Ends the unchecked time of a monitor that the service's overload made unknown, from its first change on. */
function endOfUnchecked({ monitor, changes: [change] }: ChangedMonitor) {
  return monitor.uncheckedFrom === null || change === undefined ? [] : [{ monitorNo: monitor.no, atMs: change.atMs }];
}

function beginningOfUnchecked({ monitor, sequence, change }: DecidedChange): UncheckedMonitor[] {
  if (change.isOurs !== true) return [];
  const { id: monitorId, no: monitorNo, tenantId } = monitor;
  return [{ monitorId, monitorNo, tenantId, sequence, from: change.from, atMs: change.atMs }];
}

function stateAfter({ monitor, changes }: ChangedMonitor) {
  const last = changes.at(-1);
  return last === undefined
    ? []
    : [{ no: monitor.no, state: last.to, stateSinceMs: last.atMs, sequence: monitor.sequence + changes.length }];
}

/** Returns the evidence of changes for the worse; those for the better have no source's first failure. */
function evidenceOf({ monitor, change, incident }: DecidedChange & WithIncident): NewEvidence[] {
  if (incident === null || !isBad(change.to)) return [];
  return change.failures.map((failure) => ({ ...failure, incidentId: incident.id, monitor }));
}

function transitionOf({ monitor, sequence, change, incident }: DecidedChange & WithIncident): RecordedTransition {
  return { tenantId: monitor.tenantId, monitorId: monitor.id, sequence, change, incidentId: incident?.id ?? null };
}

/** Reads the parents of monitors in trouble; those that changed in the same batch are returned in their new state. */
async function findParentsOf(
  run: Run,
  moved: readonly ChangedMonitor[],
  nowMs: number,
): Promise<Map<number, ParentFacts[]>> {
  const troubled = moved.filter(({ monitor, changes }) => monitor.hasParents && changes.some(({ to }) => to !== 'up'));
  if (troubled.length === 0) return new Map();
  const parents = await readParents(run, { monitorNos: troubled.map(({ monitor }) => monitor.no), nowMs });
  const states = new Map(moved.map(({ monitor, changes }) => [monitor.no, changes.at(-1)?.to ?? monitor.state]));
  return new Map(
    [...parents].map(([monitorNo, facts]) => [
      monitorNo,
      facts.map((parent) => ({ ...parent, state: states.get(parent.no) ?? parent.state })),
    ]),
  );
}

/**
 * Reads the vendors that the monitors going down depend on; those that changed in the same batch are returned in their
 * new state. Most batches need no statement.
 */
async function findDependenciesOf(run: Run, moved: readonly ChangedMonitor[]): Promise<Map<string, Dependency>> {
  const ids = moved
    .filter(({ changes }) => changes.some(({ to }) => to === 'down'))
    .flatMap(({ monitor }) => monitor.dependencyIds);
  if (ids.length === 0) return new Map();
  const dependencies = await findDependencies(run, [...new Set(ids)]);
  for (const { monitor, changes } of moved) {
    const known = dependencies.get(monitor.id);
    const last = changes.at(-1);
    if (known !== undefined && last !== undefined) dependencies.set(monitor.id, { ...known, state: last.to });
  }
  return dependencies;
}

/** The parts of committed changes to announce. */
export type Announced = Pick<RecordedChanges, 'transitions' | 'deliveries'>;

/** Logs committed transitions and adds the jobs of their deliveries. Never rejects. */
export async function announce(
  { log, metrics, queues }: Pick<Runtime, 'log' | 'metrics' | 'queues'>,
  recorded: Announced,
): Promise<void> {
  for (const { tenantId, monitorId, sequence, change, incidentId } of recorded.transitions) {
    metrics.transitioned(change.to);
    log.info(
      {
        tenant_id: tenantId,
        monitor_id: monitorId,
        sequence,
        from: change.from,
        to: change.to,
        cause: change.cause,
        incident_id: incidentId,
      },
      'monitor.transitioned',
    );
  }
  await enqueueDeliveries(queues, log, recorded.deliveries);
}

/** Adds the jobs of committed rechecks; for a lost one, the monitor's next tick may come first. Never rejects. */
export async function announceRechecks(
  { log, queues, findRegions }: Pick<Runtime, 'log' | 'queues'> & { findRegions: RegionCache },
  rechecks: readonly DueRecheck[],
): Promise<void> {
  if (rechecks.length === 0) return;
  await enqueueCommitted(
    async () => queues.enqueueRechecks(rechecks, await findRegions(rechecks.map(({ agentNo }) => agentNo))),
    { log, line: 'recheck.not_queued', fields: { rechecks: rechecks.length } },
  );
}
