import { ServiceCalendar } from '../statistics/service-sla.ts';
import type { MonitorEvent } from './event.ts';
import type { HoldReason } from './hold.ts';
import { planDelivery, QUIET_AHEAD_MS, reminderDueAtMs, type ChannelRule, type DeliveryPlan } from './rules.ts';

/** A change of a monitor in the past, as it was decided; `event` is null of a pause. Moments in Unix milliseconds. */
export type PastChange = {
  monitorId: string;
  monitorName: string;
  tags: readonly string[];
  event: MonitorEvent | null;
  atMs: number;
  incidentStartedAtMs: number | null;
  /** When the incident was acknowledged; null = never. */
  acknowledgedAtMs: number | null;
};

type PastEvent = PastChange & { event: MonitorEvent };

/** What would have become of an event: when it would have been sent, or why it would not. */
export type ReplayedAlert = Pick<PastEvent, 'monitorId' | 'monitorName' | 'event' | 'atMs'> & {
  outcome: 'sent' | 'not_sent';
  /** What it would have waited for; null = nothing. */
  heldBy: HoldReason | null;
  /** The number of a reminder; null = it is none. */
  reminder: number | null;
};

type Waiting = {
  change: PastEvent;
  dueAtMs: number;
  heldBy: HoldReason;
  unlessAcknowledged: boolean;
  reminder: (NonNullable<DeliveryPlan['repeat']> & { number: number }) | null;
};

/** How one channel would have been notified of one monitor. */
class MonitorReplay {
  readonly #rules: readonly ChannelRule[];
  readonly #calendar: ServiceCalendar;
  #waiting: Waiting[] = [];
  /** Whether the channel was notified of trouble, and not yet of its end. */
  #isNotified = false;
  #alerts: ReplayedAlert[] = [];

  constructor(rules: readonly ChannelRule[], calendar: ServiceCalendar) {
    this.#rules = rules;
    this.#calendar = calendar;
  }

  /** Takes the alerts that came about since it was called before. */
  takeAlerts(): ReplayedAlert[] {
    const alerts = this.#alerts;
    this.#alerts = [];
    return alerts;
  }

  step({ event, ...past }: PastChange): void {
    const { atMs: nowMs } = past;
    this.settle(nowMs);
    if (event === null) {
      // A pause takes nothing from a recovery.
      this.#supersede((waiting) => !isRecovery(waiting), nowMs);
      return;
    }
    const change: PastEvent = { ...past, event };
    const plan = planDelivery(this.#rules, { ...change, nowMs }, this.#calendar);
    if (change.event === 'monitor.up') {
      // A recovery that waited was of trouble that the channel knows.
      const isAwaited = this.#isNotified || this.#waiting.some(isRecovery);
      this.#supersede(() => true, nowMs);
      this.#isNotified = false;
      if (!isAwaited || plan === null) return;
    } else this.#supersede((waiting) => !isRecovery(waiting), nowMs);
    if (plan === null) return;
    const { hold, isDropped, unlessAcknowledged, repeat } = plan;
    const heldBy = hold?.reason ?? null;
    if (isDropped) this.#put(change, { atMs: nowMs, outcome: 'not_sent', heldBy });
    else if (hold === null) this.#send(change, { atMs: nowMs, heldBy });
    else this.#waiting.push({ change, dueAtMs: hold.untilMs, heldBy: hold.reason, unlessAcknowledged, reminder: null });
    if (repeat !== null && !isDropped)
      this.#waiting.push({
        change,
        dueAtMs: this.#nextReminder(repeat, hold?.untilMs ?? nowMs),
        heldBy: 'reminder',
        unlessAcknowledged,
        reminder: { number: 1, ...repeat },
      });
  }

  /** Sends what is due before a moment, in its order. */
  settle(untilMs: number): void {
    for (;;) {
      const [next] = this.#waiting.toSorted((a, b) => a.dueAtMs - b.dueAtMs);
      if (next === undefined || next.dueAtMs >= untilMs) return;
      this.#waiting = this.#waiting.filter((each) => each !== next);
      const { change, dueAtMs, heldBy, unlessAcknowledged, reminder } = next;
      const isAcknowledged =
        unlessAcknowledged && change.acknowledgedAtMs !== null && change.acknowledgedAtMs <= dueAtMs;
      // Newer trouble overtakes a recovery that waits.
      const isOvertaken = isRecovery(next) && this.#waiting.some((each) => !isRecovery(each));
      if (isAcknowledged || isOvertaken)
        this.#put(change, { atMs: dueAtMs, outcome: 'not_sent', heldBy, reminder: reminder?.number ?? null });
      else this.#send(change, { atMs: dueAtMs, heldBy, reminder: reminder?.number ?? null });
      if (reminder !== null && !isAcknowledged && reminder.number < reminder.most)
        this.#waiting.push({
          ...next,
          dueAtMs: this.#nextReminder(reminder, dueAtMs),
          reminder: { ...reminder, number: reminder.number + 1 },
        });
    }
  }

  #nextReminder(repeat: NonNullable<DeliveryPlan['repeat']>, afterMs: number): number {
    return reminderDueAtMs(repeat, afterMs + repeat.everySeconds * 1000, this.#calendar);
  }

  #send(change: PastEvent, sent: { atMs: number; heldBy: HoldReason | null; reminder?: number | null }): void {
    if (change.event !== 'monitor.up') this.#isNotified = true;
    this.#put(change, { ...sent, outcome: 'sent' });
  }

  /** Reminders that are not due yet are no alerts that were held back. */
  #supersede(isOver: (waiting: Waiting) => boolean, atMs: number): void {
    for (const waiting of this.#waiting.filter(isOver))
      if (waiting.reminder === null) this.#put(waiting.change, { atMs, outcome: 'not_sent', heldBy: waiting.heldBy });
    this.#waiting = this.#waiting.filter((waiting) => !isOver(waiting));
  }

  #put(
    { monitorId, monitorName, event }: PastEvent,
    { reminder = null, ...put }: Pick<ReplayedAlert, 'atMs' | 'outcome' | 'heldBy'> & { reminder?: number | null },
  ): void {
    this.#alerts.push({ monitorId, monitorName, event, reminder, ...put });
  }
}

function isRecovery({ change }: Waiting): boolean {
  return change.event === 'monitor.up';
}

/** Changes that are replayed at a time: some milliseconds with the slowest of rules. */
const REPLAYED_AT_ONCE = 50;

/**
 * Says what a channel with these rules would have been sent of past changes until `nowMs`. The alerts come in parts, so
 * that others have their turn in between: monitor by monitor, each in the order of time. The plan is that of live
 * alerts; mutes, maintenance and the summaries of storms are left out.
 */
export function* replayRules(
  rules: readonly ChannelRule[],
  changes: readonly PastChange[],
  nowMs: number,
): Generator<ReplayedAlert[], void> {
  const fromMs = changes.reduce((first, { atMs }) => Math.min(first, atMs), nowMs);
  const calendar = new ServiceCalendar({ fromMs, toMs: nowMs + QUIET_AHEAD_MS });
  for (const ofMonitor of Map.groupBy(changes, ({ monitorId }) => monitorId).values()) {
    const replay = new MonitorReplay(rules.length === 0 ? [{}] : rules, calendar);
    for (const [index, change] of ofMonitor.toSorted((a, b) => a.atMs - b.atMs).entries()) {
      replay.step(change);
      if (index % REPLAYED_AT_ONCE === REPLAYED_AT_ONCE - 1) yield replay.takeAlerts();
    }
    replay.settle(nowMs);
    yield replay.takeAlerts();
  }
}
