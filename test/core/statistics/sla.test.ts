import test from 'ava';
import * as fc from 'fast-check';
import type { MonitorState } from '../../../core/incidents/state.ts';
import {
  burnRate,
  judgeSla,
  listPeriods,
  measureSteps,
  measureWindows,
  measureStates,
  type StateChange,
  type StateHistory,
  type StateSeconds,
  type Stretch,
} from '../../../core/statistics/sla.ts';

const NONE: StateSeconds = { up: 0, degraded: 0, down: 0, unknown: 0, paused: 0, pending: 0, maintenance: 0 };

/** Calls `measureStates` with seconds, for readable tables. */
function measure({
  changes,
  createdAt = 0,
  gaps = [],
  maintenance = [],
  from,
  to,
}: {
  changes: [number, MonitorState][];
  createdAt?: number;
  gaps?: [number, number][];
  maintenance?: [number, number][];
  from: number;
  to: number;
}): StateSeconds {
  return measureStates({
    transitions: changes.map(([at, state]) => ({ atMs: at * 1000, to: state })),
    createdAtMs: createdAt * 1000,
    gaps: gaps.map(stretchOf),
    maintenance: maintenance.map(stretchOf),
    fromMs: from * 1000,
    toMs: to * 1000,
  });
}

const stretchOf = ([start, end]: [number, number]): Stretch => ({ startMs: start * 1000, endMs: end * 1000 });

const CASES: { name: string; input: Parameters<typeof measure>[0]; expected: Partial<StateSeconds> }[] = [
  {
    name: 'a window without changes has the state of the last change before it',
    input: { changes: [[10, 'up']], from: 100, to: 160 },
    expected: { up: 60 },
  },
  {
    name: 'an open incident counts up to the end of the window',
    input: {
      changes: [
        [10, 'up'],
        [150, 'down'],
      ],
      from: 100,
      to: 160,
    },
    expected: { up: 50, down: 10 },
  },
  {
    name: 'a window before the creation has no seconds',
    input: { changes: [[210, 'up']], createdAt: 200, from: 100, to: 160 },
    expected: {},
  },
  {
    name: 'a window that begins before the creation is pending from the creation on',
    input: { changes: [[130, 'up']], createdAt: 120, from: 100, to: 160 },
    expected: { pending: 10, up: 30 },
  },
  {
    name: 'a pause within an outage and the pending time after it do not count as down',
    input: {
      changes: [
        [0, 'up'],
        [110, 'down'],
        [120, 'paused'],
        [140, 'pending'],
        [145, 'down'],
      ],
      from: 100,
      to: 160,
    },
    expected: { up: 10, down: 25, paused: 20, pending: 5 },
  },
  {
    name: 'of two changes within one second the later one counts',
    input: {
      changes: [
        [0, 'up'],
        [110.2, 'down'],
        [110.9, 'up'],
      ],
      from: 100,
      to: 160,
    },
    expected: { up: 60 },
  },
  {
    name: 'a change takes effect at the start of its second',
    input: {
      changes: [
        [0, 'up'],
        [110.999, 'down'],
        [112.001, 'up'],
      ],
      from: 100,
      to: 160,
    },
    expected: { up: 58, down: 2 },
  },
  {
    name: 'a change within the first second of the window applies to all of that second',
    input: {
      changes: [
        [0, 'up'],
        [100.5, 'down'],
      ],
      from: 100,
      to: 160,
    },
    expected: { down: 60 },
  },
  {
    name: 'a change in the second after the window does not count',
    input: {
      changes: [
        [0, 'up'],
        [160, 'down'],
      ],
      from: 100,
      to: 160,
    },
    expected: { up: 60 },
  },
  {
    name: 'a later change with an earlier time overrides the change before it',
    input: {
      changes: [
        [0, 'up'],
        [130, 'down'],
        [120, 'paused'],
      ],
      from: 100,
      to: 160,
    },
    expected: { up: 20, paused: 40 },
  },
  {
    name: 'a gap is unknown regardless of changes within it',
    input: {
      changes: [
        [0, 'up'],
        [120, 'down'],
      ],
      gaps: [[110, 130]],
      from: 100,
      to: 160,
    },
    expected: { up: 10, unknown: 20, down: 30 },
  },
  {
    name: 'overlapping gaps count once',
    input: {
      changes: [[0, 'up']],
      gaps: [
        [120, 140],
        [110, 130],
        [112, 115],
        [140, 145],
      ],
      from: 100,
      to: 160,
    },
    expected: { up: 25, unknown: 35 },
  },
  {
    name: 'a gap does not affect paused time and makes pending time unknown',
    input: {
      changes: [
        [0, 'up'],
        [110, 'paused'],
        [120, 'pending'],
        [140, 'up'],
      ],
      gaps: [[105, 130]],
      from: 100,
      to: 160,
    },
    expected: { up: 25, unknown: 15, paused: 10, pending: 10 },
  },
  {
    name: 'a gap before the creation does not count',
    input: { changes: [[130, 'up']], createdAt: 120, gaps: [[90, 125]], from: 100, to: 160 },
    expected: { unknown: 5, pending: 5, up: 30 },
  },
  {
    name: 'a gap within one second does not count',
    input: { changes: [[0, 'up']], gaps: [[110.1, 110.9]], from: 100, to: 160 },
    expected: { up: 60 },
  },
  {
    name: 'a reversed window has no seconds',
    input: { changes: [[0, 'up']], gaps: [[0, 500]], from: 160, to: 100 },
    expected: {},
  },
  {
    name: 'maintenance replaces up, degraded, down and unknown time, but not paused or pending time',
    input: {
      changes: [
        [110, 'up'],
        [120, 'down'],
        [130, 'paused'],
        [140, 'unknown'],
      ],
      maintenance: [[100, 150]],
      from: 100,
      to: 160,
    },
    expected: { pending: 10, maintenance: 30, paused: 10, unknown: 10 },
  },
  {
    name: 'overlapping maintenance counts once, even during a gap',
    input: {
      changes: [[0, 'up']],
      gaps: [[115, 125]],
      maintenance: [
        [110, 130],
        [120, 140],
      ],
      from: 100,
      to: 160,
    },
    expected: { up: 30, maintenance: 30 },
  },
  {
    name: 'a window entirely within maintenance is all maintenance',
    input: { changes: [[0, 'up']], maintenance: [[100, 400]], from: 100, to: 160 },
    expected: { maintenance: 60 },
  },
];

