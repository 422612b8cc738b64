import type { DnsMode, DnsRecordType } from '../checks/dns/records.ts';
import type { HeartbeatSchedule } from '../heartbeats/schedule.ts';
import type { MonitorState } from '../incidents/state.ts';
import type { ServiceSla } from '../statistics/service-hours.ts';

/** Types of monitors; a monitor's type never changes after creation. */
export const MONITOR_TYPES = ['http', 'tcp', 'icmp', 'udp', 'domain', 'heartbeat', 'dns', 'vendor'] as const;
export type MonitorType = (typeof MONITOR_TYPES)[number];

/** Types that agents measure, so that several sources can vote (quorum D-41). */
export const AGENT_CHECKED_TYPES = ['http', 'tcp', 'icmp', 'udp'] as const satisfies readonly MonitorType[];

/** Returns true if sources are agents; false if the service itself checks, or waits for pings. */
export function isAgentChecked(type: MonitorType): boolean {
  return (AGENT_CHECKED_TYPES as readonly MonitorType[]).includes(type);
}

/**
 * Returns true if each check contacts the target itself. Other types use cached data, because registries and vendors'
 * pages are queried sparingly (D-27, D-28): checking again soon would give the same result, which proves nothing about
 * the service's own network.
 */
export function talksToTarget(type: MonitorType): boolean {
  return isAgentChecked(type) || type === 'dns';
}

export const HTTP_METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const;
export type HttpMethod = (typeof HTTP_METHODS)[number];

export const ASSERTION_SOURCES = ['text_body', 'json_body', 'header', 'response_time', 'cert_expiry'] as const;
export type AssertionSource = (typeof ASSERTION_SOURCES)[number];

/**
 * One condition on an http response, in its normalised form (D-22): `path` only for json_body, `name` only for header,
 * no `value` for `exists`.
 */
export type Assertion = { source: AssertionSource; op: string; value?: string; path?: string; name?: string };

/** The http request as stored and shown: secrets appear by name or as a flag, their values are in `MonitorSecrets`. */
export type RequestSpec = {
  headers?: Record<string, string>;
  secretHeaderNames?: string[];
  auth?: { type: 'bearer' | 'basic' };
  body?: string;
  bodySecret?: boolean;
  contentType?: string;
  /** Whether each request contains the id of its check's trace (W3C Trace Context). */
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

/** Write-only values of a monitor (D-17): sealed at rest, in plain text only inside the probing process. */
export type MonitorSecrets = {
  secretHeaders?: Record<string, string>;
  auth?: { token?: string; username?: string; password?: string };
  body?: string;
  payload?: string;
};

/** All data of a monitor that a probe needs. */
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
  /** Whether people will inspect even a good response: then its start is kept. */
  isShown?: true;
  /** The header that links the request to the trace of this check. */
  traceparent?: string;
};

/** Combines the settings that a probe needs with the secrets, which are stored separately. */
export function checkTargetOf(
  settings: Omit<CheckTarget, 'secrets' | 'isShown' | 'traceparent'>,
  secrets: MonitorSecrets,
): CheckTarget {
  const { type, target, timeoutMs, method, expectedStatus, bodyMatch, followRedirects, checkSpec } = settings;
  return { type, target, timeoutMs, method, expectedStatus, bodyMatch, followRedirects, checkSpec, secrets };
}

/** Complete settings of a monitor: defaults filled in, everything normalised. Secrets are separate. */
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
  /** Only over service hours; null = none. */
  sla: ServiceSla | null;
  /** A failure this soon after a recovery reopens its incident instead of opening another; 0 = never. */
  reopenSeconds: number;
  /** Whether a drill begins each month. */
  monthlyDrill: boolean;
  /** Words and `key:value`, sorted, unique; 20 at most. */
  tags: readonly string[];
  checkSpec: CheckSpec;
};

/** A monitor as stored, without its secrets. Times are Unix seconds unless the name says otherwise. */
export type Monitor = MonitorSettings & {
  /** Short number of the monitor in hot tables and queue payloads. */
  no: number;
  id: string;
  tenantId: string;
  enabled: boolean;
  state: MonitorState;
  stateSinceMs: number;
  /** Grows with every change of the measured settings. */
  checksVersion: number;
  createdAt: number;
  updatedAt: number;
};

/** Further monitors whose alerts a channel gets, besides those that it names: those with any, or all, of these tags. */
export type MonitorTags = { any: readonly string[] } | { all: readonly string[] };

/** Syntax of a tag: a word, or a key and a value. */
export const TAG = /^[A-Za-z0-9_][A-Za-z0-9._/-]{0,62}(:[A-Za-z0-9._/-]{1,64})?$/;

/** Maximum number of tags of a monitor, of an agent, and in each list of a channel's routing. */
export const MAX_TAGS = 20;

/** Splits a text into tags at commas or blanks, without changing them. */
export function splitTags(text: string): string[] {
  return text.split(/[\s,]+/).filter((tag) => tag !== '');
}

/** Sorts tags by character code and removes duplicates. */
export function sortTags(tags: readonly string[]): string[] {
  return [...new Set(tags)].toSorted((a, b) => (a < b ? -1 : Number(a > b)));
}

/** Reports whether a monitor's tags match a channel's; false if the channel has none. */
export function matchesTags(tags: readonly string[], wanted: MonitorTags | null): boolean {
  if (wanted === null) return false;
  return 'any' in wanted ? wanted.any.some((tag) => tags.includes(tag)) : wanted.all.every((tag) => tags.includes(tag));
}
