import test from 'ava';
import { eventOf, hears, stateOfEvent, type MonitorEvent } from '../../core/event.ts';
import type { MonitorState } from '../../core/state.ts';

const EVENTS: readonly [MonitorState, MonitorEvent | null][] = [
  ['down', 'monitor.down'],
  ['degraded', 'monitor.degraded'],
  ['up', 'monitor.up'],
  ['unknown', 'monitor.unknown'],
  ['paused', null],
  ['pending', null],
];

for (const [to, event] of EVENTS) {
  test(`a change to ${to} causes ${event ?? 'no event'}`, (t) => {
    t.is(eventOf({ to }), event);
  });
}

test('an event announces the state that it was caused by', (t) => {
  const told = EVENTS.flatMap(([to, event]) => (event === null ? [] : [{ to, event }]));
  t.deepEqual(told.map(({ event }) => stateOfEvent(event) as MonitorState), told.map(({ to }) => to));
  t.is(told.length, 4);
});

test('webhooks hear of every event, the first up of a new monitor included', (t) => {
  t.true(hears('webhook', { from: 'pending', to: 'up' }));
  t.true(hears('webhook', { from: 'up', to: 'down' }));
  t.true(hears('webhook', { from: 'pending', to: 'unknown' }));
});

for (const type of ['telegram', 'slack'] as const) {
  test(`${type} hears of bad news and of its end, but not that a new monitor is up`, (t) => {
    t.true(hears(type, { from: 'pending', to: 'down' }));
    t.true(hears(type, { from: 'up', to: 'degraded' }));
    t.true(hears(type, { from: 'up', to: 'unknown' }));
    t.true(hears(type, { from: 'down', to: 'up' }));
    t.true(hears(type, { from: 'degraded', to: 'up' }));
    t.true(hears(type, { from: 'unknown', to: 'up' }));
    t.false(hears(type, { from: 'pending', to: 'up' }));
  });
}

test('nobody hears of pausing and resuming', (t) => {
  for (const type of ['webhook', 'telegram', 'slack'] as const) {
    t.false(hears(type, { from: 'up', to: 'paused' }));
    t.false(hears(type, { from: 'paused', to: 'pending' }));
  }
});
