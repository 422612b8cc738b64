import type { Monitor } from '../../monitors/monitor.ts';
import { toUnixSeconds } from '../../time.ts';
import { countDaysLeft, describeExpiry } from './facts.ts';

/** Subject of an advisory. */
export type AdvisorySubject = 'domain' | 'certificate';

/** Days left at which the warning of the monitor's own threshold is repeated (D-27). */
const FURTHER_THRESHOLDS = [14, 7, 3, 1] as const;

/**
 * Highest threshold under which an advisory is recorded: the limit of its column. A longer warning period is allowed
 * all the same.
 */
const MAX_THRESHOLD = 32_767;

/**
 * Returns the lowest threshold, in days left, that an expiry (Unix seconds) has passed: the monitor's own or a fixed
 * one below it. Of several passed at once only one is reported; null while there are more days left than `warnDays`.
 */
export function passedThreshold({
  expiresAt,
  warnDays,
  nowMs,
}: {
  expiresAt: number;
  warnDays: number;
  nowMs: number;
}): number | null {
  const daysLeft = countDaysLeft(expiresAt, nowMs);
  const passed = [warnDays, ...FURTHER_THRESHOLDS].filter((days) => days <= warnDays && daysLeft <= days);
  return passed.length === 0 ? null : Math.min(...passed, MAX_THRESHOLD);
}

/**
 * A warning that changes no status, as stored with its delivery (D-51). Times are Unix seconds; `days_remaining` counts
 * a begun day as whole and is 0 from the expiry on.
 */
export type AdvisoryMessage = {
  version: '1';
  event: 'advisory.domain_expiry';
  event_at: number;
  monitor: Pick<Monitor, 'id' | 'name' | 'type' | 'target'>;
  state: 'expiring';
  reason: string;
  detail: {
    sources_down: string[];
    incident_id: null;
    subject: AdvisorySubject;
    name: string;
    expires_at: number;
    days_remaining: number;
  };
  url: string;
};

type AdvisoryFacts = {
  monitor: AdvisoryMessage['monitor'];
  subject: AdvisorySubject;
  /** The domain in ASCII, or the certificate's subject. */
  name: string;
  /** Unix seconds. */
  expiresAt: number;
  nowMs: number;
  /** Base of links, without a trailing slash. */
  publicUrl: string;
};

/** Builds the message of a domain or certificate that is about to expire (D-27, D-51). */
export function buildAdvisoryMessage({
  monitor,
  subject,
  name,
  expiresAt,
  nowMs,
  publicUrl,
}: AdvisoryFacts): AdvisoryMessage {
  return {
    version: '1',
    event: 'advisory.domain_expiry',
    event_at: toUnixSeconds(nowMs),
    monitor: { id: monitor.id, name: monitor.name, type: monitor.type, target: monitor.target },
    state: 'expiring',
    reason: `The ${subject} ${name} ${describeExpiry(expiresAt, nowMs)}`,
    detail: {
      sources_down: [],
      incident_id: null,
      subject,
      name,
      expires_at: expiresAt,
      days_remaining: countDaysLeft(expiresAt, nowMs),
    },
    url: `${publicUrl}/monitors/${monitor.id}`,
  };
}
