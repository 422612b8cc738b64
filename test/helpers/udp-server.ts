import dgram from 'node:dgram';
import { once } from 'node:events';
import type { Harness } from './harness.ts';

/** Sends one datagram to the most recent sender. */
export type Reply = (datagram: string | Uint8Array) => void;

/** A server that closes with the test; `received` are the datagrams, `from` their senders' ports. */
export type UdpServer = { port: number; received: Buffer[]; from: number[] };

/**
 * Starts a UDP server on a free port of 127.0.0.1, or of another address. `answer` decides its replies; by default
 * there are none.
 */
export async function startUdpServer(
  t: Harness,
  answer: (datagram: Buffer, reply: Reply) => void = () => {},
  host = '127.0.0.1',
): Promise<UdpServer> {
  const socket = dgram.createSocket(host.includes(':') ? 'udp6' : 'udp4');
  const received: Buffer[] = [];
  const from: number[] = [];
  socket.on('message', (datagram, { port, address }) => {
    received.push(datagram);
    from.push(port);
    answer(datagram, (reply) => socket.send(reply, port, address));
  });
  socket.bind(0, host);
  await once(socket, 'listening');
  t.teardown(() => void socket.close());
  return { port: socket.address().port, received, from };
}
