import { TAG, type ChaosChannel } from './channels.ts';
import type { Facts } from './facts.ts';
import type { Finding, Found } from './findings.ts';
import { NOTIFIED_STATES } from './judge-alerts.ts';
import type { Delivery, Transition } from './record.ts';

/** Clocks of processes differ by no more than this, in milliseconds. */
const CLOCK_MS = 250;

/** A transaction sees what others commit for so long after the moment that it goes by, in milliseconds. */
const TRANSACTION_MS = 2000;

/** What was decided is committed, and what was claimed is looked at, within this where nothing is at fault. */
const AT_WORK_MS = 10_000;

/** The longest wait for a parent without its timeout, in milliseconds: a recheck, and the way there. */
const LONGEST_HOLD_MS = 22_000;

/**
 * Compares what arrived at channels with rules, groups, summaries and dependencies with what was stored. Each change
 * that a channel takes arrives, by itself or in a message that names it, or the record says why it did not: a newer
 * change came first, it was acknowledged, or its channel was never notified of what it ends.
 */
export function judgeChannels(facts: Facts): { found: Found[]; figures: Record<string, number> } {
  const judges = facts.channels.map((channel) => new ChannelJudge(facts, channel));
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
  return { found: judges.flatMap((judge) => judge.judge()), figures: facts.channels.length === 0 ? {} : figures };
}

/** A change with what came of it at a channel. */
type Reported = Transition & {
  own: Delivery | undefined;
  /** The summaries that say it. */
  summaries: Delivery[];
  next: Transition | undefined;
};

class ChannelJudge {
  readonly #facts: Facts;
  readonly #channel: ChaosChannel;
  readonly #deliveries: readonly Delivery[];
  readonly #byId: ReadonlyMap<string, Delivery>;
  readonly #accepted: ReadonlySet<string>;

  constructor(facts: Facts, channel: ChaosChannel) {
    this.#facts = facts;
    this.#channel = channel;
    this.#deliveries = facts.record.deliveries.filter((delivery) => delivery.channel === channel.name);
    this.#byId = new Map(this.#deliveries.map((delivery) => [delivery.id, delivery]));
    const accepted = facts.received.filter((message) => message.channel === channel.name && message.isAccepted);
    this.#accepted = new Set(accepted.map(({ deliveryId }) => deliveryId));
  }

