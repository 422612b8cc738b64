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

/** The values that the service chooses for empty fields. */
export type Defaults = {
  interval: number;
  timeout: number;
  method: string;
  expectedStatus: string;
  failures: number;
  successes: number;
  quorum: number;
  /** Null for types other than heartbeat. */
  grace: number | null;
  warnDays: number;
};

/** The plan's shortest interval in seconds, and the number of shared locations. */
export type Surroundings = { minInterval: number; sharedLocations: number };

/** The defaults of a draft's empty fields. Some depend on others: a shorter interval has a shorter timeout. */
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

/** The number of locations that check: the chosen ones, or the shared ones that the service chooses. */
export function countLocations({ sources }: Pick<Draft, 'sources'>, sharedLocations: number): number {
  return sources.length === 0 ? Math.min(DEFAULT_SOURCES, sharedLocations) : sources.length;
}

/** Parses a number above 0; null for everything else. */
export function positive(text: string): number | null {
  const number = Number(text);
  return text.trim() !== '' && Number.isFinite(number) && number > 0 ? number : null;
}

/** Clears fields that equal their default, so that they keep following the fields that the default depends on. */
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

/** The state that the parts of the form share: the draft, the defaults of its empty fields, and the errors. */
export type FormState = {
  draft: Draft;
  change: (part: Partial<Draft>) => void;
  defaults: Defaults;
  surroundings: Surroundings;
  /** The error of a field, by the field's name in the API. */
  problem: (field: string) => string | undefined;
  problems: Problems;
  agents: readonly Schemas['Agent'][];
  /** The vendors that have an id, by name. */
  vendors: readonly Schemas['Vendor'][];
  /** The channels of the account. */
  channels: readonly Schemas['Channel'][];
  /** Everything that is wrong with the draft, by field. */
  judge: () => Readonly<Record<string, string>>;
  /** The monitor as it was loaded; null for a new one. */
  monitor: Schemas['MonitorDetail'] | null;
};
