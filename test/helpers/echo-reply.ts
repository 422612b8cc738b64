/**
 * Builds a host's reply to an echo request (RFC 792, RFC 4443). It is the same message with the type of a reply; over
 * IPv6 the kernel adds the checksum.
 */
export function echoReplyTo(request: Buffer): Buffer {
  const reply = Buffer.from(request);
  const isIpv4 = request.readUInt8(0) === 8;
  reply.writeUInt8(isIpv4 ? 0 : 129, 0);
  if (isIpv4) writeChecksum(reply, 2);
  return reply;
}

/**
 * Returns a message in an IPv4 packet from 127.0.0.1 to itself, as a raw socket receives it; the header has 5 to 15
 * words.
 */
export function asIpv4Packet(message: Buffer, headerWords: number): Buffer {
  const header = Buffer.alloc(headerWords * 4);
  header.writeUInt8(0x40 | headerWords, 0);
  header.writeUInt16BE(header.length + message.length, 2);
  header.set([64, 1], 8);
  header.set([127, 0, 0, 1, 127, 0, 0, 1], 12);
  return Buffer.concat([header, message]);
}

/** Writes the checksum of the whole message with the field itself as 0 (RFC 1071). */
function writeChecksum(message: Buffer, at: number): void {
  message.writeUInt16BE(0, at);
  let sum = 0;
  for (let index = 0; index < message.length; index += 2) {
    sum += message.readUInt16BE(index);
    if (sum > 0xffff) sum -= 0xffff;
  }
  message.writeUInt16BE(0xffff - sum, at);
}
