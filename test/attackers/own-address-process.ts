import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { createHttpProbe } from '../../probes/http.ts';
import { createTcpProbe } from '../../probes/tcp.ts';
import { httpTarget } from '../helpers/check-target.ts';

/**
 * Results of contacting a machine's own public address, and the number of connections that a listener on it accepted.
 */
export type OwnAddressReport = { http: string | null; tcp: string | null; connections: number };

// Runs in a separate network namespace that has only this address, on which a server listens.
const [address = ''] = process.argv.slice(2);
let connections = 0;
const server = createServer((socket) => {
  connections += 1;
  socket.on('error', () => undefined).destroy();
}).listen(0, address);
await once(server, 'listening');
const { port } = server.address() as AddressInfo;
const guard = { allowPrivateNetwork: false };
const http = await createHttpProbe(guard)(httpTarget({ target: `http://${address}:${port}/`, timeoutMs: 60_000 }));
const tcp = await createTcpProbe(guard)(httpTarget({ type: 'tcp', target: `${address}:${port}`, timeoutMs: 60_000 }));
const causeOf = (answerThere: object) => ('cause' in answerThere ? String(answerThere.cause) : null);
const report: OwnAddressReport = { http: causeOf(http), tcp: causeOf(tcp), connections };
process.stdout.write(JSON.stringify(report));
server.close();
