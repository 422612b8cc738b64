import { shouldNotify, type ChannelType } from '../../core/alerts/channel.ts';
import { buildMonitorMessage, type MonitorMessage } from '../../core/alerts/envelope.ts';
import { eventOf, type EventState } from '../../core/alerts/event.ts';
import type { Hold } from '../../core/alerts/hold.ts';
import { longerHold, planDelivery, type DeliveryPlan } from '../../core/alerts/rules.ts';
import type { FailingDependency } from '../../core/checks/vendor/dependencies.ts';
import type { Change } from '../../core/incidents/change.ts';
import { chooseMaintenance, type AlertMaintenance } from '../../core/maintenance/window.ts';
import type { ServiceCalendar } from '../../core/statistics/service-sla.ts';
import { CANARY, isCanaryTurn } from '../../core/system/canary.ts';
import { toUnixSeconds } from '../../core/time.ts';
import type { ChangeDelivery } from '../../models/alerts/delivery-rates.ts';
import type { Route } from '../../models/alerts/routes.ts';
import type { EvaluatedMonitor } from '../../models/incidents/evaluation.ts';
import type { WithIncident } from '../../models/incidents/transitions.ts';
import type { IdPrefix } from '../../models/secrets/ids.ts';

/** A change of a monitor to notify channels of, whose transition is already written. */
export type NotifiedChange = WithIncident & {
  monitor: Pick<EvaluatedMonitor, 'no' | 'id' | 'tenantId' | 'name' | 'type' | 'target'>;
  sequence: number;
  change: Change;
  /** The state that channels were last notified of; null if there is none. */
  lastNotified: EventState | null;
  /** Vendors and parent monitors that may have caused it. */
  culprits: readonly FailingDependency[];
  /** The hold of its alerts for parents, which wait for results newer than `sinceMs`; null if they do not wait. */
  parentHold: (Hold & { sinceMs: number }) | null;
};

/** `routes` are the channels of each monitor, by its id; `nowMs` is when the changes were detected. */
export type DeliveryParts = {
  routes: ReadonlyMap<string, readonly Route[]>;
  newId: (prefix: IdPrefix) => string;
  publicUrl: string;
  nowMs: number;
};

/** A monitor's change on its way to one channel, and its plan; `hold` is the reason for waiting. */
export type RoutedDelivery = ChangeDelivery &
  DeliveryPlan & {
    message: MonitorMessage;
    /** True if it may wait, so that its recovery may supersede it before it is sent. */
    mayWait: boolean;
    hasRules: boolean;
    channelType: ChannelType;
    groupSeconds: number;
    summarizesFlapping: boolean;
    /** It waits for parents' results that are newer than this, in Unix milliseconds. */
    sinceMs: number;
  };

/** `maintenance` maps the number of a monitor to the maintenance during its change. */
type RouteParts = DeliveryParts & {
  maintenance: ReadonlyMap<number, readonly AlertMaintenance[]>;
  calendar: ServiceCalendar;
};

/**
 * Decides which channels are notified of a change, with which message, and what each delivery waits for. That may be
 * maintenance, a mute, rules, or the monitors that this one depends on.
 */
export function routeChange(
  { monitor, change, lastNotified, culprits, parentHold, sequence, incident }: NotifiedChange,
  { routes, newId, publicUrl, nowMs, maintenance, calendar }: RouteParts,
): RoutedDelivery[] {
  const event = eventOf(change);
  if (event === null) return [];
  const { id, name, type, target, tenantId } = monitor;
  // A ping reports that everything works.
  if (id === CANARY.monitorId && !isCanaryTurn(change)) return [];
  const during = chooseMaintenance(maintenance.get(monitor.no) ?? []);
  // Maintenance holds alerts of trouble only; a recovery goes to every channel that was notified of the trouble.
  const waits = change.to === 'up' || during?.alerts === 'send' ? null : during;
  const message = buildMonitorMessage({
    event,
    monitor: { id, name, type, target },
    change,
    culprits,
    sequence,
    incident,
    maintenance: during,
    publicUrl,
  });
  const notified = (routes.get(id) ?? []).filter(
    (route) =>
      shouldNotify(route.type, change, lastNotified) && !(route.followsMaintenance && waits?.alerts === 'drop'),
  );
  return notified.flatMap(
    ({ type: channelType, channelId, followsMaintenance, rules, tags, mutedUntilMs, ...route }) => {
      const plan = planDelivery(
        rules,
        { event, tags: tags ?? [], nowMs, incidentStartedAtMs: incident?.openSinceMs ?? null },
        calendar,
      );
      if (plan === null) return [];
      const mute = followsMaintenance && change.to !== 'up' ? holdInMute(mutedUntilMs, nowMs) : null;
      const pause = followsMaintenance && waits !== null ? holdInMaintenance(waits) : null;
      const behind = followsMaintenance && change.to !== 'up' ? parentHold : null;
      // A delivery that waits for another reason is decided by its parents when it is claimed.
      const longest = longerHold(longerHold(plan.hold, pause), mute) ?? behind;
      return {
        id: newId('dlv'),
        tenantId,
        channelId,
        monitorId: id,
        message: longest?.reason === 'mute' ? markMuted(message, longest.untilMs) : message,
        createdAtMs: nowMs,
        ...plan,
        mayWait: followsMaintenance || rules !== null,
        hasRules: rules !== null,
        channelType,
        groupSeconds: route.groupSeconds,
        summarizesFlapping: route.summarizesFlapping,
        // Maintenance and mutes may end early: what is left of them at the end of the rule's hold holds it again.
        hold: plan.hold !== null && plan.hold.untilMs > nowMs ? plan.hold : longest,
        sinceMs: parentHold?.sinceMs ?? nowMs,
      };
    },
  );
}

/** Returns the hold of a mute, which ends by itself; null if it is over. */
function holdInMute(untilMs: number | null, nowMs: number): Hold | null {
  return untilMs === null || untilMs <= nowMs ? null : { reason: 'mute', untilMs, occurrenceNo: null, heldBy: null };
}

function markMuted(message: MonitorMessage, untilMs: number): MonitorMessage {
  return { ...message, detail: { ...message.detail, muted_until: toUnixSeconds(untilMs) } };
}

function holdInMaintenance({ untilMs, occurrenceNo }: AlertMaintenance): Hold {
  return { reason: 'maintenance', untilMs, occurrenceNo, heldBy: null };
}