for (const { name, input, expected } of CASES) {
  test(name, (t) => t.deepEqual(measure(input), { ...NONE, ...expected }));
}

test('an outage across the end of a month is split at midnight UTC, also with a leap day in between', async (t) => {
  const at = (text: string) => Date.parse(text);
  const history: StateHistory = {
    transitions: [
      { atMs: at('2028-02-01T00:00:00Z'), to: 'up' },
      { atMs: at('2028-02-28T23:59:50Z'), to: 'down' },
      { atMs: at('2028-03-01T00:00:07Z'), to: 'up' },
    ],
    createdAtMs: at('2028-01-15T12:00:00Z'),
    gaps: [],
    maintenance: [],
  };
  const [february, march] = await measureSteps(history, [
    at('2028-02-01T00:00:00Z'),
    at('2028-03-01T00:00:00Z'),
    at('2028-04-01T00:00:00Z'),
  ]);
  t.deepEqual(february, { ...NONE, up: 29 * 86_400 - 86_410, down: 86_410 });
  t.deepEqual(march, { ...NONE, up: 31 * 86_400 - 7, down: 7 });
});

test('a window in the future has the current state, which is why its caller ends it at the present', (t) => {
  t.deepEqual(measure({ changes: [[0, 'down']], from: 10_000, to: 10_060 }), { ...NONE, down: 60 });
});

const state = fc.constantFrom<MonitorState>('up', 'degraded', 'down', 'unknown', 'paused', 'pending');
const moment = fc.integer({ min: 0, max: 400_000 });
const change = fc.record({ atMs: moment, to: state });
const gap = fc
  .tuple(moment, fc.integer({ min: 0, max: 60_000 }))
  .map(([startMs, lengthMs]): Stretch => ({ startMs, endMs: startMs + lengthMs }));
/** Usually in chronological order, as they are written, and sometimes not. */
const changes = fc
  .tuple(fc.array(change, { maxLength: 25 }), fc.boolean())
  .map(([drawn, ordered]) => (ordered ? drawn.toSorted((a, b) => a.atMs - b.atMs) : drawn));
const history: fc.Arbitrary<StateHistory> = fc.record({
  transitions: changes,
  createdAtMs: moment,
  gaps: fc.array(gap, { maxLength: 6 }),
  maintenance: fc.array(gap, { maxLength: 6 }),
});
const window = fc.tuple(moment, moment).map(([a, b]) => ({ fromMs: Math.min(a, b), toMs: Math.max(a, b) }));

