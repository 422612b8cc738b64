import { TAG, type ChaosChannel } from './channels.ts';
import type { Facts } from './facts.ts';
import type { Finding, Found } from './findings.ts';
import { NOTIFIED_STATES } from './judge-alerts.ts';
import type { Delivery, Transition } from './record.ts';

/** Most by which clocks of processes differ, in milliseconds. */
export const CLOCK_SKEW_MS = 250;

/** Time after a transaction's own timestamp during which it can read commits of others, in milliseconds. */
export const TRANSACTION_MS = 2000;

/** Time within which decisions are committed and claimed deliveries are processed without a fault, in milliseconds. */
const AT_WORK_MS = 10_000;

/** A change with its deliveries at a channel. */
export type Reported = Transition & {
  own: Delivery | undefined;
  /** Summaries that contain the change. */
  summaries: Delivery[];
  next: Transition | undefined;
};

/** Facts of one channel of a run: its stored deliveries, and the messages that arrived. */
export class ChannelFacts {
  readonly run: Facts;
  readonly channel: ChaosChannel;
  readonly deliveries: readonly Delivery[];
  readonly byId: ReadonlyMap<string, Delivery>;
  /** Ids of the deliveries that its webhook accepted. */
  readonly accepted: ReadonlySet<string>;

  constructor(run: Facts, channel: ChaosChannel) {
    this.run = run;
    this.channel = channel;
    this.deliveries = run.record.deliveries.filter((delivery) => delivery.channel === channel.name);
    this.byId = new Map(this.deliveries.map((delivery) => [delivery.id, delivery]));
    const accepted = run.received.filter((message) => message.channel === channel.name && message.isAccepted);
    this.accepted = new Set(accepted.map(({ deliveryId }) => deliveryId));
  }

  /** Reports whether the channel takes a change, by its rule. */
  takes({ to, monitorId, isNotified }: Transition): boolean {
    const { rule } = this.channel;
    const index = this.run.monitorIds.indexOf(monitorId);
    return (
      isNotified &&
      NOTIFIED_STATES.has(to) &&
      (rule?.events === undefined || rule.events.some((event) => event === `monitor.${to}`)) &&
      (rule?.tags === undefined || (rule.tags.includes(TAG) && index % 2 === 1))
    );
  }

  /** Reports whether a delivery arrived at a webhook, or is recorded as delivered to a chat. */
  isSent({ id, outcome }: Delivery): boolean {
    return this.channel.type === 'webhook' ? this.accepted.has(id) : outcome === 'delivered';
  }

  /** Reports whether a delivery is sent or pending: one that stays pending has a finding of its own. */
  isOnItsWay(delivery: Delivery): boolean {
    return delivery.outcome === 'pending' || this.isSent(delivery);
  }

  /**
   * Reports whether the opening delivery of a group was dropped because a later message of the group, which covers all
   * of it, has arrived.
   */
  isSaidByGroup({ id, groupId, outcome, finishedAtMs }: Delivery): boolean {
    return (
      outcome === 'superseded' &&
      groupId === id &&
      this.deliveries.some(
        (each) =>
          each.groupId === id &&
          each.id !== id &&
          each.outcome === 'delivered' &&
          // An attempt that arrived may be recorded only by the next attempt.
          (each.startedAtMs ?? Infinity) <= (finishedAtMs ?? 0) + CLOCK_SKEW_MS &&
          (each.finishedAtMs ?? 0) >= (finishedAtMs ?? 0) - CLOCK_SKEW_MS &&
          (each.finishedAtMs ?? 0) <= (finishedAtMs ?? 0) + AT_WORK_MS,
      )
    );
  }

  /** Reports whether an event came too long after another, with no fault in between that explains it. */
  isLate(fromMs: number, toMs: number): boolean {
    if (toMs - fromMs <= AT_WORK_MS + this.run.machineSlowMs) return false;
    return !this.run.suffered.some((fault) => fault.fromMs < toMs && fault.toMs > fromMs - AT_WORK_MS);
  }

  transitionsOf(monitorId: string): Transition[] {
    return this.run.record.transitions.filter((transition) => transition.monitorId === monitorId);
  }

  finding(finding: Finding, text: string): Found {
    return { finding, text: `${this.channel.name}: ${text}` };
  }
}
