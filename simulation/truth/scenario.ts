import type { Stretch } from './beginning.ts';
import type { Random } from './random.ts';
import { layOver, sound, type Script, type Behaviour, type Period } from './script.ts';
import type { SlotChoice, Setting } from './setting.ts';

/** An event of the target, or of its path to some locations; figures are reported by `kind`. */
export type Fault = Stretch & { kind: string };

/** The ground truth of one history: what each location sees, and what happened. */
export type GroundTruth = { scripts: readonly Script[]; faults: readonly Fault[] };

/**
 * A scenario; `hours` are simulated for each setting, with slots together unless `slotChoice` says otherwise. `assumes`
 * describes them in a cell of a table.
 */
export type Scenario = {
  name: string;
  assumes: string;
  hours: number;
  slotChoice?: SlotChoice;
  unfold: (setting: Setting, random: Random, span: Stretch) => GroundTruth;
};

/** Share of lost checks in every scenario, unless it sets another. */
const USUAL_LOSS = 0.001;

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** Lengths of outages in seconds; the last three are reported together. */
const SHORT_OUTAGES = [5, 10, 20, 30, 45, 60, 90, 120, 180, 300] as const;
const LONG_OUTAGES = [600, 1800, 7200] as const;

/** Labels of outages by length, the short ones first. */
export const LONG_KIND = '10 min and more';
export const OUTAGE_KINDS: readonly string[] = [...SHORT_OUTAGES.map(kindOfLength), LONG_KIND];

const DOWN: Behaviour = { verdict: 'down', strayShare: 0, hangs: false, silent: false };
const HANGING: Behaviour = { ...DOWN, hangs: true };
const AWAY: Behaviour = { ...sound(0), silent: true };

/** Creates a scenario of a target that is always up, with locations that lose checks. */
function healthy(name: string, { share, hours }: { share: number; hours: number }): Scenario {
  return {
    name,
    assumes:
      `The target works; each check of each location is lost (timeout) with a chance of ${share * 100} %, ` +
      'independently',
    hours,
    unfold: (setting, _, span) => groundTruthOf({ setting, span, behaviourAt: () => sound(share) }),
  };
}

/** Creates a scenario of outages of random lengths, one to two hours apart. */
function outages(
  name: string,
  { assumes, behaviour, behaviourAt = () => sound(USUAL_LOSS), isVisibleAt = () => true }: OutageScenario,
): Scenario {
  return {
    name,
    assumes,
    hours: 5000,
    unfold(setting, random, span) {
      const faults: Fault[] = [];
      for (let startMs = span.startMs + gap(random); startMs < span.endMs - 4 * HOUR;) {
        const seconds =
          [...SHORT_OUTAGES, ...LONG_OUTAGES][random.below(SHORT_OUTAGES.length + LONG_OUTAGES.length)] ?? 600;
        const endMs = startMs + seconds * SECOND;
        faults.push({ startMs, endMs, kind: seconds < LONG_OUTAGES[0] ? kindOfLength(seconds) : LONG_KIND });
        startMs = endMs + gap(random);
      }
      return groundTruthOf({
        setting,
        span,
        faults,
        behaviourAt,
        periodsAt: (location) => (isVisibleAt(location) ? faults.map((fault) => ({ ...behaviour, ...fault })) : []),
      });
    },
  };
}

type OutageScenario = {
  assumes: string;
  behaviour: Behaviour;
  behaviourAt?: (location: number) => Behaviour;
  isVisibleAt?: (location: number) => boolean;
};

