import test from 'ava';
import { isReverseName, splitDnsTarget, type DnsTarget } from '../../../../core/checks/dns/target.ts';

const TARGETS: [string, DnsTarget | null][] = [
  ['example.com', { server: null, name: 'example.com' }],
  ['192.0.2.10', { server: null, name: '10.2.0.192.in-addr.arpa' }],
  ['2001:db8::1', { server: null, name: '1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa' }],
  ['::', { server: null, name: `${'0.'.repeat(32)}ip6.arpa` }],
  ['dns://192.0.2.53/example.com', { server: { host: '192.0.2.53', port: 53 }, name: 'example.com' }],
  ['dns://ns1.example.com:5353/example.com', { server: { host: 'ns1.example.com', port: 5353 }, name: 'example.com' }],
  [
    'DNS://[2001:db8::53]:53/192.0.2.10',
    { server: { host: '2001:db8::53', port: 53 }, name: '10.2.0.192.in-addr.arpa' },
  ],
  [
    'dns://[::1]/2001:db8::1',
    {
      server: { host: '::1', port: 53 },
      name: '1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa',
    },
  ],
  ['dns:example.com', null],
  ['dns://192.0.2.53/', null],
  ['dns://192.0.2.53/a/b', null],
];
for (const [target, parts] of TARGETS) {
  const meaning =
    parts === null ? 'invalid' : `a lookup of ${parts.name} at ${parts.server?.host ?? 'the system resolver'}`;
  test(`${target} is ${meaning}`, (t) => t.deepEqual(splitDnsTarget(target), parts));
}

test('reverse names are distinguished from others', (t) => {
  for (const name of ['1.2.0.192.in-addr.arpa', '1.0.IP6.ARPA.']) t.true(isReverseName(name), name);
  for (const name of ['example.com', 'in-addr.arpa.example.com', 'xin-addr.arpa']) t.false(isReverseName(name), name);
});
