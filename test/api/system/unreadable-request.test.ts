import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import test from 'ava';
import { answerUnreadable } from '../../../api/system/unreadable-request.ts';

const CASES: { what: string; sent: string; status: string; error: string }[] = [
  {
    what: 'an unknown method',
    sent: 'FOO /v1/monitors HTTP/1.1\r\n\r\n',
    status: '400 Bad Request',
    error: 'the request must be well-formed HTTP/1.1 with a known method',
  },
  {
    what: 'data other than HTTP',
    sent: '\x16\x03\x01\x02\x00\x01',
    status: '400 Bad Request',
    error: 'the request must be well-formed HTTP/1.1 with a known method',
  },
  {
    what: 'headers that are too long',
    sent: `GET / HTTP/1.1\r\nHost: x\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`,
    status: '431 Request Header Fields Too Large',
    error: 'the request line and the headers are too long',
  },
];

for (const { what, sent, status, error } of CASES) {
  test(`${what} gets an error in the usual form, and the connection is closed`, async (t) => {
    const server = createServer((_request, response) => response.end());
    answerUnreadable(server, (prefix) => `${prefix}_1`);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    t.teardown(() => server.close());
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    socket.write(sent, 'latin1');
    const answer = await text(socket);
    const [head = '', body = ''] = answer.split('\r\n\r\n');
    t.true(head.startsWith(`HTTP/1.1 ${status}\r\n`), answer);
    t.regex(head, /^X-Request-Id: req_1$/m);
    t.regex(head, new RegExp(`^Content-Length: ${body.length}$`, 'm'));
    t.deepEqual(JSON.parse(body), { error, request_id: 'req_1' });
  });
}
