import type { Monitor, MonitorType } from './monitor.ts';

/** One place in an agent's schedule: what a job scheduler in the queue stands for. */
export type SchedulePhase = { agentNo: number; intervalSeconds: number; phase: number };

/** What a committed change means for the queue: phases that became occupied need a job scheduler, emptied ones need none any more. */
export type ScheduleChange = { occupied: SchedulePhase[]; emptied: SchedulePhase[] };

/** Types whose checks are jobs of a schedule; the others wait until their probes exist, and heartbeats wait for pings. */
const SCHEDULED_TYPES: ReadonlySet<MonitorType> = new Set(['http']);

/** True for a monitor that is being checked: enabled, of a scheduled type, and no draft (D-11). */
export function isScheduled(monitor: Pick<Monitor, 'enabled' | 'type' | 'target'>): boolean {
  return monitor.enabled && monitor.target !== '' && SCHEDULED_TYPES.has(monitor.type);
}
