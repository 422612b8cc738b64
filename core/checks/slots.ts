import { freshnessMs } from '../incidents/quorum.ts';
import type { Monitor } from '../monitors/monitor.ts';

/** One entry of an agent's schedule, with a job scheduler in the queue. */
export type ScheduleSlot = { agentNo: number; intervalSeconds: number; slot: number };

/**
 * Effect of a committed change on the queue. Slots that became occupied need a job scheduler, emptied ones no longer
 * do, and the agents of `rechecks` have monitors to check now. Those of `dependents` check monitors behind the changed
 * one, from the given moments (Unix milliseconds) on.
 */
export type ScheduleChange = {
  occupied: ScheduleSlot[];
  emptied: ScheduleSlot[];
  rechecks: number[];
  dependents?: { agentNo: number; atMs: number }[];
};

/** Returns a change without effect on the queue. */
export function noScheduleChange(): ScheduleChange {
  return { occupied: [], emptied: [], rechecks: [] };
}

/**
 * Reports whether a monitor is being checked: enabled and no draft (D-11). A heartbeat is not checked, it waits for
 * pings.
 */
export function isScheduled(monitor: Pick<Monitor, 'enabled' | 'type' | 'target'>): boolean {
  return monitor.enabled && monitor.target !== '' && monitor.type !== 'heartbeat';
}

/** The fields that decide whether a monitor's checks are overdue. */
export type ScheduledMonitor = Pick<
  Monitor,
  'enabled' | 'type' | 'target' | 'intervalSeconds' | 'createdAt' | 'updatedAt'
>;

/**
 * Reports whether the last check of a monitor is too old to count: its status may be untrue (D-455). The time counts
 * from creation if there was no check, and from the last edit or pause. Only monitors that are being checked can be
 * overdue.
 */
export function isOverdue(monitor: ScheduledMonitor, lastCheckAtMs: number | undefined, nowMs: number): boolean {
  if (!isScheduled(monitor)) return false;
  const sinceMs = Math.max(lastCheckAtMs ?? 0, monitor.createdAt * 1000, monitor.updatedAt * 1000);
  return nowMs - sinceMs > freshnessMs(monitor.intervalSeconds);
}

/**
 * Counts the overdue monitors. `noChecksSinceMs` is the newest check of all if every scheduled monitor is overdue; null
 * if one is not, or none was ever checked.
 */
export function summarizeOverdue(
  monitors: readonly (ScheduledMonitor & { lastCheckAtMs: number | undefined })[],
  nowMs: number,
): { overdue: number; noChecksSinceMs: number | null } {
  const scheduled = monitors.filter(isScheduled);
  const overdue = scheduled.filter((monitor) => isOverdue(monitor, monitor.lastCheckAtMs, nowMs)).length;
  const newestMs = scheduled.reduce((newest, { lastCheckAtMs = 0 }) => Math.max(newest, lastCheckAtMs), 0);
  const isAll = overdue > 0 && overdue === scheduled.length;
  return { overdue, noChecksSinceMs: isAll && newestMs > 0 ? newestMs : null };
}

/** Maximum number of slots per interval. Monitors of one slot share a job. */
const MAX_SLOTS = 240;

/** Minimum width of a slot, in milliseconds. */
const MIN_SLOT_WIDTH_MS = 250;

/**
 * Span of the starts in one slot, in milliseconds; also limited to this part of the interval or to the next slot. So a
 * job never waits long on its own timers.
 */
const MAX_SPREAD_MS = 5000;
const SPREAD_PARTS = 15;

/**
 * Number of monitors in a slot before slots between those in use are taken. A job costs as much as dozens of checks,
 * and all checks of a job are late if its process is killed.
 */
const FULL_SLOT = 1000;

/**
 * Grid of the starts in one slot, in milliseconds. Waking up once for ten checks costs less than for each of them
 * (docs/performance.md).
 */
const START_GRID_MS = 10;

/** Fractional part of the golden ratio: any number of its multiples is evenly distributed over a unit interval. */
const GOLDEN_FRACTION = 0.618_033_988_749_895;

/** Returns the number of slots of an interval: 1 to 240, at least 250 ms apart. */
export function countSlots(intervalSeconds: number): number {
  return Math.max(1, Math.min(MAX_SLOTS, Math.floor((intervalSeconds * 1000) / MIN_SLOT_WIDTH_MS)));
}

/** Returns the start of a slot within its interval, in whole milliseconds. */
export function slotStartMs(intervalSeconds: number, slot: number): number {
  return Math.floor((slot * intervalSeconds * 1000) / countSlots(intervalSeconds));
}

/**
 * Chooses the emptiest slot; among equals the first in bit-reversed order (0, 1/2, 1/4, 3/4, ...), so that few monitors
 * are far apart. Slots within the spread of another one are taken only if all others are full. `occupancy` maps slots
 * to monitors; a missing slot is empty.
 */
