import dgram from 'node:dgram';
import { once } from 'node:events';
import net from 'node:net';
import { ready } from './settings.ts';

// Echoes all data, over tcp and udp.
const tcp = net
  .createServer((socket) => socket.on('error', () => undefined).pipe(socket))
  .listen({ port: 0, host: '127.0.0.1', backlog: 4096 });
await once(tcp, 'listening');

const udp = dgram.createSocket('udp4');
udp.on('message', (datagram, { port, address }) => udp.send(datagram, port, address));
udp.bind(0, '127.0.0.1');
await once(udp, 'listening');

const { port } = tcp.address() as net.AddressInfo;
ready({ tcp: `127.0.0.1:${port}`, udp: `127.0.0.1:${udp.address().port}` });
