import type { DnsMode, DnsRecordType } from '../checks/dns/records.ts';
import type { HeartbeatSchedule } from '../heartbeats/schedule.ts';
import type { MonitorState } from '../incidents/state.ts';
import type { ServiceSla } from '../statistics/service-hours.ts';

/** What a monitor can watch; the type never changes after creation. */
export const MONITOR_TYPES = ['http', 'tcp', 'icmp', 'udp', 'domain', 'heartbeat', 'dns', 'vendor'] as const;
export type MonitorType = (typeof MONITOR_TYPES)[number];

/** Types that agents measure, so that several sources can vote (quorum D-41). */
export const AGENT_CHECKED_TYPES = ['http', 'tcp', 'icmp', 'udp'] as const satisfies readonly MonitorType[];

/** True where sources are agents; false where the service itself checks, or waits for pings. */
export function isAgentChecked(type: MonitorType): boolean {
  return (AGENT_CHECKED_TYPES as readonly MonitorType[]).includes(type);
}

/**
 * True where each check talks to the target itself. The others answer from what is known of it, because registries and
 * vendors' pages are asked gently (D-27, D-28): checking again soon would bring the same answer, and what they say
 * says nothing of our own network.
 */
export function talksToTarget(type: MonitorType): boolean {
  return isAgentChecked(type) || type === 'dns';
}

export const HTTP_METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const;
export type HttpMethod = (typeof HTTP_METHODS)[number];

export const ASSERTION_SOURCES = ['text_body', 'json_body', 'header', 'response_time', 'cert_expiry'] as const;
export type AssertionSource = (typeof ASSERTION_SOURCES)[number];

/**
 * One condition on an http answer, in its normalised form (D-22): `path` for json_body only, `name` for header only, no
 * `value` for `exists`.
 */
export type Assertion = { source: AssertionSource; op: string; value?: string; path?: string; name?: string };

/** The http request as stored and shown: secrets appear by name or as a flag, their values live in `MonitorSecrets`. */
export type RequestSpec = {
  headers?: Record<string, string>;
  secretHeaderNames?: string[];
  auth?: { type: 'bearer' | 'basic' };
  body?: string;
  bodySecret?: boolean;
  contentType?: string;
  /** Whether each request carries the id of its check's trace (W3C Trace Context). */
  traceparent?: true;
};

export type TransportSpec = {
  payload?: string;
  payloadEncoding?: 'utf8' | 'hex';
  expect?: string;
  expectMode?: 'contains' | 'regex';
  payloadSecret?: boolean;
};

export type DnsRecordSpec = { type: DnsRecordType; mode: DnsMode; expected?: string[] };

/** Type-specific settings as stored; only the keys of the monitor's own type are present. */
export type CheckSpec = {
  request?: RequestSpec;
  assertions?: Assertion[];
  transport?: TransportSpec;
  domain?: { warnDays?: number };
  ping?: { count?: number; lossDegradedPct?: number; rttDegradedMs?: number };
  heartbeat?: {
    token?: string;
    slug?: string;
    failEnabled?: boolean;
    maxDurationSeconds?: number;
    schedule?: HeartbeatSchedule;
  };
  dns?: { records?: DnsRecordSpec[]; crossCheck?: boolean };
  vendor?: { vendorId?: string; pageUrl?: string; probeUrl?: string; components?: string[] };
  dependencies?: string[];
};

/** Write-only values of a monitor (D-17): sealed at rest, in clear only inside the probing process. */
export type MonitorSecrets = {
  secretHeaders?: Record<string, string>;
  auth?: { token?: string; username?: string; password?: string };
  body?: string;
  payload?: string;
};

/** Everything that a probe needs to know of a monitor. */
export type CheckTarget = {
  type: MonitorType;
  target: string;
  timeoutMs: number;
  method: HttpMethod | null;
  expectedStatus: string | null;
  bodyMatch: string | null;
  followRedirects: boolean;
  checkSpec: CheckSpec;
  secrets: MonitorSecrets;
  /** Whether people will look at the answer also where it is good: then its start is kept. */
  isShown?: true;
  /** The header that ties the request to the trace of this one check. */
  traceparent?: string;
};

/** What a probe needs of a monitor's settings, with the secrets that are kept apart from them. */
export function checkTargetOf(
  settings: Omit<CheckTarget, 'secrets' | 'isShown' | 'traceparent'>,
  secrets: MonitorSecrets,
): CheckTarget {
  const { type, target, timeoutMs, method, expectedStatus, bodyMatch, followRedirects, checkSpec } = settings;
  return { type, target, timeoutMs, method, expectedStatus, bodyMatch, followRedirects, checkSpec, secrets };
}

/**
 * What a customer can set on a monitor, complete: defaults filled in, everything normalised. Secrets are kept apart.
 */
export type MonitorSettings = {
  name: string;
  type: MonitorType;
  /** Empty on a draft (D-11) and on heartbeats. */
  target: string;
  intervalSeconds: number;
  timeoutMs: number;
  method: HttpMethod | null;
  expectedStatus: string | null;
  bodyMatch: string | null;
  followRedirects: boolean;
  downAfterFailures: number;
  upAfterSuccesses: number;
  downMinSources: number;
  heartbeatGraceSeconds: number | null;
  /** Percent in (0, 100]; null = no target. */
  slaTarget: number | null;
  /** Over service hours alone; null = none. */
  sla: ServiceSla | null;
  /** A failure so soon after a recovery reopens its incident instead of opening another; 0 = never. */
  reopenSeconds: number;
  /** Whether a drill of it begins each month. */
  monthlyDrill: boolean;
  /** Words and `key:value`, sorted, each once; 20 at most. */
  tags: readonly string[];
  checkSpec: CheckSpec;
};

/** A monitor as it is stored, without its secrets. Times are Unix seconds unless the name says otherwise. */
export type Monitor = MonitorSettings & {
  /** The short number that stands for the monitor in hot tables and queue payloads. */
  no: number;
  id: string;
  tenantId: string;
  enabled: boolean;
  state: MonitorState;
  stateSinceMs: number;
  /** Grows with every change of what is measured. */
  checksVersion: number;
  createdAt: number;
  updatedAt: number;
};

/** Which monitors a channel gets the alerts of, beside those that it names: those with any, or all, of these tags. */
export type MonitorTags = { any: readonly string[] } | { all: readonly string[] };

/** What a tag looks like: a word, or a key and a value. */
export const TAG = /^[A-Za-z0-9_][A-Za-z0-9._/-]{0,62}(:[A-Za-z0-9._/-]{1,64})?$/;

/** The most tags of a monitor, of an agent, and in each list of a channel's routing. */
export const MAX_TAGS = 20;

/** The tags in a text in which people separate them by commas or blanks, as they are written there. */
export function splitTags(text: string): string[] {
  return text.split(/[\s,]+/).filter((tag) => tag !== '');
}

/** Sorts tags by their characters' codes, each once. */
export function sortTags(tags: readonly string[]): string[] {
  return [...new Set(tags)].toSorted((a, b) => (a < b ? -1 : Number(a > b)));
}

/** Whether the tags of a monitor are those that a channel asks for; never where it asks for none. */
export function matchesTags(tags: readonly string[], wanted: MonitorTags | null): boolean {
  if (wanted === null) return false;
  return 'any' in wanted ? wanted.any.some((tag) => tags.includes(tag)) : wanted.all.every((tag) => tags.includes(tag));
}
