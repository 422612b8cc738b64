import { CLOCK_SKEW_MS, ChannelFacts, TRANSACTION_MS, type Reported } from './channel-facts.ts';
import type { Facts } from './facts.ts';
import type { Found } from './findings.ts';
import { TimingJudge } from './judge-timing.ts';
import type { Delivery } from './record.ts';

/**
 * Compares the messages at channels with rules, groups, summaries and dependencies with the stored data. Each change
 * that a channel takes must arrive, by itself or in a message that names it, or the record explains why it did not: a
 * newer change came first, it was acknowledged, or the channel was never notified of the trouble that it ends.
 */
export function judgeChannels(facts: Facts): { found: Found[]; figures: Record<string, number> } {
  const deliveries = facts.record.deliveries;
  const figures = {
    'deliveries to channels with rules': deliveries.length,
    'of them reminders': deliveries.filter(({ repeats }) => (repeats?.number ?? 0) > 0).length,
    'of them in summaries': deliveries.reduce((sum, { changes }) => sum + changes.length, 0),
    'of them in messages of parents': deliveries.filter(({ joinedId }) => joinedId !== null).length,
    'of them not sent in the end': deliveries.filter(
      ({ outcome, joinedId }) => outcome === 'superseded' && joinedId === null,
    ).length,
  };
  const found = facts.channels.flatMap((channel) => {
    const known = new ChannelFacts(facts, channel);
    const reported = facts.monitorIds.map((monitorId) => reportedOf(known, monitorId));
    return [...new ChannelJudge(known).judge(reported), ...new TimingJudge(known).judge(reported.flat())];
  });
  return { found, figures: facts.channels.length === 0 ? {} : figures };
}

/** Returns the changes of a monitor since the run began. */
function reportedOf(facts: ChannelFacts, monitorId: string): Reported[] {
  const chain = facts.transitionsOf(monitorId);
  const ofMonitor = facts.deliveries.filter((each) => each.monitorId === monitorId && each.repeats === null);
  const summaries = facts.deliveries.filter(({ changes }) => changes.some((change) => change.monitorId === monitorId));
  return chain
    .map((transition, index) => ({
      ...transition,
      own: ofMonitor.find(({ sequence }) => sequence === transition.sequence),
      summaries: summaries.filter(({ changes }) =>
        changes.some((change) => change.monitorId === monitorId && change.sequence === transition.sequence),
      ),
      next: chain[index + 1],
    }))
    .filter(({ detectedAtMs }) => detectedAtMs >= facts.run.beganAtMs);
}

/** Judges whether each change arrived at a channel once, and nothing else did. */
class ChannelJudge {
  readonly #facts: ChannelFacts;

  constructor(facts: ChannelFacts) {
    this.#facts = facts;
  }

