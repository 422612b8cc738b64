import ipaddr from 'ipaddr.js';
import type { IPv4, IPv6 } from 'ipaddr.js';

type Range4 = [IPv4, number];
type Range6 = [IPv6, number];

// The IANA IPv4 and IPv6 Special-Purpose Address Registries: everything whose "Globally Reachable" is not True, then the
// blocks inside them for which it is. Multicast has registries of its own and is no unicast address (D-30).
const REFUSED_4 = ranges4(
  '0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12', '192.0.0.0/24', '192.0.2.0/24',
  '192.88.99.0/24', '192.168.0.0/16', '198.18.0.0/15', '198.51.100.0/24', '203.0.113.0/24', '224.0.0.0/4', '240.0.0.0/4',
);
const REACHABLE_4 = ranges4('192.0.0.9/32', '192.0.0.10/32');

// IANA has handed out unicast addresses from 2000::/3 only: loopback, mapped, local, multicast and all that is not yet
// allotted lie outside of it.
const GLOBAL_6 = ranges6('2000::/3');
const REFUSED_6 = ranges6('2001::/23', '2001:db8::/32', '3fff::/20');
const REACHABLE_6 = ranges6(
  '2001:1::1/128', '2001:1::2/128', '2001:1::3/128', '2001:3::/32', '2001:4:112::/48', '2001:20::/28', '2001:30::/28',
);

// Addresses that carry an IPv4 address which the packet ends up at (RFC 4291, RFC 6052, RFC 3056), and its first byte.
// Teredo (RFC 4380) lies in 2001::/23 and the local NAT64 prefix 64:ff9b:1::/48 outside of 2000::/3: both are refused.
const CARRIERS: readonly { range: Range6; offset: number }[] = [
  { range: range6('::ffff:0:0/96'), offset: 12 },
  { range: range6('64:ff9b::/96'), offset: 12 },
  { range: range6('2002::/16'), offset: 2 },
];

// The old IPv4-compatible form, which no network carries: ipaddr.js takes it for the mapped one.
const COMPATIBLE = /^::\d+\./;

/** True when an IP address (any textual form; a zone id is ignored) is a public unicast address: globally reachable by the IANA registries, and so is the IPv4 address that it may carry. False for what is no address. */
export function isPublicAddress(text: string): boolean {
  if (!ipaddr.isValid(text) || COMPATIBLE.test(text)) return false;
  const address = ipaddr.parse(text);
  return 'octets' in address ? isPublic4(address) : isPublic6(address as IPv6);
}

function isPublic4(address: IPv4): boolean {
  return !REFUSED_4.some((range) => address.match(range)) || REACHABLE_4.some((range) => address.match(range));
}

function isPublic6(address: IPv6): boolean {
  const carrier = CARRIERS.find(({ range }) => address.match(range));
  if (carrier !== undefined) {
    return isPublic4(new ipaddr.IPv4(address.toByteArray().slice(carrier.offset, carrier.offset + 4)));
  }
  if (!GLOBAL_6.some((range) => address.match(range))) return false;
  return !REFUSED_6.some((range) => address.match(range)) || REACHABLE_6.some((range) => address.match(range));
}

function ranges4(...blocks: string[]): Range4[] {
  return blocks.map((block) => ipaddr.IPv4.parseCIDR(block));
}

function ranges6(...blocks: string[]): Range6[] {
  return blocks.map(range6);
}

function range6(block: string): Range6 {
  return ipaddr.IPv6.parseCIDR(block);
}
