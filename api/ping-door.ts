import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Database } from '../models/database.ts';
import { holdDoorOpen, recordLostPings } from '../models/ping-door.ts';
import type { UnstoredPings } from './unstored-pings.ts';

/**
 * How often this process says that pings can come in, in milliseconds: part of how soon a missed one is reported, where
 * there is any heartbeat.
 */
const HOLD_EVERY_MS = { awaited: 500, idle: 2000 } as const;

export type PingDoorOptions = { database: Database; log: Logger; now: () => number; unstored: UnstoredPings };

/**
 * Says again and again that pings can come in, for as long as the API listens and stores them; only then can one be
 * missed.
 */
export function startPingDoor({ database, log, now, unstored }: PingDoorOptions): { stop: () => Promise<void> } {
  const stopping = new AbortController();
  // A ping that is not stored yet may have come in time: the door was open until it came.
  const openUntil = () => Math.min(now(), unstored.oldestAtMs() ?? Number.POSITIVE_INFINITY);
  const recordLost = async () => {
    const lost = unstored.takeLost();
    if (lost === null) return;
    log.warn({ from_ms: lost.fromMs, to_ms: lost.toMs }, 'heartbeats.pings_not_stored');
    await recordLostPings(database, lost).catch((error: unknown) => {
      unstored.recordLost(lost);
      throw error;
    });
  };
  const hold = async () => {
    while (!stopping.signal.aborted) {
      let pauseMs: number = HOLD_EVERY_MS.awaited;
      try {
        await recordLost();
        const { forgiven, isAwaited } = await holdDoorOpen(database, openUntil);
        if (!isAwaited) pauseMs = HOLD_EVERY_MS.idle;
        if (forgiven > 0) log.warn({ heartbeats: forgiven }, 'heartbeats.forgiven');
      } catch (error) {
        log.warn({ err: error }, 'heartbeats.door_not_held');
      }
      await delay(pauseMs, undefined, { signal: stopping.signal }).catch(() => undefined);
    }
  };
  const holding = hold();
  return {
    async stop() {
      stopping.abort();
      await holding;
    },
  };
}
