import { AGENT_CHECKED, type Draft, type MonitorType } from './monitor-draft.ts';

/** What a field is where nothing is filled in; the service chooses the same. */
export type Defaults = {
  interval: number;
  timeout: number;
  method: string;
  expectedStatus: string;
  failures: number;
  successes: number;
  quorum: number;
  grace: number;
  warnDays: number;
};

/** Where a monitor is made: its plan's shortest interval in seconds, and how many shared locations there are. */
export type Surroundings = { minInterval: number; sharedLocations: number };

/** The shortest interval of a plan, in seconds. */
export const MIN_INTERVAL = { free: 60, solo: 30, pro: 1 } as const;

const INTERVAL = {
  http: 60,
  tcp: 60,
  icmp: 60,
  udp: 60,
  domain: 3600,
  heartbeat: 60,
  dns: 300,
  vendor: 120,
} as const satisfies Record<MonitorType, number>;

/** As many shared locations check a monitor whose owner names none, if there are. */
const DEFAULT_LOCATIONS = 3;

/** What a draft's empty fields stand for. Some follow others: a shorter interval has a shorter timeout. */
export function defaultsOf(draft: Draft, { minInterval, sharedLocations }: Surroundings): Defaults {
  const interval = Math.max(INTERVAL[draft.type], minInterval);
  const seconds = positive(draft.interval) ?? interval;
  const isHttp = draft.type === 'http';
  return {
    interval,
    timeout: Math.min(10_000, seconds * 500),
    method: isHttp ? 'GET' : '',
    expectedStatus: isHttp ? '2xx' : '',
    failures: 2,
    successes: 1,
    quorum: AGENT_CHECKED.includes(draft.type) ? Math.min(2, Math.max(1, countLocations(draft, sharedLocations))) : 1,
    grace: Math.max(60, Math.round(seconds * 0.2)),
    warnDays: draft.type === 'domain' ? 30 : 0,
  };
}

/** How many locations check it: those that are named, or up to three shared ones. */
export function countLocations({ sources }: Pick<Draft, 'sources'>, sharedLocations: number): number {
  return sources.length === 0 ? Math.min(DEFAULT_LOCATIONS, sharedLocations) : sources.length;
}

/** A number above 0 that is written out; null for everything else. */
export function positive(text: string): number | null {
  const number = Number(text);
  return text.trim() !== '' && Number.isFinite(number) && number > 0 ? number : null;
}

/** What follows from others is left empty where it is as it would be by itself, so that it goes on following. */
export function withFollowing(draft: Draft, surroundings: Surroundings): Draft {
  const { timeout, quorum, grace } = defaultsOf(draft, surroundings);
  const unlessDefault = (text: string, standard: number) => (text === String(standard) ? '' : text);
  return {
    ...draft,
    timeout: unlessDefault(draft.timeout, timeout),
    quorum: unlessDefault(draft.quorum, quorum),
    grace: unlessDefault(draft.grace, grace),
  };
}
