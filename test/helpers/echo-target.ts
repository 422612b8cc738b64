import dgram, { type Socket } from 'node:dgram';
import { once } from 'node:events';
import type { Harness } from './harness.ts';

/** What comes back on a request: messages, from the target itself unless a stranger sends them. */
export type EchoAnswer = { message: Buffer; isStranger?: boolean };

/** A host that is sent echo requests over `socket`; `requests` are those that it got. */
export type EchoTarget = { address: string; socket: Socket; requests: Buffer[] };

type SendArguments = [packet: Buffer, port: number, address: string, callback: (error: Error | null) => void];

const TARGET = '127.0.0.2';
const STRANGER = '127.0.0.3';

/**
 * Starts a host that answers the nth request (from 0) as it is set. Loopback answers every echo request, once and
 * rightly: to see some of them lost, late or forged, the messages go over UDP between real sockets, whose sender has
 * only the port of its datagrams put right.
 */
export async function startEchoTarget(
  t: Harness,
  answer: (request: Buffer, index: number) => readonly EchoAnswer[],
): Promise<EchoTarget> {
  const [socket, target, stranger] = await Promise.all(['127.0.0.1', TARGET, STRANGER].map(bind));
  if (socket === undefined || target === undefined || stranger === undefined)
    throw new Error('three sockets were asked for');
  t.teardown(() => {
    target.close();
    stranger.close();
  });
  const requests: Buffer[] = [];
  target.on('message', (request, { port, address }) => {
    const index = requests.push(request) - 1;
    for (const { message, isStranger } of answer(request, index))
      (isStranger ? stranger : target).send(message, port, address);
  });
  const { port } = target.address();
  const send = socket.send.bind(socket);
  Object.assign(socket, {
    send: (...[packet, , address, callback]: SendArguments) => send(packet, port, address, callback),
  });
  return { address: TARGET, socket, requests };
}

async function bind(address: string): Promise<Socket> {
  const socket = dgram.createSocket('udp4');
  socket.bind(0, address);
  await once(socket, 'listening');
  return socket;
}