/** Implements the rules of D-61 and D-503 literally, second by second. */
function countSeconds({
  transitions,
  createdAtMs,
  gaps,
  maintenance,
  fromMs,
  toMs,
}: StateHistory & { fromMs: number; toMs: number }): StateSeconds {
  const seconds = { ...NONE };
  for (let second = Math.floor(fromMs / 1000); second < Math.floor(toMs / 1000); second += 1) {
    if (second < Math.floor(createdAtMs / 1000)) continue;
    const last = transitions.findLast(({ atMs }) => Math.floor(atMs / 1000) <= second)?.to ?? 'pending';
    const isIn = ({ startMs, endMs }: Stretch) =>
      Math.floor(startMs / 1000) <= second && second < Math.floor(endMs / 1000);
    const known = gaps.some(isIn) && last !== 'paused' ? 'unknown' : last;
    const isCounted = known === 'paused' || known === 'pending' || !maintenance.some(isIn);
    seconds[isCounted ? known : 'maintenance'] += 1;
  }
  return seconds;
}

test('any window of any history matches a second-by-second count', (t) => {
  fc.assert(
    fc.property(history, window, (drawn, { fromMs, toMs }) => {
      t.deepEqual(measureStates({ ...drawn, fromMs, toMs }), countSeconds({ ...drawn, fromMs, toMs }));
    }),
    { numRuns: 500 },
  );
  t.pass();
});

test('a window needs only the last change before it and the changes in it', (t) => {
  fc.assert(
    fc.property(history, window, (drawn, { fromMs, toMs }) => {
      const transitions = drawn.transitions.toSorted((a, b) => a.atMs - b.atMs);
      const needed: StateChange[] = [
        ...transitions.filter(({ atMs }) => atMs < fromMs).slice(-1),
        ...transitions.filter(({ atMs }) => atMs >= fromMs && atMs < toMs),
      ];
      t.deepEqual(
        measureStates({ ...drawn, transitions: needed, fromMs, toMs }),
        measureStates({ ...drawn, transitions, fromMs, toMs }),
      );
    }),
  );
  t.pass();
});

test('steps of a window equal separate measurements and add up to the whole', async (t) => {
  await fc.assert(
    fc.asyncProperty(history, fc.array(moment, { minLength: 2, maxLength: 12 }), async (drawn, moments) => {
      const edges = moments.toSorted((a, b) => a - b);
      const steps = await measureSteps(drawn, edges);
      t.deepEqual(
        steps,
        edges.slice(1).map((toMs, index) => measureStates({ ...drawn, fromMs: edges[index] ?? 0, toMs })),
      );
      const whole = measureStates({ ...drawn, fromMs: edges[0] ?? 0, toMs: edges.at(-1) ?? 0 });
      for (const name of Object.keys(NONE) as (keyof StateSeconds)[])
        t.is(
          steps.reduce((sum, seconds) => sum + seconds[name], 0),
          whole[name],
        );
    }),
  );
  t.pass();
});

test('overlapping windows equal separate measurements', async (t) => {
  await fc.assert(
    fc.asyncProperty(history, fc.array(window, { maxLength: 8 }), async (drawn, windows) => {
      t.deepEqual(
        await measureWindows(drawn, windows),
        windows.map((each) => measureStates({ ...drawn, ...each })),
      );
    }),
  );
  t.pass();
});

test('periods follow each other without gaps', (t) => {
  fc.assert(
    fc.property(history, window, (drawn, input) => {
      const periods = [...listPeriods({ ...drawn, ...input })];
      for (const [index, period] of periods.entries()) {
        t.true(period.fromSecond < period.toSecond);
        const next = periods[index + 1];
        if (next !== undefined) t.is(next.fromSecond, period.toSecond);
      }
    }),
  );
  t.pass();
});

test('uptime is rounded down, so one second of downtime in a year is never 100 %', (t) => {
  const year = 31_536_000;
  t.is(judgeSla({ ...NONE, up: year - 1, down: 1 }, null).uptimePercent, 99.999);
  t.is(judgeSla({ ...NONE, up: year }, null).uptimePercent, 100);
  t.is(judgeSla({ ...NONE, up: 99_949, down: 51 }, 99.95).uptimePercent, 99.949);
  t.is(judgeSla({ ...NONE, up: 2, degraded: 0, down: 1 }, null).uptimePercent, 66.666);
  t.is(judgeSla({ ...NONE, degraded: 5 }, 100).uptimePercent, 100);
});

