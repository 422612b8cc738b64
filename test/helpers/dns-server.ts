import dgram from 'node:dgram';
import { once } from 'node:events';
import net, { type AddressInfo, type Socket } from 'node:net';
import dnsPacket, { type Answer, type Packet } from 'dns-packet';
import type { Harness } from './harness.ts';

/**
 * Reply of a server to a question. Over UDP a truncated reply is an empty one that sends the client to TCP (RFC 7766).
 */
export type DnsReply = {
  rcode?: number;
  answers?: Answer[];
  isTruncated?: boolean;
  isSilent?: boolean;
  delayMs?: number;
};

export const RCODES = { FORMERR: 1, SERVFAIL: 2, NXDOMAIN: 3, NOTIMP: 4, REFUSED: 5 } as const;

/** A question that arrived. */
export type DnsQuery = { type: string; name: string; transport: 'udp' | 'tcp' };

/** A DNS server over UDP and TCP; tests may change its replies at any time. */
export type DnsServer = {
  /** `address:port`, with an IPv6 address in brackets. */
  address: string;
  /** Replies by `TYPE name`. Other questions get NXDOMAIN, or no records if the name has some of another type. */
  zone: Map<string, DnsReply>;
  received: DnsQuery[];
};

const RESPONSE_FLAGS = dnsPacket.RECURSION_DESIRED | dnsPacket.RECURSION_AVAILABLE;

/** Starts a server on a free port; it stops with the test. */
export async function startDnsServer(
  t: Harness,
  zone: Record<string, DnsReply> = {},
  host = '127.0.0.1',
): Promise<DnsServer> {
  const replies = new Map(Object.entries(zone));
  const received: DnsQuery[] = [];
  const serve = (
    packet: Buffer,
    { transport, send }: { transport: DnsQuery['transport']; send: (answer: Buffer) => void },
  ) => {
    const query = dnsPacket.decode(packet);
    const [question] = query.questions ?? [];
    if (question === undefined) return;
    received.push({ type: question.type, name: question.name, transport });
    const reply = replyTo(replies, `${question.type} ${question.name.toLowerCase()}`);
    if (reply.isSilent) return;
    const timer = setTimeout(() => {
      timers.delete(timer);
      send(encode(query, { reply, transport }));
    }, reply.delayMs ?? 0);
    timers.add(timer);
  };

  // Questions during the teardown get no reply, either.
  const timers = new Set<NodeJS.Timeout>();
  const sockets = new Set<Socket>();
  const { udp, tcp, address } = await openBoth(host);
  t.teardown(() => {
    for (const timer of timers) clearTimeout(timer);
    udp.close();
    tcp.close();
    for (const socket of sockets) socket.destroy();
  });
  udp.on('message', (packet, from) =>
    serve(packet, { transport: 'udp', send: (answer) => udp.send(answer, from.port, from.address) }),
  );
  tcp.on('connection', (socket: Socket) => {
    sockets.add(socket.on('error', () => {}));
    receive(socket, (packet) =>
      serve(packet, { transport: 'tcp', send: (answer) => socket.write(withLength(answer)) }),
    );
  });
  return { address, zone: replies, received };
}

/** Finds a port that is free for both TCP and UDP: pending queries hold some UDP ports. */
async function openBoth(host: string): Promise<{ udp: dgram.Socket; tcp: net.Server; address: string }> {
  for (;;) {
    const tcp = net.createServer().listen(0, host);
    await once(tcp, 'listening');
    const { port, family } = tcp.address() as AddressInfo;
    const udp = dgram.createSocket(family === 'IPv6' ? 'udp6' : 'udp4');
    try {
      udp.bind(port, host);
      await once(udp, 'listening');
      return { udp, tcp, address: family === 'IPv6' ? `[${host}]:${port}` : `${host}:${port}` };
    } catch (error) {
      udp.close();
      tcp.close();
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    }
  }
}

function replyTo(replies: ReadonlyMap<string, DnsReply>, question: string): DnsReply {
  const [, name] = question.split(' ');
  const hasOthers = [...replies.keys()].some((key) => key.endsWith(` ${name}`));
  return replies.get(question) ?? (hasOthers ? {} : { rcode: RCODES.NXDOMAIN });
}

function encode(
  { id, questions }: Packet,
  { reply, transport }: { reply: DnsReply; transport: DnsQuery['transport'] },
): Buffer {
  const isTruncated = reply.isTruncated === true && transport === 'udp';
  const flags = RESPONSE_FLAGS | (reply.rcode ?? 0) | (isTruncated ? dnsPacket.TRUNCATED_RESPONSE : 0);
  return dnsPacket.encode({
    type: 'response',
    ...(id !== undefined && { id }),
    flags,
    questions: questions ?? [],
    answers: isTruncated ? [] : (reply.answers ?? []),
  });
}

/** Over TCP two bytes with the length precede each message. */
function receive(socket: Socket, onPacket: (packet: Buffer) => void): void {
  let held = Buffer.alloc(0);
  socket.on('data', (piece) => {
    held = Buffer.concat([held, Buffer.from(piece)]);
    while (held.length >= 2 && held.length >= 2 + held.readUInt16BE(0)) {
      const end = 2 + held.readUInt16BE(0);
      onPacket(held.subarray(2, end));
      held = held.subarray(end);
    }
  });
}

function withLength(packet: Buffer): Buffer {
  const length = Buffer.alloc(2);
  length.writeUInt16BE(packet.length);
  return Buffer.concat([length, packet]);
}
