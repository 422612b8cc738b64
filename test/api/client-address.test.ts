import type { IncomingMessage } from 'node:http';
import test from 'ava';
import * as fc from 'fast-check';
import { createAddressFinder } from '../../api/client-address.ts';
import { readEnvironment } from '../../config/environment.ts';
import { anyCharacter } from '../helpers/any-character.ts';

/**
 * Returns a request with only the parts that are read: the peer address and the header. Node.js joins all lines of the
 * header into one.
 */
function requestFrom(remoteAddress: string | undefined, forwardedFor?: string): IncomingMessage {
  return {
    socket: { remoteAddress },
    headers: forwardedFor === undefined ? {} : { 'x-forwarded-for': forwardedFor },
  } as unknown as IncomingMessage;
}

type Case = { trusted: string; peer: string | undefined; header?: string; is: string | null };

const CASES: readonly [string, ...Case[]][] = [
  [
    'the header of an untrusted peer is ignored',
    { trusted: '', peer: '198.51.100.7', header: '203.0.113.9', is: '198.51.100.7' },
    { trusted: '', peer: '127.0.0.1', header: '203.0.113.9', is: '127.0.0.1' },
    { trusted: 'loopback', peer: '198.51.100.7', header: '127.0.0.1', is: '198.51.100.7' },
    { trusted: 'loopback', peer: '198.51.100.7', header: '203.0.113.9, 127.0.0.1', is: '198.51.100.7' },
    { trusted: '10.0.0.0/8', peer: '11.0.0.1', header: '203.0.113.9', is: '11.0.0.1' },
    { trusted: 'private', peer: '127.0.0.1', header: '203.0.113.9', is: '127.0.0.1' },
    { trusted: 'private', peer: '169.254.1.1', header: '203.0.113.9', is: '169.254.1.1' },
  ],
  [
    'a trusted proxy names its own client, and earlier hops are ignored',
    { trusted: 'loopback', peer: '127.0.0.1', header: '203.0.113.9', is: '203.0.113.9' },
    { trusted: 'loopback', peer: '127.0.0.1', header: '192.0.2.66, 203.0.113.9', is: '203.0.113.9' },
    { trusted: 'loopback', peer: '127.0.0.1', header: '127.0.0.1, 203.0.113.9', is: '203.0.113.9' },
    { trusted: 'loopback', peer: '127.0.0.1', is: '127.0.0.1' },
    { trusted: 'loopback', peer: '127.0.0.1', header: '', is: '127.0.0.1' },
    { trusted: '192.0.2.1', peer: '192.0.2.1', header: ' 203.0.113.9 ', is: '203.0.113.9' },
    { trusted: 'private', peer: '172.31.0.1', header: '203.0.113.9', is: '203.0.113.9' },
  ],
  [
    'of several hops the nearest untrusted one is the client',
    {
      trusted: 'loopback,10.0.0.0/8',
      peer: '127.0.0.1',
      header: '192.0.2.66,203.0.113.9,10.1.2.3,10.0.0.1',
      is: '203.0.113.9',
    },
    { trusted: 'loopback', peer: '127.0.0.1', header: '203.0.113.9, 10.1.2.3', is: '10.1.2.3' },
    { trusted: 'loopback,private', peer: '::1', header: '10.0.0.9, 10.0.0.1', is: '10.0.0.9' },
    {
      trusted: 'loopback',
      peer: '127.0.0.1',
      header: `192.0.2.66, ${'127.0.0.1,'.repeat(1500)}127.0.0.1`,
      is: '192.0.2.66',
    },
  ],
  [
    'IPv6 is supported, and all spellings of an address are equivalent',
    { trusted: 'loopback', peer: '::1', header: '2001:DB8:0:0::0001', is: '2001:db8::1' },
    { trusted: 'loopback', peer: '::ffff:127.0.0.1', header: '::ffff:203.0.113.9', is: '203.0.113.9' },
    { trusted: '192.0.2.1', peer: '::ffff:192.0.2.1', header: '203.0.113.9', is: '203.0.113.9' },
    { trusted: '2001:db8::/32', peer: '2001:db8:ffff::1', header: '2001:db9::1', is: '2001:db9::1' },
    { trusted: '2001:db8::/32', peer: '2001:db9::1', header: '203.0.113.9', is: '2001:db9::1' },
    { trusted: 'private', peer: 'fd00::1', header: '203.0.113.9', is: '203.0.113.9' },
    { trusted: '', peer: '::ffff:198.51.100.7', is: '198.51.100.7' },
    { trusted: '', peer: 'fe80::1%eth0', is: 'fe80::1' },
  ],
  [
    'an invalid entry is replaced by the proxy that passed it on',
    ...[
      'unknown',
      '_hidden',
      '203.0.113.9:5678',
      '[2001:db8::1]:5678',
      '[2001:db8::1]',
      '999.1.1.1',
      '203.0.113',
      '0x7f000001',
      '2130706433',
      'a\u0000b',
      '203.0.113.9;x',
      'for=203.0.113.9',
      '\u{1F600}',
      ',',
    ].map((header): Case => ({ trusted: 'loopback', peer: '127.0.0.1', header, is: '127.0.0.1' })),
    { trusted: 'loopback,private', peer: '127.0.0.1', header: '203.0.113.9, unknown, 10.0.0.1', is: '10.0.0.1' },
    // If `10.1` were parsed as an address of the private network, it would count as a proxy.
    { trusted: 'loopback,private', peer: '127.0.0.1', header: '203.0.113.9, 10.1', is: '127.0.0.1' },
    { trusted: 'loopback', peer: '127.0.0.1', header: '203.0.113.9,,', is: '203.0.113.9' },
  ],
  [
    'a closed connection has no address',
    { trusted: '', peer: undefined, is: null },
    { trusted: 'loopback', peer: undefined, header: '203.0.113.9', is: null },
  ],
];
for (const [title, ...cases] of CASES) {
  test(title, (t) => {
    for (const { trusted, peer, header, is } of cases) {
      const find = createAddressFinder(readEnvironment({ TRUSTED_PROXIES: trusted }).trustedProxies);
      t.is(
        find(requestFrom(peer, header)),
        is,
        `${String(header).slice(0, 100)} from ${String(peer)}, trusting ${trusted}`,
      );
    }
  });
}

