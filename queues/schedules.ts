import type { Queue } from 'bullmq';
import { EARLY_MS, slotStartMs, type ScheduleSlot } from '../core/checks/slots.ts';
import type { QueueBackend } from './connection.ts';
import type { RegionJob } from './payloads.ts';

/**
 * Delay beyond its interval after which a scheduler's next tick counts as lost, in milliseconds. A tick of a killed
 * worker is read again after some 20 s.
 */
const OVERDUE_MS = 30_000;

/**
 * How far beyond its interval a scheduler's next tick may be ahead, in milliseconds; a later one dates from before the
 * clock was set back.
 */
const AHEAD_MS = 1000;

/** Job schedulers read per page. */
const PAGE = 500;

/** Adds the job scheduler of an occupied slot; an existing one stays unchanged. */
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

/** Removes the job scheduler of an empty slot, with its waiting job. */
export async function removeSlot(queue: Queue<RegionJob>, entry: ScheduleSlot): Promise<void> {
  await queue.removeJobScheduler(schedulerId(entry));
}

/** Returns the start of a tick's slot, in Unix milliseconds: the job's own time plus the head start. */
export function slotBeginsAt(jobId: string): number {
  return Number(jobId.slice(jobId.lastIndexOf(':') + 1)) + EARLY_MS;
}

/**
 * Reconciles a queue's job schedulers with the occupied slots. It adds missing ones and those that lost their job, and
 * removes surplus ones; one from before the clock was set back is recreated, because BullMQ would continue from its
 * time. Returns how many it repaired. Reads the schedulers themselves only if `thorough` or if their number is wrong.
 * Once `signal` is aborted, it repairs no further one.
 */
export async function reconcileQueue(
  queue: Queue<RegionJob>,
  listOccupied: () => Promise<readonly ScheduleSlot[]>,
  when: { nowMs: number; thorough: boolean; exclusively: QueueBackend['exclusively']; signal?: AbortSignal },
): Promise<{ added: number; removed: number }> {
  if (!when.thorough) {
    const count = await queue.getJobSchedulersCount();
    if (count === (await listOccupied()).length) return { added: 0, removed: 0 };
  }
  const present = await readSchedulers(queue);
  // After the queue: a slot that is occupied meanwhile must not count as surplus, nor an emptied one as missing.
  const wanted = new Map((await listOccupied()).map((entry) => [schedulerId(entry), entry]));
  let [added, removed] = [0, 0];
  for (const id of present.keys()) {
    if (wanted.has(id)) continue;
    if (when.signal?.aborted === true) break;
    await when.exclusively(() => queue.removeJobScheduler(id));
    removed += 1;
  }
  for (const [id, entry] of wanted) {
    const nextMs = present.get(id);
    const isOld = isAhead(nextMs, entry, when.nowMs);
    if (!isOld && !isMissing(nextMs, entry, when.nowMs)) continue;
    if (when.signal?.aborted === true) break;
    if (isOld) await when.exclusively(() => queue.removeJobScheduler(id));
    await when.exclusively(() => addSlot(queue, entry));
    added += 1;
  }
  return { added, removed };
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

/** BullMQ takes an offset of 0 for "no alignment", so a slot with that offset fires a millisecond later. */
function schedulerOffset(entry: ScheduleSlot): number {
  const every = entry.intervalSeconds * 1000;
  return (slotStartMs(entry.intervalSeconds, entry.slot) - EARLY_MS + every) % every || 1;
}

/** Rechecks of an agent from this time on, Unix milliseconds; their rows have the time too, and are committed. */
export type DueRecheck = { agentNo: number; atMs: number };

/**
 * Window within which an agent's due rechecks share one job, in milliseconds: a thousand new monitors are not a
 * thousand jobs.
 */
const WINDOW_MS = 200;

/**
 * How far ahead a recheck job claims rechecks, in milliseconds: by its worker's clock it may fire before its window
 * ends.
 */
export const RECHECK_EARLY_MS = 200;

/**
 * Creates the function that enqueues an agent's waiting rechecks, from a given time on or now. The job fires after the
 * time's window, so it finds every row committed before the call, even if the window's job already existed.
 */
export function createRecheckAdder(): (queue: Queue<RegionJob>, recheck: DueRecheck) => Promise<void> {
  const added = new Map<number, Set<number>>();
  let addedAtMs = 0;
  return async (queue, { agentNo, atMs }) => {
    const nowMs = Date.now();
    // When the clock is set back, the jobs of these windows are removed, and their times come again.
    if (nowMs < addedAtMs) added.clear();
    addedAtMs = nowMs;
    const window = Math.floor(Math.max(atMs, nowMs) / WINDOW_MS);
    const windows = added.get(agentNo) ?? new Set();
    if (windows.has(window)) return;
    // Not after the job is added: the clock may be set back meanwhile.
    added.set(agentNo, windows);
    const delay = (window + 1) * WINDOW_MS - nowMs;
    await queue.add(
      'looks',
      { agentNo, looks: true },
      { jobId: `looks-${window}`, delay, removeOnComplete: true, removeOnFail: true },
    );
    for (const past of windows) if ((past + 1) * WINDOW_MS <= nowMs) windows.delete(past);
    windows.add(window);
  };
}
