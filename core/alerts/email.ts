import { accepted, quote, refused, type Parsed } from '../foreign-text.ts';
import type { StoredMessage } from './envelope.ts';

/** Identity of one delivery's email, the same in each of its attempts. */
export type EmailIdentity = {
  /** The part of the Message-ID before its `@`. */
  messageId: string;
  /** Part before the `@` of the reference that messages of one thread share; null = no thread. */
  threadId: string | null;
};

/**
 * Returns the identity of a delivery's email. Retries keep the Message-ID, so that a mail client shows duplicates once;
 * a redelivery has another, or it would be hidden. All emails of an incident refer to one id, which is no message's
 * own.
 */
export function identifyEmail({
  deliveryId,
  attemptsBefore,
  message,
}: {
  deliveryId: string;
  attemptsBefore: number;
  message: StoredMessage;
}): EmailIdentity {
  const round = attemptsBefore === 0 ? '' : `.${attemptsBefore}`;
  return { messageId: `${deliveryId}${round}`, threadId: incidentOf(message) };
}

function incidentOf(message: StoredMessage): string | null {
  return 'detail' in message && 'incident_id' in message.detail ? message.detail.incident_id : null;
}

/** Longest address that SMTP allows (RFC 5321), and the longest part before its `@`, in characters. */
const LONGEST_ADDRESS = 254;
const LONGEST_LOCAL_PART = 64;
const LONGEST_DOMAIN = 253;

const ATOM = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+";
const LOCAL_PART = new RegExp(String.raw`^${ATOM}(?:\.${ATOM})*$`);

/** Letters of any alphabet, digits, hyphens and dots: no character with a special meaning in a URL. */
const DOMAIN_CHARACTERS = /^[\p{L}\p{M}\p{N}.-]+$/u;
const LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

/**
 * Parses one email address, without a name or brackets around it. Returns the domain in lower case and in ASCII (IDNA),
 * the part before the `@` unchanged. Rejects quoted and international local parts, which few servers accept.
 */
export function parseEmailAddress(text: string): Parsed<string> {
  const written = text.trim();
  const at = written.lastIndexOf('@');
  const localPart = written.slice(0, Math.max(0, at));
  const domain = readDomain(written.slice(at + 1));
  if (at < 1 || localPart.length > LONGEST_LOCAL_PART || !LOCAL_PART.test(localPart) || domain === null)
    return refused(`must be one email address such as oncall@example.com, got ${quote(text)}`);
  const address = `${localPart}@${domain}`;
  return address.length > LONGEST_ADDRESS
    ? refused(`must be at most ${LONGEST_ADDRESS} characters, got ${address.length}`)
    : accepted(address);
}

/** Returns a domain in ASCII; null if it is invalid, or a numeric address. */
function readDomain(written: string): string | null {
  if (written.length > LONGEST_DOMAIN || !DOMAIN_CHARACTERS.test(written)) return null;
  const domain = URL.parse(`http://${written}`)?.hostname ?? '';
  const labels = domain.split('.');
  const isName = labels.length > 1 && labels.every((label) => LABEL.test(label));
  return isName && !/^\d+$/.test(labels.at(-1) ?? '') ? domain : null;
}
