/** Maximum simultaneous attempts at one channel, in one process (D-54). */
export const LANES_PER_CHANNEL = 4;

/**
 * First and longest pause, in milliseconds, between polls for a due delivery that must wait for the end of another
 * attempt. Each is twice as long as the previous one, because that attempt may be another process's. A delivery thus
 * waits only slightly longer than that attempt takes.
 */
const FIRST_POLL_MS = 50;
const LONGEST_POLL_MS = 1000;

/**
 * Result of the attempts of one run, counted by outcome. `isCutShort`: the lanes were stopped before they found none
 * left.
 */
type LanesResult = { outcomes: Record<string, number>; isCutShort: boolean };

/**
 * Result of a claim; `hasMore`: there was another due delivery without a claim, though it may have to wait for its
 * turn.
 */
export type Claim<Claimed> = { claimed: Claimed | null; hasMore: boolean };

type LaneWork<Claimed> = {
  /** Claims the channel's next due attempt. */
  claim(channelId: string): Promise<Claim<Claimed>>;
  /** Makes the attempt, and returns its outcome. */
  attempt(claimed: Claimed): Promise<string>;
};

type Channel = {
  id: string;
  lanesAtWork: number;
  /** Number of calls of `run`. */
  arrivals: number;
  /** Number of these calls that preceded a claim that found none left. */
  servedArrivals: number;
  /** Number of calls of `run` and ended attempts, each of which may let a waiting delivery proceed. */
  changes: number;
  /** Wakes the lane that waits for a change; null if none does. */
  wake: (() => void) | null;
  result: LanesResult;
  failures: unknown[];
  ended: PromiseWithResolvers<LanesResult>;
};

/**
 * Works for many channels, each in up to four separate lanes. A lane claims, attempts and claims again until none is
 * left, so a receiver that hangs holds only its own lanes. If all remaining deliveries must wait for their turn, one
 * lane stays and polls. Memory is proportional to the active channels.
 */
export class ChannelLanes<Claimed> {
  readonly #work: LaneWork<Claimed>;
  readonly #channels = new Map<string, Channel>();
  #isStopped = false;

  constructor(work: LaneWork<Claimed>) {
    this.#work = work;
  }

  /**
   * Delivers a channel's due attempts, in the order of claims. Resolves at once, with no outcomes, if lanes of the
   * channel are active: they will find the caller's delivery, which must be visible to a claim before the call. Rejects
   * with the first failure of a claim or an attempt, after the last lane has ended.
   */
  async run(channelId: string): Promise<LanesResult> {
    const atWork = this.#channels.get(channelId);
    const channel = atWork ?? newChannel(channelId);
    this.#channels.set(channelId, channel);
    channel.arrivals += 1;
    signalChange(channel);
    this.#openLane(channel);
    return atWork === undefined ? await channel.ended.promise : noResult();
  }

  /**
   * Delivers the due attempts of several channels, and sums their outcomes. Waits for the slowest; rejects only then,
   * with the first failure.
   */
  async runAll(channelIds: readonly string[]): Promise<LanesResult> {
    const runs = await Promise.allSettled(channelIds.map((channelId) => this.run(channelId)));
    const sum = noResult();
    for (const run of runs) {
      if (run.status === 'rejected') throw run.reason;
      for (const [outcome, count] of Object.entries(run.value.outcomes)) addOutcome(sum, outcome, count);
      sum.isCutShort ||= run.value.isCutShort;
    }
    return sum;
  }

  /** Lets every lane finish its current attempt and claim no other. */
  stop(): void {
    this.#isStopped = true;
    for (const channel of this.#channels.values()) channel.wake?.();
  }

  #openLane(channel: Channel): void {
    if (channel.lanesAtWork < LANES_PER_CHANNEL && mayHaveMore(channel)) void this.#workInLane(channel);
  }

  async #workInLane(channel: Channel): Promise<void> {
    channel.lanesAtWork += 1;
    let pollMs = FIRST_POLL_MS;
    try {
      // No await may come between the last of these checks and leaving the lane: a call in between would count on a
      // lane that is gone.
      while (mayHaveMore(channel)) {
        if (this.#isStopped) {
          channel.result.isCutShort = true;
          return;
        }
        const { changes } = channel;
        if (await this.#advance(channel)) pollMs = FIRST_POLL_MS;
        else if (mayHaveMore(channel) && channel.changes === changes) {
          // One lane stays for all waiting deliveries: any change wakes it.
          if (channel.wake !== null) return;
          await this.#waitForChange(channel, pollMs);
          pollMs = Math.min(2 * pollMs, LONGEST_POLL_MS);
        }
      }
    } catch (error) {
      channel.failures.push(error);
    } finally {
      this.#leaveLane(channel);
    }
  }

  /** Makes one claimed attempt; returns false if there was none to claim. */
  async #advance(channel: Channel): Promise<boolean> {
    // A call during the claim may concern a delivery that the claim does not see yet.
    const { arrivals } = channel;
    const { claimed, hasMore } = await this.#work.claim(channel.id);
    if (!hasMore) channel.servedArrivals = Math.max(channel.servedArrivals, arrivals);
    if (claimed === null) return false;
    this.#openLane(channel);
    try {
      addOutcome(channel.result, await this.#work.attempt(claimed), 1);
    } finally {
      signalChange(channel);
    }
    return true;
  }

  async #waitForChange(channel: Channel, pollMs: number): Promise<void> {
    if (this.#isStopped) return;
    const { promise: woken, resolve: wake } = Promise.withResolvers<void>();
    const timer = setTimeout(wake, pollMs);
    channel.wake = wake;
    await woken;
    channel.wake = null;
    clearTimeout(timer);
  }

  #leaveLane(channel: Channel): void {
    channel.lanesAtWork -= 1;
    if (channel.lanesAtWork > 0) return;
    this.#channels.delete(channel.id);
    if (channel.failures.length > 0) channel.ended.reject(channel.failures[0]);
    else channel.ended.resolve(channel.result);
  }
}

function addOutcome({ outcomes }: LanesResult, outcome: string, count: number): void {
  outcomes[outcome] = (outcomes[outcome] ?? 0) + count;
}

function signalChange(channel: Channel): void {
  channel.changes += 1;
  channel.wake?.();
}

function mayHaveMore({ arrivals, servedArrivals }: Channel): boolean {
  return servedArrivals < arrivals;
}

function newChannel(id: string): Channel {
  return {
    id,
    lanesAtWork: 0,
    arrivals: 0,
    servedArrivals: 0,
    changes: 0,
    wake: null,
    result: noResult(),
    failures: [],
    ended: Promise.withResolvers(),
  };
}

function noResult(): LanesResult {
  return { outcomes: {}, isCutShort: false };
}
