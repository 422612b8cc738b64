import type { AssertionSource } from '../monitors/monitor.ts';

/** Verdict of one observation on its target. */
export type Verdict = 'up' | 'degraded' | 'down';

/**
 * A verdict, or `none`: the probe could not measure (the service's fault, not the target's), so the source does not
 * vote (D-20).
 */
export type Vote = Verdict | 'none';

/** Fixed causes of D-20; `status_NNN` and `assert_<source>_<op>` are families besides them. */
export const CAUSES = [
  'body_mismatch',
  'slow',
  'cert_expiring',
  'cert_expired',
  'tls_error',
  'timeout',
  'conn_refused',
  'conn_error',
  'dns_nxdomain',
  'dns_error',
  'blocked_target',
  'insecure_redirect',
  'too_many_redirects',
  'tcp_mismatch',
  'tcp_no_banner',
  'udp_no_reply',
  'udp_mismatch',
  'icmp_timeout',
  'icmp_unavailable',
  'dns_mismatch',
  'dns_disagree',
  'domain_expiring',
  'domain_expired',
  'domain_unknown',
  'vendor_degraded',
  'vendor_down',
  'vendor_unreachable',
  'heartbeat_missed',
  'heartbeat_failed',
  'heartbeat_overrun',
  'unsupported',
] as const;
export type FixedCause = (typeof CAUSES)[number];
export type Cause = FixedCause | `status_${number}` | `assert_${AssertionSource}_${string}`;

/**
 * Duration of each step of an exchange, in milliseconds; null = the step did not happen (an address needs no lookup,
 * http no TLS).
 */
export type Timings = {
  dnsMs: number | null;
  connectMs: number | null;
  tlsMs: number | null;
  firstByteMs: number | null;
  downloadMs: number | null;
};

/** Timings of an exchange without any completed step. */
export const NO_TIMINGS: Timings = {
  dnsMs: null,
  connectMs: null,
  tlsMs: null,
  firstByteMs: null,
  downloadMs: null,
};

/** Maximum length of a stored cause and reason, in characters. */
export const MAX_CAUSE = 64;
export const MAX_REASON = 500;

/**
 * Judgement of one observation. `reason` is a sentence for people, without secrets; both are null for `up`, and `cause`
 * is null too if the probe itself crashed (no vote).
 */
export type Judgement = { verdict: Vote; cause: Cause | null; reason: string | null };

export const UP: Judgement = { verdict: 'up', cause: null, reason: null };

/** Reports whether a verdict, or the state of a monitor, is `down` or `degraded`. */
export function isBad<State extends string>(state: State): state is Extract<State, 'down' | 'degraded'> {
  return state === 'down' || state === 'degraded';
}

/**
 * Codes of `status_NNN` start here; below are the fixed causes by their index in the list, to which entries are only
 * appended.
 */
const STATUS_BASE = 1000;

/**
 * Returns the numeric code of a cause in stored results; null for a cause that is stored as text (assertions, foreign
 * agents).
 */
export function encodeCause(cause: string): number | null {
  const status = /^status_(\d{3})$/.exec(cause)?.[1];
  if (status !== undefined) return STATUS_BASE + Number(status);
  const index = (CAUSES as readonly string[]).indexOf(cause);
  return index === -1 ? null : index + 1;
}

/** Returns the cause of a code; null for an unknown code. */
export function decodeCause(code: number): string | null {
  if (code > STATUS_BASE) return `status_${code - STATUS_BASE}`;
  return CAUSES[code - 1] ?? null;
}

/** Codes of verdicts in the database. */
export const VERDICT_CODES = { none: 0, up: 1, degraded: 2, down: 3 } as const;
