import { once } from 'node:events';
import net from 'node:net';
import type { Harness } from './harness.ts';

/** A TCP listener on a fixed port that can be closed and reopened; it ends with the test. */
export type Listener = {
  host: string;
  port: number;
  open: () => Promise<void>;
  close: () => Promise<void>;
  /** Returns the number of connections accepted so far. */
  connections: () => number;
};

/** A loopback address specific to this process, so that no other test's server takes the port of a closed listener. */
export const OWN_HOST =
  process.platform === 'linux'
    ? `127.${1 + (process.pid >> 16)}.${(process.pid >> 8) & 255}.${process.pid & 255}`
    : '127.0.0.1';

/** Starts a listener that closes every connection. */
export async function startListener(t: Harness): Promise<Listener> {
  let connections = 0;
  let port = 0;
  let server = net.createServer();
  const open = async () => {
    server = net.createServer((socket) => {
      connections += 1;
      socket.on('error', () => undefined).destroy();
    });
    server.listen(port, OWN_HOST);
    await once(server, 'listening');
    port = (server.address() as net.AddressInfo).port;
  };
  const close = async () => {
    if (!server.listening) return;
    server.close();
    await once(server, 'close');
  };
  await open();
  t.teardown(close);
  return { host: OWN_HOST, port, open, close, connections: () => connections };
}
