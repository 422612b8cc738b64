import type { Change } from '../incidents/change.ts';
import type { MonitorState } from '../incidents/state.ts';
import type { MonitorSettings } from '../monitors/monitor.ts';

/**
 * The canary (docs/watching.md): a monitor in an internal account that changes its state again and again. It uses the
 * same queues, probes, decisions and deliveries as every other monitor.
 */
export const CANARY = { tenantId: 'ten_service', monitorId: 'mon_canary' } as const;

/** Path of the canary's target, below the address at which check processes reach `web`. */
export const CANARY_PATH = '/canary';

/** Maximum number of addresses that are pinged: each costs a delivery for each change. */
export const MAX_ADDRESSES = 10;

/** Age at which a ping expires: later ones have overtaken it, and it would prove an outdated state. */
export const PING_EXPIRES_MS = 15_000;

/** Response of its target: the state that the canary has to take, or null to keep its present one. */
export type CanaryAnswer = 'up' | 'down' | null;

/** Text in every good response, and in one that means up. */
const ANY_BODY = 'canary: ';
const UP_BODY = 'canary: up';

/** Cause of an intended down; any real fault has another cause. */
const TURN_CAUSE = 'assert_text_body_contains';

/**
 * Decides the target's response: the other state, once for each time that `clock` and `maintain` marked it since its
 * last change. Without a mark the canary keeps its state, so that it stops if they do. Unix milliseconds.
 */
export function answerCanary(canary: {
  state: MonitorState;
  stateSinceMs: number;
  markedAtMs: number | null;
}): CanaryAnswer {
  const { state, stateSinceMs, markedAtMs } = canary;
  if (state === 'paused') return null;
  const isMarked = markedAtMs !== null && markedAtMs > stateSinceMs;
  if (isMarked) return state === 'up' ? 'down' : 'up';
  return state === 'up' || state === 'down' ? state : null;
}

/** Returns the response to a check of the canary; null is one that does not count. */
export function describeAnswer(answer: CanaryAnswer): { status: number; body: string } {
  if (answer === null) return { status: 503, body: 'The canary keeps its state' };
  return { status: 200, body: answer === 'up' ? UP_BODY : 'canary: down' };
}

/** Reports whether its target requested a change: only such changes prove that everything worked, and are pinged. */
export function isCanaryTurn({ to, cause }: Pick<Change, 'to' | 'cause'>): boolean {
  return to === 'up' || (to === 'down' && cause === TURN_CAUSE);
}

/** Returns the settings of the canary: all of its locations must agree, so that each of them is proved to work. */
export function canarySettings(given: { target: string; intervalSeconds: number; sources: number }): MonitorSettings {
  const { target, intervalSeconds, sources } = given;
  return {
    name: 'Canary',
    type: 'http',
    target,
    intervalSeconds,
    timeoutMs: Math.min(10_000, intervalSeconds * 500),
    method: 'GET',
    expectedStatus: '200',
    bodyMatch: ANY_BODY,
    followRedirects: false,
    downAfterFailures: 1,
    upAfterSuccesses: 1,
    downMinSources: Math.max(1, sources),
    heartbeatGraceSeconds: null,
    slaTarget: null,
    sla: null,
    reopenSeconds: 0,
    monthlyDrill: false,
    tags: [],
    checkSpec: { assertions: [{ source: 'text_body', op: 'contains', value: UP_BODY }] },
  };
}

/**
 * Returns the times after which a heartbeat misses another installation's pings: two intervals, plus the time that the
 * third ping may take. With pings each 30 s it is down 80 s after the last one.
 */
export function peerHeartbeatTimes(everySeconds: number): { interval_seconds: number; grace_seconds: number } {
  return { interval_seconds: 2 * everySeconds, grace_seconds: Math.max(5, Math.round((everySeconds * 2) / 3)) };
}

/** Returns the name of the heartbeat that monitors another installation. */
export function namePeerHeartbeat(peerUrl: string): string {
  return `Spotcheck at ${peerUrl}`;
}

/** Request to an installation that sent an invitation: both will monitor each other. */
type PeerRequest = { peerUrl: string; pingUrl: string; everySeconds: number };

const FEWEST_SECONDS = 5;
const MAX_SECONDS = 300;
const LONGEST_URL = 2048;

/** Parses such a request; a string result explains the fault. */
export function readPeerRequest(body: unknown): PeerRequest | string {
  const { peer_url: peerUrl, ping_url: pingUrl, every_seconds: everySeconds } = Object(body);
  if (!isBase(peerUrl)) return 'peer_url must be the http:// or https:// URL of an installation, without a query';
  if (!isBase(pingUrl) || !pingUrl.startsWith(`${peerUrl}/ping/`))
    return 'ping_url must be a ping URL of the installation at peer_url';
  if (!Number.isInteger(everySeconds) || everySeconds < FEWEST_SECONDS || everySeconds > MAX_SECONDS)
    return `every_seconds must be an integer from ${FEWEST_SECONDS} to ${MAX_SECONDS}`;
  return { peerUrl, pingUrl, everySeconds };
}

function isBase(value: unknown): value is string {
  if (typeof value !== 'string' || value.length > LONGEST_URL || value.endsWith('/') || /[\s\p{Cc}]/u.test(value))
    return false;
  const url = URL.parse(value);
  const isHttp = url?.protocol === 'http:' || url?.protocol === 'https:';
  return isHttp && url.username === '' && url.password === '' && url.search === '' && url.hash === '';
}