test('a target is met if its budget is exactly used up, and missed with one second more', (t) => {
  // 0.05 % of 2,592,000 s is 1,296 s.
  const month = 2_592_000;
  t.deepEqual(judgeSla({ ...NONE, up: month - 1296, down: 1296 }, 99.95), {
    uptimePercent: 99.95,
    slaMet: true,
    budget: { totalSeconds: 1296, usedSeconds: 1296, leftSeconds: 0 },
  });
  t.deepEqual(judgeSla({ ...NONE, up: month - 1297, down: 1297 }, 99.95), {
    uptimePercent: 99.949,
    slaMet: false,
    budget: { totalSeconds: 1296, usedSeconds: 1297, leftSeconds: -1 },
  });
  t.deepEqual(judgeSla({ ...NONE, up: 999, down: 1 }, 99.9), {
    uptimePercent: 99.9,
    slaMet: true,
    budget: { totalSeconds: 1, usedSeconds: 1, leftSeconds: 0 },
  });
  // The same seconds meet 33.333 and miss 33.3333.
  t.is(judgeSla({ ...NONE, up: 333_331, down: 666_669 }, 33.3333).slaMet, false);
  t.is(judgeSla({ ...NONE, up: 333_331, down: 666_669 }, 33.333).slaMet, true);
});

test('uptime is null without counted time, and the SLA verdict is null without a target', (t) => {
  const seconds = { ...NONE, paused: 10, pending: 20, unknown: 30 };
  t.deepEqual(judgeSla(seconds, 99.9), { uptimePercent: null, slaMet: null, budget: null });
  t.is(burnRate(seconds, 99.9), null);
  t.deepEqual(judgeSla({ ...NONE, up: 10 }, null), { uptimePercent: 100, slaMet: null, budget: null });
});

test('the burn rate is 1 if the budget is used exactly as fast as allowed, and null for a target of 100', (t) => {
  t.is(burnRate({ ...NONE, up: 999, down: 1 }, 99.9), 1);
  t.is(burnRate({ ...NONE, down: 3600 }, 99.9), 1000);
  t.is(burnRate({ ...NONE, up: 3600 }, 99.9), 0);
  t.is(burnRate({ ...NONE, up: 3600 }, 100), null);
  t.is(burnRate({ ...NONE, up: 3600 }, null), null);
});

test('a target is met if and only if its budget is not exceeded', (t) => {
  fc.assert(
    fc.property(fc.nat(5_000_000), fc.nat(500_000), fc.integer({ min: 1, max: 100_000 }), (up, down, thousandths) => {
      const { slaMet, budget, uptimePercent } = judgeSla({ ...NONE, up, down }, thousandths / 1000);
      if (up + down === 0) return;
      const met = BigInt(up) * 100_000n >= BigInt(thousandths) * BigInt(up + down);
      t.is(slaMet, met);
      t.is((budget?.leftSeconds ?? -1) >= 0, met);
      t.true((uptimePercent ?? 0) * (up + down) <= 100 * up + 1e-3);
    }),
  );
  t.pass();
});

test('the event loop gets turns while hundreds of thousands of changes are measured', async (t) => {
  const states = ['up', 'down'] as const;
  const transitions = Array.from({ length: 300_000 }, (_, index) => ({
    atMs: index * 1000,
    to: states[index % 2] ?? 'up',
  }));
  let turns = 0;
  const count = () => {
    turns += 1;
    next = setImmediate(count);
  };
  let next = setImmediate(count);
  const edges = [0, 100_000_000, 300_000_000];
  const uncovered = { transitions, createdAtMs: 0, gaps: [], maintenance: [] };
  const steps = await measureSteps(uncovered, edges);
  t.deepEqual(steps, [
    { ...NONE, up: 50_000, down: 50_000 },
    { ...NONE, up: 100_000, down: 100_000 },
  ]);
  t.true(turns >= 25, `${turns} turns`);
  const before = turns;
  const covered = await measureSteps({ ...uncovered, maintenance: [{ startMs: 0, endMs: 300_000_000 }] }, edges);
  clearImmediate(next);
  t.deepEqual(covered, [
    { ...NONE, maintenance: 100_000 },
    { ...NONE, maintenance: 200_000 },
  ]);
  t.true(turns - before >= 25, `${turns - before} turns in maintenance`);
});
