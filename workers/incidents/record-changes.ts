import { buildMonitorMessage } from '../../core/alerts/envelope.ts';
import { eventOf, shouldNotify, isEventState, type EventState } from '../../core/alerts/event.ts';
import { blame, findCulprits, type Dependency, type FailingDependency } from '../../core/checks/vendor/dependencies.ts';
import type { Change } from '../../core/incidents/change.ts';
import type { MonitorState } from '../../core/incidents/state.ts';
import { listRoutes, type Route } from '../../models/alerts/channels.ts';
import type { NewDelivery } from '../../models/alerts/deliveries.ts';
import { insertAtRate, scheduleAtRate } from '../../models/alerts/delivery-rates.ts';
import { storeMonitorStates, type EvaluatedMonitor } from '../../models/incidents/evaluation.ts';
import { insertEvidence, type NewEvidence } from '../../models/incidents/evidence.ts';
import {
  listLastNotified,
  recordTransitions,
  type DecidedTransition,
  type WithIncident,
} from '../../models/incidents/transitions.ts';
import { findDependencies } from '../../models/monitors/monitor-rows.ts';
import type { IdPrefix } from '../../models/secrets/ids.ts';
import type { Run } from '../../models/sql.ts';
import { beginUnchecked, endUnchecked, type UncheckedMonitor } from '../../models/statistics/overload.ts';
import type { DueAttempt } from '../../queues/job-queues.ts';
import { writeChatDeliveries, type ChatDelivery } from '../alerts/chat-deliveries.ts';

/** A monitor as it was locked, and what it went through, in order. */
export type ChangedMonitor = { monitor: EvaluatedMonitor; changes: readonly Change[] };

/** A transition as it was written, for the log. */
export type RecordedTransition = {
  tenantId: string;
  monitorId: string;
  sequence: number;
  change: Change;
  incidentId: string | null;
};

/**
 * What was written: the transitions for the log, and the deliveries whose jobs are to be added once the transaction is
 * committed.
 */
export type RecordedChanges = { transitions: RecordedTransition[]; deliveries: DueAttempt[] };

export type RecordingTools = { newId: (prefix: IdPrefix) => string; publicUrl: string };

/**
 * Writes everything that changes of state mean, in the caller's transaction: transitions, incidents with the evidence
 * at their sources' first failures, the monitors' states and the deliveries of their events. The deliveries' jobs are
 * for the caller to add once the transaction is committed.
 */
export async function recordChanges(
  run: Run,
  changed: readonly ChangedMonitor[],
  tools: RecordingTools,
): Promise<RecordedChanges> {
  const moved = changed.filter(({ changes }) => changes.length > 0);
  if (moved.length === 0) return { transitions: [], deliveries: [] };
  const routes = Map.groupBy(
    await listRoutes(
      run,
      moved.map(({ monitor }) => monitor.id),
    ),
    (route) => route.monitorId,
  );
  const dependencies = await listDependencies(run, moved);
  const lastNotified = await listLastNotified(
    run,
    moved
      .filter(({ monitor, changes }) => notifiedState(monitor, changes[0]) === 'pending' && changes[0]?.to === 'up')
      .map(({ monitor }) => monitor.id),
  );
  const decided = moved.flatMap(({ monitor, changes }) =>
    changes.map((change, index) => {
      const culprits = findCulprits(
        change,
        monitor.dependencyIds.flatMap((id) => dependencies.get(id) ?? []),
      );
      const notified = index === 0 ? notifiedState(monitor, change) : change.from;
      const before = isEventState(notified) ? notified : (lastNotified.get(monitor.id) ?? null);
      const isNotified = change.isOurs !== true && !(index === 0 && monitor.uncheckedFrom === change.to);
      return {
        monitor,
        sequence: monitor.sequence + 1 + index,
        change: blame(change, culprits),
        isNotified,
        lastNotified: before,
        culprits,
        newIncidentId: tools.newId('inc'),
      };
    }),
  );
  const recorded = await recordTransitions(run, decided);
  await insertEvidence(run, recorded.flatMap(evidenceOf));
  await storeMonitorStates(run, moved.flatMap(stateAfter));
  await endUnchecked(
    run,
    moved.flatMap(({ monitor, changes: [change] }) =>
      monitor.uncheckedFrom === null || change === undefined ? [] : [{ monitorNo: monitor.no, atMs: change.atMs }],
    ),
  );
  await beginUnchecked(run, recorded.flatMap(uncheckedOf));
  const notified = recorded
    .filter(({ isNotified }) => isNotified)
    .flatMap((change) => deliveriesOf({ ...change, routes: routes.get(change.monitor.id) ?? [] }, tools));
  const chats = new Set(notified.flatMap(({ isChat, delivery }) => (isChat ? [delivery.id] : [])));
  const scheduled = await scheduleAtRate(
    run,
    notified.map(({ delivery }) => delivery),
  );
  const toWebhooks = await insertAtRate(
    run,
    scheduled.filter(({ id }) => !chats.has(id)),
  );
  const toChats = await writeChatDeliveries(
    run,
    scheduled.filter(({ id }) => chats.has(id)),
    tools,
  );
  return { transitions: recorded.map(transitionOf), deliveries: [...toWebhooks, ...toChats].map(firstAttempt) };
}

