import { accepted, quote, refused, type Parsed } from '../foreign-text.ts';

/** The longest address that SMTP carries (RFC 5321), and the longest part before its `@`, in characters. */
export const LONGEST_ADDRESS = 254;
const LONGEST_LOCAL_PART = 64;
const LONGEST_DOMAIN = 253;

const ATOM = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+";
const LOCAL_PART = new RegExp(String.raw`^${ATOM}(?:\.${ATOM})*$`);

/** Letters of any alphabet, digits, hyphens and dots: nothing that means more than a name in an URL. */
const DOMAIN_CHARACTERS = /^[\p{L}\p{M}\p{N}.-]+$/u;
const LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

/**
 * Reads one email address, without a name or brackets around it. The domain comes back in lower case and in ASCII
 * (IDNA), the part before the `@` as it was written. Quoted and international local parts are refused: few servers take
 * them.
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

/** A domain in ASCII; null where it is none, or an address of numbers. */
function readDomain(written: string): string | null {
  if (written.length > LONGEST_DOMAIN || !DOMAIN_CHARACTERS.test(written)) return null;
  const domain = URL.parse(`http://${written}`)?.hostname ?? '';
  const labels = domain.split('.');
  const isName = labels.length > 1 && labels.every((label) => LABEL.test(label));
  return isName && !/^\d+$/.test(labels.at(-1) ?? '') ? domain : null;
}
