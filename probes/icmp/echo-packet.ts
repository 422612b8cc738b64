import type { FixedCause } from '../../core/checks/verdict.ts';

/**
 * A number of echo requests to one address, all to be answered within the deadline in milliseconds. The address is in
 * its usual form. An abort ends a round over a socket.
 */
export type EchoRound = { address: string; count: number; deadlineMs: number; signal?: AbortSignal };

/**
 * Outcome of a round: the round trips of the answered requests, in milliseconds, or why none could be sent there, or
 * from this machine.
 */
export type EchoOutcome =
  | { outcome: 'measured'; sent: number; roundTripsMs: readonly number[] }
  | { outcome: 'failed'; cause: FixedCause; reason: string }
  | { outcome: 'unavailable'; reason: string };

/** Means of sending echo requests. */
export type EchoMeansKind = 'datagram socket' | 'raw socket' | 'ping program';

/** Sends echo requests over one family of addresses, for all monitors together. */
export type EchoMeans = {
  kind: EchoMeansKind;
  /** Rejects only if this machine lacks resources, which is no vote (D-20). */
  measure: (round: EchoRound) => Promise<EchoOutcome>;
  /** Closes its resources; running rounds get no more replies. */
  close: () => Promise<void>;
};

/**
 * Returns the pause between two requests of a round, in milliseconds. There are at most five requests a second, and the
 * last has half the deadline left for its reply.
 */
export function gapMs({ count, deadlineMs }: Pick<EchoRound, 'count' | 'deadlineMs'>): number {
  return Math.min(200, deadlineMs / 2 / count);
}

/** Versions of IP, as `net.isIP` numbers them. */
export type Family = 4 | 6;

/** One echo request, and the key of its reply. */
type EchoRequest = { packet: Buffer; key: string };

/** Type, code, checksum, identifier and sequence (RFC 792, RFC 4443), then data that is returned unchanged. */
const OFFSETS = { type: 0, code: 1, checksum: 2, identifier: 4, sequence: 6, token: 8 } as const;

/** Length of the token that identifies a reply among those of other programs, and that a third party cannot guess. */
export const TOKEN_BYTES = 16;

/** 56 bytes of data, as ping sends: some firewalls drop packets that look different. */
const PACKET_BYTES = 64;

const REQUEST_TYPE = { 4: 8, 6: 128 } as const satisfies Record<Family, number>;
const REPLY_TYPE = { 4: 0, 6: 129 } as const satisfies Record<Family, number>;

/**
 * Builds an echo request around a token of `TOKEN_BYTES`; identifier and sequence are taken modulo 65,536. Over IPv6
 * the kernel fills in the checksum, which covers addresses that only it knows (RFC 4443).
 */
export function buildEchoRequest(
  family: Family,
  { identifier, sequence, token }: { identifier: number; sequence: number; token: Uint8Array },
): EchoRequest {
  const packet = Buffer.alloc(PACKET_BYTES);
  packet[OFFSETS.type] = REQUEST_TYPE[family];
  packet.writeUInt16BE(identifier & 0xffff, OFFSETS.identifier);
  packet.writeUInt16BE(sequence & 0xffff, OFFSETS.sequence);
  packet.set(token.subarray(0, TOKEN_BYTES), OFFSETS.token);
  if (family === 4) packet.writeUInt16BE(internetChecksum(packet), OFFSETS.checksum);
  return { packet, key: keyOf(packet) };
}

/**
 * Returns the key of an echo reply from a socket, with or without its IPv4 header. Null for any other packet, or one
 * with a broken checksum. The key excludes the identifier, which the kernel sets itself on datagram sockets.
 */
export function readEchoReply(family: Family, message: Buffer): string | null {
  const packet = family === 4 ? withoutIpv4Header(message) : message;
  if (packet.length < OFFSETS.token + TOKEN_BYTES) return null;
  if (packet[OFFSETS.type] !== REPLY_TYPE[family] || packet[OFFSETS.code] !== 0) return null;
  // Raw IPv4 sockets receive packets before the kernel verifies the checksum; over IPv6 it is verified.
  if (family === 4 && internetChecksum(packet) !== 0) return null;
  return keyOf(packet);
}

/** Computes the checksum of RFC 1071, which is 0 over bytes that contain their own correct one. */
export function internetChecksum(bytes: Uint8Array): number {
  let sum = 0;
  for (let at = 0; at < bytes.length; at += 2) sum += ((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0);
  while (sum > 0xffff) sum = (sum & 0xffff) + Math.floor(sum / 0x1_0000);
  return ~sum & 0xffff;
}

function keyOf(packet: Buffer): string {
  return packet.toString('latin1', OFFSETS.sequence, OFFSETS.token + TOKEN_BYTES);
}

/**
 * Strips the IPv4 header. A raw IPv4 socket delivers the whole packet, which begins with its version and header length
 * in words; an echo reply begins with 0.
 */
function withoutIpv4Header(message: Buffer): Buffer {
  const first = message[0] ?? 0;
  return first >> 4 === 4 ? message.subarray((first & 0x0f) * 4) : message;
}
