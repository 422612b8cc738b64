import type { Queue } from 'bullmq';
import type { RegionJob } from './payloads.ts';

/** Looks of an agent from this time on, Unix milliseconds; their rows say so, too, and are committed. */
export type DueLook = { agentNo: number; atMs: number };

/**
 * Looks that are due within this time are one job for each agent, in milliseconds: a thousand new monitors are not a
 * thousand jobs.
 */
const SLOT_MS = 200;

/**
 * A look job may fire before its slot is over by the clock of its worker; this far ahead it takes looks all the same,
 * in milliseconds.
 */
export const LOOK_EARLY_MS = 200;

/**
 * Makes the function that has an agent's check worker take the looks that wait, from a moment on or now. The job fires
 * when the moment's slot is over, so that whoever commits a row first and calls then has it seen, also where the slot's
 * job was there before.
 */
export function createLookAdder(): (queue: Queue<RegionJob>, look: DueLook) => Promise<void> {
  const added = new Map<number, Set<number>>();
  return async (queue, { agentNo, atMs }) => {
    const nowMs = Date.now();
    const slot = Math.floor(Math.max(atMs, nowMs) / SLOT_MS);
    const slots = added.get(agentNo) ?? new Set();
    if (slots.has(slot)) return;
    const delay = (slot + 1) * SLOT_MS - nowMs;
    await queue.add(
      'looks',
      { agentNo, looks: true },
      { jobId: `looks-${slot}`, delay, removeOnComplete: true, removeOnFail: true },
    );
    for (const past of slots) if ((past + 1) * SLOT_MS <= nowMs) slots.delete(past);
    added.set(agentNo, slots.add(slot));
  };
}
