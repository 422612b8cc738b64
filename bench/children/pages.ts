import { once } from 'node:events';
import http from 'node:http';
import { answer, readSettings, ready } from './settings.ts';

// A site with two pages. /page is as large as those of real sites. /letters is `ok` or, while the site is hostile, a
// random sequence of a and b, in which patterns that count letters take long to fail.
type Settings = { letters: number; lines: number };

const { letters, lines } = readSettings<Settings>();
const hostile = Array.from({ length: letters }, () => (Math.random() < 0.5 ? 'a' : 'b')).join('');
const page =
  `<html><body>${'<p class="line">Orders and carts, prices in euro: 12.50 each</p>\n'.repeat(lines)}<b ` +
  'id="version">v4.12.7</b></body></html>';
let isHostile = false;

const server = http.createServer((request, response) => {
  response.writeHead(200, { 'Content-Type': 'text/html' });
  response.end(request.url?.startsWith('/page') === true ? page : isHostile ? hostile : 'ok');
});
server.listen(0, '127.0.0.1');
await once(server, 'listening');
const address = server.address();
answer<{ isHostile: boolean }>((message) => {
  isHostile = message.isHostile;
  return null;
});
ready(`http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}/`);
