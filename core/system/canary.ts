import type { Change } from '../incidents/change.ts';
import type { MonitorState } from '../incidents/state.ts';
import type { MonitorSettings } from '../monitors/monitor.ts';

/**
 * The canary (docs/watching.md): a monitor in an account of the service's own that changes its state again and again.
 * It goes through the same queues, probes, decisions and deliveries as every other one.
 */
export const CANARY = { tenantId: 'ten_service', monitorId: 'mon_canary' } as const;

/** What the canary checks, below the address that check processes reach `web` at. */
export const CANARY_PATH = '/canary';

/** Addresses that are pinged at most: each costs a delivery for each change. */
export const MAX_ADDRESSES = 10;

/** A ping that is older than this was overtaken by the next ones, and would prove what is true no more. */
export const PING_EXPIRES_MS = 15_000;

/** What its target says: the state that the canary is to have, and null where it is to keep the one that it has. */
export type CanaryAnswer = 'up' | 'down' | null;

/** What each good response holds, and what one holds that says up. */
const ANY_BODY = 'canary: ';
const UP_BODY = 'canary: up';

/** Why the canary is down where its target says so; whatever is broken has another cause. */
const TURN_CAUSE = 'assert_text_body_contains';

/**
 * Decides what the target says: the other state, once for each time that `clock` and `maintain` marked it since it
 * changed last. Without a mark it keeps its state, so that it stands still where they do. Unix milliseconds.
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

/** The response to a check of the canary; null is no answer that it counts. */
export function describeAnswer(answer: CanaryAnswer): { status: number; body: string } {
  if (answer === null) return { status: 503, body: 'The canary keeps its state' };
  return { status: 200, body: answer === 'up' ? UP_BODY : 'canary: down' };
}

/** Whether a change is one that its target asked for: only these prove that everything worked, and are pinged. */
export function isCanaryTurn({ to, cause }: Pick<Change, 'to' | 'cause'>): boolean {
  return to === 'up' || (to === 'down' && cause === TURN_CAUSE);
}

/** The settings of the canary: all of its locations must agree, so that each of them is proved to work. */
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
 * When a heartbeat misses the pings of another installation: two of them, and as long again as the third may take. With
 * pings each 30 s it is down 80 s after the last one.
 */
export function peerHeartbeatTimes(everySeconds: number): { interval_seconds: number; grace_seconds: number } {
  return { interval_seconds: 2 * everySeconds, grace_seconds: Math.max(5, Math.round((everySeconds * 2) / 3)) };
}

/** The name of the heartbeat that watches another installation. */
export function namePeerHeartbeat(peerUrl: string): string {
  return `Spotcheck at ${peerUrl}`;
}

/** What an installation sends another one that has invited it, to be watched by it and to watch it. */
export type PeerRequest = { peerUrl: string; pingUrl: string; everySeconds: number };

const FEWEST_SECONDS = 5;
const MAX_SECONDS = 300;
const LONGEST_URL = 2048;

/** Reads such a request; a text says what is wrong with it. */
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
