import { setTimeout as sleep } from 'node:timers/promises';
import { READ_EVERY_MS } from '../../core/system/service-clock.ts';
import { runOn } from '../../models/sql.ts';
import { findSetBack } from '../../models/statistics/service-time.ts';
import { endStrandedSessions, isTimeSettled, type ClockName } from '../../models/system/service-clock.ts';
import { createHttpClient } from '../../net/http-client.ts';
import { openKnownDomains, type KnowDomain } from '../../probes/domain.ts';
import { CHORES, type Chore } from '../../queues/job-queues.ts';
import { QUEUES, type MaintainJob } from '../../queues/payloads.ts';
import { adviseOfExpiries } from '../alerts/advisories.ts';
import { mendDrills } from '../alerts/drills.ts';
import { beginMonthlyDrills } from '../alerts/monthly-drills.ts';
import { domainStoreOf, refreshRegistries } from '../checks/registries.ts';
import { planMaintenance, releaseAlerts } from '../maintenance/plan.ts';
import type { RunningProcess, Runtime } from '../runtime.ts';
import { makeReports } from '../statistics/reports.ts';
import { rollUp } from '../statistics/rollups.ts';
import { createCanaryKeeper, type CanaryOptions } from '../system/canary.ts';
import { reconcile } from '../system/reconcile.ts';
import { maintainPartitions, retainHistory } from '../system/retention.ts';
import { newSweepMemory, sweep } from '../system/sweep.ts';

/**
 * One of each kind at a time. The sweep must never wait for a long one, or it takes the wait for a standstill of the
 * service.
 */
const CHORES_AT_ONCE = CHORES.length;

/** Lifetime of a lock, in milliseconds, renewed while a chore runs; a killed worker's chore is retried after it. */
const LOCK_MS = 15_000;

/**
 * Interval of ending stranded sessions while PostgreSQL's clock is uncertain, in milliseconds. Not a chore: all chores
 * may be waiting for their locks.
 */
const STRANDED_EVERY_MS = 10_000;

/** Pause after a failed repair of the consequences of a set clock, in milliseconds. */
const MEND_AGAIN_MS = 10_000;

/**
 * Settings of chores that access external servers: the server that refers to registries' WHOIS servers, and the URL of
 * the registry of RDAP services.
 */
type MaintainOptions = {
  allowPrivateNetwork: boolean;
  whoisServer: { host: string; port: number };
  rdapBootstrapUrl: string;
  /** Default: only the addresses that commands have added. */
  canary?: CanaryOptions;
};

/** Starts doing chores; each is logged and counted. */
export function startMaintain(runtime: Runtime, options: MaintainOptions): RunningProcess {
  const { backend, log, metrics, now, clockListeners } = runtime;
  const domains = openKnownDomains({ ...options, domains: domainStoreOf(runtime.database), now });
  const stopping = new AbortController();
  const chores = openChores(runtime, { ...options, knowDomain: domains.know, signal: stopping.signal });
  const worker = backend.createWorker<MaintainJob>(
    QUEUES.maintain,
    async (job) => {
      const chore = CHORES.find((name) => name === job.name);
      if (chore === undefined) throw new Error(`There is no chore named "${job.name}"`);
      const startMs = now();
      try {
        const did = await chores[chore]();
        metrics.choreCompleted(chore, { durationMs: now() - startMs, failed: false });
        log.debug({ chore, duration_ms: now() - startMs, outcome: 'done', ...did }, 'chore.completed');
        return did;
      } catch (error) {
        metrics.choreCompleted(chore, { durationMs: now() - startMs, failed: true });
        log.error({ err: error, chore, duration_ms: now() - startMs, outcome: 'failed' }, 'chore.completed');
        throw error;
      }
    },
    // A failed chore throws after it was logged, so `onFailed` has nothing to do.
    { concurrency: CHORES_AT_ONCE, lockDurationMs: LOCK_MS, onFailed: () => undefined },
  );
  // The process that set the service's time repairs the consequences at once, and again once every process has read it.
  let mendAgain: NodeJS.Timeout | undefined;
  let mending: Promise<unknown> = Promise.resolve();
  const keep = (repair: () => Promise<unknown>) => {
    mending = Promise.all([mending, mendUntilDone(repair, { log, signal: stopping.signal })]);
  };
  const mend = () => keep(chores.reconcile);
  const mendAfterSetting = (clock: ClockName) => {
    if (clock !== 'service') return;
    mend();
    clearTimeout(mendAgain);
    mendAgain = setTimeout(mend, 2 * READ_EVERY_MS).unref();
  };
  clockListeners.add(mendAfterSetting);
  // The time may have been set back at any time before, and every chore's own job may still be locked by a killed
  // process.
  keep(async () => {
    await backend.freeLocks(now());
    if (await findSetBack(runOn(runtime.database.pool), now())) await chores.reconcile();
  });
  const stopEnding = keepEndingStranded(runtime);
  return {
    name: 'maintain',
    async stop() {
      clockListeners.delete(mendAfterSetting);
      clearTimeout(mendAgain);
      stopEnding();
      stopping.abort();
      await worker.close();
      await mending;
      await domains.close();
    },
  };
}

