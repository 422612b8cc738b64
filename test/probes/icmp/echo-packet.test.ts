import test from 'ava';
import * as fc from 'fast-check';
import {
  buildEchoRequest,
  gapMs,
  internetChecksum,
  readEchoReply,
  TOKEN_BYTES,
} from '../../../probes/icmp/echo-packet.ts';
import { asIpv4Packet, echoReplyTo } from '../../helpers/echo-reply.ts';

const token = fc.uint8Array({ minLength: TOKEN_BYTES, maxLength: TOKEN_BYTES });
const word = fc.integer({ min: 0, max: 0xffff });
const family = fc.constantFrom(4 as const, 6 as const);
const request = fc.record({ identifier: word, sequence: word, token });

/**
 * Computes RFC 1071 by arithmetic instead of folding: the sum modulo 65,535, complemented; the remainder of a non-zero
 * sum is 65,535 rather than 0.
 */
function checksumByRemainder(bytes: Uint8Array): number {
  let sum = 0n;
  for (const [at, byte] of bytes.entries()) sum += BigInt(byte) << (at % 2 === 0 ? 8n : 0n);
  const remainder = sum % 65_535n;
  return 65_535 - Number(remainder === 0n && sum > 0n ? 65_535n : remainder);
}

test('the checksum of the example in RFC 1071 is the complement of its sum', (t) => {
  t.is(internetChecksum(Uint8Array.of(0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7)), ~0xddf2 & 0xffff);
});

test('the checksum of any bytes, even an odd number, equals one computed by remainder', (t) => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 2000 }), (bytes) => internetChecksum(bytes) === checksumByRemainder(bytes)),
  );
  t.pass();
});

test('a request of the largest size with every bit set does not overflow the sum', (t) => {
  const bytes = new Uint8Array(65_535).fill(0xff);
  t.is(internetChecksum(bytes), checksumByRemainder(bytes));
});

test('a request has the layout of RFC 792 and RFC 4443', (t) => {
  const { packet } = buildEchoRequest(4, {
    identifier: 0x1234,
    sequence: 0x1_0007,
    token: new Uint8Array(TOKEN_BYTES).fill(0xab),
  });
  t.is(packet.length, 64);
  t.is(packet.toString('hex', 0, 2), '0800');
  t.is(packet.toString('hex', 4, 8), '12340007');
  t.is(packet.toString('hex', 8, 24), 'ab'.repeat(16));
  t.is(checksumByRemainder(packet), 0);
  t.is(buildEchoRequest(6, { identifier: 1, sequence: 1, token: new Uint8Array(TOKEN_BYTES) }).packet[0], 128);
});

test('the reply to a request has its key, with an IPv4 header of any length or without one', (t) => {
  fc.assert(
    fc.property(family, request, fc.integer({ min: 5, max: 15 }), (version, fields, headerWords) => {
      const { packet, key } = buildEchoRequest(version, fields);
      const reply = echoReplyTo(packet);
      if (version === 4 && readEchoReply(4, asIpv4Packet(reply, headerWords)) !== key) return false;
      return readEchoReply(version, reply) === key;
    }),
  );
  t.pass();
});

test('a reply whose identifier the kernel has set still has the key', (t) => {
  const { packet, key } = buildEchoRequest(4, { identifier: 1, sequence: 2, token: new Uint8Array(TOKEN_BYTES) });
  packet.writeUInt16BE(0xbeef, 4);
  t.is(readEchoReply(4, echoReplyTo(packet)), key);
});

test('requests that differ in sequence or token have different keys', (t) => {
  const fields = { identifier: 1, sequence: 2, token: new Uint8Array(TOKEN_BYTES) };
  const keys = [fields, { ...fields, sequence: 3 }, { ...fields, token: new Uint8Array(TOKEN_BYTES).fill(1) }].map(
    (each) => buildEchoRequest(4, each).key,
  );
  t.is(new Set(keys).size, 3);
});

test('a reply with any one bit flipped does not match its request', (t) => {
  fc.assert(
    fc.property(request, fc.integer({ min: 0, max: 64 * 8 - 1 }), (fields, bit) => {
      const { packet, key } = buildEchoRequest(4, fields);
      const reply = echoReplyTo(packet);
      reply[bit >> 3] = (reply[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      return readEchoReply(4, reply) !== key;
    }),
  );
  t.pass();
});

test('requests, truncated replies and noise are not replies', (t) => {
  const { packet } = buildEchoRequest(4, { identifier: 1, sequence: 1, token: new Uint8Array(TOKEN_BYTES) });
  t.is(readEchoReply(4, packet), null);
  t.is(
    readEchoReply(6, buildEchoRequest(6, { identifier: 1, sequence: 1, token: new Uint8Array(TOKEN_BYTES) }).packet),
    null,
  );
  t.is(readEchoReply(4, echoReplyTo(packet).subarray(0, 23)), null);
  t.is(readEchoReply(6, Buffer.alloc(0)), null);
  t.is(readEchoReply(4, Buffer.of(0x4f)), null);
  fc.assert(
    fc.property(family, fc.uint8Array({ maxLength: 200 }), (version, noise) => {
      const key = readEchoReply(version, Buffer.from(noise));
      return key === null || noise.length >= 24;
    }),
  );
});

test('the gap is 200 ms, or less if the deadline is short', (t) => {
  t.is(gapMs({ count: 4, deadlineMs: 5000 }), 200);
  t.is(gapMs({ count: 10, deadlineMs: 1000 }), 50);
});

test('the last request always has half the deadline left for its reply', (t) => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 10 }), fc.integer({ min: 1, max: 10_000 }), (count, deadlineMs) => {
      const lastAtMs = (count - 1) * gapMs({ count, deadlineMs });
      return lastAtMs <= deadlineMs / 2;
    }),
  );
  t.pass();
});
