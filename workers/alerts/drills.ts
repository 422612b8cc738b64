import {
  DRILL_ENDS_ANYWAY_MS,
  DRILL_FAILS_AFTER_MS,
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
import { listCheckRegions } from '../../models/agents/shared-agents.ts';
import { insertDeliveries, type NewDelivery } from '../../models/alerts/deliveries.ts';
import {
  findMonitorState,
  listLateDrills,
  listNotifiedChannels,
  lockOpenDrill,
  updateDrill,
  type Drill,
} from '../../models/alerts/drills.ts';
import { listRoutes, type Route } from '../../models/alerts/routes.ts';
import { listAlertMaintenance } from '../../models/maintenance/maintenance-times.ts';
import type { IdPrefix } from '../../models/secrets/ids.ts';
import { inTransaction, type Run } from '../../models/sql.ts';
import { enqueueCommitted, enqueueDeliveries, firstAttempt } from '../../queues/enqueue-committed.ts';
import type { DrillJob, ResultPayload } from '../../queues/payloads.ts';
import type { Runtime } from '../runtime.ts';

/** Dependencies of drills. */
export type DrillParts = Pick<Runtime, 'database' | 'queues' | 'log' | 'now' | 'newId' | 'publicUrl'>;

/** Maximum drills of one round of the chore, and how late they must be, in milliseconds. */
const LATE_PER_ROUND = 500;
const LATE_MS = 5000;

/**
 * Handles the locations' answers in drills, which come with the results of checks. Never rejects, because the results
 * must still be evaluated; the chore requests failed ones again.
 */
export async function evaluateDrills(
  parts: DrillParts,
  results: readonly Pick<ResultPayload, 'drillId' | 'agentNo' | 'verdict' | 'finishedAtMs'>[],
): Promise<void> {
  const byDrill = Map.groupBy(results, ({ drillId }) => drillId);
  for (const [drillId, ofDrill] of byDrill) {
    if (drillId === undefined) continue;
    const answers = ofDrill.flatMap(({ agentNo, verdict, finishedAtMs: atMs }) =>
      verdict === 'down' || verdict === 'up' ? [{ agentNo, verdict, atMs }] : [],
    );
    try {
      await stepDrill(parts, drillId, () => answers);
    } catch (error) {
      parts.log.error({ err: error, drill_id: drillId }, 'drill.not_evaluated');
    }
  }
}

/**
 * Continues drills that stopped halfway. Missing answers are enqueued again, a drill that no quorum answered in time
 * has failed, and one that does not end by itself is ended.
 */
export async function mendDrills(parts: DrillParts): Promise<{ late: number; ended: number }> {
  const { database, now, log } = parts;
  const late = await listLateDrills(database, { lateMs: LATE_MS, nowMs: now(), limit: LATE_PER_ROUND });
  let ended = 0;
  for (const drill of late) {
    try {
      if (await mendDrill(parts, drill)) ended += 1;
    } catch (error) {
      log.error({ err: error, drill_id: drill.id }, 'drill.not_mended');
    }
  }
  return { late: late.length, ended };
}

/** Returns whether the drill is over. */
async function mendDrill(parts: DrillParts, drill: Drill): Promise<boolean> {
  const nowMs = parts.now();
  if (drill.status === 'failing') {
    if (nowMs - drill.startedAtMs < DRILL_FAILS_AFTER_MS) {
      await askForAnswers(parts, drill, 'down');
      return false;
    }
    return await failDrill(parts, drill.id);
  }
  if (nowMs - (drill.endsAtMs ?? 0) < DRILL_ENDS_ANYWAY_MS) {
    await askForAnswers(parts, drill, 'up');
    return false;
  }
  const all = (current: Drill): DrillAnswer[] =>
    missingOf(current, 'up').map((agentNo) => ({ agentNo, verdict: 'up', atMs: nowMs }));
  return (await stepDrill(parts, drill.id, all)) === 'ended';
}

/** Enqueues the missing answers of a drill. Does not reject if the queue is away. */
export async function askForAnswers(parts: DrillParts, drill: Drill, verdict: DrillAnswer['verdict']): Promise<void> {
  await enqueueAnswers(
    parts,
    missingOf(drill, verdict).map((agentNo) => ({ drillId: drill.id, agentNo, verdict })),
  );
}

function missingOf({ monitor, answers }: Drill, verdict: DrillAnswer['verdict']): number[] {
  const answered = new Set(answers.filter((answer) => answer.verdict === verdict).map(({ agentNo }) => agentNo));
  return monitor.sources.map(({ agentNo }) => agentNo).filter((agentNo) => !answered.has(agentNo));
}

async function failDrill({ database, now, log }: DrillParts, id: string): Promise<boolean> {
  const failed = await inTransaction(database, async (run) => {
    const drill = await lockOpenDrill(run, id);
    if (drill === null || drill.status !== 'failing') return false;
    await updateDrill(run, { ...drill, status: 'failed', endedAtMs: now() });
    return true;
  });
  if (failed) log.warn({ drill_id: id }, 'drill.failed');
  return failed;
}

/**
 * Adds answers to a drill, in one transaction with the deliveries that they cause, and then enqueues the next jobs.
 * Returns the drill's status; null if it was over.
 */
async function stepDrill(
  parts: DrillParts,
  id: string,
  answersOf: (drill: Drill) => readonly DrillAnswer[],
): Promise<Drill['status'] | null> {
  const { database, queues, log } = parts;
  const step = await inTransaction(database, async (run) => {
    const drill = await lockOpenDrill(run, id);
    return drill && (await applyAnswers(run, { drill, answers: answersOf(drill) }, { ...parts, nowMs: parts.now() }));
  });
  if (step === null) return null;
  const { drill, deliveries } = step;
  await enqueueDeliveries(queues, log, deliveries.map(firstAttempt));
  if (deliveries.length > 0 || drill.status === 'ended')
    log.info({ drill_id: id, monitor_id: drill.monitor.id, status: drill.status }, 'drill.changed');
  if (drill.status === 'alerted') await enqueueEnd(parts, drill);
  return drill.status;
}

async function enqueueEnd(parts: DrillParts, drill: Drill): Promise<void> {
  const answers = missingOf(drill, 'up').map((agentNo) => ({ drillId: drill.id, agentNo, verdict: 'up' as const }));
  await enqueueAnswers(parts, answers, drill.endsAtMs ?? 0);
}

async function enqueueAnswers(
  { database, queues, log }: DrillParts,
  answers: readonly DrillJob[],
  atMs?: number,
): Promise<void> {
  await enqueueCommitted(async () => queues.enqueueDrill(answers, await listCheckRegions(database), atMs), {
    log,
    line: 'drill.not_queued',
    fields: { drill_id: answers[0]?.drillId },
  });
}

type StepParts = { newId: (prefix: IdPrefix) => string; publicUrl: string; nowMs: number };

/** A drill after a step, and the deliveries that its transaction wrote. */
type Step = { drill: Drill; deliveries: readonly NewDelivery[] };

/** A drill that its answers changed. */
type Changed = { drill: Drill; change: Change };

/**
 * Adds answers to a locked drill and stores their effect: none, its alert, or its end, each with its deliveries. The
 * caller enqueues these once its transaction is committed.
 */
async function applyAnswers(
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

/**
 * Adds an answer. A location answers at most once with each verdict: never `down` after `up`, and `up` only once the
 * drill has alerted.
 */
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
  const deliveries = await writeDrillDeliveries(run, { drill: alerted, change, channelIds, monitorState: 'up' }, parts);
  return { drill: alerted, deliveries };
}

/**
 * Returns the channels to skip: an alert is not sent if a real one would wait or be left out now. Drills ignore delays
 * (D-549).
 */
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
 * Ends a drill, and notifies the channels that were notified of it. During a real outage, webhooks that rely on a
 * monitor's last event are skipped: they would take the end of the drill for that of the outage (D-548).
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
  const deliveries = await writeDrillDeliveries(run, { drill: ended, change, channelIds, monitorState }, parts);
  return { drill: ended, deliveries };
}

type Notified = Changed & { channelIds: readonly string[]; monitorState: MonitorState | null };

/**
 * Writes deliveries with the drill's id in place of the monitor's: order and retries then concern the drill alone
 * (D-548).
 */
async function writeDrillDeliveries(
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
