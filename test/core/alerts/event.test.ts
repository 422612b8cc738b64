import test from 'ava';
import { shouldNotify } from '../../../core/alerts/channel.ts';
import { eventOf, stateOfEvent, type MonitorEvent } from '../../../core/alerts/event.ts';
import type { MonitorState } from '../../../core/incidents/state.ts';

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

test('each event maps back to the state that caused it', (t) => {
  const causing = EVENTS.flatMap(([to, event]) => (event === null ? [] : [{ to, event }]));
  t.deepEqual(
    causing.map(({ event }) => stateOfEvent(event) as MonitorState),
    causing.map(({ to }) => to),
  );
  t.is(causing.length, 4);
});

test('webhooks are notified of every event, including the first up of a new monitor', (t) => {
  t.true(shouldNotify('webhook', { to: 'up' }, null));
  t.true(shouldNotify('webhook', { to: 'down' }, 'up'));
  t.true(shouldNotify('webhook', { to: 'unknown' }, null));
});

for (const type of ['telegram', 'slack', 'email'] as const) {
  test(`${type} is notified of problems and recoveries, but not of the first up of a new monitor`, (t) => {
    t.true(shouldNotify(type, { to: 'down' }, null));
    t.true(shouldNotify(type, { to: 'degraded' }, 'up'));
    t.true(shouldNotify(type, { to: 'unknown' }, 'up'));
    t.true(shouldNotify(type, { to: 'up' }, 'down'));
    t.true(shouldNotify(type, { to: 'up' }, 'degraded'));
    t.true(shouldNotify(type, { to: 'up' }, 'unknown'));
    t.false(shouldNotify(type, { to: 'up' }, null));
    t.false(shouldNotify(type, { to: 'up' }, 'up'));
  });
}

test('no channel is notified of pausing or resuming', (t) => {
  for (const type of ['webhook', 'telegram', 'slack', 'email'] as const) {
    t.false(shouldNotify(type, { to: 'paused' }, 'up'));
    t.false(shouldNotify(type, { to: 'pending' }, 'down'));
  }
});
