import { QUEUES } from '../../queues/names.ts';
import { CHORES, type Chore } from '../../queues/job-queues.ts';
import type { MaintainJob } from '../../queues/payloads.ts';
import { keepPartitions } from '../maintain/partitions.ts';
import { reconcile } from '../maintain/reconcile.ts';
import { retainHistory } from '../maintain/retention.ts';
import { sweep } from '../maintain/sweep.ts';
import type { RunningProcess, Runtime } from '../runtime.ts';

/** Two chores of different kinds may run side by side. */
const CHORES_AT_ONCE = 2;

/** Renewed while a chore runs; a killed worker's chore comes back after this. */
const LOCK_MS = 15_000;

const RUN = { reconcile, sweep, partitions: keepPartitions, retention: retainHistory } as const satisfies Record<Chore, (runtime: Runtime) => Promise<object>>;

/** Starts doing chores; what each did is logged and counted. */
export function startMaintain(runtime: Runtime): RunningProcess {
  const { backend, log, metrics, now } = runtime;
  const worker = backend.createWorker<MaintainJob>(
    QUEUES.maintain,
    async (job) => {
      const chore = CHORES.find((name) => name === job.name);
      if (chore === undefined) throw new Error(`There is no chore named "${job.name}"`);
      const startMs = now();
      try {
        const did = await RUN[chore](runtime);
        metrics.choreCompleted(chore, { durationMs: now() - startMs, failed: false });
        log.debug({ chore, duration_ms: now() - startMs, outcome: 'done', ...did }, 'chore.completed');
        return did;
      } catch (error) {
        metrics.choreCompleted(chore, { durationMs: now() - startMs, failed: true });
        log.error({ err: error, chore, duration_ms: now() - startMs, outcome: 'failed' }, 'chore.completed');
        throw error;
      }
    },
    { concurrency: CHORES_AT_ONCE, lockDurationMs: LOCK_MS },
  );
  return { name: 'maintain', stop: () => worker.close() };
}
