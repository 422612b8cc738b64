import { createRequire } from 'node:module';
import { domainToASCII } from 'node:url';
import type * as Tldts from 'tldts';

const require = createRequire(import.meta.url);

/**
 * The domain that a host name belongs to at its registry, in ASCII, by the ICANN part of the public suffix list. What
 * customers of a hoster register below its own domain (`shop.github.io`) is no business of a registry's. A top-level
 * domain that the list does not know counts as a suffix, as the list itself says. Null for a bare suffix, an address,
 * and a name without a dot.
 */
export function findRegistrableDomain(host: string): string | null {
  return parseHost(host, false);
}

/** The same by the whole list: the domain whose owner decides what servers answer for it (`shop.eu.org`). */
export function findOwnersDomain(host: string): string | null {
  return parseHost(host, true);
}

function parseHost(host: string, allowPrivateDomains: boolean): string | null {
  // The list takes 13 MB, and many a process never asks.
  const { parse } = require('tldts') as typeof Tldts;
  const { domain, isIp } = parse(domainToASCII(host.replace(/\.$/, '')), { allowPrivateDomains });
  return isIp === true ? null : domain;
}
