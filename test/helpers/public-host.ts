import net, { type NetConnectOpts } from 'node:net';
import type { Harness } from './harness.ts';
import { startRawServer } from './http-server.ts';

/** A public host, which no test can run. */
export const PUBLIC_HOST = 'public.example';

/** Redirects of a public host by path, and the requested paths. */
export type PublicHost = { redirects: Map<string, { status: number; location: string }>; asked: string[] };

/**
 * Routes connections to port 80 of the public host to a test server, until the test ends. It redirects each request;
 * the target is looked up and guarded as usual.
 */
export async function openPublicHost(t: Harness): Promise<PublicHost> {
  const host: PublicHost = { redirects: new Map(), asked: [] };
  const { port } = await startRawServer(t, (socket) => {
    socket.once('data', (request: Buffer) => {
      const path = request.toString('latin1').split(' ')[1] ?? '';
      host.asked.push(path);
      const { status, location } = host.redirects.get(path) ?? { status: 404, location: '' };
      socket.end(`HTTP/1.1 ${status} Found\r\nLocation: ${location}\r\nContent-Length: 0\r\n\r\n`);
    });
  });
  const { connect } = net;
  const divert = (options: NetConnectOpts, ...rest: []) =>
    'host' in options && options.host === PUBLIC_HOST && options.port === 80
      ? connect({ ...options, host: '127.0.0.1', port }, ...rest)
      : connect(options, ...rest);
  Object.assign(net, { connect: divert });
  t.teardown(() => void Object.assign(net, { connect }));
  return host;
}
