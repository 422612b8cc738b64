import { ON_CALL } from './channels.ts';
import type { Facts } from './facts.ts';
import type { Found } from './findings.ts';

/** States whose transitions are reported (D-44). */
export const NOTIFIED_STATES = new Set(['up', 'down', 'degraded', 'unknown']);

/**
 * Compares the messages at the channel that gets everything with the stored deliveries. There must be one delivery per
 * reported transition, accepted at least once, and nothing else. A delivery may arrive again under its id if its sender
 * was killed before it could record the first arrival.
 */
export function judgeAlerts({ record, received: all, pendingDeliveries }: Facts): Found[] {
  const received = all.filter(({ channel }) => channel === ON_CALL);
  const accepted = new Set(received.filter(({ isAccepted }) => isAccepted).map(({ deliveryId }) => deliveryId));
  const written = new Set(record.transitions.flatMap(({ deliveryIds }) => deliveryIds));
  const lost = record.transitions
    .filter(
      ({ to, isNotified, deliveryIds }) =>
        isNotified && NOTIFIED_STATES.has(to) && !deliveryIds.some((id) => accepted.has(id)),
    )
    .map(({ monitorId, sequence, to }): Found => ({
      finding: 'events lost',
      text: `${to} of ${monitorId} (sequence ${sequence})`,
    }));
  const invented = received
    .filter(({ deliveryId }) => !written.has(deliveryId))
    .map(({ deliveryId, event, monitorId }): Found => ({
      finding: 'events invented',
      text: `${event} of ${monitorId} (${deliveryId})`,
    }));
  const writtenTwice = record.transitions
    .filter(({ deliveryIds }) => deliveryIds.length > 1)
    .map(({ monitorId, sequence }) => `${monitorId} ${sequence}`);
  const arrivals = Map.groupBy(received, ({ monitorId, sequence }) => `${monitorId} ${sequence}`);
  const arrivedTwice = [...arrivals]
    .filter(([, messages]) => new Set(messages.map(({ deliveryId }) => deliveryId)).size > 1)
    .map(([key]) => key);
  const twice = [...new Set([...writtenTwice, ...arrivedTwice])].map((text): Found => ({
    finding: 'events under two ids',
    text,
  }));
  const unfinished: Found[] = Array.from({ length: pendingDeliveries }, () => ({
    finding: 'deliveries unfinished',
    text: 'a delivery',
  }));
  return [...lost, ...invented, ...twice, ...unfinished];
}
