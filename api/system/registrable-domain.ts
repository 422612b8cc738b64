import { domainToASCII } from 'node:url';
import { parse } from 'tldts';

/**
 * The domain that a host name belongs to at its registry, in ASCII, by the ICANN part of the public suffix list (D-27);
 * null for a bare suffix, an address, and a name without a dot.
 */
export function findRegistrableDomain(host: string): string | null {
  const { domain, isIp } = parse(domainToASCII(host.replace(/\.$/, '')));
  return isIp === true ? null : domain;
}
