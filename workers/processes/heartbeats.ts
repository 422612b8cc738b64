import { setTimeout as delay } from 'node:timers/promises';
import { announce } from '../alerts/announce.ts';
import { isFull, watchHeartbeats } from '../heartbeats/watch.ts';
import { createEvaluator, type EvaluationOutcome } from '../incidents/evaluate.ts';
import type { RunningProcess, Runtime } from '../runtime.ts';

/**
 * How often heartbeats are polled, in milliseconds: part of how soon a missed ping is reported. Where none waits for a
 * ping, less often will do.
 */
const ROUND_EVERY_MS = { awake: 500, asleep: 2000 } as const;

/**
 * Starts watching heartbeats; several processes that do so do no harm. A round that fails is made up for by the next.
 */
export function startHeartbeatWatch(runtime: Runtime): RunningProcess {
  const { database, log, now, newId, publicUrl, metrics } = runtime;
  const stopping = new AbortController();
  const announcements = new Set<Promise<void>>();
  const dependencies = {
    database,
    metrics,
    now,
    evaluate: createEvaluator({ database, now, newId, publicUrl }),
    announce(outcome: EvaluationOutcome) {
      const announced = announce(runtime, outcome).finally(() => announcements.delete(announced));
      announcements.add(announced);
    },
  };
  const watch = async () => {
    while (!stopping.signal.aborted) {
      const round = await watchHeartbeats(dependencies).catch((error: unknown) => {
        log.warn({ err: error }, 'heartbeats.not_watched');
        return null;
      });
      const pauseMs = round?.isAwake === false ? ROUND_EVERY_MS.asleep : ROUND_EVERY_MS.awake;
      if (round === null || !isFull(round))
        await delay(pauseMs, undefined, { signal: stopping.signal }).catch(() => undefined);
    }
  };
  const watching = watch();
  return {
    name: 'heartbeats',
    async stop() {
      stopping.abort();
      await watching;
      await Promise.all(announcements);
    },
  };
}
