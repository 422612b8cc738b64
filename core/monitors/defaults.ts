import { DEFAULT_EXPECTED_STATUS } from '../checks/http/expected-status.ts';
import { toUnixSeconds } from '../time.ts';
import { isAgentChecked, type HttpMethod, type MonitorType } from './monitor.ts';

/** Default warning period of a domain monitor, in days. */
export const DEFAULT_WARN_DAYS = 30;

/** Maximum duration of any check, in milliseconds. */
const MAX_TIMEOUT_MS = 10_000;

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

/** Defaults of a new monitor (D-10); those that depend on other fields have their own functions. */
type TypeDefaults = {
  intervalSeconds: number;
  method: HttpMethod | null;
  expectedStatus: string | null;
  followRedirects: boolean;
  downAfterFailures: number;
  upAfterSuccesses: number;
};

/**
 * Returns the defaults of a type. The interval is raised to the plan's shortest one, so that a creation by name alone
 * is valid on every plan.
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

/** Returns half the interval, at most 10 seconds; in milliseconds (D-10). */
export function defaultTimeoutMs(intervalSeconds: number): number {
  return Math.min(MAX_TIMEOUT_MS, intervalSeconds * 500);
}

/**
 * Returns how many sources must agree that a monitor is down: two if there are two, and one if the service itself
 * checks (D-10).
 */
export function defaultDownMinSources(type: MonitorType, sources: number): number {
  return isAgentChecked(type) ? Math.min(2, Math.max(1, sources)) : 1;
}

/**
 * Returns how late a ping may be, in seconds: a fifth of the interval, at least a minute; null for types other than
 * heartbeat (D-10).
 */
export function defaultGraceSeconds(type: MonitorType, intervalSeconds: number): number | null {
  return type === 'heartbeat' ? Math.max(60, Math.round(intervalSeconds * 0.2)) : null;
}

/** Default number of agents of a monitor (D-12). */
export const DEFAULT_SOURCES = 3;

/**
 * A shared agent is alive if one of its check processes reported within this, in seconds. They do so every 15 s, and a
 * deploy takes a while.
 */
const ALIVE_SECONDS = 300;

/**
 * Returns the ids of the shared agents that are alive at `nowMs` (Unix milliseconds). If none is, returns those that
 * reported last: everything was stopped and only the API is back. `lastSeenAt` is in Unix seconds.
 */
export function listAliveAgents(shared: readonly { id: string; lastSeenAt: number | null }[], nowMs: number): string[] {
  const newestAt = Math.max(...shared.map(({ lastSeenAt }) => lastSeenAt ?? 0));
  const sinceAt = Math.min(newestAt, toUnixSeconds(nowMs)) - ALIVE_SECONDS;
  return shared.filter(({ lastSeenAt }) => (lastSeenAt ?? 0) >= sinceAt).map(({ id }) => id);
}

/**
 * Chooses up to three of the shared agents' ids, or as many as are wanted, sorted. The choice depends on the monitor's
 * own id (highest random weight), so that it is stable and monitors spread evenly. With fewer agents, returns all.
 */
export function chooseDefaultSources(
  monitorId: string,
  sharedAgentIds: readonly string[],
  wanted = DEFAULT_SOURCES,
): string[] {
  return sharedAgentIds
    .map((agentId) => ({ agentId, weight: fnv1a(`${monitorId}/${agentId}`) }))
    .toSorted((a, b) => b.weight - a.weight || a.agentId.localeCompare(b.agentId))
    .slice(0, wanted)
    .map(({ agentId }) => agentId)
    .toSorted();
}

/** 32-bit FNV-1a with a final mix: for even spread, not for secrecy. */
function fnv1a(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  return (hash ^ (hash >>> 13)) >>> 0;
}