/**
 * The state that channels were last notified of, or would have been: where our overload made it unknown, the one
 * before.
 */
function notifiedState(monitor: EvaluatedMonitor, change: Change | undefined): MonitorState {
  return monitor.uncheckedFrom ?? change?.from ?? monitor.state;
}

function uncheckedOf({
  monitor,
  sequence,
  change,
}: DecidedTransition & { monitor: EvaluatedMonitor }): UncheckedMonitor[] {
  return change.isOurs === true
    ? [
        {
          monitorId: monitor.id,
          monitorNo: monitor.no,
          tenantId: monitor.tenantId,
          sequence,
          from: change.from,
          atMs: change.atMs,
        },
      ]
    : [];
}

function stateAfter({ monitor, changes }: ChangedMonitor) {
  const last = changes.at(-1);
  return last === undefined
    ? []
    : [{ no: monitor.no, state: last.to, stateSinceMs: last.atMs, sequence: monitor.sequence + changes.length }];
}

/** Of changes for the worse: those for the better tell no source's first failure. */
function evidenceOf({
  monitor,
  change,
  incident,
}: DecidedTransition & WithIncident & { monitor: EvaluatedMonitor }): NewEvidence[] {
  if (incident === null || (change.to !== 'down' && change.to !== 'degraded')) return [];
  return change.failures.map((failure) => ({ ...failure, incidentId: incident.id, monitor }));
}

function transitionOf({ monitor, sequence, change, incident }: DecidedTransition & WithIncident): RecordedTransition {
  return { tenantId: monitor.tenantId, monitorId: monitor.id, sequence, change, incidentId: incident?.id ?? null };
}

/** The first attempt of a delivery, due at once unless that says when. */
export function firstAttempt({ id, channelId, createdAtMs, dueAtMs }: NewDelivery): DueAttempt {
  return { deliveryId: id, channelId, attempt: 1, dueAtMs: dueAtMs ?? createdAtMs };
}

/**
 * What the monitors that go down depend on, vendors that changed in this very batch as they are after it; most batches
 * ask nothing.
 */
async function listDependencies(run: Run, moved: readonly ChangedMonitor[]): Promise<Map<string, Dependency>> {
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

type NotifiedTransition = WithIncident & {
  monitor: EvaluatedMonitor;
  change: Change;
  lastNotified: EventState | null;
  culprits: readonly FailingDependency[];
  sequence: number;
  routes: readonly Route[];
};

function deliveriesOf(
  { monitor, change, lastNotified, culprits, sequence, incident, routes }: NotifiedTransition,
  tools: RecordingTools,
): { isChat: boolean; delivery: ChatDelivery }[] {
  const event = eventOf(change);
  if (event === null) return [];
  const { id, name, type, target, tenantId } = monitor;
  const message = buildMonitorMessage({
    event,
    monitor: { id, name, type, target },
    change,
    culprits,
    sequence,
    incident,
    publicUrl: tools.publicUrl,
  });
  return routes
    .filter((route) => shouldNotify(route.type, change, lastNotified))
    .map((route) => ({
      isChat: route.type !== 'webhook',
      delivery: {
        id: tools.newId('dlv'),
        tenantId,
        channelId: route.channelId,
        monitorId: id,
        message,
        createdAtMs: change.detectedAtMs,
      },
    }));
}
