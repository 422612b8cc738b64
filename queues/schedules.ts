import type { Queue } from 'bullmq';
import { EARLY_MS, slotStartMs, type ScheduleSlot } from '../core/checks/slots.ts';
import type { QueueBackend } from './connection.ts';
import type { RegionJob } from './payloads.ts';

/**
 * A scheduler whose next tick is overdue by more than this, in milliseconds beyond its interval, has lost its job. A
 * tick that a killed worker had in its hand is read again after some 20 s.
 */
const OVERDUE_MS = 30_000;

/**
 * Schedulers whose next tick lies further ahead than this and their interval, in milliseconds, are of a time that was
 * set back.
 */
const AHEAD_MS = 1000;

/** Job schedulers read in one round. */
const PAGE = 500;

/** Gives an occupied slot its job scheduler; an existing one stays as it is. */
export async function addSlot(queue: Queue<RegionJob>, entry: ScheduleSlot): Promise<void> {
  const every = entry.intervalSeconds * 1000;
  await queue.upsertJobScheduler(
    schedulerId(entry),
    { every, offset: schedulerOffset(entry) },
    {
      name: `every ${entry.intervalSeconds} s, slot ${entry.slot}`,
      data: { agentNo: entry.agentNo, intervalSeconds: entry.intervalSeconds, phase: entry.slot },
    },
  );
}

/** Takes the job scheduler of an empty slot away, with its waiting job. */
export async function removeSlot(queue: Queue<RegionJob>, entry: ScheduleSlot): Promise<void> {
  await queue.removeJobScheduler(schedulerId(entry));
}

/** The moment, in Unix milliseconds, at which the slot of a tick begins: the job's own time plus the head start. */
export function slotBeginsAt(jobId: string): number {
  return Number(jobId.slice(jobId.lastIndexOf(':') + 1)) + EARLY_MS;
}

/**
 * Makes a queue's job schedulers exactly those of the occupied slots. It adds the missing ones and those that lost
 * their job, and removes the others; one of a time that was set back is made anew, for BullMQ would go on from there.
 * Returns how many it had to mend. Reads the schedulers themselves only where `thorough` or where their number is
 * wrong.
 */
export async function reconcileQueue(
  queue: Queue<RegionJob>,
  occupied: readonly ScheduleSlot[],
  when: { nowMs: number; thorough: boolean; exclusively: QueueBackend['exclusively'] },
): Promise<{ added: number; removed: number }> {
  if (!when.thorough && (await queue.getJobSchedulersCount()) === occupied.length) return { added: 0, removed: 0 };
  const wanted = new Map(occupied.map((entry) => [schedulerId(entry), entry]));
  const present = await readSchedulers(queue);
  const ahead = [...wanted].filter(([id, entry]) => isAhead(present.get(id), entry, when.nowMs)).map(([id]) => id);
  const surplus = [...present.keys()].filter((id) => !wanted.has(id));
  for (const id of [...ahead, ...surplus]) {
    await when.exclusively(() => queue.removeJobScheduler(id));
    present.delete(id);
  }
  const missing = [...wanted].filter(([id, entry]) => isMissing(present.get(id), entry, when.nowMs));
  for (const [, entry] of missing) await when.exclusively(() => addSlot(queue, entry));
  return { added: missing.length, removed: surplus.length };
}

async function readSchedulers(queue: Queue<RegionJob>): Promise<Map<string, number>> {
  const present = new Map<string, number>();
  for (let start = 0; ; start += PAGE) {
    const page = await queue.getJobSchedulers(start, start + PAGE - 1, true);
    for (const scheduler of page) present.set(scheduler.key, scheduler.next ?? 0);
    if (page.length < PAGE) return present;
  }
}

function isMissing(nextMs: number | undefined, entry: ScheduleSlot, nowMs: number): boolean {
  return nextMs === undefined || nextMs < nowMs - entry.intervalSeconds * 1000 - OVERDUE_MS;
}

function isAhead(nextMs: number | undefined, entry: ScheduleSlot, nowMs: number): boolean {
  return nextMs !== undefined && nextMs > nowMs + entry.intervalSeconds * 1000 + AHEAD_MS;
}

function schedulerId(entry: ScheduleSlot): string {
  return `${entry.intervalSeconds}s-phase-${entry.slot}`;
}

/** BullMQ takes an offset of 0 for "no alignment", so that the slot that would have it fires a millisecond later. */
function schedulerOffset(entry: ScheduleSlot): number {
  const every = entry.intervalSeconds * 1000;
  return (slotStartMs(entry.intervalSeconds, entry.slot) - EARLY_MS + every) % every || 1;
}

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
