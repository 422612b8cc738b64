import {
  DRILL_LASTS_MS,
  buildDrillMessage,
  decideDrill,
  type DrillAnswer,
  type SkipReason,
  type SkippedChannel,
} from '../../core/alerts/drill.ts';
import { QUIET_AHEAD_MS, planDelivery, type ChannelRule } from '../../core/alerts/rules.ts';
import type { Change } from '../../core/incidents/change.ts';
import type { MonitorState } from '../../core/incidents/state.ts';
import { chooseMaintenance } from '../../core/maintenance/window.ts';
import { ServiceCalendar } from '../../core/statistics/service-sla.ts';
import { insertDeliveries, type NewDelivery } from '../../models/alerts/deliveries.ts';
import { findMonitorState, listNotifiedChannels, updateDrill, type Drill } from '../../models/alerts/drills.ts';
import { listRoutes, type Route } from '../../models/alerts/routes.ts';
import { listAlertMaintenance } from '../../models/maintenance/maintenance-times.ts';
import type { IdPrefix } from '../../models/secrets/ids.ts';
import type { Run } from '../../models/sql.ts';

export type StepParts = { newId: (prefix: IdPrefix) => string; publicUrl: string; nowMs: number };

/** A drill as it is after a step, and what its transaction wrote for channels. */
export type Step = { drill: Drill; deliveries: readonly NewDelivery[] };

/** A drill that its answers changed. */
type Changed = { drill: Drill; change: Change };

/**
 * Adds answers to a locked drill and stores what they decide: nothing, its alert, or its end, each with the deliveries
 * to channels. The caller enqueues these once its transaction is committed.
 */
export async function applyAnswers(
  run: Run,
  { drill, answers }: { drill: Drill; answers: readonly DrillAnswer[] },
  parts: StepParts,
): Promise<Step> {
  const known = answers.reduce(withAnswer, drill);
  const { state, change } = decideDrill(known.monitor, { ...known, nowMs: parts.nowMs });
  if (change !== null && known.status === 'failing' && state === 'down')
    return await alert(run, { drill: known, change }, parts);
  if (change !== null && known.status === 'alerted' && state === 'up')
    return await end(run, { drill: known, change }, parts);
  await updateDrill(run, known);
  return { drill: known, deliveries: [] };
}

/** A location answers once with each verdict: that it works again after it failed, and once the drill is to end. */
function withAnswer(drill: Drill, answer: DrillAnswer): Drill {
  const { agentNo, verdict } = answer;
  const isKnown = drill.answers.some((each) => each.agentNo === agentNo && ['up', verdict].includes(each.verdict));
  if (isKnown) return drill;
  if (verdict === 'up' && drill.status !== 'alerted') return drill;
  return { ...drill, answers: [...drill.answers, answer] };
}

async function alert(run: Run, { drill, change }: Changed, parts: StepParts): Promise<Step> {
  const nowMs = change.detectedAtMs;
  const routes = await listRoutes(run, [drill.monitor.id]);
  const skipped = await findSkipped(run, routes, { monitorNo: drill.monitor.no, nowMs });
  const alerted: Drill = {
    ...drill,
    status: 'alerted',
    skipped,
    alertedAtMs: nowMs,
    endsAtMs: nowMs + DRILL_LASTS_MS,
  };
  await updateDrill(run, alerted);
  const left = new Set(skipped.map(({ channelId }) => channelId));
  const channelIds = routes.map(({ channelId }) => channelId).filter((channelId) => !left.has(channelId));
  const deliveries = await writeDeliveries(run, { drill: alerted, change, channelIds, monitorState: 'up' }, parts);
  return { drill: alerted, deliveries };
}

/** What would wait or be left out of a real alert now is not sent; a delay is none of a drill's (D-549). */
async function findSkipped(
  run: Run,
  routes: readonly Route[],
  { monitorNo, nowMs }: { monitorNo: number; nowMs: number },
): Promise<SkippedChannel[]> {
  const maintenance = await listAlertMaintenance(run, { monitorNos: [monitorNo], nowMs });
  const during = chooseMaintenance(maintenance.get(monitorNo) ?? []);
  const isQuiet = during !== null && during.alerts !== 'send';
  const calendar = new ServiceCalendar({ fromMs: nowMs, toMs: nowMs + QUIET_AHEAD_MS });
  const reasonOf = ({ rules, tags, followsMaintenance, mutedUntilMs }: Route): SkipReason | null => {
    const plan = planDelivery(
      rules && rules.map(withoutDelay),
      { event: 'monitor.down', tags: tags ?? [], nowMs, incidentStartedAtMs: nowMs },
      calendar,
    );
    if (plan === null) return 'rules';
    if (plan.hold?.reason === 'quiet_hours') return 'quiet_hours';
    if (followsMaintenance && isQuiet) return 'maintenance';
    return followsMaintenance && (mutedUntilMs ?? 0) > nowMs ? 'mute' : null;
  };
  return routes.flatMap((route) => {
    const reason = reasonOf(route);
    return reason === null ? [] : [{ channelId: route.channelId, event: 'monitor.down' as const, reason }];
  });
}

function withoutDelay({ after_seconds: _after, ...rule }: ChannelRule): ChannelRule {
  return rule;
}

/**
 * Channels that were notified are notified of the end. While the monitor really fails, webhooks that go by the last
 * event of a monitor are left out: they would take the end of the drill for that of the outage (D-548).
 */
async function end(run: Run, { drill, change }: Changed, parts: StepParts): Promise<Step> {
  const monitor = await findMonitorState(run, drill.monitor.id);
  const notified = await listNotifiedChannels(run, drill.id);
  const { others = [], mistaken = [] } = Object.groupBy(notified, ({ type, keepsOpen }) =>
    monitor?.hasIncident === true && type === 'webhook' && !keepsOpen ? 'mistaken' : 'others',
  );
  const skipped = mistaken.map(({ channelId }) => ({ channelId, event: 'monitor.up', reason: 'outage' }) as const);
  const ended: Drill = {
    ...drill,
    status: 'ended',
    skipped: [...drill.skipped, ...skipped],
    endedAtMs: change.detectedAtMs,
  };
  await updateDrill(run, ended);
  const channelIds = others.map(({ channelId }) => channelId);
  const monitorState = monitor?.state ?? null;
  const deliveries = await writeDeliveries(run, { drill: ended, change, channelIds, monitorState }, parts);
  return { drill: ended, deliveries };
}

type Notified = Changed & { channelIds: readonly string[]; monitorState: MonitorState | null };

/** Have the id of the drill for that of the monitor: order and retries are among those of the drill alone (D-548). */
async function writeDeliveries(
  run: Run,
  { drill, change, channelIds, monitorState }: Notified,
  { newId, publicUrl }: StepParts,
): Promise<NewDelivery[]> {
  const { id, tenantId, incidentId, startedAtMs, endsAtMs, monitor } = drill;
  const message = buildDrillMessage({
    drill: {
      id,
      incidentId,
      startedAtMs: drill.answers[0]?.atMs ?? startedAtMs,
      endsAtMs: endsAtMs ?? startedAtMs,
    },
    monitor,
    change,
    monitorState,
    publicUrl,
  });
  const deliveries = channelIds.map((channelId) => ({
    id: newId('dlv'),
    tenantId,
    channelId,
    monitorId: id,
    message,
    createdAtMs: change.detectedAtMs,
  }));
  await insertDeliveries(run, deliveries);
  return deliveries;
}
