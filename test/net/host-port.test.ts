import test from 'ava';
import * as fc from 'fast-check';
import { parseTarget } from '../../core/monitors/targets.ts';
import { parseHostPort } from '../../net/host-address.ts';

const GOOD: [text: string, host: string, port: number][] = [
  ['example.com:80', 'example.com', 80],
  ['EXAMPLE.com.:65535', 'example.com.', 65_535],
  ['127.0.0.1:1', '127.0.0.1', 1],
  ['[2001:DB8:0::1]:5432', '2001:db8::1', 5432],
  ['[::ffff:127.0.0.1]:80', '::ffff:7f00:1', 80],
  ['bücher.example:443', 'xn--bcher-kva.example', 443],
  ['_sip._udp.example.com:5060', '_sip._udp.example.com', 5060],
];
for (const [text, host, port] of GOOD) {
  test(`${text} is port ${port} of ${host}`, (t) => t.deepEqual(parseHostPort(text), { host, port }));
}

// An address in disguise comes out as what it is, so that the guard sees it.
for (const host of ['0x7f.1', '2130706433', '0177.0.0.1', '127.1', '１２７.0.0.1']) {
  test(`${host} is the address that it stands for`, (t) =>
    t.deepEqual(parseHostPort(`${host}:80`), { host: '127.0.0.1', port: 80 }));
}

for (const text of [
  '',
  ':80',
  'example.com',
  'example.com:',
  'example.com:0',
  'example.com:65536',
  'example.com:8o',
  '::1:80',
  '[::1]',
  '[::1%lo]:80',
  '[example.com]:80',
  'a b:80',
  'user@example.com:80',
  'example.com:80/',
  'http://example.com:80',
  'example.com:80:80',
]) {
  test(`${JSON.stringify(text)} is no host and port`, (t) => t.is(parseHostPort(text), null));
}

test('every target that a monitor can have is understood', (t) => {
  const host = fc.oneof(
    fc.domain(),
    fc.ipV4(),
    fc.ipV4Extended(),
    fc.ipV6().map((address) => `[${address}]`),
    fc.string({ unit: 'grapheme' }),
  );
  fc.assert(
    fc.property(host, fc.integer({ min: 0, max: 70_000 }), (name, port) => {
      const target = `${name}:${port}`;
      fc.pre(parseTarget('tcp', target).ok);
      t.like(parseHostPort(target), { port });
    }),
  );
});
