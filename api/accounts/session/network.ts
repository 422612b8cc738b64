import ipaddr from 'ipaddr.js';

/**
 * What is counted for an address: itself for IPv4, also where it is mapped into IPv6; for IPv6 its /64, which is what
 * one customer has of addresses.
 */
export function networkOf(address: string): string {
  if (!ipaddr.isValid(address)) return address;
  const parsed = ipaddr.process(address);
  return parsed instanceof ipaddr.IPv6
    ? parsed.parts
        .slice(0, 4)
        .map((part) => part.toString(16))
        .join(':')
    : parsed.toString();
}
