import type { Monitor } from '../monitors/monitor.ts';

/** One entry of an agent's schedule: what a job scheduler in the queue stands for. */
export type ScheduleSlot = { agentNo: number; intervalSeconds: number; slot: number };

/**
 * What a committed change means for the queue: slots that became occupied need a job scheduler, emptied ones need none
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
