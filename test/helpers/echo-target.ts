import dgram, { type Socket } from 'node:dgram';
import { once } from 'node:events';
import type { Harness } from './harness.ts';

/** A message in response to a request, from the target or from another host (`isStranger`). */
export type EchoAnswer = { message: Buffer; isStranger?: boolean };

/** A host that receives echo requests sent over `socket`; `requests` lists them. */
export type EchoTarget = { address: string; socket: Socket; requests: Buffer[] };

type SendArguments = [packet: Buffer, port: number, address: string, callback: (error: Error | null) => void];

const TARGET = '127.0.0.2';
const STRANGER = '127.0.0.3';

/**
 * Starts a host whose reply to the nth request (from 0) the test decides. Loopback answers every echo request once and
 * correctly. To simulate lost, late or forged replies, the messages go over real UDP sockets instead; only their
 * destination port is corrected.
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
