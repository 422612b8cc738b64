import test from 'ava';
import * as fc from 'fast-check';
import { decodePayload, MAX_PAYLOAD_BYTES, type PayloadEncoding } from '../../../../core/checks/transport/payload.ts';

/** Returns the decoded bytes as hexadecimal digits, or the error message. */
function decode(payload: string, encoding: PayloadEncoding): string {
  const decoded = decodePayload(payload, encoding);
  return decoded.ok ? Buffer.from(decoded.value).toString('hex') : decoded.message;
}

const UTF8: [payload: string, hex: string][] = [
  ['', ''],
  ['PING', '50494e47'],
  [String.raw`PING\r\n`, '50494e470d0a'],
  [String.raw`\t\\`, '095c'],
  [String.raw`\\n`, '5c6e'],
  [String.raw`\\\n`, '5c0a'],
  [String.raw`\x00\xff\xFF\x0a`, '00ffff0a'],
  [String.raw`\x411`, '4131'],
  ['é€😀', 'c3a9e282acf09f9880'],
  [String.raw`é\xe9`, 'c3a9e9'],
  ['a\nb\r\n', '610a620d0a'],
  [String.raw`\x00\x00\x00\x08\x04\xd2\x16\x2f`, '0000000804d2162f'],
];
for (const [payload, hex] of UTF8) {
  test(`the utf8 payload ${JSON.stringify(payload)} is ${hex === '' ? 'no byte' : hex}`, (t) =>
    t.is(decode(payload, 'utf8'), hex));
}

const BROKEN: [payload: string, character: number][] = [
  [String.raw`\0`, 1],
  [String.raw`ab\q`, 3],
  [String.raw`\R`, 1],
  [String.raw`\X41`, 1],
  [String.raw`\x4`, 1],
  [String.raw`\xg0`, 1],
  [String.raw`\u0041`, 1],
  [String.raw`\\\ `, 3],
  [String.raw`hush\x`, 5],
  ['hush\\', 5],
];
for (const [payload, character] of BROKEN) {
  test(`the utf8 payload ${JSON.stringify(payload)} is refused by the position of its escape, not quoted`, (t) => {
    t.is(
      decode(payload, 'utf8'),
      String.raw`must have only the escapes \r, \n, \t, \\ and \xHH with two hexadecimal digits, ` +
        `got another at character ${character}`,
    );
  });
}

for (const payload of ['0', '0g', '00 ff', '0x00', 'é', '\\x00', '００']) {
  test(`the hex payload ${JSON.stringify(payload)} is refused`, (t) =>
    t.is(decode(payload, 'hex'), 'must be pairs of hexadecimal digits, got something else'));
}

test('hexadecimal digits in either case decode to their bytes', (t) => {
  fc.assert(
    fc.property(fc.uint8Array(), fc.boolean(), (bytes, isUpper) => {
      const hex = Buffer.from(bytes).toString('hex');
      t.is(decode(isUpper ? hex.toUpperCase() : hex, 'hex'), hex);
    }),
  );
});

test('any bytes can be written with escapes alone', (t) => {
  fc.assert(
    fc.property(fc.uint8Array(), (bytes) => {
      const hex = Buffer.from(bytes).toString('hex');
      t.is(
        decode(
          hex.replaceAll(/../g, (pair) => `\\x${pair}`),
          'utf8',
        ),
        hex,
      );
    }),
  );
});

test('any text with escaped backslashes decodes to its UTF-8 bytes', (t) => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), (text) => {
      t.is(decode(text.replaceAll('\\', '\\\\'), 'utf8'), Buffer.from(text).toString('hex'));
    }),
  );
});

test('a payload is limited to 65,507 bytes, the maximum of one datagram', (t) => {
  t.true(decodePayload('x'.repeat(MAX_PAYLOAD_BYTES), 'utf8').ok);
  t.true(decodePayload(`${'é'.repeat((MAX_PAYLOAD_BYTES - 1) / 2)}\\x00`, 'utf8').ok);
  t.is(decode('x'.repeat(65_508), 'utf8'), 'must be at most 65507 bytes, which is what one datagram holds, got 65508');
  t.is(decode('00'.repeat(65_508), 'hex'), 'must be at most 65507 bytes, which is what one datagram holds, got 65508');
});
