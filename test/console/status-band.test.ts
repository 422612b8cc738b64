import test from 'ava';
import { bandParts } from '../../console/plots/series.ts';

const INCIDENT = {
  id: 'inc_1',
  monitor_id: 'mon_1',
  monitor_name: 'Shop',
  status: 'open',
  state: 'down',
  reason: 'HTTP 503',
  sources_down: [],
  started_at: 130,
  detected_at: 130,
  resolved_at: null,
  resolution: null,
  duration_seconds: 50,
  acknowledged_at: null,
  acknowledged_by: null,
  merged: null,
} as unknown as Parameters<typeof bandParts>[0]['incidents'][number];

const INPUT = {
  monitor: { status: 'up', state_since: 0, created_at: 0 },
  steps: [
    { at: 60, uptime_percent: 100 },
    { at: 120, uptime_percent: 50 },
  ],
  gaps: [],
  maintenance: [],
  incidents: [],
  span: { from: 0, to: 180 },
  knownFrom: 0,
} as const;

const statesOf = (input: Parameters<typeof bandParts>[0]) =>
  bandParts(input).map(({ state, from, to }) => `${state} ${from}-${to}`);

test('a monitor that was never up has no green part before it is down', (t) => {
  const steps = [
    { at: 60, uptime_percent: null },
    { at: 120, uptime_percent: 0 },
  ];
  const monitor = { status: 'down', state_since: 130, created_at: 90 } as const;
  t.deepEqual(statesOf({ ...INPUT, monitor, steps, incidents: [INCIDENT] }), ['none 90-180', 'down 130-180']);
});

test('no part of the band begins before the monitor was created', (t) => {
  const monitor = { status: 'up', state_since: 90, created_at: 90 } as const;
  t.deepEqual(statesOf({ ...INPUT, monitor }), ['up 90-180']);
  t.deepEqual(statesOf({ ...INPUT, monitor: { ...monitor, created_at: 130 } }), ['up 130-180']);
});

test('the band shows no status from when a monitor was paused or became pending', (t) => {
  for (const status of ['paused', 'pending'] as const)
    t.deepEqual(statesOf({ ...INPUT, monitor: { status, state_since: 150, created_at: 0 } }), [
      'up 60-180',
      'none 150-180',
    ]);
  t.deepEqual(statesOf({ ...INPUT, monitor: { status: 'paused', state_since: 500, created_at: 0 } }), ['up 60-180']);
});
