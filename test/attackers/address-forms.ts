/** Hosts that lead to this very machine: to one that listens on every address, each of them would be a connection. */
export const LOOPBACK = [
  // The usual form, and all that inet_aton(3) and the URL standard read as the same: parts left out, octal, hexadecimal, one number.
  '127.0.0.1', '127.0.0.1.', '127.1', '127.0.1', '2130706433', '0x7f000001', '0X7F000001', '0x7f.1', '0x7f.0x0.0x0.0x1', '017700000001', '0177.1', '0177.0.0.01', '0177.0x0.0.1',
  '127.127.127.127', '127.255.255.254', '0', '0.0.0.0', '0x0', '00000000000', '0.0.0.0.',
  // The same in other letters: full-width, circled and superscript digits, ideographic and half-width dots, percent-encoded.
  '１２７.０.０.１', '１２７。0。0。1', '127｡0｡0｡1', '①②⑦.⓪.⓪.①', '¹²⁷.⁰.⁰.¹', '%31%32%37.0.0.1', '127%2e0%2e0%2e1', '%30x7f000001',
  // IPv6, however it is written, with IPv4 in it or not.
  '[::1]', '[0:0:0:0:0:0:0:1]', '[0000:0000:0000:0000:0000:0000:0000:0001]', '[::0001]', '[0::1]', '[::0.0.0.1]', '[::]', '[0::0]', '[::ffff:127.0.0.1]', '[::FFFF:127.0.0.1]',
  '[::ffff:7f00:1]', '[0:0:0:0:0:ffff:7f00:0001]', '[::ffff:0.0.0.0]', '[::ffff:127.127.127.127]',
  // Names.
  'localhost', 'LOCALHOST', 'LocalHost.', 'ｌｏｃａｌｈｏｓｔ', 'ⓛⓞⓒⓐⓛⓗⓞⓢⓣ', 'localhos%74', 'shop.localhost', 'localhost.localdomain', 'ip6-localhost', 'ip6-loopback',
] as const;

/** Hosts that lead to places which are nobody's of the public's: private networks, metadata services of clouds, addresses that carry such. */
export const ELSEWHERE = [
  // Private, shared, link-local, benchmarking, documentation, reserved, multicast, broadcast.
  '10.0.0.1', '10.1', '0x0a000001', '012.0.0.1', '167772161', '172.16.0.1', '172.31.255.254', '2886729729', '192.168.1.1', '192.168.257', '0xc0a80101', '0300.0250.1.1', '3232235777',
  '100.64.0.1', '100.127.255.254', '169.254.0.1', '192.0.0.1', '192.0.0.8', '192.0.0.170', '192.0.2.1', '192.88.99.1', '198.18.0.1', '198.19.255.254', '198.51.100.1', '203.0.113.1',
  '224.0.0.1', '239.255.255.250', '240.0.0.1', '255.255.255.255', '0xffffffff', '4294967295',
  // Metadata services of clouds: AWS, Azure, Google, Alibaba, Oracle, and the container credentials of AWS.
  '169.254.169.254', '169.254.169.254.', '2852039166', '0xa9fea9fe', '0251.0376.0251.0376', '169.16689662', '１６９.254.169.254', '[::ffff:169.254.169.254]', '[::ffff:a9fe:a9fe]', '[fd00:ec2::254]',
  'metadata.google.internal', 'Metadata.Google.Internal.', 'metadata', 'instance-data', '100.100.100.200', '192.0.0.192', '169.254.170.2', '169.254.170.23', '[fd20:ce::254]', '[fd00:42::42]',
  // IPv6 that carries IPv4: mapped, compatible, translated, NAT64 well-known and local, 6to4, Teredo, ISATAP.
  '[::ffff:10.0.0.1]', '[::10.0.0.1]', '[::127.0.0.1]', '[::7f00:1]', '[::ffff:0:127.0.0.1]', '[64:ff9b::127.0.0.1]', '[64:ff9b::7f00:1]', '[64:ff9b::a9fe:a9fe]', '[64:ff9b:1::7f00:1]', '[64:ff9b:1::808:808]',
  '[2002:7f00:1::]', '[2002:7f00:0001::1]', '[2002:a00:1::1]', '[2002:a9fe:a9fe::1]', '[2001:0:7f00:1::]', '[2001::1]', '[fe80::5efe:127.0.0.1]',
  // IPv6 of its own: unique local, link-local, the old site-local, multicast, discard, documentation, benchmarking, ORCHID, segment routing, not allotted.
  '[fc00::1]', '[fd12:3456:789a::1]', '[fe80::1]', '[febf::1]', '[fec0::1]', '[ff02::1]', '[ff0e::1]', '[100::1]', '[2001:db8::1]', '[3fff::1]', '[2001:2::1]', '[2001:10::1]', '[5f00::1]', '[4000::1]', '[1::1]',
] as const;

/** Hosts that no URL can have: zones of link-local addresses, numbers beyond an address, dots in the wrong places. */
export const IMPOSSIBLE = [
  '[fe80::1%25eth0]', '[fe80::1%eth0]', '[::1%25lo]', '[::1%lo]', '::1', '127.0.0.256', '256.1', '0x100000000', '4294967296', '09.0.0.1', '127.0.0.1.1', '1.2.3.4.5', '[127.0.0.1]', '[::ffff:127.0.0.256]', '127..0.0.1',
] as const;

/** Where the names above lead, and those below; the first six are what a stranger's zone may say. */
export const NAMES: Readonly<Record<string, readonly string[]>> = {
  'private.example': ['10.0.0.1', 'fd00::1'],
  'loopback.example': ['127.0.0.1'],
  'loopback6.example': ['::1'],
  'mapped.example': ['::ffff:127.0.0.1'],
  'metadata.example': ['169.254.169.254'],
  'nat64.example': ['64:ff9b::7f00:1'],
  localhost: ['127.0.0.1', '::1'],
  'shop.localhost': ['127.0.0.1', '::1'],
  'localhost.localdomain': ['127.0.0.1'],
  'ip6-localhost': ['::1'],
  'ip6-loopback': ['::1'],
  'metadata.google.internal': ['169.254.169.254'],
  metadata: ['169.254.169.254'],
  'instance-data': ['169.254.169.254'],
};

/** Whole URLs that look like somewhere else; each leads to the port of this machine. */
export const DISGUISED_URLS: readonly ((port: number) => string)[] = [
  (port) => `http://public.example@127.0.0.1:${port}/`,
  (port) => `http://public.example:80@127.0.0.1:${port}/`,
  (port) => `http://public.example%40@127.0.0.1:${port}/`,
  (port) => `http://127.0.0.1:${port}#@public.example/`,
  (port) => `http://127.0.0.1:${port}?@public.example/`,
  (port) => String.raw`http://127.0.0.1:${port}\@public.example/`,
  (port) => String.raw`http:\\127.0.0.1:${port}\public.example`,
  (port) => `HTTP://127.0.0.1:${port}/`,
  (port) => `http:127.0.0.1:${port}/`,
  (port) => `http:////127.0.0.1:${port}/`,
  (port) => `http://127.0.0.1:0${port}/`,
  (port) => ` http://127.0.0.1:${port}/ `,
  (port) => `http://127.0.\t0.1:${port}/`,
  (port) => `ht\ntp://127.0.0.1:${port}/`,
  (port) => `//127.0.0.1:${port}/`,
];
