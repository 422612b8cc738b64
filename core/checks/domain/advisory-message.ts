import type { Monitor } from '../../monitors/monitor.ts';
import type { AdvisorySubject } from './advisory.ts';
import { countDaysLeft, describeExpiry } from './days-left.ts';

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

export type AdvisoryFacts = {
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
