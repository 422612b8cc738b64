import type { Queue } from 'bullmq';
import type { CheckJob, LookJob } from './payloads.ts';

/** Looks that are asked for within this time are one job for each agent, in milliseconds: a thousand new monitors are not a thousand jobs. */
const SLOT_MS = 200;

/**
 * Makes the function that has an agent's check worker take the looks that wait. The job fires when the slot of the call is over, so that
 * whoever commits a row first and calls then has it seen, also where the slot's job was there before.
 */
export function createLookAdder(): (queue: Queue<CheckJob | LookJob>, agentNo: number) => Promise<void> {
  const added = new Map<number, number>();
  return async (queue, agentNo) => {
    const nowMs = Date.now();
    const slot = Math.floor(nowMs / SLOT_MS);
    if (added.get(agentNo) === slot) return;
    const delay = (slot + 1) * SLOT_MS - nowMs;
    await queue.add('first looks', { agentNo, looks: true }, { jobId: `looks-${slot}`, delay, removeOnComplete: true, removeOnFail: true });
    added.set(agentNo, slot);
  };
}
