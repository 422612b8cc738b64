import {
  DEFAULT_SOURCES,
  DEFAULT_WARN_DAYS,
  defaultDownMinSources,
  defaultGraceSeconds,
  defaultsOf as defaultsOfType,
  defaultTimeoutMs,
} from '../../../core/monitors/defaults.ts';
import type { Schemas } from '../../client/shapes.ts';
import type { Draft } from './draft.ts';
import type { Problems } from './problems.ts';

/** What a field is where nothing is filled in, as the service chooses it. */
export type Defaults = {
  interval: number;
  timeout: number;
  method: string;
  expectedStatus: string;
  failures: number;
  successes: number;
  quorum: number;
  /** Null for other types than heartbeat. */
  grace: number | null;
  warnDays: number;
};

/** Where a monitor is made: its plan's shortest interval in seconds, and how many shared locations there are. */
export type Surroundings = { minInterval: number; sharedLocations: number };

/** What a draft's empty fields stand for. Some follow others: a shorter interval has a shorter timeout. */
export function defaultsOf(draft: Draft, { minInterval, sharedLocations }: Surroundings): Defaults {
  const { type } = draft;
  const ofType = defaultsOfType(type, minInterval);
  const seconds = positive(draft.interval) ?? ofType.intervalSeconds;
  return {
    interval: ofType.intervalSeconds,
    timeout: defaultTimeoutMs(seconds),
    method: ofType.method ?? '',
    expectedStatus: ofType.expectedStatus ?? '',
    failures: ofType.downAfterFailures,
    successes: ofType.upAfterSuccesses,
    quorum: defaultDownMinSources(type, countLocations(draft, sharedLocations)),
    grace: defaultGraceSeconds(type, seconds),
    warnDays: type === 'domain' ? DEFAULT_WARN_DAYS : 0,
  };
}

/** How many locations check it: those that are named, or as many shared ones as the service chooses. */
export function countLocations({ sources }: Pick<Draft, 'sources'>, sharedLocations: number): number {
  return sources.length === 0 ? Math.min(DEFAULT_SOURCES, sharedLocations) : sources.length;
}

/** A number above 0 that is written out; null for everything else. */
export function positive(text: string): number | null {
  const number = Number(text);
  return text.trim() !== '' && Number.isFinite(number) && number > 0 ? number : null;
}

/** What follows from others is left empty where it is as it would be by itself, so that it goes on following. */
export function withFollowing(draft: Draft, surroundings: Surroundings): Draft {
  const { timeout, quorum, grace } = defaultsOf(draft, surroundings);
  const unlessDefault = (text: string, standard: number | null) => (text === String(standard) ? '' : text);
  return {
    ...draft,
    timeout: unlessDefault(draft.timeout, timeout),
    quorum: unlessDefault(draft.quorum, quorum),
    grace: unlessDefault(draft.grace, grace),
  };
}

/** What the parts of the form work on: the draft, what its empty fields stand for, and what is wrong. */
export type FormState = {
  draft: Draft;
  change: (part: Partial<Draft>) => void;
  defaults: Defaults;
  surroundings: Surroundings;
  /** What is wrong with a field, by the API's name of it. */
  problem: (field: string) => string | undefined;
  problems: Problems;
  agents: readonly Schemas['Agent'][];
  /** Those that go by an id, by name. */
  vendors: readonly Schemas['Vendor'][];
  /** The monitor as it was read; null while a new one is made. */
  monitor: Schemas['MonitorDetail'] | null;
};
