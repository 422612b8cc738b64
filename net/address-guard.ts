import { isIP } from 'node:net';
import { networkInterfaces } from 'node:os';
import ipaddr, { type IPv4, type IPv6 } from 'ipaddr.js';

/** How long the list of this machine's addresses is reused, in milliseconds. */
const FRESH_MS = 10_000;

let own: ReadonlySet<string> = new Set();
let readAtMs = Number.NEGATIVE_INFINITY;

/**
 * Reports whether an address, as ipaddr.js writes it, belongs to this machine. A service on its public address may be
 * meant for the machine's own programs only, not for Spotcheck's users.
 */
function isOwnAddress(address: string): boolean {
  if (performance.now() - readAtMs > FRESH_MS) {
    readAtMs = performance.now();
    const found = Object.values(networkInterfaces()).flatMap((addresses = []) => addresses);
    own = new Set(found.map((one) => writtenAlike(one.address)));
  }
  return own.has(address);
}

function writtenAlike(address: string): string {
  return ipaddr.parse(address.replace(/%.*$/, '')).toString();
}

/** Addresses that may be contacted: public unicast ones only, unless private networks are allowed (D-30). */
export type Guard = { allowPrivateNetwork: boolean };

type Range4 = [IPv4, number];
type Range6 = [IPv6, number];

// The IANA IPv4 and IPv6 Special-Purpose Address Registries: every block whose "Globally Reachable" is not True, then
// the blocks inside those for which it is. Multicast has separate registries and is not unicast (D-30).
const REFUSED_4 = ranges4(
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
);
const REACHABLE_4 = ranges4('192.0.0.9/32', '192.0.0.10/32');

// IANA has allocated unicast addresses from 2000::/3 only: loopback, mapped, local, multicast and unallocated addresses
// are outside it.
const GLOBAL_6 = ranges6('2000::/3');
const REFUSED_6 = ranges6('2001::/23', '2001:db8::/32', '3fff::/20');
const REACHABLE_6 = ranges6(
  '2001:1::1/128',
  '2001:1::2/128',
  '2001:1::3/128',
  '2001:3::/32',
  '2001:4:112::/48',
  '2001:20::/28',
  '2001:30::/28',
);

// Ranges whose addresses embed the IPv4 address that receives the packet (RFC 4291, RFC 6052, RFC 3056), and the offset
// of its first byte. Teredo (RFC 4380) is within 2001::/23 and the local NAT64 prefix 64:ff9b:1::/48 outside 2000::/3:
// both are refused.
const CARRIERS: readonly { range: Range6; offset: number }[] = [
  { range: range6('::ffff:0:0/96'), offset: 12 },
  { range: range6('64:ff9b::/96'), offset: 12 },
  { range: range6('2002::/16'), offset: 2 },
];

// Addresses where clouds give a machine its credentials. Most are in ranges that are refused anyway if private networks
// are not allowed; 168.63.129.16 is not.
const METADATA_HOSTS = new Set(
  [
    // AWS, Google, Azure, Oracle, IBM, DigitalOcean, Hetzner, OpenStack and others.
    '169.254.169.254',
    // AWS: docs.aws.amazon.com/AWSEC2/latest/UserGuide/instancedata-data-retrieval.html; credentials of containers:
    // docs.aws.amazon.com/AmazonECS/latest/developerguide/task-iam-roles.html and
    // docs.aws.amazon.com/eks/latest/userguide/pod-id-how-it-works.html
    'fd00:ec2::254',
    '169.254.170.2',
    '169.254.170.23',
    'fd00:ec2::23',
    // Azure: learn.microsoft.com/azure/virtual-network/what-is-ip-address-168-63-129-16
    '168.63.129.16',
    // Google: cloud.google.com/compute/docs/metadata/querying-metadata
    'fd20:ce::254',
    // Oracle: docs.oracle.com/iaas/Content/Compute/Tasks/gettingmetadata.htm, and its older cloud
    'fd00:c1::a9fe:a9fe',
    '192.0.0.192',
    // Alibaba: www.alibabacloud.com/help/en/ecs/user-guide/view-instance-metadata
    '100.100.100.200',
    // Tencent: www.tencentcloud.com/document/product/213/4934
    '169.254.0.23',
    // Akamai and Scaleway: docs.cloud-init.io/en/latest/reference/datasources/akamai.html, .../scaleway.html
    'fd00:a9fe:a9fe::1',
    '169.254.42.42',
    'fd00:42::42',
    // OpenStack: docs.openstack.org/nova/latest/user/metadata.html
    'fe80::a9fe:a9fe',
  ].map(reachedBy),
);

// The old IPv4-compatible form, which no network routes; ipaddr.js takes it for the mapped form.
const COMPATIBLE = /^::\d+\./;

/**
 * Reports whether the guard refuses an IP address. It always refuses a cloud's metadata host and, unless private
 * networks are allowed, any address that is not public or belongs to this machine. A host name is not refused here: the
 * guard checks the addresses that its lookup finds.
 */
export function isRefusedAddress(host: string, { allowPrivateNetwork }: Guard): boolean {
  if (isIP(host) === 0) return false;
  if (allowPrivateNetwork) return isMetadataHost(host);
  return !isPublicAddress(host) || isOwnAddress(reachedBy(host));
}

/**
 * Reports whether an IP address (any textual form; a zone id is ignored) is a public unicast address. It must be
 * globally reachable by the IANA registries and not a metadata host, as must an IPv4 address embedded in it. False for
 * text that is not an address.
 */
export function isPublicAddress(text: string): boolean {
  if (!ipaddr.isValid(text) || COMPATIBLE.test(text) || isMetadataHost(text)) return false;
  const address = ipaddr.parse(text);
  return 'octets' in address ? isPublic4(address) : isPublic6(address as IPv6);
}

function isPublic4(address: IPv4): boolean {
  return !REFUSED_4.some((range) => address.match(range)) || REACHABLE_4.some((range) => address.match(range));
}

function isPublic6(address: IPv6): boolean {
  const carried = carriedBy(address);
  if (carried !== null) return isPublic4(carried);
  if (!GLOBAL_6.some((range) => address.match(range))) return false;
  return !REFUSED_6.some((range) => address.match(range)) || REACHABLE_6.some((range) => address.match(range));
}

/** Returns the embedded IPv4 address that receives an IPv6 address's packets; null if there is none. */
function carriedBy(address: IPv6): IPv4 | null {
  const carrier = CARRIERS.find(({ range }) => address.match(range));
  if (carrier === undefined) return null;
  return new ipaddr.IPv4(address.toByteArray().slice(carrier.offset, carrier.offset + 4));
}

/** Returns the canonical form of the address that receives an IP address's packets. */
function reachedBy(text: string): string {
  // A dotted IPv4 address has only one form.
  if (isIP(text) === 4) return text;
  const address = ipaddr.parse(text.replace(/%.*$/, ''));
  return 'octets' in address ? address.toString() : (carriedBy(address as IPv6) ?? address).toString();
}

function isMetadataHost(text: string): boolean {
  return METADATA_HOSTS.has(reachedBy(text));
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
