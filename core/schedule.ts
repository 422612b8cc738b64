import type { Monitor } from './monitor.ts';

/** One place in an agent's schedule: what a job scheduler in the queue stands for. */
export type SchedulePhase = { agentNo: number; intervalSeconds: number; phase: number };

/**
 * What a committed change means for the queue: phases that became occupied need a job scheduler, emptied ones need none
 * any more, and the agents of `looks` have monitors to look at now.
 */
export type ScheduleChange = { occupied: SchedulePhase[]; emptied: SchedulePhase[]; looks: number[] };

/** A change that means nothing for the queue. */
export function noScheduleChange(): ScheduleChange {
  return { occupied: [], emptied: [], looks: [] };
}

/**
 * True for a monitor that is being checked: enabled and no draft (D-11). A heartbeat is not checked, it waits for
 * pings.
 */
export function isScheduled(monitor: Pick<Monitor, 'enabled' | 'type' | 'target'>): boolean {
  return monitor.enabled && monitor.target !== '' && monitor.type !== 'heartbeat';
}
