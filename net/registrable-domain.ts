import { createRequire } from 'node:module';
import { domainToASCII } from 'node:url';
import type * as Tldts from 'tldts';

const require = createRequire(import.meta.url);

/**
 * Returns the domain that a host name belongs to at its registry, in ASCII, by the ICANN part of the public suffix
 * list. Names that customers of a hoster register below its own domain (`shop.github.io`) do not concern a registry. A
 * top-level domain that the list lacks counts as a suffix, as the list itself prescribes. Null for a bare suffix, an
 * address, and a name without a dot.
 */
export function findRegistrableDomain(host: string): string | null {
  return parseHost(host, false);
}

/** Returns the same by the whole list: the domain whose owner decides which servers answer for it (`shop.eu.org`). */
export function findOwnersDomain(host: string): string | null {
  return parseHost(host, true);
}

function parseHost(host: string, allowPrivateDomains: boolean): string | null {
  // The list takes 13 MB, and many processes never need it.
  const { parse } = require('tldts') as typeof Tldts;
  const { domain, isIp } = parse(domainToASCII(host.replace(/\.$/, '')), { allowPrivateDomains });
  return isIp === true ? null : domain;
}
