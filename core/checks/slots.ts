import { freshnessMs } from '../incidents/quorum.ts';
import type { Monitor } from '../monitors/monitor.ts';

/** One entry of an agent's schedule: what a job scheduler in the queue stands for. */
export type ScheduleSlot = { agentNo: number; intervalSeconds: number; slot: number };

/**
 * What a committed change means for the queue. Slots that became occupied need a job scheduler, emptied ones need none
 * any more, and the agents of `rechecks` have monitors to check now.
 */
export type ScheduleChange = { occupied: ScheduleSlot[]; emptied: ScheduleSlot[]; rechecks: number[] };

/** A change that means nothing for the queue. */
export function noScheduleChange(): ScheduleChange {
  return { occupied: [], emptied: [], rechecks: [] };
}

/**
 * True for a monitor that is being checked: enabled and no draft (D-11). A heartbeat is not checked, it waits for
 * pings.
 */
export function isScheduled(monitor: Pick<Monitor, 'enabled' | 'type' | 'target'>): boolean {
  return monitor.enabled && monitor.target !== '' && monitor.type !== 'heartbeat';
}

/** What decides whether a monitor's checks are overdue. */
export type ScheduledMonitor = Pick<
  Monitor,
  'enabled' | 'type' | 'target' | 'intervalSeconds' | 'createdAt' | 'updatedAt'
>;

/**
 * Whether the last check of a monitor is older than a result counts: its status may be untrue (D-455). Without a
 * check it counts from creation, and after an edit or a pause from then. Only monitors that are being checked can be.
 */
export function isOverdue(monitor: ScheduledMonitor, lastCheckAtMs: number | undefined, nowMs: number): boolean {
  if (!isScheduled(monitor)) return false;
  const sinceMs = Math.max(lastCheckAtMs ?? 0, monitor.createdAt * 1000, monitor.updatedAt * 1000);
  return nowMs - sinceMs > freshnessMs(monitor.intervalSeconds);
}

/**
 * Counts the overdue monitors. `noChecksSinceMs` is the newest check of all where every monitor that is being checked
 * is overdue; null where one is not, or none was ever checked.
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

/** Most slots an interval is cut into; with more monitors than slots, monitors of one slot share a job. */
const MAX_SLOTS = 240;

/** Two slots of an interval are at least this far apart, in milliseconds. */
const MIN_SLOT_WIDTH_MS = 250;

/**
 * Monitors of one slot start within this stretch of it at the most, in milliseconds: a job never waits long on its own
 * timers.
 */
const MAX_SPREAD_MS = 5000;

/**
 * Starts of one slot lie on moments this far apart, in milliseconds. Waking up once for ten checks costs less than
 * waking up for each of them (docs/performance.md).
 */
const START_GRID_MS = 10;

/** Fractional part of the golden ratio: its multiples fall evenly into a unit interval, however many are taken. */
const GOLDEN_FRACTION = 0.618_033_988_749_895;

/** How many slots an interval has: 1 to 240, at least 250 ms apart. */
export function countSlots(intervalSeconds: number): number {
  return Math.max(1, Math.min(MAX_SLOTS, Math.floor((intervalSeconds * 1000) / MIN_SLOT_WIDTH_MS)));
}

/** Where a slot begins within its interval, in whole milliseconds from the interval's start. */
export function slotStartMs(intervalSeconds: number, slot: number): number {
  return Math.floor((slot * intervalSeconds * 1000) / countSlots(intervalSeconds));
}

/**
 * The emptiest slot; among equals the first in bit-reversed order (0, 1/2, 1/4, 3/4, ...), so that few monitors lie
 * far apart. `occupancy` maps slots to monitors; a slot that is not in it is empty.
 */
export function chooseSlot(intervalSeconds: number, occupancy: ReadonlyMap<number, number>): number {
  const slots = countSlots(intervalSeconds);
  const bits = Math.ceil(Math.log2(slots));
  let best = 0;
  let fewest = Number.POSITIVE_INFINITY;
  for (let index = 0; index < 2 ** bits; index += 1) {
    const slot = reverseBits(index, bits);
    const monitors = occupancy.get(slot) ?? 0;
    if (slot < slots && monitors < fewest) {
      best = slot;
      fewest = monitors;
      if (fewest === 0) break;
    }
  }
  return best;
}

/**
 * A monitor's own moment inside its slot, in milliseconds from the slot's start. It is stable, even, and within both
 * the slot's width and 5 s, so that monitors that share a job do not start as a herd.
 */
export function startOffsetMs(intervalSeconds: number, monitorNo: number): number {
  const width = Math.min(MAX_SPREAD_MS, (intervalSeconds * 1000) / countSlots(intervalSeconds));
  return Math.floor((((monitorNo * GOLDEN_FRACTION) % 1) * width) / START_GRID_MS) * START_GRID_MS;
}

/** A tick that is nearer than this needs no recheck before it, in milliseconds. */
const NEAR_TICK_MS = 2000;

/** A monitor's own moment in each interval. */
export type TickMoment = { intervalSeconds: number; slot: number; monitorNo: number };

/**
 * How long from a moment to the monitor's next tick after it, in milliseconds: more than 0, a whole interval from a
 * tick itself.
 */
export function msUntilTick({ intervalSeconds, slot, monitorNo }: TickMoment, fromMs: number): number {
  const everyMs = intervalSeconds * 1000;
  const startMs = slotStartMs(intervalSeconds, slot) + startOffsetMs(intervalSeconds, monitorNo);
  return (((startMs - fromMs) % everyMs) + everyMs) % everyMs || everyMs;
}

/**
 * True where a monitor that has something new to be seen should not wait for its next tick: that is more than two
 * seconds away.
 */
export function isTickFar(tick: TickMoment, nowMs: number): boolean {
  return msUntilTick(tick, nowMs) > NEAR_TICK_MS;
}

/**
 * When to start a check that was due at `dueAtMs`: at its due time, or at once where it is up to a second late. Later
 * than that it starts at a stable point of what is left until its next due time, at most a minute ahead, so that an
 * outage's stale jobs never run all at once. Null (dropped) when the next due time is nearer than the missed one.
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
  return nowMs + Math.floor(((check.monitorNo * GOLDEN_FRACTION) % 1) * Math.min(untilNextMs / 2, 60_000));
}

function reverseBits(index: number, bits: number): number {
  let reversed = 0;
  for (let bit = 0; bit < bits; bit += 1) reversed |= ((index >> bit) & 1) << (bits - 1 - bit);
  return reversed;
}
