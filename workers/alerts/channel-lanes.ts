import { forgetOldest } from '../../core/bounded-map.ts';
import type { DeliverJob } from '../../queues/payloads.ts';

/** Attempts under way at one channel at a time, in one process (D-54). */
export const LANES_PER_CHANNEL = 4;

/**
 * The first and the longest pause, in milliseconds, between polls for what is due but has to wait for another attempt's
 * end. Each is twice as long as the one before: that attempt may be another process'. So nothing waits much longer than
 * what it waits for.
 */
const FIRST_POLL_MS = 50;
const LONGEST_POLL_MS = 1000;

/**
 * What came of the attempts of one run, counted by outcome. `isCutShort`: the lanes were stopped before they found
 * nothing left.
 */
export type LanesResult = { outcomes: Record<string, number>; isCutShort: boolean };

/**
 * What a claim found; `hasMore`: it saw another due delivery that was unclaimed, though it may have to
 * wait for its turn.
 */
export type Claim<Claimed> = { claimed: Claimed | null; hasMore: boolean };

export type LaneWork<Claimed> = {
  /** Claims the channel's next due attempt. */
  claim(channelId: string): Promise<Claim<Claimed>>;
  /** Makes the attempt, and says what it came to. */
  attempt(claimed: Claimed): Promise<string>;
};

type Channel = {
  id: string;
  lanesAtWork: number;
  /** How often `run` was called. */
  arrivals: number;
  /** How many of these calls came before a claim that found nothing more. */
  servedArrivals: number;
  /** Calls of `run` and attempts that ended: whatever may let something through that had to wait. */
  changes: number;
  /** Wakes the lane that waits for a change; null where none does. */
  wake: (() => void) | null;
  result: LanesResult;
  failures: unknown[];
  ended: PromiseWithResolvers<LanesResult>;
};

/**
 * Works for many channels, each in up to four lanes of its own. A lane claims, attempts and claims again until nothing
 * is left, so that a receiver that hangs holds only its own lanes. Where all that is left has to wait for its turn, one
 * lane stays and polls again. Memory follows the channels at work.
 */
export class ChannelLanes<Claimed> {
  readonly #work: LaneWork<Claimed>;
  readonly #channels = new Map<string, Channel>();
  #isStopped = false;

  constructor(work: LaneWork<Claimed>) {
    this.#work = work;
  }

  /**
   * Works off what the channel has due, in the claims' order. Resolves at once, with no outcomes, where lanes of the
   * channel are at work: they will find what the caller came for, which must be visible to a claim before it calls.
   * Rejects with the first failure of a claim or an attempt, after the last lane has ended.
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
   * Works off what several channels have due, and adds up what came of it. Waits for the slowest; rejects only then,
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

  /** Lets every lane finish the attempt in its hand and claim no other. */
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
      // From this poll on until the lane has left nothing may wait: who came in between would count on a lane that is
      // gone.
      while (mayHaveMore(channel)) {
        if (this.#isStopped) {
          channel.result.isCutShort = true;
          return;
        }
        const { changes } = channel;
        if (await this.#advance(channel)) pollMs = FIRST_POLL_MS;
        else if (mayHaveMore(channel) && channel.changes === changes) {
          // One stays for all: whatever it waits for, it is woken.
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

  /** False where there was nothing to claim. */
  async #advance(channel: Channel): Promise<boolean> {
    // Who comes while the claim is out may come for what it cannot see yet.
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

/** The most channels whose accounts are remembered. */
const MAX_KNOWN_CHANNELS = 20_000;

/**
 * Shares the retries that a process works on among accounts: one whose receivers hang leaves most jobs to others. A
 * retry is a job of its channel alone, and whose that is becomes known by its first claim. First attempts have no
 * bound.
 */
export class AccountShares {
  readonly #size: { most: number; attemptMs: number };
  readonly #accounts = new Map<string, string>();
  readonly #atWork = new Map<string, number>();
  /** The channels of each account whose jobs were put off. */
  readonly #behind = new Map<string, Set<string>>();

  /** `most` is how many jobs an account may have at work, `attemptMs` how long an attempt takes at the most. */
  constructor(size: { most: number; attemptMs: number }) {
    this.#size = size;
  }

  /** Remembers whose a channel is. */
  learn(channelId: string, account: string): void {
    this.#accounts.set(channelId, account);
    forgetOldest(this.#accounts, MAX_KNOWN_CHANNELS);
  }

  /** Begins a job, or says in how many milliseconds its account has room for it, by what was put off before. */
  enter({
    channelIds,
    isRetry,
  }: Pick<DeliverJob, 'channelIds' | 'isRetry'>): { leave: () => void } | { waitMs: number } {
    const [channelId = ''] = channelIds;
    const account = isRetry === true ? this.#accounts.get(channelId) : undefined;
    if (account === undefined) return { leave: () => undefined };
    const atWork = this.#atWork.get(account) ?? 0;
    const behind = this.#behind.get(account) ?? new Set();
    if (atWork >= this.#size.most) {
      this.#behind.set(account, behind.add(channelId));
      return { waitMs: this.#size.attemptMs * Math.ceil(behind.size / this.#size.most) };
    }
    behind.delete(channelId);
    this.#atWork.set(account, atWork + 1);
    return { leave: () => this.#leave(account) };
  }

  #leave(account: string): void {
    const atWork = (this.#atWork.get(account) ?? 0) - 1;
    if (atWork > 0) {
      this.#atWork.set(account, atWork);
      return;
    }
    this.#atWork.delete(account);
    this.#behind.delete(account);
  }
}
