import type { Change } from '../incidents/change.ts';
import type { MonitorState } from '../incidents/state.ts';

/** States that cause notifications; pausing and resuming are the customers' own actions. */
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

/** Returns the event of a change of state (D-42, D-44); null for pausing and resuming, which notify no channel. */
export function eventOf(change: Pick<Change, 'to'>): MonitorEvent | null {
  return EVENT_OF_STATE[change.to];
}

/** Returns the state that an event announces: the part after `monitor.`. */
export function stateOfEvent(event: MonitorEvent): EventState {
  return STATE_OF_EVENT[event];
}

/** Reports whether events announce a state. */
export function isEventState(state: MonitorState): state is EventState {
  return EVENT_OF_STATE[state] !== null;
}
