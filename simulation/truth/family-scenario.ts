import type { Stretch } from './beginning.ts';
import type { Random } from './random.ts';
import { layOver, sound, type Behaviour, type Script } from './script.ts';

/**
 * A parent and the monitors that depend on it: what the locations of each see, and when each fails for its own reason.
 */
export type Family = {
  parent: { script: Script };
  children: readonly { script: Script; own: readonly Stretch[] }[];
};

/** A scenario of families; `assumes` describes it in a cell of a table. */
export type FamilyScenario = {
  name: string;
  assumes: string;
  /** `down_after_failures` of the children, if it differs from the parent's. */
  childFailures?: number;
  unfold: (random: Random, span: Stretch) => Family;
};

/** Duration of a family's simulation, in milliseconds, from its monitors' creation on. */
export const FAMILY_MS = 30 * 60_000;

const SECOND = 1000;
const MINUTE = 60 * SECOND;

/** Share of lost checks of each location. */
const LOSS = 0.001;

const DOWN: Behaviour = { verdict: 'down', strayShare: 0, hangs: false, silent: false };
const HANGING: Behaviour = { ...DOWN, hangs: true };

/** Scenarios, each with a parent and three children. */
export const FAMILY_SCENARIOS = {
  together: {
    name: 'All together',
    assumes: 'The parent and all behind it refuse connections for 3 to 12 minutes',
    unfold(random, span) {
      const outage = parentOutage(random, span);
      return familyOf(span, { parent: [outage], behind: [[outage], [outage], [outage]] });
    },
  },
  hanging: {
    name: 'All together, hanging',
    assumes: 'The same, but the parent hangs: each of its checks lasts until the timeout',
    unfold(random, span) {
      const outage = parentOutage(random, span);
      return familyOf(span, { parent: [outage], behind: [[outage], [outage], [outage]], parentFails: HANGING });
    },
  },
  parent: {
    name: 'The parent alone',
    assumes: 'The parent refuses for 3 to 12 minutes; all behind it work',
    unfold: (random, span) => familyOf(span, { parent: [parentOutage(random, span)] }),
  },
  child: {
    name: 'A child alone',
    assumes: 'One child refuses for 5 minutes; its parent works',
    unfold(random, span) {
      const startMs = beginning(random, span);
      return familyOf(span, { parent: [], own: { startMs, endMs: startMs + 5 * MINUTE } });
    },
  },
  during: {
    name: 'A child meanwhile',
    assumes:
      'While the parent and one child refuse, another one fails for its own reason, until 5 minutes after the ' +
      'recovery of the parent',
    unfold(random, span) {
      const outage = parentOutage(random, span);
      const startMs = outage.startMs + random.below(outage.endMs - outage.startMs);
      return familyOf(span, {
        parent: [outage],
        behind: [[], [outage], []],
        own: { startMs, endMs: outage.endMs + 5 * MINUTE },
      });
    },
  },
  recovering: {
    name: 'A child at the recovery',
    assumes: 'One child fails for its own reason for 6 minutes, from a minute before to one after the parent recovers',
    unfold(random, span) {
      const outage = parentOutage(random, span);
      const startMs = outage.endMs - MINUTE + random.below(2 * MINUTE);
      return familyOf(span, {
        parent: [outage],
        behind: [[], [outage], [outage]],
        own: { startMs, endMs: startMs + 6 * MINUTE },
      });
    },
  },
  flapping: {
    name: 'The parent flaps',
    assumes:
      'For 15 minutes the parent and two children refuse for 60 to 150 s and work as long, in turns; another child ' +
      'fails for its own reason all the time',
    unfold(random, span) {
      const outages: Stretch[] = [];
      const startMs = beginning(random, span);
      for (let atMs = startMs; atMs < startMs + 15 * MINUTE;) {
        const endMs = atMs + MINUTE + random.below(90 * SECOND);
        outages.push({ startMs: atMs, endMs });
        atMs = endMs + MINUTE + random.below(90 * SECOND);
      }
      const endMs = startMs + 20 * MINUTE;
      return familyOf(span, {
        parent: outages,
        behind: [[], outages, outages],
        own: { startMs: startMs + random.below(2 * MINUTE), endMs },
      });
    },
  },
  hasty: {
    name: 'All together, hasty children',
    assumes: 'The parent and all behind it refuse for 3 to 12 minutes; children are down after one failure',
    childFailures: 1,
    unfold(random, span) {
      const outage = parentOutage(random, span);
      return familyOf(span, { parent: [outage], behind: [[outage], [outage], [outage]] });
    },
  },
  'hasty-child': {
    name: 'A hasty child alone',
    assumes: 'One child, down after one failure, refuses for 5 minutes; its parent works',
    childFailures: 1,
    unfold(random, span) {
      const startMs = beginning(random, span);
      return familyOf(span, { parent: [], own: { startMs, endMs: startMs + 5 * MINUTE } });
    },
  },
} satisfies Readonly<Record<string, FamilyScenario>>;

export type FamilyScenarioName = keyof typeof FAMILY_SCENARIOS;

/** Returns when something fails: once the monitors are known to be up. */
function beginning(random: Random, span: Stretch): number {
  return span.startMs + 4 * MINUTE + random.below(MINUTE);
}

function parentOutage(random: Random, span: Stretch): Stretch {
  const startMs = beginning(random, span);
  return { startMs, endMs: startMs + 3 * MINUTE + random.below(9 * MINUTE) };
}

type FamilyInput = {
  parent: readonly Stretch[];
  parentFails?: Behaviour;
  /** Outages of each child that are the parent's. */
  behind?: readonly (readonly Stretch[])[];
  /** Outage of the first child that is its own. */
  own?: Stretch;
};

function familyOf(span: Stretch, { parent, parentFails = DOWN, behind = [[], [], []], own }: FamilyInput): Family {
  const scriptOf = (outages: readonly Stretch[], behaviour: Behaviour): Script =>
    layOver(
      sound(LOSS),
      outages.map((outage) => ({ ...behaviour, ...outage })),
      span,
    );
  return {
    parent: { script: scriptOf(parent, parentFails) },
    children: behind.map((outages, index) => {
      const ofOwn = index === 0 && own !== undefined ? [own] : [];
      return { script: scriptOf([...outages, ...ofOwn], DOWN), own: ofOwn };
    }),
  };
}
