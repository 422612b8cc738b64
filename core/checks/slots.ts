import { freshnessMs } from '../incidents/quorum.ts';
import type { Monitor } from '../monitors/monitor.ts';

/** One entry of an agent's schedule: what a job scheduler in the queue stands for. */
export type ScheduleSlot = { agentNo: number; intervalSeconds: number; slot: number };

/**
 * What a committed change means for the queue. Slots that became occupied need a job scheduler, emptied ones need none
 * any more, and the agents of `rechecks` have monitors to check now. Those of `dependents` check monitors behind the
 * changed one, from moments in Unix milliseconds on.
 */
export type ScheduleChange = {
  occupied: ScheduleSlot[];
  emptied: ScheduleSlot[];
  rechecks: number[];
  dependents?: { agentNo: number; atMs: number }[];
};

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

/** Most slots an interval is cut into. Monitors of one slot share a job. */
const MAX_SLOTS = 240;

/** Two slots of an interval are at least this far apart, in milliseconds. */
const MIN_SLOT_WIDTH_MS = 250;

/**
 * Monitors of one slot start within this many milliseconds, and within this part of the interval or before the next
 * slot. So a job never waits long on its own timers.
 */
const MAX_SPREAD_MS = 5000;
const SPREAD_PARTS = 15;

/**
 * So many monitors share a slot before slots between those in use are taken. A job costs as much as dozens of checks,
 * and what is in the hands of one process is checked late when that is killed.
 */
const FULL_SLOT = 1000;

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
 * far apart. Slots that the spread of another one reaches are taken only where all others are full. `occupancy` maps
 * slots to monitors; a slot that is not in it is empty.
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

/** How many slots the starts of one are spread over: a power of two. */
function spreadSlots(intervalSeconds: number): number {
  const everyMs = intervalSeconds * 1000;
  const mostMs = Math.min(MAX_SPREAD_MS, everyMs / SPREAD_PARTS);
  const most = Math.floor((mostMs * countSlots(intervalSeconds)) / everyMs);
  return most < 2 ? 1 : 2 ** Math.floor(Math.log2(most));
}

/**
 * A monitor's own moment in its slot, in milliseconds from the slot's start. It is stable, even, and less than 5 s, so
 * that monitors that share a job do not start as a herd.
 */
export function startOffsetMs(intervalSeconds: number, monitorNo: number): number {
  const everyMs = intervalSeconds * 1000;
  const width = Math.min(MAX_SPREAD_MS, (spreadSlots(intervalSeconds) * everyMs) / countSlots(intervalSeconds));
  return Math.floor((evenFraction(monitorNo) * width) / START_GRID_MS) * START_GRID_MS;
}

/** A number of at least 0 and less than 1 for each monitor; those of any monitors lie evenly. */
export function evenFraction(monitorNo: number): number {
  return (monitorNo * GOLDEN_FRACTION) % 1;
}

/**
 * A tick's job fires this long before the slot it stands for, in milliseconds. Time to fetch it and to read its
 * monitors, so that each probe starts on its own local timer at its own due time.
 */
export const EARLY_MS = 300;

/** A tick that is nearer than this needs no recheck before it, in milliseconds. */
const NEAR_TICK_MS = 2000;

/** A monitor's own moment in each interval: where its slot begins, and how long after that, in milliseconds. */
export type TickMoment = { intervalSeconds: number; slotMs: number; offsetMs: number };

/** The moment of a monitor that is in a slot. */
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
 * How long from a moment to the monitor's next tick after it, in milliseconds: more than 0, a whole interval from a
 * tick itself.
 */
export function msUntilTick({ intervalSeconds, slotMs, offsetMs }: TickMoment, fromMs: number): number {
  const everyMs = intervalSeconds * 1000;
  return (((slotMs + offsetMs - fromMs) % everyMs) + everyMs) % everyMs || everyMs;
}

/**
 * True where the next tick that can see what is new of a monitor is more than two seconds away. The job of a tick that
 * is nearer may have read its monitors already.
 */
export function isTickFar(tick: TickMoment, nowMs: number): boolean {
  const nextMs = msUntilTick(tick, nowMs);
  const isRead = nextMs <= tick.offsetMs + EARLY_MS;
  return (isRead ? nextMs + tick.intervalSeconds * 1000 : nextMs) > NEAR_TICK_MS;
}

/**
 * When to start a check that was due at `dueAtMs`. At its due time, or at once if it is late by at most a second or
 * half the interval, whichever is less. Later than that it starts at a stable point of what is left until its next due
 * time, at most a minute ahead, so that an outage's stale jobs never run all at once. Null (dropped) when the next due
 * time is nearer than the missed one.
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
