import { DEFAULT_EXPECTED_STATUS } from '../checks/http/expected-status.ts';
import { isAgentChecked, type HttpMethod, type MonitorType } from './monitor.ts';

/** Days of warning of a domain monitor whose owner names none. */
export const DEFAULT_WARN_DAYS = 30;

/** The longest that any check may take, in milliseconds. */
export const MAX_TIMEOUT_MS = 10_000;

const DEFAULT_INTERVAL_SECONDS = {
  http: 60,
  tcp: 60,
  icmp: 60,
  udp: 60,
  domain: 3600,
  heartbeat: 60,
  dns: 300,
  vendor: 120,
} as const satisfies Record<MonitorType, number>;

/**
 * What a new monitor gets where its owner says nothing (D-10); what depends on other fields has functions of its own.
 */
export type TypeDefaults = {
  intervalSeconds: number;
  method: HttpMethod | null;
  expectedStatus: string | null;
  followRedirects: boolean;
  downAfterFailures: number;
  upAfterSuccesses: number;
};

/**
 * The defaults of a type. The interval is raised to the plan's shortest one, so that a creation by name alone is good
 * on every plan.
 */
export function defaultsOf(type: MonitorType, minIntervalSeconds: number): TypeDefaults {
  const isHttp = type === 'http';
  return {
    intervalSeconds: Math.max(DEFAULT_INTERVAL_SECONDS[type], minIntervalSeconds),
    method: isHttp ? 'GET' : null,
    expectedStatus: isHttp ? DEFAULT_EXPECTED_STATUS : null,
    followRedirects: isHttp,
    downAfterFailures: 2,
    upAfterSuccesses: 1,
  };
}

/** Half the interval, 10 seconds at most; in milliseconds (D-10). */
export function defaultTimeoutMs(intervalSeconds: number): number {
  return Math.min(MAX_TIMEOUT_MS, intervalSeconds * 500);
}

/**
 * How many sources must agree that a monitor is down: two where there are two, and one where the service itself checks
 * (D-10).
 */
export function defaultDownMinSources(type: MonitorType, sources: number): number {
  return isAgentChecked(type) ? Math.min(2, Math.max(1, sources)) : 1;
}

/**
 * How late a ping may be, in seconds: a fifth of the interval, a minute at least; null for other types than heartbeat
 * (D-10).
 */
export function defaultGraceSeconds(type: MonitorType, intervalSeconds: number): number | null {
  return type === 'heartbeat' ? Math.max(60, Math.round(intervalSeconds * 0.2)) : null;
}
