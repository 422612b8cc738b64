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
  t.deepEqual(
    told.map(({ event }) => stateOfEvent(event) as MonitorState),
    told.map(({ to }) => to),
  );
  t.is(told.length, 4);
});

test('webhooks hear of every event, the first up of a new monitor included', (t) => {
  t.true(hears('webhook', { to: 'up' }, null));
  t.true(hears('webhook', { to: 'down' }, 'up'));
  t.true(hears('webhook', { to: 'unknown' }, null));
});

for (const type of ['telegram', 'slack'] as const) {
  test(`${type} hears of bad news and of its end, but not that a new monitor is up`, (t) => {
    t.true(hears(type, { to: 'down' }, null));
    t.true(hears(type, { to: 'degraded' }, 'up'));
    t.true(hears(type, { to: 'unknown' }, 'up'));
    t.true(hears(type, { to: 'up' }, 'down'));
    t.true(hears(type, { to: 'up' }, 'degraded'));
    t.true(hears(type, { to: 'up' }, 'unknown'));
    t.false(hears(type, { to: 'up' }, null));
    t.false(hears(type, { to: 'up' }, 'up'));
  });
}

test('nobody hears of pausing and resuming', (t) => {
  for (const type of ['webhook', 'telegram', 'slack'] as const) {
    t.false(hears(type, { to: 'paused' }, 'up'));
    t.false(hears(type, { to: 'pending' }, 'down'));
  }
});
