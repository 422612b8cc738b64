import type { Logger } from 'pino';
import type { FailedCheck } from '../core/system/otlp.ts';
import { within } from '../core/time.ts';
import type { Database } from '../models/database.ts';
import type { IdPrefix } from '../models/secrets/ids.ts';
import type { ClockName } from '../models/system/service-clock.ts';
import type { Activity } from '../models/system/service-marks.ts';
import type { Judge } from '../probes/judging/judge.ts';
import type { QueueBackend } from '../queues/connection.ts';
import type { JobQueues } from '../queues/job-queues.ts';
import type { WorkerMetrics } from './system/metrics.ts';

/**
 * Dependencies of every worker process; the entry file creates them, and closes them after the processes have stopped.
 */
export type Runtime = {
  database: Database;
  backend: QueueBackend;
  queues: JobQueues;
  judge: Judge;
  log: Logger;
  metrics: WorkerMetrics;
  /** Records that a check, or a batch of results, was completed; never rejects, and usually does nothing. */
  recordActivity: (name: Activity, nowMs: number) => Promise<void>;
  /** Sends the span of a failed check to the operator's collector; null if spans are not sent. */
  recordFailedCheck: ((check: FailedCheck) => void) | null;
  newId: (prefix: IdPrefix) => string;
  now: () => number;
  publicUrl: string;
  /** Called when a clock was set, with the change in milliseconds: parts that plan by it add themselves. */
  clockListeners: Set<(clock: ClockName, byMs: number) => void>;
};

/** A part that runs until it is stopped; stopping takes no new work and finishes what runs. */
export type RunningProcess = { name: string; stop: () => Promise<void> };

/**
 * Stops processes in stages: those that feed others first, all of a stage at once, so that running work still gets
 * through. Returns true if all stopped within `boundMs`, false if the time limit ended the wait: remaining jobs are
 * then retried once their locks expire.
 */
export async function stopAll(stages: readonly (readonly RunningProcess[])[], boundMs: number): Promise<boolean> {
  const stopped = (async () => {
    for (const processes of stages) await Promise.all(processes.map((process) => process.stop()));
    return true;
  })();
  return await within(boundMs, stopped, false);
}

/** Interval between two records of an activity by a process, in milliseconds: readers need minutes, not moments. */
const RECORD_EVERY_MS = 10_000;

type ThrottledRecorderParts<Name> = {
  store: (name: Name, nowMs: number) => Promise<void>;
  onFailure: (error: unknown) => void;
};

/** Records what this process has completed, or failed to. Most calls do nothing. */
export class ThrottledRecorder<Name> {
  readonly #parts: ThrottledRecorderParts<Name>;
  readonly #recordedAtMs = new Map<Name, number>();

  constructor(parts: ThrottledRecorderParts<Name>) {
    this.#parts = parts;
  }

  /** Records an activity. Never rejects: the next call makes up for a failed one. */
  async record(name: Name, nowMs: number): Promise<void> {
    // After the clock was set back, this records again at once.
    if (Math.abs(nowMs - (this.#recordedAtMs.get(name) ?? 0)) < RECORD_EVERY_MS) return;
    this.#recordedAtMs.set(name, nowMs);
    try {
      await this.#parts.store(name, nowMs);
    } catch (error) {
      this.#recordedAtMs.delete(name);
      this.#parts.onFailure(error);
    }
  }
}
