import dgram from 'node:dgram';
import { once } from 'node:events';
import { ready } from './settings.ts';

// Answers every question with one record: an A with an address, any other with none. The bytes are hand-made, so that a
// benchmark does not wait for this child.
const HEADER_BYTES = 12;
const RESPONSE = 0x8180;
const TYPE_A = 1;
const ADDRESS = Buffer.from([0xc0, HEADER_BYTES, 0, TYPE_A, 0, 1, 0, 0, 0, 60, 0, 4, 192, 0, 2, 1]);

const socket = dgram.createSocket('udp4');
socket.on('message', (query, { port, address }) => socket.send(respond(query), port, address));
socket.bind(0, '127.0.0.1');
await once(socket, 'listening');
process.once('disconnect', () => process.exit(0));
ready(`127.0.0.1:${socket.address().port}`);

function respond(query: Buffer): Buffer {
  const typeAt = query.indexOf(0, HEADER_BYTES) + 1;
  const isAddress = query.readUInt16BE(typeAt) === TYPE_A;
  const header = Buffer.alloc(HEADER_BYTES);
  query.copy(header, 0, 0, 2);
  header.writeUInt16BE(RESPONSE, 2);
  header.writeUInt16BE(1, 4);
  header.writeUInt16BE(isAddress ? 1 : 0, 6);
  return Buffer.concat([header, query.subarray(HEADER_BYTES, typeAt + 4), ...(isAddress ? [ADDRESS] : [])]);
}
