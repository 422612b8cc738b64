import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Database } from '../../models/database.ts';
import { recordPingAvailability, recordLostPings } from '../../models/heartbeats/ping-availability.ts';
import type { UnstoredPings } from './unstored-pings.ts';

/**
 * How often this process says that pings can come in, in milliseconds: part of how soon a missed one is reported, where
 * there is any heartbeat.
 */
const RECORD_EVERY_MS = { awaited: 500, idle: 2000 } as const;

export type PingAvailabilityOptions = { database: Database; log: Logger; now: () => number; unstored: UnstoredPings };

/**
 * Records ping availability repeatedly, for as long as the API listens and stores pings; only then can one be
 * missed.
 */
export function publishPingAvailability({ database, log, now, unstored }: PingAvailabilityOptions): {
  stop: () => Promise<void>;
} {
  const stopping = new AbortController();
  // A ping that is not stored yet may have come in time: pings were available until it came.
  const availableUntil = () => Math.min(now(), unstored.oldestAtMs() ?? Number.POSITIVE_INFINITY);
  const recordLost = async () => {
    const lost = unstored.takeLost();
    if (lost === null) return;
    log.warn({ from_ms: lost.fromMs, to_ms: lost.toMs }, 'heartbeats.pings_not_stored');
    await recordLostPings(database, lost).catch((error: unknown) => {
      unstored.recordLost(lost);
      throw error;
    });
  };
  const recordRepeatedly = async () => {
    while (!stopping.signal.aborted) {
      let pauseMs: number = RECORD_EVERY_MS.awaited;
      try {
        await recordLost();
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
    async stop() {
      stopping.abort();
      await recording;
    },
  };
}
