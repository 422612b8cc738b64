const MONITOR_STATUSES = ['up', 'down', 'degraded', 'paused', 'pending'] as const;
export type MonitorStatus = (typeof MONITOR_STATUSES)[number];

/**
 * A monitor's state as transitions know it. Customers see `unknown` as status `pending` (D-42): both mean that we
 * cannot say, but only `unknown` was reported to anyone.
 */
export type MonitorState = 'up' | 'degraded' | 'down' | 'unknown' | 'paused' | 'pending';

/** The status that customers see of a state. */
export function statusOf(state: MonitorState): MonitorStatus {
  return state === 'unknown' ? 'pending' : state;
}
