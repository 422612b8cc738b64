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
 * Interval of polls for heartbeats, in milliseconds: part of the delay until a missed ping is reported. It is longer if
 * none waits for a ping.
 */
const HEARTBEATS_EVERY_MS = { awake: 500, asleep: 2000 } as const;

/**
 * Interval of polls for agents, in milliseconds: part of the delay until their silence is reported. It is longer if no
 * customer has one, because no channel is notified then.
 */
const AGENTS_EVERY_MS = { own: 3000, shared: 5000 } as const;

/** Interval of polls for maintenance that begins or ends, in milliseconds: the delay until a console shows it. */
const MAINTENANCE_EVERY_MS = 5000;

/** Starts watching heartbeats; several processes may do so. */
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

/** Starts watching agents; several processes may do so. */
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

/** Starts announcing maintenance that begins and ends; several processes may do so. */
export function startMaintenanceWatch(runtime: Runtime): RunningProcess {
  return startWatch(runtime, {
    name: 'maintenance',
    failureLine: 'maintenance.not_watched',
    afterFailureMs: MAINTENANCE_EVERY_MS,
    round: async () => ((await watchMaintenance(runtime)) ? 0 : MAINTENANCE_EVERY_MS),
  });
}

/** Interval of polls for alerts that need not wait for other monitors any longer, in milliseconds. */
const PARENTS_EVERY_MS = 1000;

/** Starts watching alerts that wait for other monitors; several processes may do so. */
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
  /** Polls once, announces the recorded changes with `hand`, and returns the milliseconds until the next round. */
  round: (hand: (recorded: Announced) => void) => Promise<number>;
  /** The log line of a failed round; the next one makes up for it, after `afterFailureMs` milliseconds. */
  failureLine: string;
  afterFailureMs: number;
};

/** Runs rounds until it is stopped; no round waits for the announcements of the previous one, but the stop does. */
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
