import type { Monitor } from '../../monitors/monitor.ts';
import { countDaysLeft, describeExpiry } from './facts.ts';

/** What an advisory warns of. */
export type AdvisorySubject = 'domain' | 'certificate';

/** Days left at which is said what the monitor's own threshold has said once (D-27). */
const FURTHER_THRESHOLDS = [14, 7, 3, 1] as const;

/**
 * The highest threshold that an advisory is recorded under: what its column holds. A longer warning is the monitor's
 * own all the same.
 */
const MAX_THRESHOLD = 32_767;

/**
 * The lowest threshold, in days left, that an expiry (Unix seconds) has passed, of the monitor's own and the fixed ones
 * below it. Of several passed at once only one is said; null while there are more days left than `warnDays`.
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
 * A warning that changes no status, as it is stored with its delivery (D-51). Times are Unix seconds; `days_remaining`
 * counts a begun day whole and is 0 from the expiry on.
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
  /** The domain in its ASCII form, or the certificate's subject. */
  name: string;
  /** Unix seconds. */
  expiresAt: number;
  nowMs: number;
  /** Base of links, without a slash at its end. */
  publicUrl: string;
};

/** The message of a domain or certificate that is about to expire (D-27, D-51). */
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
    event_at: Math.floor(nowMs / 1000),
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
