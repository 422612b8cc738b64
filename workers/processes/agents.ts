import { setTimeout as delay } from 'node:timers/promises';
import type { DueAttempt } from '../../queues/job-queues.ts';
import { watchAgents } from '../agents/watch.ts';
import { announce } from '../alerts/announce.ts';
import type { RunningProcess, Runtime } from '../runtime.ts';

/**
 * How often agents are polled, in milliseconds: part of how soon their silence is reported. Where no customer has one
 * no channel is notified.
 */
const ROUND_EVERY_MS = { own: 3000, shared: 5000 } as const;

/** Starts watching agents; several processes that do so do no harm. A round that fails is made up for by the next. */
export function startAgentWatch(runtime: Runtime): RunningProcess {
  const { log } = runtime;
  const stopping = new AbortController();
  const announcements = new Set<Promise<void>>();
  const dependencies = {
    ...runtime,
    announce(deliveries: readonly DueAttempt[]) {
      const announced = announce(runtime, { transitions: [], deliveries: [...deliveries] }).finally(() =>
        announcements.delete(announced),
      );
      announcements.add(announced);
    },
  };
  const watch = async () => {
    while (!stopping.signal.aborted) {
      const round = await watchAgents(dependencies).catch((error: unknown) => {
        log.warn({ err: error }, 'agents.not_watched');
        return null;
      });
      await delay(round?.hasOwn === false ? ROUND_EVERY_MS.shared : ROUND_EVERY_MS.own, undefined, {
        signal: stopping.signal,
      }).catch(() => undefined);
    }
  };
  const watching = watch();
  return {
    name: 'agents',
    async stop() {
      stopping.abort();
      await watching;
      await Promise.all(announcements);
    },
  };
}
