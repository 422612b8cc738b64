/** The versions of IP, as `net.isIP` numbers them. */
export type Family = 4 | 6;

/** One echo request, and the key that its reply will bear. */
export type EchoRequest = { packet: Buffer; key: string };

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
