import test from 'ava';
import * as fc from 'fast-check';
import { simulateCell } from '../../../simulation/truth/cell.ts';
import { createRandom } from '../../../simulation/truth/random.ts';
import { layOver, sound, type Behaviour, type Period } from '../../../simulation/truth/script.ts';
import { DEFAULT_SETTING, SLOT_CHOICES, SETTINGS, type Setting } from '../../../simulation/truth/setting.ts';
import { simulateMonitor, type Notified } from '../../../simulation/truth/simulation.ts';

const HOUR_MS = 3_600_000;
const START_MS = 1_700_006_400_000;

type Play = {
  setting: Setting;
  hours: number;
  seed?: number;
  behaviourAt?: (location: number) => Behaviour;
  periodsAt?: (location: number) => Period[];
  everyStep?: boolean;
};

/** Simulates a monitor whose locations follow the given scripts, and returns its state changes. */
function play({
  setting,
  hours,
  seed = 1,
  behaviourAt = () => sound(0),
  periodsAt = () => [],
  everyStep = false,
}: Play): Notified[] {
  const span = { startMs: START_MS, endMs: START_MS + hours * HOUR_MS };
  const scripts = Array.from({ length: setting.sources }, (_, location) =>
    layOver(behaviourAt(location), periodsAt(location), span),
  );
  return simulateMonitor({ ...span, scripts }, { setting, random: createRandom([seed]), everyStep });
}

const count = (notified: readonly Notified[], state: Notified['to']): number =>
  notified.filter(({ to }) => to === state).length;

/** Simulates the scenario, and returns its outages by length. */
function outagesOf(scenario: 'refused' | 'hanging', setting: Setting) {
  const { kinds } = simulateCell({ seed: 3, scenario, setting, stream: 0, scale: 0.4 });
  const of = (kind: string) => kinds[kind] ?? { count: 0, found: 0, alerts: 0, delaysMs: null };
  return { of, longest: of('10 min and more') };
}

const HISTORY = fc.record({
  seed: fc.integer(),
  setting: fc
    .tuple(fc.constantFrom(...SETTINGS), fc.integer({ min: 1, max: 3 }), fc.constantFrom(...SLOT_CHOICES))
    .map(([setting, upAfterSuccesses, slotChoice]) => ({ ...setting, upAfterSuccesses, slotChoice })),
  strays: fc.array(fc.constantFrom(0, 0.01, 0.3), { minLength: 5, maxLength: 5 }),
  periods: fc.array(
    fc.record({
      location: fc.integer({ min: -1, max: 4 }),
      startMs: fc.integer({ min: 0, max: 5 * HOUR_MS }),
      lastingMs: fc.oneof(fc.integer({ min: 1, max: 120_000 }), fc.integer({ min: 1, max: 2 * HOUR_MS })),
      verdict: fc.constantFrom('up' as const, 'degraded' as const, 'down' as const),
      strayShare: fc.constantFrom(0, 0.5),
      hangs: fc.boolean(),
      silent: fc.boolean(),
    }),
    { maxLength: 14 },
  ),
});

test('skipping steps that change nothing according to core gives the same changes as taking every step', (t) => {
  let changes = 0;
  fc.assert(
    fc.property(HISTORY, ({ seed, setting, strays, periods }) => {
      const history: Play = {
        setting,
        seed,
        hours: 6,
        behaviourAt: (location) => sound(strays[location] ?? 0),
        // Location -1 stands for all locations: an outage.
        periodsAt: (location) =>
          periods
            .filter((period) => period.location === -1 || period.location === location)
            .map(({ startMs, lastingMs, ...period }) => ({
              ...period,
              startMs: START_MS + startMs,
              endMs: START_MS + startMs + lastingMs,
            })),
      };
      const notified = play({ ...history, everyStep: true });
      t.deepEqual(play(history), notified);
      changes += notified.length;
    }),
    { numRuns: 120 },
  );
  t.true(changes > 1000, `${changes} changes were compared`);
});

for (const { downAfterFailures, expected } of [
  { downAfterFailures: 1, expected: (share: number) => share * (1 - share) },
  { downAfterFailures: 2, expected: (share: number) => share ** 2 / (1 + share ** 2 / (1 - share)) },
]) {
  test(
    'one location that loses a tenth of its checks is wrong as often as calculated, with ' +
      `${downAfterFailures} failures in a row`,
    (t) => {
      const hours = 2000;
      const setting: Setting = { ...DEFAULT_SETTING, sources: 1, quorum: 1, downAfterFailures };
      const found = count(play({ setting, hours, behaviourAt: () => sound(0.1) }), 'down');
      const mean = expected(0.1) * hours * 60;
      t.true(Math.abs(found - mean) < 4 * Math.sqrt(mean), `${found} seen, ${mean} expected`);
    },
  );
}