// Excluded: texts with IPv4 inside IPv6, which no kernel produces.
const address = fc.oneof(
  fc.ipV4(),
  fc.ipV6().filter((text) => !text.includes('.')),
);
const range = fc.oneof(
  address,
  fc.tuple(address, fc.integer({ min: 1, max: 32 })).map((parts) => parts.join('/')),
);

test('with any accepted configuration and any header the result is an address of the chain', (t) => {
  const entry = fc.oneof(
    address,
    fc.string({ unit: anyCharacter, maxLength: 20 }),
    fc.constantFrom('127.0.0.1', '10.0.0.1', '::1'),
  );
  const isOfChain = (ranges: readonly string[], peer: string, entries: readonly string[]): boolean => {
    const { trustedProxies } = readEnvironment({ TRUSTED_PROXIES: ['loopback', 'private', ...ranges].join(',') });
    const found = createAddressFinder(trustedProxies)(requestFrom(peer, entries.join(', ')));
    const asWritten = createAddressFinder([]);
    return (
      found !== null &&
      [peer, ...entries.join(', ').split(',')].some(
        (one) => asWritten(requestFrom(one.replaceAll(/^ +| +$/g, ''))) === found,
      )
    );
  };
  t.notThrows(() =>
    fc.assert(
      fc.property(fc.uniqueArray(range, { maxLength: 4 }), address, fc.array(entry, { maxLength: 6 }), isOfChain),
    ),
  );
});