  judge(): Found[] {
    const reported = this.#facts.monitorIds.flatMap((monitorId) => this.#reportedOf(monitorId));
    return [
      ...this.#judgeArrivals(),
      ...reported.flatMap((history) =>
        history.flatMap((each, index) => this.#judgeChange(each, history.slice(0, index))),
      ),
      ...this.#deliveries.flatMap((delivery) => [...this.#judgeRule(delivery), ...this.#judgeHold(delivery)]),
      ...reported.flatMap((history) => history.flatMap((each) => this.#judgeReminders(each))),
    ];
  }

  /** The changes of a monitor since the run began; a list of none where the channel takes none of it. */
  #reportedOf(monitorId: string): Reported[][] {
    const chain = this.#facts.record.transitions.filter((transition) => transition.monitorId === monitorId);
    const ofMonitor = this.#deliveries.filter((each) => each.monitorId === monitorId && each.repeats === null);
    const summaries = this.#deliveries.filter(({ changes }) =>
      changes.some((change) => change.monitorId === monitorId),
    );
    const history = chain
      .map((transition, index) => ({
        ...transition,
        own: ofMonitor.find(({ sequence }) => sequence === transition.sequence),
        summaries: summaries.filter(({ changes }) =>
          changes.some((change) => change.monitorId === monitorId && change.sequence === transition.sequence),
        ),
        next: chain[index + 1],
      }))
      .filter(({ detectedAtMs }) => detectedAtMs >= this.#facts.beganAtMs);
    return [history];
  }

  /** What arrived is what was sent: each under its own id, nothing else, and nothing that only seems to be there. */
  #judgeArrivals(): Found[] {
    const { name, type } = this.#channel;
    const delivered = this.#deliveries.filter(({ outcome }) => outcome === 'delivered');
    if (type === 'telegram') {
      const arrived = this.#facts.chats.filter((message) => message.channel === name);
      const accepted = arrived.filter(({ isAccepted }) => isAccepted).length;
      const attempts = this.#deliveries.reduce((sum, each) => sum + each.attempts, 0);
      return [
        ...(accepted < delivered.length
          ? [this.#finding('events lost', `${delivered.length} delivered, ${accepted} arrived`)]
          : []),
        // An attempt that edits a message may write it anew.
        ...(arrived.length > 2 * attempts
          ? [this.#finding('events invented', `${attempts} attempts, ${arrived.length} arrived`)]
          : []),
      ];
    }
    const arrived = this.#facts.received.filter((message) => message.channel === name);
    const ids = Map.groupBy(
      arrived.filter(({ monitorId }) => monitorId !== ''),
      ({ monitorId, sequence, reminder }) => `${monitorId} ${sequence} ${reminder}`,
    );
    return [
      ...delivered
        .filter(({ id }) => !this.#accepted.has(id))
        .map(({ id }) => this.#finding('events lost', `${id} is recorded as delivered`)),
      ...arrived
        .filter(({ deliveryId }) => !this.#byId.has(deliveryId))
        .map(({ deliveryId, event }) => this.#finding('events invented', `${event} (${deliveryId})`)),
      ...[...ids]
        .filter(([, messages]) => new Set(messages.map(({ deliveryId }) => deliveryId)).size > 1)
        .map(([key]) => this.#finding('events under two ids', key)),
    ];
  }

  #judgeChange(change: Reported, earlier: readonly Reported[]): Found[] {
    const { own, summaries } = change;
    const text = `${change.to} of ${change.monitorId} (sequence ${change.sequence})`;
    const isTaken = this.#takes(change);
    if (!isTaken) return own === undefined ? [] : [this.#finding('rules broken', `${text} is not of the channel`)];
    // The first alert of a group is a message of the group, too.
    const others = summaries.filter(({ id }) => id !== own?.id);
    if ([own, ...others].filter((each) => each !== undefined && this.#isSent(each)).length > 1)
      return [this.#finding('events under two ids', text)];
    const isTold = this.#isTold(change);
    if (change.to === 'up' && this.#needsTrouble() && !this.#wasNotified(earlier)) {
      // A message that was open before, or was opened for trouble of the same batch, has each monitor as it is now.
      const isInOpen =
        own === undefined &&
        summaries.some(
          ({ createdAtMs }) => createdAtMs < change.detectedAtMs || createdAtMs === earlier.at(-1)?.detectedAtMs,
        );
      return isTold && !isInOpen ? [this.#finding('rules broken', `${text} ends what was never sent`)] : [];
    }
    return isTold || this.#isExcused(change) ? [] : [this.#finding('events lost', text)];
  }

  #takes({ to, monitorId, isNotified }: Transition): boolean {
    const { rule } = this.#channel;
    const index = this.#facts.monitorIds.indexOf(monitorId);
    return (
      isNotified &&
      NOTIFIED_STATES.has(to) &&
      (rule?.events === undefined || rule.events.some((event) => event === `monitor.${to}`)) &&
      (rule?.tags === undefined || (rule.tags.includes(TAG) && index % 2 === 1))
    );
  }

  #needsTrouble(): boolean {
    const { type, rule, settings } = this.#channel;
    return type === 'telegram' || rule !== null || settings['follows_maintenance'] === true;
  }

  /** Whether the channel was notified of trouble since the monitor was up last, or a message to come does so. */
  #wasNotified(earlier: readonly Reported[]): boolean {
    const lastUp = earlier.findLastIndex(({ to }) => to === 'up');
    return earlier
      .slice(lastUp + 1)
      .some(
        ({ own, summaries, monitorId, sequence }) =>
          summaries.length > 0 ||
          this.#isSaidByFlapping({ monitorId, sequence }) ||
          (own !== undefined && (own.startedAtMs !== null || own.held === null || own.held.reason === 'flapping')) ||
          this.#byId.has(own?.held?.summaryId ?? ''),
      );
  }

  #isTold({ own, summaries, monitorId, sequence }: Reported): boolean {
    const joined = this.#byId.get(own?.joinedId ?? '');
    const summary = this.#byId.get(own?.held?.summaryId ?? '');
    const messages = [own, summary, joined, ...summaries].filter((each) => each !== undefined);
    return (
      messages.some((each) => this.#isOnItsWay(each) || this.#isSaidByGroup(each)) ||
      this.#isSaidByFlapping({ monitorId, sequence })
    );
  }

  /** What opened a group is dropped once a later message of the group has arrived, which says all of it. */
  #isSaidByGroup({ id, groupId, outcome, finishedAtMs }: Delivery): boolean {
    return (
      outcome === 'superseded' &&
      groupId === id &&
      this.#deliveries.some(
        (each) =>
          each.groupId === id &&
          each.id !== id &&
          each.outcome === 'delivered' &&
          Math.abs((each.finishedAtMs ?? 0) - (finishedAtMs ?? 0)) <= CLOCK_MS,
      )
    );
  }

  /** What a monitor that flaps does is said by a message about its newest state, which waits or was sent. */
  #isSaidByFlapping({ monitorId, sequence }: { monitorId: string; sequence: number }): boolean {
    return this.#deliveries.some(
      (each) =>
        each.monitorId === monitorId &&
        each.held?.reason === 'flapping' &&
        (each.sequence ?? 0) >= sequence &&
        this.#isOnItsWay(each),
    );
  }

  /** A delivery that is still to be made is found by its own finding. */
  #isOnItsWay(delivery: Delivery): boolean {
    return delivery.outcome === 'pending' || this.#isSent(delivery);
  }

  #isSent({ id, outcome }: Delivery): boolean {
    return this.#channel.type === 'webhook' ? this.#accepted.has(id) : outcome === 'delivered';
  }

  /** Whether the record says why a change did not arrive: a newer one came before it, or it was acknowledged. */
  #isExcused({ own, next, monitorId, detectedAtMs }: Reported): boolean {
    const { type, settings } = this.#channel;
    const mayGather = type === 'telegram' || settings['group_seconds'] !== undefined;
    if (own === undefined) {
      // In one batch with its own end, or overtaken in a message that says a newer change of the monitor.
      const isGathered = this.#deliveries.some(({ changes }) =>
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

  /** When nothing was to be sent of an alert any more; one in the message of a parent, or a summary, ends with that. */
  #endedAtMs({ finishedAtMs, joinedId, held }: Delivery): number {
    const messages = [joinedId, held?.summaryId].flatMap((id) => this.#byId.get(id ?? '') ?? []);
    const dropped = messages.filter(({ outcome }) => outcome === 'superseded');
    return Math.max(
      (finishedAtMs ?? 0) + CLOCK_MS,
      ...dropped.map((message) => (message.finishedAtMs ?? 0) + TRANSACTION_MS),
    );
  }

  /** What a rule delays is sent then, and only if it is still true and not acknowledged. */
  #judgeRule({ id, event, sequence, monitorId, startedAtMs, held, incident, repeats }: Delivery): Found[] {
    const { rule } = this.#channel;
    if (rule === null || startedAtMs === null || event === 'monitor.up') return [];
    const found: Found[] = [];
    const afterMs = (rule.after_seconds ?? 0) * 1000;
    if (incident !== null && startedAtMs < incident.startedAtMs + afterMs - CLOCK_MS)
      found.push(this.#finding('rules broken', `${id} was sent before it had lasted`));
    if (rule.quiet !== undefined && startedAtMs < this.#facts.quietUntilMs - CLOCK_MS)
      found.push(this.#finding('rules broken', `${id} was sent in quiet hours`));
    const next = this.#facts.record.transitions.find(
      (each) => each.monitorId === monitorId && each.sequence === (sequence ?? 0) + 1,
    );
    const waits = held !== null || repeats !== null;
    if (waits && next !== undefined && this.#isLate(next.detectedAtMs, startedAtMs))
      found.push(this.#finding('rules broken', `${id} was sent after it had changed`));
    const acknowledgedAtMs = incident?.acknowledgedAtMs ?? null;
    if (held?.unlessAcknowledged === true && acknowledgedAtMs !== null && this.#isLate(acknowledgedAtMs, startedAtMs))
      found.push(this.#finding('rules broken', `${id} was sent after it was acknowledged`));
    return found;
  }

  /** Whether something happened that long after another, with no fault in between that explains it. */
  #isLate(fromMs: number, toMs: number): boolean {
    if (toMs - fromMs <= AT_WORK_MS + this.#facts.machineSlowMs) return false;
    return !this.#facts.suffered.some((fault) => fault.fromMs < toMs && fault.toMs > fromMs - AT_WORK_MS);
  }

  /** Reminders are bounded, in their time, and all there where the trouble lasts to the end. */
  #judgeReminders({ own, next, to }: Reported): Found[] {
    const { rule } = this.#channel;
    if (rule?.repeat_seconds === undefined || own === undefined || to === 'up') return [];
    const most = rule.repeat_max ?? 0;
    const everyMs = rule.repeat_seconds * 1000;
    const reminders = this.#deliveries.filter(({ repeats }) => repeats?.id === own.id);
    const early = reminders.filter(
      ({ startedAtMs, repeats }) =>
        startedAtMs !== null && startedAtMs < own.createdAtMs + (repeats?.number ?? 0) * everyMs - CLOCK_MS,
    );
    const sent = reminders.filter((each) => this.#isSent(each)).length;
    return [
      ...(reminders.length > most
        ? [this.#finding('rules broken', `${reminders.length} reminders of ${own.id} instead of ${most}`)]
        : []),
      ...early.map(({ id }) => this.#finding('rules broken', `reminder ${id} was sent before its time`)),
      ...(next === undefined && sent < most
        ? [this.#finding('events lost', `${sent} reminders of ${own.id} instead of ${most}`)]
        : []),
    ];
  }

  /**
   * An alert waits for a parent for a recheck and a timeout at most, and comes in the message of one that is down.
   * After the recovery of that it is sent by a fresh result of its own.
   */
  #judgeHold(delivery: Delivery): Found[] {
    const { id, monitorId, held, joinedId, startedAtMs, createdAtMs, finishedAtMs, outcome, repeats } = delivery;
    if (held?.reason !== 'parent' || monitorId === null || repeats !== null) return [];
    const found: Found[] = [];
    const parents = this.#ancestorsOf(monitorId);
    if (joinedId !== null) {
      const root = this.#byId.get(joinedId);
      if (root === undefined || !parents.includes(root.monitorId ?? ''))
        found.push(this.#finding('holds broken', `${id} came in a message of no parent`));
      else if (!this.#isOnItsWay(root) && !this.#isSaidByGroup(root) && !this.#hasChangedBefore(delivery, root))
        found.push(this.#finding('events lost', `${id} came in ${joinedId}, which did not arrive`));
      if (held.heldBy === null || !parents.includes(held.heldBy))
        found.push(this.#finding('holds broken', `${id} does not say by what parent it is held`));
      const state = this.#lastOf(root?.monitorId ?? '')?.to;
      const isNewest = this.#lastOf(monitorId)?.sequence === delivery.sequence;
      if (isNewest && root !== undefined && state !== 'down')
        found.push(this.#finding('holds broken', `${id} is behind ${root.monitorId}, which is ${state}`));
      return found;
    }
    const recovered = parents
      .flatMap((parentId) => this.#transitionsOf(parentId))
      .findLast(
        ({ from, detectedAtMs }) =>
          from === 'down' && detectedAtMs > createdAtMs && detectedAtMs < (startedAtMs ?? 0) - TRANSACTION_MS,
      );
    if (recovered === undefined) {
      const untilMs = startedAtMs ?? (outcome === 'superseded' ? createdAtMs : (finishedAtMs ?? createdAtMs));
      const dueAtMs = createdAtMs + LONGEST_HOLD_MS + this.#timeoutMs(parents);
      if (untilMs > dueAtMs && this.#isLate(dueAtMs, untilMs))
        found.push(this.#finding('holds broken', `${id} waited for ${Math.round((untilMs - createdAtMs) / 1000)} s`));
      return found;
    }
    const isFresh = this.#facts.record.results.some(
      (result) =>
        result.monitorId === monitorId &&
        (result.verdict === 'down' || result.verdict === 'degraded') &&
        result.dueAtMs > recovered.detectedAtMs - CLOCK_MS &&
        result.dueAtMs <= (startedAtMs ?? 0),
    );
    if (!isFresh)
      found.push(this.#finding('holds broken', `${id} was sent without a result since its parent recovered`));
    return found;
  }

  /** Whether an alert's monitor had changed again before the message that it came in was dropped for a newer change. */
  #hasChangedBefore({ monitorId, sequence }: Delivery, root: Delivery): boolean {
    const next = this.#transitionsOf(monitorId ?? '').find((each) => each.sequence === (sequence ?? 0) + 1);
    return (
      root.outcome === 'superseded' && (next?.detectedAtMs ?? Infinity) <= (root.finishedAtMs ?? 0) + TRANSACTION_MS
    );
  }

  #timeoutMs(monitorIds: readonly string[]): number {
    return Math.max(
      0,
      ...monitorIds.map((id) => (this.#facts.scripts[this.#facts.monitorIds.indexOf(id)]?.intervalSeconds ?? 0) * 1000),
    );
  }

  #ancestorsOf(monitorId: string): string[] {
    const parent = this.#facts.scripts[this.#facts.monitorIds.indexOf(monitorId)]?.parent ?? null;
    const id = parent === null ? undefined : this.#facts.monitorIds[parent];
    return id === undefined ? [] : [id, ...this.#ancestorsOf(id)];
  }

  #transitionsOf(monitorId: string): Transition[] {
    return this.#facts.record.transitions.filter((transition) => transition.monitorId === monitorId);
  }

  #lastOf(monitorId: string): Transition | undefined {
    return this.#transitionsOf(monitorId).at(-1);
  }

  #finding(finding: Finding, text: string): Found {
    return { finding, text: `${this.#channel.name}: ${text}` };
  }
}
