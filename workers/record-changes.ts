import { buildMonitorMessage } from '../core/envelope.ts';
import { eventOf, hears } from '../core/event.ts';
import type { Change } from '../core/monitor-state.ts';
import { listRoutes, type Route } from '../models/channels.ts';
import { insertDeliveries, type NewDelivery } from '../models/deliveries.ts';
import { storeMonitorState, type EvaluatedMonitor } from '../models/evaluation.ts';
import { recordChange } from '../models/history.ts';
import type { IdPrefix } from '../models/ids.ts';
import type { Run } from '../models/sql.ts';

/** A monitor as it was locked, and what it went through, in order. */
export type ChangedMonitor = { monitor: EvaluatedMonitor; changes: readonly Change[] };

/** A transition as it was written, for the log. */
export type RecordedTransition = { tenantId: string; monitorId: string; sequence: number; change: Change; incidentId: string | null };

/** What was written: the transitions for the log, and the deliveries whose jobs are to be added once the transaction is committed. */
export type RecordedChanges = { transitions: RecordedTransition[]; deliveries: { id: string; channelId: string }[] };

export type RecordingTools = { newId: (prefix: IdPrefix) => string; publicUrl: string };

/**
 * Writes everything that changes of state mean, in the caller's transaction: transitions, incidents, the monitors' states and the
 * deliveries of their events. The deliveries' jobs are for the caller to add once the transaction is committed.
 */
export async function recordChanges(
  run: Run,
  changed: readonly ChangedMonitor[],
  tools: RecordingTools,
): Promise<RecordedChanges> {
  const moved = changed.filter(({ changes }) => changes.length > 0);
  if (moved.length === 0) return { transitions: [], deliveries: [] };
  const routes = Map.groupBy(await listRoutes(run, moved.map(({ monitor }) => monitor.id)), (route) => route.monitorId);
  const transitions: RecordedTransition[] = [];
  const deliveries: NewDelivery[] = [];
  for (const { monitor, changes } of moved) {
    let sequence = monitor.sequence;
    for (const change of changes) {
      sequence += 1;
      const incident = await recordChange(run, { ...monitor, sequence }, { change, newIncidentId: tools.newId('inc') });
      transitions.push({ tenantId: monitor.tenantId, monitorId: monitor.id, sequence, change, incidentId: incident?.id ?? null });
      deliveries.push(...deliveriesOf({ monitor, change, sequence, incident, routes: routes.get(monitor.id) ?? [] }, tools));
    }
    const last = changes.at(-1);
    if (last !== undefined) await storeMonitorState(run, { no: monitor.no, state: last.to, stateSinceMs: last.atMs, sequence });
  }
  await insertDeliveries(run, deliveries);
  return { transitions, deliveries: deliveries.map(({ id, channelId }) => ({ id, channelId })) };
}

type Told = {
  monitor: EvaluatedMonitor;
  change: Change;
  sequence: number;
  incident: { id: string; startedAtMs: number } | null;
  routes: readonly Route[];
};

function deliveriesOf({ monitor, change, sequence, incident, routes }: Told, tools: RecordingTools): NewDelivery[] {
  const event = eventOf(change);
  if (event === null) return [];
  const { id, name, type, target, tenantId } = monitor;
  const message = buildMonitorMessage({ event, monitor: { id, name, type, target }, change, sequence, incident, publicUrl: tools.publicUrl });
  return routes
    .filter((route) => hears(route.type, change))
    .map((route) => ({ id: tools.newId('dlv'), tenantId, channelId: route.channelId, monitorId: id, message, createdAtMs: change.detectedAtMs }));
}
