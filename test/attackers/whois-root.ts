import { once } from 'node:events';
import net, { type AddressInfo } from 'node:net';

/** The operator's WHOIS server, which refers to another server; `refer` sets the referral. */
export type WhoisRoot = { root: { host: string; port: number }; refer: (to: string) => void; close: () => void };

/** Starts a WHOIS server on a free port. */
export async function startWhoisRoot(): Promise<WhoisRoot> {
  let referral = '';
  const server = net.createServer(
    (socket) => void socket.on('error', () => undefined).once('data', () => socket.end(`refer: ${referral}\r\n`)),
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    root: { host: '127.0.0.1', port: (server.address() as AddressInfo).port },
    refer: (to) => void (referral = to),
    close: () => void server.close(),
  };
}