/** Repairs the consequences of a set clock, again if that fails, until it succeeds or the process stops. */
async function mendUntilDone(
  repair: () => Promise<unknown>,
  { log, signal }: Pick<Runtime, 'log'> & { signal: AbortSignal },
): Promise<void> {
  while (!signal.aborted) {
    try {
      await repair();
      return;
    } catch (error) {
      log.warn({ err: error }, 'clock.not_mended');
    }
    await sleep(MEND_AGAIN_MS, undefined, { signal }).catch(() => undefined);
  }
}

/**
 * Ends stranded sessions once after the start, and while PostgreSQL's clock is uncertain, until a round has succeeded.
 * Returns the function that stops that.
 */
function keepEndingStranded({ database, log }: Pick<Runtime, 'database' | 'log'>): () => void {
  let isDue = true;
  let isRunning = false;
  const endOnce = async () => {
    const isLast = isTimeSettled();
    try {
      const sessions = await endStrandedSessions(database);
      if (sessions > 0) log.warn({ sessions }, 'clock.sessions_ended');
      if (isLast) isDue = false;
    } catch (error) {
      log.warn({ err: error }, 'clock.not_mended');
    }
  };
  const timer = setInterval(() => {
    if (!isTimeSettled()) isDue = true;
    if (!isDue || isRunning) return;
    isRunning = true;
    void endOnce().finally(() => (isRunning = false));
  }, STRANDED_EVERY_MS);
  return () => clearInterval(timer);
}

/** `signal` is aborted when the process stops: chores of many steps start no further one. */
type ChoreTools = Pick<MaintainOptions, 'rdapBootstrapUrl' | 'canary'> & {
  knowDomain: KnowDomain;
  signal: AbortSignal;
};

function openChores(
  runtime: Runtime,
  { rdapBootstrapUrl, canary, knowDomain, signal }: ChoreTools,
): Record<Chore, () => Promise<object>> {
  // The operator chose this one address (D-30); the guard is for addresses that others name.
  const http = createHttpClient({ allowPrivateNetwork: true, purpose: 'chores' });
  const sweepMemory = newSweepMemory();
  return {
    reconcile: () => reconcile(runtime, { signal }),
    sweep: () => sweep(runtime, sweepMemory),
    partitions: () => maintainPartitions(runtime),
    retention: () => retainHistory(runtime, { signal }),
    advisories: () => adviseOfExpiries(runtime, knowDomain),
    registries: () => refreshRegistries(runtime, { url: rdapBootstrapUrl, http }),
    rollups: () => rollUp(runtime, { signal }),
    reports: () => makeReports(runtime, { signal }),
    async maintenance() {
      const planning = planMaintenance(runtime);
      // Alerts are released even if that fails.
      await planning.catch(() => undefined);
      const released = await releaseAlerts(runtime);
      return { ...(await planning), ...released };
    },
    canary: createCanaryKeeper(runtime, canary),
    drills: async () => ({ ...(await mendDrills(runtime)), ...(await beginMonthlyDrills(runtime)) }),
  };
}