test('with the defaults and 1 % of all checks lost nothing is reported in two years', (t) => {
  const notified = play({ setting: DEFAULT_SETTING, hours: 17_532, behaviourAt: () => sound(0.01) });
  t.deepEqual(
    notified.map(({ to }) => to),
    ['up'],
  );
});

test('by default all outages from 90 s on are found, within 82 s if refused, and none up to 20 s', (t) => {
  const { of, longest } = outagesOf('refused', DEFAULT_SETTING);
  for (const kind of ['90 s', '2 min', '3 min', '5 min', '10 min and more']) {
    t.true(of(kind).count > 50);
    t.is(of(kind).found, of(kind).count, kind);
    t.is(of(kind).alerts, of(kind).count, kind);
  }
  t.true(of('20 s').count > 50);
  t.is(of('5 s').found + of('10 s').found + of('20 s').found, 0);
  t.true((longest.delaysMs?.max ?? Number.POSITIVE_INFINITY) < 82_000);
});

test('an outage of a hanging target is found one timeout later', (t) => {
  const { of, longest } = outagesOf('hanging', DEFAULT_SETTING);
  t.is(of('2 min').found, of('2 min').count);
  const { p50, max } = longest.delaysMs ?? { p50: 0, max: 0 };
  t.true(p50 > 45_000 && max > 82_000 && max < 92_000, `${p50} and ${max} ms`);
});

for (const { name, behaviour } of [
  { name: 'that is always down', behaviour: { ...sound(0), verdict: 'down' } },
  { name: 'that is down in half of its checks', behaviour: sound(0.5) },
  { name: 'that is always degraded', behaviour: { ...sound(0), verdict: 'degraded' } },
] as const satisfies { name: string; behaviour: Behaviour }[]) {
  test(`one location of three ${name} changes nothing, at any interval and failure threshold`, (t) => {
    for (const setting of SETTINGS.filter(({ sources, quorum }) => sources === 3 && quorum === 2)) {
      const notified = play({
        setting,
        hours: 168,
        behaviourAt: (location) => (location === 1 ? behaviour : sound(0)),
      });
      t.deepEqual(
        notified.map(({ to }) => to),
        ['up'],
      );
    }
  });
}

test('one of three locations may fall silent; if two do, a monitor is unknown within 100 s and never down', (t) => {
  const away = (endMs: number): Period => ({
    ...sound(0),
    silent: true,
    startMs: START_MS + HOUR_MS,
    endMs: START_MS + endMs,
  });
  const one = play({
    setting: DEFAULT_SETTING,
    hours: 6,
    periodsAt: (location) => (location === 0 ? [away(3 * HOUR_MS)] : []),
  });
  t.deepEqual(
    one.map(({ to }) => to),
    ['up'],
  );
  const two = play({
    setting: DEFAULT_SETTING,
    hours: 6,
    periodsAt: (location) => (location < 2 ? [away(3 * HOUR_MS)] : []),
  });
  t.deepEqual(
    two.map(({ to }) => to),
    ['up', 'unknown', 'up'],
  );
  const detectedMs = (two[1]?.detectedAtMs ?? 0) - START_MS - HOUR_MS;
  t.true(detectedMs >= 90_000 && detectedMs <= 100_000, `${detectedMs} ms`);
});

test('an outage observed by one of three locations is not reported, one observed by two is', (t) => {
  const down: Period = { ...sound(0), verdict: 'down', startMs: START_MS + HOUR_MS, endMs: START_MS + 2 * HOUR_MS };
  for (const [observers, notified] of [
    [1, ['up']],
    [2, ['up', 'down', 'up']],
  ] as const) {
    t.deepEqual(
      play({ setting: DEFAULT_SETTING, hours: 3, periodsAt: (location) => (location < observers ? [down] : []) }).map(
        ({ to }) => to,
      ),
      [...notified],
    );
  }
});

test('the same seed gives the same figures, another seed different ones', (t) => {
  const cell = { scenario: 'flapping', setting: DEFAULT_SETTING, stream: 0, scale: 0.4 } as const;
  t.deepEqual(simulateCell({ seed: 1, ...cell }), simulateCell({ seed: 1, ...cell }));
  t.notDeepEqual(simulateCell({ seed: 1, ...cell }), simulateCell({ seed: 2, ...cell }));
});
