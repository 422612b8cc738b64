import { networkInterfaces } from 'node:os';
import test from 'ava';
import { isPublicAddress, isRefusedAddress } from '../../net/address-guard.ts';
import { createDestinations } from '../../net/destination.ts';

const REFUSED: Record<string, string> = {
  '0.0.0.0': 'this network',
  '0.255.255.255': 'the end of this network',
  '10.0.0.0': 'private use',
  '10.255.255.255': 'the end of private use',
  '100.64.0.1': 'shared address space',
  '100.127.255.255': 'the end of shared address space',
  '127.0.0.1': 'loopback',
  '127.255.255.254': 'the end of loopback',
  '169.254.169.254': 'link local, where clouds serve credentials',
  '172.16.0.1': 'private use',
  '172.31.255.255': 'the end of private use',
  '192.0.0.1': 'protocol assignments',
  '192.0.0.8': 'the dummy address',
  '192.0.0.170': 'NAT64 discovery',
  '192.0.2.1': 'documentation',
  '192.88.99.1': 'the old 6to4 relay',
  '192.168.1.1': 'private use',
  '198.18.0.1': 'benchmarking',
  '198.19.255.255': 'the end of benchmarking',
  '198.51.100.7': 'documentation',
  '203.0.113.9': 'documentation',
  '224.0.0.1': 'multicast',
  '239.255.255.255': 'the end of multicast',
  '240.0.0.1': 'reserved',
  '255.255.255.255': 'broadcast',
  '::': 'unspecified',
  '::1': 'loopback',
  '0:0:0:0:0:0:0:1': 'loopback, written out',
  '::ffff:127.0.0.1': 'mapped loopback',
  '::ffff:7f00:1': 'mapped loopback in hexadecimal',
  '::ffff:10.1.2.3': 'mapped private use',
  '::ffff:a9fe:a9fe': 'mapped link local',
  '::127.0.0.1': 'compatible loopback',
  '::8.8.8.8': 'compatible, which is not routed',
  '::ffff:0:127.0.0.1': 'translated loopback',
  '64:ff9b::127.0.0.1': 'NAT64 of loopback',
  '64:ff9b::a00:1': 'NAT64 of private use',
  '64:ff9b::c0a8:101': 'NAT64 of private use',
  '64:ff9b:1::808:808': 'local-use NAT64',
  '100::1': 'discard only',
  '2001::1': 'Teredo',
  '2001:0:4136:e378:8000:63bf:3fff:fdd2': 'Teredo of a public server and client',
  '2001:0:7f00:1::': 'Teredo with loopback as its server',
  '2001:2::1': 'benchmarking',
  '2001:10::1': 'the old ORCHID',
  '2001:1ff:ffff::1': 'the end of protocol assignments',
  '2001:db8::1': 'documentation',
  '2002:7f00:1::': '6to4 of loopback',
  '2002:a00:1::1': '6to4 of private use',
  '2002:c0a8:101::1': '6to4 of private use',
  '3fff::1': 'documentation',
  '4000::1': 'unallocated',
  '5f00::1': 'segment routing',
  'fc00::1': 'unique local',
  'fd12:3456:789a::1': 'unique local',
  'fe80::1': 'link local',
  'fe80::1%eth0': 'link local with a zone',
  '::1%lo': 'loopback with a zone',
  'fec0::1': 'the old site local',
  'ff02::1': 'multicast',
  'ff0e::1': 'global multicast, not unicast',
  '': 'not an address',
  localhost: 'not an address',
  '1.2.3.4.5': 'not an address',
};

const PUBLIC: Record<string, string> = {
  '1.1.1.1': 'plain',
  '8.8.8.8': 'plain',
  '9.255.255.255': 'just below private use',
  '11.0.0.0': 'just above private use',
  '100.63.255.255': 'just below shared address space',
  '100.128.0.0': 'just above shared address space',
  '172.15.255.255': 'just below private use',
  '172.32.0.0': 'just above private use',
  '192.0.0.9': 'port control anycast',
  '192.0.0.10': 'TURN anycast',
  '192.0.1.1': 'just above protocol assignments',
  '192.31.196.1': 'AS112',
  '192.52.193.1': 'AMT',
  '192.175.48.1': 'direct delegation AS112',
  '198.17.255.255': 'just below benchmarking',
  '223.255.255.255': 'just below multicast',
  '::ffff:8.8.8.8': 'mapped public',
  '64:ff9b::8.8.8.8': 'NAT64 of public',
  '2002:808:808::1': '6to4 of public',
  '2001:1::1': 'port control anycast',
  '2001:3::1': 'AMT',
  '2001:4:112::1': 'AS112',
  '2001:20::1': 'ORCHID 2',
  '2001:200::1': 'just above protocol assignments',
  '2001:4860:4860::8888': 'plain',
  '2606:4700:4700::1111': 'plain',
  '2620:4f:8000::1': 'direct delegation AS112',
  '3ffe:ffff::1': 'just below documentation',
};

