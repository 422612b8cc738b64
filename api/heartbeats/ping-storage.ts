import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { settleBatch, type Waiting } from '../../core/shared-calls.ts';
import type { Database } from '../../models/database.ts';
import {
  holdDeadlines,
  recordLostPings,
  recordPingAvailability,
  releaseDeadlines,
} from '../../models/heartbeats/watch.ts';
import { ApiError } from '../api-error.ts';

/**
 * Time that the first ping of a batch waits for others, in milliseconds; the next batch gathers while one is committed.
 */
const GATHER_MS = 10;

/** Maximum number of pings in one transaction. */
const MAX_A_BATCH = 500;

/** Maximum number of pings in memory while PostgreSQL is slow; further callers get 503. */
const MAX_WAITING = 5000;

/**
 * Makes the function that stores pings or related items, many per transaction and one transaction after the other. This
 * keeps the pings of a job in order. The returned function resolves once its item is committed, and rejects if the
 * database is away or cannot keep up (503). `take` returns the outcomes of its items in order.
 */
export function createBatches<Item, Outcome>(
  take: (items: readonly Item[]) => Promise<readonly Outcome[]>,
): (item: Item) => Promise<Outcome> {
  const waiting: Waiting<Item, Outcome>[] = [];
  let isWorking = false;

  const work = async () => {
    isWorking = true;
    await delay(GATHER_MS);
    while (waiting.length > 0) await settleBatch(waiting.splice(0, MAX_A_BATCH), take);
    isWorking = false;
  };

  return (item) => {
    if (waiting.length >= MAX_WAITING)
      return Promise.reject(
        new ApiError(503, 'too many pings are waiting for the database: try again in a few seconds', {
          'Retry-After': '5',
        }),
      );
    const settled = Promise.withResolvers<Outcome>();
    waiting.push({ item, settled });
    if (!isWorking) void work();
    return settled.promise;
  };
}

/**
 * Interval at which this process records that it can receive pings, in milliseconds; `awaited` if there is any
 * heartbeat. It adds to the delay of reporting a missed ping.
 */
const RECORD_EVERY_MS = { awaited: 500, idle: 2000 } as const;

/**
 * A ping that has waited longer than `from` holds the deadlines of all processes, until none has waited longer than
 * `until`, in milliseconds. Other processes, unaware of it, would let deadlines pass meanwhile.
 */
const HELD_MS = { from: 1000, until: 200 } as const;

type PingAvailabilityOptions = { database: Database; log: Logger; now: () => number; unstored: UnstoredPings };

/** Records ping availability repeatedly while the API listens and stores pings; only then can a ping be missed. */
export function publishPingAvailability({ database, log, now, unstored }: PingAvailabilityOptions): {
  /** Stops recording after `drain`, which stores the pings still in progress. */
  stop: (drain: () => Promise<void>) => Promise<void>;
} {
  const stopping = new AbortController();
  const holder = randomUUID();
  let isHeld = false;
  // A ping that is not stored yet may have arrived in time: pings were available only until it arrived.
  const availableUntil = () => (isHeld ? now() : Math.min(now(), unstored.oldestAtMs() ?? Number.POSITIVE_INFINITY));
  const holdWhileWaiting = async () => {
    const [fromMs, nowMs] = [unstored.oldestAtMs(), now()];
    if (fromMs !== null && nowMs - fromMs > (isHeld ? HELD_MS.until : HELD_MS.from)) {
      isHeld = true;
      await holdDeadlines(database, { holder, fromMs, nowMs });
    } else if (isHeld) {
      await releaseDeadlines(database, holder);
      isHeld = false;
    }
  };
  const recordLost = async () => {
    const lost = unstored.takeLost();
    if (lost === null) return;
    log.warn({ from_ms: lost.fromMs, to_ms: lost.toMs }, 'heartbeats.pings_not_stored');
    await recordLostPings(database, lost).catch((error: unknown) => {
      unstored.recordLost(lost);
      throw error;
    });
  };
  const recordRest = async () => {
    await recordLost()
      .then(holdWhileWaiting)
      .catch((error: unknown) => log.warn({ err: error }, 'heartbeats.availability_not_recorded'));
  };
  const recordRepeatedly = async () => {
    while (!stopping.signal.aborted) {
      let pauseMs: number = RECORD_EVERY_MS.awaited;
      try {
        await recordLost();
        await holdWhileWaiting();
        const { forgiven, isAwaited } = await recordPingAvailability(database, availableUntil);
        if (!isAwaited) pauseMs = RECORD_EVERY_MS.idle;
        if (forgiven > 0) log.warn({ heartbeats: forgiven }, 'heartbeats.forgiven');
      } catch (error) {
        log.warn({ err: error }, 'heartbeats.availability_not_recorded');
      }
      await delay(pauseMs, undefined, { signal: stopping.signal }).catch(() => undefined);
    }
  };
  const recording = recordRepeatedly();
  return {
    async stop(drain) {
      stopping.abort();
      await recording;
      await recordRest();
      await drain().finally(recordRest);
    },
  };
}

/** A time range in which pings were lost, in Unix milliseconds. */
type LostStretch = { fromMs: number; toMs: number };

/** Tracks the pings that this process has received but not stored. */
export class UnstoredPings {
  readonly #now: () => number;
  /** In order of arrival. */
  readonly #waiting = new Set<{ atMs: number }>();
  #lost: LostStretch | null = null;

  /** `now` is in Unix milliseconds. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** Tracks a ping that has just arrived until it is stored, or storing it fails. */
  async follow<Outcome>(storing: Promise<Outcome>): Promise<Outcome> {
    const ping = { atMs: this.#now() };
    this.#waiting.add(ping);
    try {
      return await storing;
    } catch (error) {
      this.recordLost({ fromMs: ping.atMs, toMs: this.#now() });
      throw error;
    } finally {
      this.#waiting.delete(ping);
    }
  }

  /** Returns when the oldest unstored ping arrived; null if all are stored. */
  oldestAtMs(): number | null {
    return this.#waiting.values().next().value?.atMs ?? null;
  }

  /** Takes the time range of pings that could not be stored; null if there were none since the last call. */
  takeLost(): LostStretch | null {
    const taken = this.#lost;
    this.#lost = null;
    return taken;
  }

  /** Adds a time range, such as one that was taken and could not be recorded. */
  recordLost({ fromMs, toMs }: LostStretch): void {
    this.#lost = {
      fromMs: Math.min(fromMs, this.#lost?.fromMs ?? fromMs),
      toMs: Math.max(toMs, this.#lost?.toMs ?? toMs),
    };
  }
}
