import type { Queue } from 'bullmq';
import type { RegionJob } from './payloads.ts';

/** Rechecks of an agent from this time on, Unix milliseconds; their rows say so, too, and are committed. */
export type DueRecheck = { agentNo: number; atMs: number };

/**
 * Rechecks that are due within this time are one job for each agent, in milliseconds: a thousand new monitors are not a
 * thousand jobs.
 */
const WINDOW_MS = 200;

/**
 * A recheck job may fire before its window is over by the clock of its worker. This far ahead it claims rechecks all
 * the same, in milliseconds.
 */
export const RECHECK_EARLY_MS = 200;

/**
 * Makes the function that has an agent's check worker make the rechecks that wait, from a moment on or now. The job
 * fires when the moment's window is over, so that a caller that commits a row first and calls then has it seen, also
 * where the window's job was there before.
 */
export function createRecheckAdder(): (queue: Queue<RegionJob>, recheck: DueRecheck) => Promise<void> {
  const added = new Map<number, Set<number>>();
  return async (queue, { agentNo, atMs }) => {
    const nowMs = Date.now();
    const window = Math.floor(Math.max(atMs, nowMs) / WINDOW_MS);
    const windows = added.get(agentNo) ?? new Set();
    if (windows.has(window)) return;
    const delay = (window + 1) * WINDOW_MS - nowMs;
    await queue.add(
      'looks',
      { agentNo, looks: true },
      { jobId: `looks-${window}`, delay, removeOnComplete: true, removeOnFail: true },
    );
    for (const past of windows) if ((past + 1) * WINDOW_MS <= nowMs) windows.delete(past);
    added.set(agentNo, windows.add(window));
  };
}
