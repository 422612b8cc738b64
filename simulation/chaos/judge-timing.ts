import { CLOCK_SKEW_MS, TRANSACTION_MS, type ChannelFacts, type Reported } from './channel-facts.ts';
import type { Found } from './findings.ts';
import type { Delivery, Transition } from './record.ts';

/** Longest wait for a parent without its timeout, in milliseconds: a recheck, and the time until its result arrives. */
const LONGEST_HOLD_MS = 22_000;

/** Judges whether messages to a channel were sent when its rule, its reminders and the parents of monitors require. */
export class TimingJudge {
  readonly #facts: ChannelFacts;

  constructor(facts: ChannelFacts) {
    this.#facts = facts;
  }

  judge(reported: readonly Reported[]): Found[] {
    return [
      ...this.#facts.deliveries.flatMap((delivery) => [...this.#judgeRule(delivery), ...this.#judgeHold(delivery)]),
      ...reported.flatMap((each) => this.#judgeReminders(each)),
    ];
  }

  /** Judges whether an alert delayed by a rule was sent on time, and only while still true and not acknowledged. */
  #judgeRule({ id, event, sequence, monitorId, startedAtMs, held, incident, repeats }: Delivery): Found[] {
    const { rule } = this.#facts.channel;
    if (rule === null || startedAtMs === null || event === 'monitor.up') return [];
    const found: Found[] = [];
    const afterMs = (rule.after_seconds ?? 0) * 1000;
    if (incident !== null && startedAtMs < incident.startedAtMs + afterMs - CLOCK_SKEW_MS)
      found.push(this.#facts.finding('rules broken', `${id} was sent before it had lasted`));
    if (rule.quiet !== undefined && startedAtMs < this.#facts.run.quietUntilMs - CLOCK_SKEW_MS)
      found.push(this.#facts.finding('rules broken', `${id} was sent in quiet hours`));
    const next = this.#facts.run.record.transitions.find(
      (each) => each.monitorId === monitorId && each.sequence === (sequence ?? 0) + 1,
    );
    const waits = held !== null || repeats !== null;
    if (waits && next !== undefined && this.#facts.isLate(next.detectedAtMs, startedAtMs))
      found.push(this.#facts.finding('rules broken', `${id} was sent after it had changed`));
    const acknowledgedAtMs = incident?.acknowledgedAtMs ?? null;
    if (
      held?.unlessAcknowledged === true &&
      acknowledgedAtMs !== null &&
      this.#facts.isLate(acknowledgedAtMs, startedAtMs)
    )
      found.push(this.#facts.finding('rules broken', `${id} was sent after it was acknowledged`));
    return found;
  }

  /** Judges that reminders are bounded, not early, and complete if the trouble lasts to the end. */
  #judgeReminders({ own, next, to }: Reported): Found[] {
    const { rule } = this.#facts.channel;
    if (rule?.repeat_seconds === undefined || own === undefined || to === 'up') return [];
    const most = rule.repeat_max ?? 0;
    const everyMs = rule.repeat_seconds * 1000;
    const reminders = this.#facts.deliveries.filter(({ repeats }) => repeats?.id === own.id);
    const early = reminders.filter(
      ({ startedAtMs, repeats }) =>
        startedAtMs !== null && startedAtMs < own.createdAtMs + (repeats?.number ?? 0) * everyMs - CLOCK_SKEW_MS,
    );
    const sent = reminders.filter((each) => this.#facts.isSent(each)).length;
    return [
      ...(reminders.length > most
        ? [this.#facts.finding('rules broken', `${reminders.length} reminders of ${own.id} instead of ${most}`)]
        : []),
      ...early.map(({ id }) => this.#facts.finding('rules broken', `reminder ${id} was sent before its time`)),
      ...(next === undefined && sent < most
        ? [this.#facts.finding('events lost', `${sent} reminders of ${own.id} instead of ${most}`)]
        : []),
    ];
  }

  /**
   * Judges that an alert waits for a parent for at most a recheck and a timeout, and joins the message of one that is
   * down. After that parent's recovery it is sent only with a fresh result of its own.
   */
  #judgeHold(delivery: Delivery): Found[] {
    const { id, monitorId, held, joinedId, startedAtMs, createdAtMs, finishedAtMs, outcome, repeats } = delivery;
    if (held?.reason !== 'parent' || monitorId === null || repeats !== null) return [];
    const found: Found[] = [];
    const parents = this.#ancestorsOf(monitorId);
    if (joinedId !== null) {
      const root = this.#facts.byId.get(joinedId);
      if (root === undefined || !parents.includes(root.monitorId ?? ''))
        found.push(this.#facts.finding('holds broken', `${id} came in a message of no parent`));
      else if (
        !this.#facts.isOnItsWay(root) &&
        !this.#facts.isSaidByGroup(root) &&
        !this.#hasChangedBefore(delivery, root)
      )
        found.push(this.#facts.finding('events lost', `${id} came in ${joinedId}, which did not arrive`));
      if (held.heldBy === null || !parents.includes(held.heldBy))
        found.push(this.#facts.finding('holds broken', `${id} does not say by what parent it is held`));
      const isNewest = this.#lastOf(monitorId)?.sequence === delivery.sequence;
      for (const above of isNewest && root !== undefined ? [root.monitorId ?? '', held.heldBy ?? ''] : []) {
        const state = this.#lastOf(above)?.to;
        if (state !== 'down')
          found.push(this.#facts.finding('holds broken', `${id} is behind ${above}, which is ${state}`));
      }
      return found;
    }
    // A parent that was not down itself stops all holds beyond it, and so does one whose message the alert could not
    // join.
    const untilMs = startedAtMs ?? Infinity;
    const nearest = parents.findIndex(
      (parentId) => !this.#wasDown(parentId, createdAtMs, untilMs) || this.#cameWithOthers(parentId, untilMs),
    );
    const recovered = this.#lastRecovery(parents.slice(0, nearest === -1 ? parents.length : nearest), {
      fromMs: createdAtMs,
      toMs: (startedAtMs ?? 0) - TRANSACTION_MS,
    });
    if (recovered === undefined) {
      const heldUntilMs = startedAtMs ?? (outcome === 'superseded' ? createdAtMs : (finishedAtMs ?? createdAtMs));
      const dueAtMs = createdAtMs + LONGEST_HOLD_MS + this.#timeoutMs(parents);
      if (heldUntilMs > dueAtMs && this.#facts.isLate(dueAtMs, heldUntilMs))
        found.push(
          this.#facts.finding('holds broken', `${id} waited for ${Math.round((heldUntilMs - createdAtMs) / 1000)} s`),
        );
      return found;
    }
    const isFresh = this.#facts.run.record.results.some(
      (result) =>
        result.monitorId === monitorId &&
        (result.verdict === 'down' || result.verdict === 'degraded') &&
        result.dueAtMs > recovered.detectedAtMs - CLOCK_SKEW_MS &&
        result.dueAtMs <= (startedAtMs ?? 0),
    );
    if (!isFresh)
      found.push(this.#facts.finding('holds broken', `${id} was sent without a result since its parent recovered`));
    return found;
  }

  /**
   * Returns the last recovery between two moments among the parents that hold an alert. Ancestors of a parent hold the
   * alert only while that parent is down.
   */
  #lastRecovery(
    parents: readonly string[],
    { fromMs, toMs }: { fromMs: number; toMs: number },
  ): Transition | undefined {
    let last: Transition | undefined;
    let [sinceMs, untilMs] = [fromMs, toMs];
    for (const parentId of parents) {
      const changes = this.#facts.transitionsOf(parentId).filter(({ detectedAtMs }) => detectedAtMs < untilMs);
      const recovery = changes.findLast(({ from, detectedAtMs }) => from === 'down' && detectedAtMs > sinceMs);
      if ((recovery?.detectedAtMs ?? 0) > (last?.detectedAtMs ?? 0)) last = recovery;
      const failure = changes.findLast(({ to }) => to === 'down');
      sinceMs = Math.max(sinceMs, failure?.detectedAtMs ?? 0);
      if (recovery !== undefined && changes.at(-1)?.to !== 'down') untilMs = recovery.detectedAtMs;
    }
    return last;
  }

  /**
   * Reports whether an alert's monitor had changed again before the message that it came in was dropped for a newer
   * change.
   */
  #hasChangedBefore({ monitorId, sequence }: Delivery, root: Delivery): boolean {
    const next = this.#facts.transitionsOf(monitorId ?? '').find((each) => each.sequence === (sequence ?? 0) + 1);
    return (
      root.outcome === 'superseded' && (next?.detectedAtMs ?? Infinity) <= (root.finishedAtMs ?? 0) + TRANSACTION_MS
    );
  }

  /** Reports whether a monitor's down alert came in a summary, or joined a group: no other alert can join it then. */
  #cameWithOthers(monitorId: string, beforeMs: number): boolean {
    const alert = this.#facts.deliveries.findLast(
      (each) =>
        each.monitorId === monitorId &&
        each.event === 'monitor.down' &&
        each.repeats === null &&
        each.createdAtMs < beforeMs,
    );
    const { summaryId = null } = alert?.held ?? {};
    return summaryId !== null || (alert !== undefined && alert.groupId !== null && alert.groupId !== alert.id);
  }

  #timeoutMs(monitorIds: readonly string[]): number {
    return Math.max(
      0,
      ...monitorIds.map(
        (id) => (this.#facts.run.scripts[this.#facts.run.monitorIds.indexOf(id)]?.intervalSeconds ?? 0) * 1000,
      ),
    );
  }

  #wasDown(monitorId: string, fromMs: number, toMs: number): boolean {
    const chain = this.#facts.transitionsOf(monitorId);
    return chain.some(
      ({ to, detectedAtMs }, index) =>
        to === 'down' && detectedAtMs < toMs && (chain[index + 1]?.detectedAtMs ?? Infinity) > fromMs,
    );
  }

  /** Returns the parent of a monitor, then that of the parent, and so on. */
  #ancestorsOf(monitorId: string): string[] {
    const parent = this.#facts.run.scripts[this.#facts.run.monitorIds.indexOf(monitorId)]?.parent ?? null;
    const id = parent === null ? undefined : this.#facts.run.monitorIds[parent];
    return id === undefined ? [] : [id, ...this.#ancestorsOf(id)];
  }

  #lastOf(monitorId: string): Transition | undefined {
    return this.#facts.transitionsOf(monitorId).at(-1);
  }
}
