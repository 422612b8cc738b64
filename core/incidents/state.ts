const MONITOR_STATUSES = ['up', 'down', 'degraded', 'paused', 'pending'] as const;
export type MonitorStatus = (typeof MONITOR_STATUSES)[number];

/**
 * A monitor's state in transitions. Customers see `unknown` as status `pending` (D-42): both mean that the state cannot
 * be determined, but only `unknown` was reported to anyone.
 */
export type MonitorState = 'up' | 'degraded' | 'down' | 'unknown' | 'paused' | 'pending';

/** Returns the status that customers see for a state. */
export function statusOf(state: MonitorState): MonitorStatus {
  return state === 'unknown' ? 'pending' : state;
}
