import net, { type NetConnectOpts } from 'node:net';
import type { Harness } from './harness.ts';
import { startRawServer } from './http-server.ts';

/** The host that no test can have: a public one. */
export const PUBLIC_HOST = 'public.example';

/** Where a public host redirects each path to, and the paths that were asked for. */
export type PublicHost = { redirects: Map<string, { status: number; location: string }>; asked: string[] };

/**
 * Has connections to port 80 of the public host end at a server of the test, until the test ends. Each is redirected;
 * what it leads to is looked up and guarded as ever.
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