for (const [address, why] of Object.entries(REFUSED)) {
  test(`${address || 'an empty string'} is refused: ${why}`, (t) => {
    t.false(isPublicAddress(address));
  });
}

for (const [address, why] of Object.entries(PUBLIC)) {
  test(`${address} is public: ${why}`, (t) => {
    t.true(isPublicAddress(address));
  });
}

// Metadata addresses as the clouds document them; the last three embed one.
const METADATA_HOSTS = [
  '169.254.169.254',
  'fd00:ec2::254',
  '169.254.170.2',
  '169.254.170.23',
  'fd00:ec2::23',
  '168.63.129.16',
  'fd20:ce::254',
  'fd00:c1::a9fe:a9fe',
  '192.0.0.192',
  '100.100.100.200',
  '169.254.0.23',
  'fd00:a9fe:a9fe::1',
  '169.254.42.42',
  'fd00:42::42',
  'fe80::a9fe:a9fe',
  'fe80::a9fe:a9fe%eth0',
  'FD00:EC2:0::0254',
  '::ffff:a83f:8110',
  '64:ff9b::a83f:8110',
  '2002:a83f:8110::1',
];

test('cloud metadata addresses are refused even where private networks are allowed', (t) => {
  for (const host of METADATA_HOSTS) {
    for (const allowPrivateNetwork of [true, false]) t.true(isRefusedAddress(host, { allowPrivateNetwork }), host);
    t.false(isPublicAddress(host), host);
  }
  for (const neighbor of ['168.63.129.15', '168.63.129.17'])
    t.false(isRefusedAddress(neighbor, { allowPrivateNetwork: false }));
  for (const neighbor of ['169.254.169.253', 'fd00:ec2::255', '127.0.0.1'])
    t.false(isRefusedAddress(neighbor, { allowPrivateNetwork: true }));
});

test('every address of this machine is refused unless private networks are allowed', (t) => {
  const own = Object.values(networkInterfaces()).flatMap((found = []) => found);
  t.true(own.length > 0);
  for (const { address } of own) {
    t.true(isRefusedAddress(address, { allowPrivateNetwork: false }), address);
    t.false(isRefusedAddress(address, { allowPrivateNetwork: true }), address);
  }
});

test('a metadata host is no destination even where private networks are allowed', (t) => {
  const find = createDestinations({ allowPrivateNetwork: true });
  for (const host of ['168.63.129.16', '169.254.169.254', '2852039166', '[fd00:ec2::254]', '[::ffff:a9fe:a9fe]'])
    t.is(find(new URL(`http://${host}/`)), null, host);
});

// Forms of a host that the URL parser turns into addresses without a lookup.
const DISGUISED = [
  '2130706433',
  '0x7f000001',
  '017700000001',
  '0177.0.0.1',
  '0x7f.0x0.0x0.0x1',
  '127.1',
  '127.0.1',
  '127.0.0.1.',
  '0',
  '0x0a.1',
  '%31%32%37.0.0.1',
  '１２７.0.0.1',
  '127。0。0。1',
  '[::1]',
  '[::ffff:127.0.0.1]',
  '[0:0:0:0:0:ffff:7f00:0001]',
  '[64:ff9b::7f00:1]',
  '[2002:7f00:1::]',
  '0251.0376.0251.0376',
  '169.254.43518',
  '2852039166',
];

for (const host of DISGUISED) {
  test(`the guard decodes the host ${host} and refuses its address`, (t) => {
    const find = createDestinations({ allowPrivateNetwork: false });
    t.is(find(new URL(`http://${host}:8080/`)), null);
    t.is(find(new URL(`https://user:password@${host}/`)), null);
  });
}

test('without the guard a private address is a destination like any other', (t) => {
  const find = createDestinations({ allowPrivateNetwork: true });
  t.like(find(new URL('http://127.1/')), { host: '127.0.0.1', port: 80, isNamed: false, isSecure: false });
  t.like(find(new URL('https://[::1]:8443/')), { host: '::1', port: 8443, isNamed: false, isSecure: true });
});

test("a host's trailing dot is kept for the lookup and removed for TLS", (t) => {
  const find = createDestinations({ allowPrivateNetwork: false });
  t.like(find(new URL('https://example.com./')), { host: 'example.com.', servername: 'example.com', isNamed: true });
});
