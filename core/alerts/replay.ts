import { ServiceCalendar } from '../statistics/service-sla.ts';
import type { MonitorEvent } from './event.ts';
import type { HoldReason } from './hold.ts';
import { planDelivery, QUIET_AHEAD_MS, reminderDueAtMs, type ChannelRule, type DeliveryPlan } from './rules.ts';

/** A past change of a monitor, as it was decided; `event` is null for a pause. Moments in Unix milliseconds. */
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

/** Outcome that an event would have had: when it would have been sent, or why it would not. */
export type ReplayedAlert = Pick<PastEvent, 'monitorId' | 'monitorName' | 'event' | 'atMs'> & {
  outcome: 'sent' | 'not_sent';
  /** Reason for which it would have been held; null = none. */
  heldBy: HoldReason | null;
  /** Number of a reminder; null for other alerts. */
  reminder: number | null;
};

type Waiting = {
  change: PastEvent;
  dueAtMs: number;
  heldBy: HoldReason;
  unlessAcknowledged: boolean;
  reminder: (NonNullable<DeliveryPlan['repeat']> & { number: number }) | null;
};

/** Replays the notifications of one channel about one monitor. */
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

  /** Returns the alerts since the last call. */
  takeAlerts(): ReplayedAlert[] {
    const alerts = this.#alerts;
    this.#alerts = [];
    return alerts;
  }

  step({ event, ...past }: PastChange): void {
    const { atMs: nowMs } = past;
    this.settle(nowMs);
    if (event === null) {
      // A recovery is sent even if a pause follows.
      this.#supersede((waiting) => !isRecovery(waiting), nowMs);
      return;
    }
    const change: PastEvent = { ...past, event };
    const plan = planDelivery(this.#rules, { ...change, nowMs }, this.#calendar);
    if (change.event === 'monitor.up') {
      // If a recovery was waiting, its channel had been notified of the trouble.
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

  /** Sends the alerts that are due before a moment, in order. */
  settle(untilMs: number): void {
    for (;;) {
      const [next] = this.#waiting.toSorted((a, b) => a.dueAtMs - b.dueAtMs);
      if (next === undefined || next.dueAtMs >= untilMs) return;
      this.#waiting = this.#waiting.filter((each) => each !== next);
      const { change, dueAtMs, heldBy, unlessAcknowledged, reminder } = next;
      const isAcknowledged =
        unlessAcknowledged && change.acknowledgedAtMs !== null && change.acknowledgedAtMs <= dueAtMs;
      // Newer trouble supersedes a waiting recovery.
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

  /** Reminders that are not due yet do not count as alerts held back. */
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

/** Changes replayed at a time: some milliseconds with the slowest rules. */
const REPLAYED_AT_ONCE = 50;

/**
 * Computes the alerts that a channel with these rules would have got of past changes until `nowMs`. They come in parts,
 * so that other work can run in between: monitor by monitor, each in chronological order. The plan is that of live
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
