import type { Change } from '../incidents/change.ts';
import type { MonitorState } from '../incidents/state.ts';

/** The states that customers are notified of; pausing and resuming are their own doing. */
export type EventState = Exclude<MonitorState, 'paused' | 'pending'>;

export type MonitorEvent = `monitor.${EventState}`;

const EVENT_OF_STATE = {
  down: 'monitor.down',
  degraded: 'monitor.degraded',
  up: 'monitor.up',
  unknown: 'monitor.unknown',
  paused: null,
  pending: null,
} as const satisfies Record<MonitorState, MonitorEvent | null>;

const STATE_OF_EVENT = {
  'monitor.down': 'down',
  'monitor.degraded': 'degraded',
  'monitor.up': 'up',
  'monitor.unknown': 'unknown',
} as const satisfies Record<MonitorEvent, EventState>;

/**
 * The event that a change of state causes (D-42, D-44); null for pausing and resuming, of which no channel is notified.
 */
export function eventOf(change: Pick<Change, 'to'>): MonitorEvent | null {
  return EVENT_OF_STATE[change.to];
}

/** The state that an event announces: what comes after `monitor.`. */
export function stateOfEvent(event: MonitorEvent): EventState {
  return STATE_OF_EVENT[event];
}

/** Whether a state is one that events announce. */
export function isEventState(state: MonitorState): state is EventState {
  return EVENT_OF_STATE[state] !== null;
}
