import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Database } from '../models/database.ts';
import { holdDoorOpen } from '../models/ping-door.ts';

/** How often this process says that pings can come in, in milliseconds: part of how soon a missed one is told, where there is any heartbeat. */
const HOLD_EVERY_MS = { awaited: 500, idle: 2000 } as const;

/** Says again and again that pings can come in, for as long as the API listens; only then can one be missed. */
export function startPingDoor({ database, log, now }: { database: Database; log: Logger; now: () => number }): { stop: () => Promise<void> } {
  const stopping = new AbortController();
  const hold = async () => {
    while (!stopping.signal.aborted) {
      let pauseMs: number = HOLD_EVERY_MS.awaited;
      try {
        const { forgiven, isAwaited } = await holdDoorOpen(database, now);
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