  /** Judges the changes of each monitor, given in order. */
  judge(reported: readonly Reported[][]): Found[] {
    const changes = reported.flatMap((history) =>
      history.flatMap((each, index) => this.#judgeChange(each, history.slice(0, index))),
    );
    return [...this.#judgeArrivals(), ...changes, ...reported.flatMap((history) => this.#judgeLastWord(history))];
  }

  /** Judges whether exactly the recorded deliveries arrived, each under its own id. */
  #judgeArrivals(): Found[] {
    const { name, type } = this.#facts.channel;
    const delivered = this.#facts.deliveries.filter(({ outcome }) => outcome === 'delivered');
    if (type === 'telegram') {
      const arrived = this.#facts.run.chats.filter((message) => message.channel === name);
      const accepted = arrived.filter(({ isAccepted }) => isAccepted).length;
      const attempts = this.#facts.deliveries.reduce((sum, each) => sum + each.attempts, 0);
      return [
        ...(accepted < delivered.length
          ? [this.#facts.finding('events lost', `${delivered.length} delivered, ${accepted} arrived`)]
          : []),
        // An attempt that edits a message may also send it as a new one.
        ...(arrived.length > 2 * attempts
          ? [this.#facts.finding('events invented', `${attempts} attempts, ${arrived.length} arrived`)]
          : []),
      ];
    }
    const arrived = this.#facts.run.received.filter((message) => message.channel === name);
    const ids = Map.groupBy(
      arrived.filter(({ monitorId }) => monitorId !== ''),
      ({ monitorId, sequence, reminder }) => `${monitorId} ${sequence} ${reminder}`,
    );
    return [
      ...delivered
        .filter(({ id }) => !this.#facts.accepted.has(id))
        .map(({ id }) => this.#facts.finding('events lost', `${id} is recorded as delivered`)),
      ...arrived
        .filter(({ deliveryId }) => !this.#facts.byId.has(deliveryId))
        .map(({ deliveryId, event }) => this.#facts.finding('events invented', `${event} (${deliveryId})`)),
      ...[...ids]
        .filter(([, messages]) => new Set(messages.map(({ deliveryId }) => deliveryId)).size > 1)
        .map(([key]) => this.#facts.finding('events under two ids', key)),
    ];
  }

  #judgeChange(change: Reported, earlier: readonly Reported[]): Found[] {
    const { own, summaries } = change;
    const text = `${change.to} of ${change.monitorId} (sequence ${change.sequence})`;
    const isTaken = this.#facts.takes(change);
    if (!isTaken)
      return own === undefined ? [] : [this.#facts.finding('rules broken', `${text} is not of the channel`)];
    // The first alert of a group is also a message of the group.
    const others = summaries.filter(({ id }) => id !== own?.id);
    if ([own, ...others].filter((each) => each !== undefined && this.#facts.isSent(each)).length > 1)
      return [this.#facts.finding('events under two ids', text)];
    const isTold = this.#isTold(change);
    if (change.to === 'up' && this.#needsTrouble() && !this.#wasNotified(earlier)) {
      // A message that was already open, or was opened for trouble of the same batch, lists each monitor as it is now.
      // A message written while a worker holds the trouble may lack the fact that it is dropped (D-647).
      const trouble = earlier.at(-1);
      const isInOpen =
        own === undefined &&
        ((trouble?.own?.finishedAtMs ?? 0) > change.detectedAtMs ||
          summaries.some(
            ({ createdAtMs }) => createdAtMs < change.detectedAtMs || createdAtMs === trouble?.detectedAtMs,
          ));
      return isTold && !isInOpen && !this.#mayBeUnaware(change, earlier)
        ? [this.#facts.finding('rules broken', `${text} ends what was never sent`)]
        : [];
    }
    return isTold || this.#isExcused(change) ? [] : [this.#facts.finding('events lost', text)];
  }

  /** Judges whether the last message about a monitor that is up in the end reports no trouble. */
  #judgeLastWord(history: readonly Reported[]): Found[] {
    const last = history.at(-1);
    if (last?.to !== 'up' || !this.#facts.takes(last) || this.#isTold(last)) return [];
    const heard = history.findLast(({ own, summaries }) =>
      [own, ...summaries].some(
        (each) => each !== undefined && (this.#facts.isSent(each) || this.#facts.isSaidByGroup(each)),
      ),
    );
    if (heard === undefined || heard.to === 'up') return [];
    const text = `up of ${last.monitorId} (sequence ${last.sequence}) after ${heard.to} (sequence ${heard.sequence})`;
    return [this.#facts.finding('events lost', text)];
  }

  #needsTrouble(): boolean {
    const { type, rule, settings } = this.#facts.channel;
    return type === 'telegram' || rule !== null || settings['follows_maintenance'] === true;
  }

  /**
   * Reports whether the channel was notified of trouble since the monitor was last up, or a pending message will do so.
   */
  #wasNotified(earlier: readonly Reported[]): boolean {
    const lastUp = earlier.findLastIndex(({ to }) => to === 'up');
    return earlier
      .slice(lastUp + 1)
      .some(
        ({ own, summaries, monitorId, sequence }) =>
          summaries.length > 0 ||
          this.#isSaidByFlapping({ monitorId, sequence }) ||
          (own !== undefined && (own.held === null || own.held.isReleased || own.held.reason === 'flapping')) ||
          this.#facts.byId.has(own?.held?.summaryId ?? ''),
      );
  }

  /**
   * Reports whether an earlier recovery had not arrived when this one was decided, so that the channel still expects
   * one.
   */
  #mayBeUnaware({ detectedAtMs }: Reported, earlier: readonly Reported[]): boolean {
    const before = earlier.findLast(({ to }) => to === 'up')?.own;
    return (
      before !== undefined &&
      before.startedAtMs !== null &&
      (before.outcome !== 'delivered' || (before.finishedAtMs ?? 0) > detectedAtMs - TRANSACTION_MS)
    );
  }

  #isTold({ own, summaries, monitorId, sequence }: Reported): boolean {
    const joined = this.#facts.byId.get(own?.joinedId ?? '');
    const summary = this.#facts.byId.get(own?.held?.summaryId ?? '');
    const messages = [own, summary, joined, ...summaries].filter((each) => each !== undefined);
    return (
      messages.some((each) => this.#facts.isOnItsWay(each) || this.#facts.isSaidByGroup(each)) ||
      this.#isSaidByFlapping({ monitorId, sequence })
    );
  }

  /**
   * Reports whether a message about a flapping monitor covers a change: a later one about its newest state, pending or
   * sent.
   */
  #isSaidByFlapping({ monitorId, sequence }: { monitorId: string; sequence: number }): boolean {
    return this.#facts.deliveries.some(
      (each) =>
        each.monitorId === monitorId &&
        each.held?.reason === 'flapping' &&
        (each.sequence ?? 0) >= sequence &&
        this.#facts.isOnItsWay(each),
    );
  }

  /**
   * Reports whether the record explains why a change did not arrive: a newer one came before it, or it was
   * acknowledged.
   */
  #isExcused({ own, next, monitorId, detectedAtMs }: Reported): boolean {
    const { type, settings } = this.#facts.channel;
    const mayGather = type === 'telegram' || settings['group_seconds'] !== undefined;
    if (own === undefined) {
      // The change was in one batch with its own end, or a message that contains a newer change of the monitor overtook
      // it.
      const isGathered = this.#facts.deliveries.some(({ changes }) =>
        changes.some((change) => change.monitorId === monitorId && change.sequence >= (next?.sequence ?? Infinity)),
      );
      return next !== undefined && (next.detectedAtMs === detectedAtMs || (mayGather && isGathered));
    }
    if (own.outcome !== 'superseded') return false;
    const { held, incident } = own;
    const endedAtMs = this.#endedAtMs(own);
    const acknowledgedAtMs = incident?.acknowledgedAtMs ?? Infinity;
    if (held?.unlessAcknowledged === true && acknowledgedAtMs <= endedAtMs) return true;
    return (held !== null || type === 'telegram') && (next?.detectedAtMs ?? Infinity) <= endedAtMs;
  }

  /**
   * Returns when an alert was no longer to be sent; one in the message of a parent, or in a summary, ends with that
   * message.
   */
  #endedAtMs({ finishedAtMs, joinedId, held }: Delivery): number {
    const messages = [joinedId, held?.summaryId].flatMap((id) => this.#facts.byId.get(id ?? '') ?? []);
    const dropped = messages.filter(({ outcome }) => outcome === 'superseded');
    return Math.max(
      (finishedAtMs ?? 0) + CLOCK_SKEW_MS,
      ...dropped.map((message) => (message.finishedAtMs ?? 0) + TRANSACTION_MS),
    );
  }
}
