import type { FixedCause } from '../../core/checks/verdict.ts';

/**
 * A number of echo requests to one address, all to be answered within the deadline in milliseconds. The address is in
 * its usual form. An abort ends a round over a socket.
 */
export type EchoRound = { address: string; count: number; deadlineMs: number; signal?: AbortSignal };

/**
 * What became of a round. The round trips of the requests that were answered, in milliseconds; or no request could be
 * sent there; or none from here.
 */
export type EchoOutcome =
  | { outcome: 'measured'; sent: number; roundTripsMs: readonly number[] }
  | { outcome: 'failed'; cause: FixedCause; reason: string }
  | { outcome: 'unavailable'; reason: string };

/** What echo requests can be sent with. */
export type EchoMeansKind = 'datagram socket' | 'raw socket' | 'ping program';

/** A way to send echo requests over one family of addresses, for all monitors together. */
export type EchoMeans = {
  kind: EchoMeansKind;
  /** Rejects only where our own machine lacks something, which is no vote (D-20). */
  measure: (round: EchoRound) => Promise<EchoOutcome>;
  /** Lets go of what is open; rounds under way get no more replies. */
  close: () => Promise<void>;
};

/**
 * The pause between two requests of a round, in milliseconds. There are five a second at the most, and the last has
 * half the deadline left for its reply.
 */
export function gapMs({ count, deadlineMs }: Pick<EchoRound, 'count' | 'deadlineMs'>): number {
  return Math.min(200, deadlineMs / 2 / count);
}

/** The versions of IP, as `net.isIP` numbers them. */
export type Family = 4 | 6;

/** One echo request, and the key that its reply will bear. */
type EchoRequest = { packet: Buffer; key: string };

/** Type, code, checksum, identifier and sequence (RFC 792, RFC 4443), then data that comes back unchanged. */
const OFFSETS = { type: 0, code: 1, checksum: 2, identifier: 4, sequence: 6, token: 8 } as const;

/** What makes a reply ours on a host where other programs ping too, and what a third party cannot guess. */
export const TOKEN_BYTES = 16;

/** 56 bytes of data, as ping sends: some firewalls drop what looks unlike it. */
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
 * The key of an echo reply as it came from a socket, with its IPv4 header or without. Null for whatever else, a broken
 * checksum included. The identifier is no part of it: the kernel sets its own on datagram sockets.
 */
export function readEchoReply(family: Family, message: Buffer): string | null {
  const packet = family === 4 ? withoutIpv4Header(message) : message;
  if (packet.length < OFFSETS.token + TOKEN_BYTES) return null;
  if (packet[OFFSETS.type] !== REPLY_TYPE[family] || packet[OFFSETS.code] !== 0) return null;
  // Raw IPv4 sockets are served before the kernel looks at the checksum; over IPv6 it has looked.
  if (family === 4 && internetChecksum(packet) !== 0) return null;
  return keyOf(packet);
}

/** The checksum of RFC 1071: 0 over bytes that contain their own right one. */
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
 * A raw IPv4 socket hands on the whole packet, which begins with its version and header length in words; an echo reply
 * begins with 0.
 */
function withoutIpv4Header(message: Buffer): Buffer {
  const first = message[0] ?? 0;
  return first >> 4 === 4 ? message.subarray((first & 0x0f) * 4) : message;
}