/** Every scenario: first those in which no down is right, then those with real outages. */
export const SCENARIOS = {
  'loss-0.1': healthy('Loss 0.1 %', { share: 0.001, hours: 125_000 }),
  'loss-1': healthy('Loss 1 %', { share: 0.01, hours: 37_500 }),
  'loss-5': healthy('Loss 5 %', { share: 0.05, hours: 5000 }),
  bursts: {
    name: 'Bursts',
    assumes:
      'The target works; each location, on its own, loses half of its checks for 2 minutes on average, once a day ' +
      'on average',
    hours: 37_500,
    unfold: (setting, random, span) =>
      groundTruthOf({
        setting,
        span,
        periodsAt: () =>
          spread(random, span, { everyMs: 24 * HOUR, lastingMs: 2 * MINUTE }).map((stretch) => ({
            ...sound(0.5),
            ...stretch,
          })),
      }),
  },
  liar: {
    name: 'A liar',
    assumes: 'The target works; one location always says that it is down',
    hours: 37_500,
    unfold: (setting, _, span) =>
      groundTruthOf({ setting, span, behaviourAt: (location) => (location === 0 ? DOWN : sound(USUAL_LOSS)) }),
  },
  'half-liar': {
    name: 'Half a liar',
    assumes: 'The target works; one location says of every other check, at random, that it is down',
    hours: 2000,
    unfold: (setting, _, span) =>
      groundTruthOf({ setting, span, behaviourAt: (location) => (location === 0 ? sound(0.5) : sound(USUAL_LOSS)) }),
  },
  away: {
    name: 'Locations go away',
    assumes:
      'The target works; each location, on its own, is away (no checks, agent offline) for an hour on average, once ' +
      'in five days on average',
    hours: 37_500,
    unfold: (setting, random, span) =>
      groundTruthOf({
        setting,
        span,
        periodsAt: () =>
          spread(random, span, { everyMs: 120 * HOUR, lastingMs: HOUR }).map((stretch) => ({ ...AWAY, ...stretch })),
      }),
  },
  'most-away': {
    name: 'Most locations go away',
    assumes:
      'The target works; more than half of the locations are away together for an hour on average, once in two days ' +
      'on average',
    hours: 7500,
    unfold(setting, random, span) {
      const stretches = spread(random, span, { everyMs: 48 * HOUR, lastingMs: HOUR });
      return groundTruthOf({
        setting,
        span,
        periodsAt: (location) =>
          location * 2 <= setting.sources ? stretches.map((stretch) => ({ ...AWAY, ...stretch })) : [],
      });
    },
  },
  slow: {
    name: 'A slow target',
    assumes:
      'For 10 minutes on average, twice a day on average, 30 % of the checks of every location take longer than the ' +
      'timeout',
    hours: 7500,
    unfold(setting, random, span) {
      const faults = spread(random, span, { everyMs: 12 * HOUR, lastingMs: 10 * MINUTE }).map((stretch) => ({
        ...stretch,
        kind: 'slow',
      }));
      return groundTruthOf({
        setting,
        span,
        faults,
        periodsAt: () => faults.map((fault) => ({ ...sound(0.3), ...fault })),
      });
    },
  },
  refused: outages('Outages, refusing', {
    assumes: 'The target refuses connections for 5 s to 2 h, one to two hours apart',
    behaviour: DOWN,
  }),
  apart: {
    ...outages('Outages, locations apart', {
      assumes: 'The target refuses; each location checks at a moment of its own, at random',
      behaviour: DOWN,
    }),
    slotChoice: 'apart',
  },
  hanging: outages('Outages, hanging', {
    assumes: 'The same, but nothing answers: each check lasts until the timeout',
    behaviour: HANGING,
  }),
  blind: outages('Outages, one location blind', {
    assumes: 'The target refuses; one location sees it up all the time',
    behaviour: DOWN,
    isVisibleAt: (location) => location > 0,
  }),
  'one-away': outages('Outages, one location away', {
    assumes: 'The target refuses; one location is away all the time',
    behaviour: DOWN,
    behaviourAt: (location) => (location === 0 ? AWAY : sound(USUAL_LOSS)),
    isVisibleAt: (location) => location > 0,
  }),
  partial: {
    name: 'Partial outages',
    assumes: 'The target refuses some of the locations, at random which and how many, for 10 minutes',
    hours: 5000,
    unfold(setting, random, span) {
      const periods: Period[][] = Array.from({ length: setting.sources }, () => []);
      const faults: Fault[] = [];
      for (
        let startMs = span.startMs + gap(random);
        startMs < span.endMs - HOUR;
        startMs += 10 * MINUTE + gap(random)
      ) {
        const stretch = { startMs, endMs: startMs + 10 * MINUTE };
        const observers = 1 + random.below(Math.max(1, setting.sources - 1));
        const first = random.below(setting.sources);
        for (let index = 0; index < observers; index += 1)
          periods[(first + index) % setting.sources]?.push({ ...DOWN, ...stretch });
        faults.push({ ...stretch, kind: `seen by ${observers}` });
      }
      return groundTruthOf({ setting, span, faults, periodsAt: (location) => periods[location] ?? [] });
    },
  },
  flapping: {
    name: 'A flapping target',
    assumes: 'For 30 minutes the target is down for 40 s and up for 80 s on average, in turns',
    hours: 1000,
    unfold(setting, random, span) {
      const faults: Fault[] = [];
      const downs: Stretch[] = [];
      for (
        let startMs = span.startMs + gap(random);
        startMs < span.endMs - HOUR;
        startMs += 30 * MINUTE + gap(random)
      ) {
        const endMs = startMs + 30 * MINUTE;
        faults.push({ startMs, endMs, kind: 'flapping' });
        for (let atMs = startMs; atMs < endMs; atMs += random.exponential(80 * SECOND)) {
          const untilMs = Math.min(endMs, atMs + random.exponential(40 * SECOND));
          downs.push({ startMs: atMs, endMs: untilMs });
          atMs = untilMs;
        }
      }
      return groundTruthOf({
        setting,
        span,
        faults,
        periodsAt: () => downs.map((stretch) => ({ ...DOWN, ...stretch })),
      });
    },
  },
  'in-turn': {
    ...outages('Outages, locations in turn', {
      assumes: 'The target refuses; the locations check one after the other, evenly over the interval',
      behaviour: DOWN,
    }),
    slotChoice: 'in turn',
  },
} satisfies Readonly<Record<string, Scenario>>;

export type ScenarioName = keyof typeof SCENARIOS;

type TruthInput = {
  setting: Setting;
  span: Stretch;
  faults?: readonly Fault[];
  behaviourAt?: (location: number) => Behaviour;
  periodsAt?: (location: number) => readonly Period[];
};

function groundTruthOf({
  setting,
  span,
  faults = [],
  behaviourAt = () => sound(USUAL_LOSS),
  periodsAt = () => [],
}: TruthInput): GroundTruth {
  return {
    faults,
    scripts: Array.from({ length: setting.sources }, (_, location) =>
      layOver(behaviourAt(location), periodsAt(location), span),
    ),
  };
}

/** Returns random spans that do not touch one another. */
function spread(
  random: Random,
  span: Stretch,
  { everyMs, lastingMs }: { everyMs: number; lastingMs: number },
): Stretch[] {
  const stretches: Stretch[] = [];
  for (let startMs = span.startMs + random.exponential(everyMs); startMs < span.endMs;) {
    const endMs = startMs + random.exponential(lastingMs);
    stretches.push({ startMs: Math.floor(startMs), endMs: Math.ceil(endMs) });
    startMs = endMs + 1 + random.exponential(everyMs);
  }
  return stretches;
}

function gap(random: Random): number {
  return HOUR + random.below(HOUR);
}

function kindOfLength(seconds: number): string {
  return seconds < 120 ? `${seconds} s` : `${seconds / 60} min`;
}
