import { setTimeout as delay } from 'node:timers/promises';
import type { DueAttempt } from '../../queues/job-queues.ts';
import { watchAgents } from '../agents/watch.ts';
import { watchParents } from '../alerts/join-parents.ts';
import { isFull, watchHeartbeats } from '../heartbeats/watch.ts';
import { createEvaluator } from '../incidents/evaluate.ts';
import { announce, type Announced } from '../incidents/record-changes.ts';
import { watchMaintenance } from '../maintenance/plan.ts';
import type { RunningProcess, Runtime } from '../runtime.ts';

/**
 * How often heartbeats are polled, in milliseconds: part of how soon a missed ping is reported. Where none waits for a
 * ping, less often will do.
 */
const HEARTBEATS_EVERY_MS = { awake: 500, asleep: 2000 } as const;

/**
 * How often agents are polled, in milliseconds: part of how soon their silence is reported. Where no customer has one
 * no channel is notified.
 */
const AGENTS_EVERY_MS = { own: 3000, shared: 5000 } as const;

/** How often it is asked whether maintenance has begun or ended, in milliseconds: how late a console shows it. */
const MAINTENANCE_EVERY_MS = 5000;

/** Starts watching heartbeats; several processes that do so do no harm. */
export function startHeartbeatWatch(runtime: Runtime): RunningProcess {
  const { database, now, newId, publicUrl } = runtime;
  const evaluate = createEvaluator({ database, now, newId, publicUrl });
  return startWatch(runtime, {
    name: 'heartbeats',
    failureLine: 'heartbeats.not_watched',
    afterFailureMs: HEARTBEATS_EVERY_MS.awake,
    async round(hand) {
      const round = await watchHeartbeats({ ...runtime, evaluate, announce: hand });
      if (isFull(round)) return 0;
      return round.isAwake ? HEARTBEATS_EVERY_MS.awake : HEARTBEATS_EVERY_MS.asleep;
    },
  });
}

/** Starts watching agents; several processes that do so do no harm. */
export function startAgentWatch(runtime: Runtime): RunningProcess {
  return startWatch(runtime, {
    name: 'agents',
    failureLine: 'agents.not_watched',
    afterFailureMs: AGENTS_EVERY_MS.own,
    async round(hand) {
      const dependencies = {
        ...runtime,
        announce: (deliveries: readonly DueAttempt[]) => hand({ transitions: [], deliveries: [...deliveries] }),
      };
      const { hasOwn } = await watchAgents(dependencies);
      return hasOwn ? AGENTS_EVERY_MS.own : AGENTS_EVERY_MS.shared;
    },
  });
}

/** Starts announcing that maintenance begins and ends; several processes that do so do no harm. */
export function startMaintenanceWatch(runtime: Runtime): RunningProcess {
  return startWatch(runtime, {
    name: 'maintenance',
    failureLine: 'maintenance.not_watched',
    afterFailureMs: MAINTENANCE_EVERY_MS,
    round: async () => ((await watchMaintenance(runtime)) ? 0 : MAINTENANCE_EVERY_MS),
  });
}

/** How often it is asked whether alerts that wait for other monitors need wait no longer, in milliseconds. */
const PARENTS_EVERY_MS = 1000;

/** Starts watching what alerts wait for that depend on other monitors; several processes that do so do no harm. */
export function startParentWatch(runtime: Runtime): RunningProcess {
  return startWatch(runtime, {
    name: 'parents',
    failureLine: 'parents.not_watched',
    afterFailureMs: PARENTS_EVERY_MS,
    async round(hand) {
      const { due, mayHaveMore } = await watchParents(runtime, runtime.now());
      if (due.length > 0) hand({ transitions: [], deliveries: due });
      return mayHaveMore ? 0 : PARENTS_EVERY_MS;
    },
  });
}

type Watch = {
  name: string;
  /** Polls once, announces by `hand` what was recorded, and says in how many milliseconds the next round is due. */
  round: (hand: (recorded: Announced) => void) => Promise<number>;
  /** The log line of a round that failed; the next one makes up for it, after `afterFailureMs` milliseconds. */
  failureLine: string;
  afterFailureMs: number;
};

/** Makes rounds until it is stopped; no round waits for the announcements of the one before, but the stop does. */
function startWatch(runtime: Runtime, { name, failureLine, round, afterFailureMs }: Watch): RunningProcess {
  const stopping = new AbortController();
  const announcements = new Set<Promise<void>>();
  const hand = (recorded: Announced) => {
    const announced = announce(runtime, recorded).finally(() => announcements.delete(announced));
    announcements.add(announced);
  };
  const watch = async () => {
    while (!stopping.signal.aborted) {
      const pauseMs = await round(hand).catch((error: unknown) => {
        runtime.log.warn({ err: error }, failureLine);
        return afterFailureMs;
      });
      if (pauseMs > 0) await delay(pauseMs, undefined, { signal: stopping.signal }).catch(() => undefined);
    }
  };
  const watching = watch();
  return {
    name,
    async stop() {
      stopping.abort();
      await watching;
      await Promise.all(announcements);
    },
  };
}