export function chooseSlot(intervalSeconds: number, occupancy: ReadonlyMap<number, number>): number {
  const slots = countSlots(intervalSeconds);
  const bits = Math.ceil(Math.log2(slots));
  let apart = 2 ** bits / spreadSlots(intervalSeconds);
  let best = 0;
  let fewest = Number.POSITIVE_INFINITY;
  for (let index = 0; index < 2 ** bits && fewest > 0; index += 1) {
    if (index >= apart) {
      if (fewest < FULL_SLOT) break;
      apart *= 2;
    }
    const slot = reverseBits(index, bits);
    const monitors = occupancy.get(slot) ?? 0;
    if (slot < slots && monitors < fewest) {
      best = slot;
      fewest = monitors;
    }
  }
  return best;
}

/** Returns the number of slots over which the starts of one are spread: a power of two. */
function spreadSlots(intervalSeconds: number): number {
  const everyMs = intervalSeconds * 1000;
  const mostMs = Math.min(MAX_SPREAD_MS, everyMs / SPREAD_PARTS);
  const most = Math.floor((mostMs * countSlots(intervalSeconds)) / everyMs);
  return most < 2 ? 1 : 2 ** Math.floor(Math.log2(most));
}

/**
 * Returns a monitor's own offset in its slot, in milliseconds. It is stable, evenly distributed, and less than 5 s, so
 * that monitors that share a job do not all start at once.
 */
export function startOffsetMs(intervalSeconds: number, monitorNo: number): number {
  const everyMs = intervalSeconds * 1000;
  const width = Math.min(MAX_SPREAD_MS, (spreadSlots(intervalSeconds) * everyMs) / countSlots(intervalSeconds));
  return Math.floor((evenFraction(monitorNo) * width) / START_GRID_MS) * START_GRID_MS;
}

/** Returns a number of at least 0 and less than 1 for each monitor, evenly distributed for any monitors. */
export function evenFraction(monitorNo: number): number {
  return (monitorNo * GOLDEN_FRACTION) % 1;
}

/**
 * A tick's job fires this long before its slot, in milliseconds. That is time to fetch it and to read its monitors, so
 * that each probe starts on its own local timer at its own due time.
 */
export const EARLY_MS = 300;

/** A tick nearer than this makes a recheck before it unnecessary, in milliseconds. */
const NEAR_TICK_MS = 2000;

/** A monitor's own moment in each interval: the start of its slot, and the offset from there, in milliseconds. */
export type TickMoment = { intervalSeconds: number; slotMs: number; offsetMs: number };

/** Returns the tick moment of a monitor in a slot. */
export function tickMoment(
  { intervalSeconds, slot }: Pick<ScheduleSlot, 'intervalSeconds' | 'slot'>,
  monitorNo: number,
): TickMoment {
  return {
    intervalSeconds,
    slotMs: slotStartMs(intervalSeconds, slot),
    offsetMs: startOffsetMs(intervalSeconds, monitorNo),
  };
}

/**
 * Returns the time from a moment to the monitor's next tick after it, in milliseconds: more than 0, a whole interval
 * from a tick itself.
 */
export function msUntilTick({ intervalSeconds, slotMs, offsetMs }: TickMoment, fromMs: number): number {
  const everyMs = intervalSeconds * 1000;
  return (((slotMs + offsetMs - fromMs) % everyMs) + everyMs) % everyMs || everyMs;
}

/**
 * Reports whether the next tick to use a monitor's new settings is more than two seconds away. The job of a nearer tick
 * may have read its monitors already.
 */
export function isTickFar(tick: TickMoment, nowMs: number): boolean {
  const nextMs = msUntilTick(tick, nowMs);
  const isRead = nextMs <= tick.offsetMs + EARLY_MS;
  return (isRead ? nextMs + tick.intervalSeconds * 1000 : nextMs) > NEAR_TICK_MS;
}

/**
 * Plans the start of a check that was due at `dueAtMs`. It starts at its due time, or at once if it is late by at most
 * a second or half the interval, whichever is less. Later than that it starts at a stable point in the time until its
 * next due time, at most a minute ahead, so that an outage's stale jobs never run all at once. Null (dropped) if the
 * next due time is nearer than the missed one.
 */
export function planStart(
  check: { dueAtMs: number; intervalMs: number; monitorNo: number },
  nowMs: number,
): number | null {
  const lateMs = nowMs - check.dueAtMs;
  if (lateMs <= 0) return check.dueAtMs;
  const untilNextMs = check.intervalMs - (lateMs % check.intervalMs);
  if (lateMs <= Math.min(1000, check.intervalMs / 2)) return nowMs;
  if (untilNextMs < lateMs) return null;
  return nowMs + Math.floor(evenFraction(check.monitorNo) * Math.min(untilNextMs / 2, 60_000));
}

function reverseBits(index: number, bits: number): number {
  let reversed = 0;
  for (let bit = 0; bit < bits; bit += 1) reversed |= ((index >> bit) & 1) << (bits - 1 - bit);
  return reversed;
}
