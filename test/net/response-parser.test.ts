import http from 'node:http';
import { Duplex } from 'node:stream';
import test from 'ava';
import * as fc from 'fast-check';
import { ResponseParser } from '../../net/response-parser.ts';

const MAX_HEADER_BYTES = 64 * 1024;

/** Status, headers and body that a parser found, or that the response is invalid. */
type Read = { status: number; headers: http.IncomingHttpHeaders; body: string; isWhole: boolean } | 'invalid';

/** Parses the bytes with this project's parser, piece by piece, until the connection closes. */
function readOurselves(method: string, pieces: readonly Buffer[]): Read {
  let status = 0;
  let headers: http.IncomingHttpHeaders = {};
  let body = '';
  const parser = new ResponseParser(method, {
    onInformational: () => {},
    onHead: (head) => ({ status, headers } = head),
    onBody: (bytes) => (body += bytes.toString('latin1')),
    onEnd: () => {},
  });
  try {
    // The parser moves bytes within the buffers that it takes, so it gets copies.
    for (const piece of pieces) parser.take(Buffer.from(piece));
    const isWhole = parser.close();
    return { status, headers: { ...headers }, body, isWhole };
  } catch {
    return 'invalid';
  }
}

/** Parses the same bytes with Node's client. */
async function readWithNode(method: string, pieces: readonly Buffer[]): Promise<Read> {
  const { promise, resolve } = Promise.withResolvers<Read>();
  const connection = new Duplex({ read: () => undefined, write: (_chunk, _encoding, done) => done() });
  const request = http.request({
    method,
    createConnection: () => connection as never,
    maxHeaderSize: MAX_HEADER_BYTES,
  });
  let status = 0;
  let headers: http.IncomingHttpHeaders = {};
  let body = '';
  const end = (isWhole: boolean) => resolve({ status, headers: { ...headers }, body, isWhole });
  let answered: http.IncomingMessage | null = null;
  request.once('response', (response) => {
    answered = response;
    status = response.statusCode ?? 0;
    headers = response.headers;
    response.on('data', (bytes: Buffer) => (body += bytes.toString('latin1')));
    response.once('end', () => end(true));
    response.once('error', () => undefined);
    response.once('close', () => end(response.complete));
  });
  request.once('upgrade', (response) => {
    status = response.statusCode ?? 0;
    headers = response.headers;
    end(true);
  });
  request.once('error', (error: NodeJS.ErrnoException) => {
    // Node rejects bytes after a complete response, which no caller reads.
    if (answered?.complete === true) return;
    if (error.code?.startsWith('HPE_') !== true) end(false);
    else resolve('invalid');
  });
  request.end();
  for (const piece of pieces) connection.push(piece);
  connection.push(null);
  return await promise;
}

const spaces = fc.constantFrom('', ' ', '  ', '\t', ' \t ');
const nameText = fc.constantFrom(
  'X-A',
  'x-a',
  'Set-Cookie',
  'Content-Type',
  'Location',
  'Via',
  'Cookie',
  'Age',
  'X_b',
  'Constructor',
  'X~!#$%&*+.^`|1',
  'bad name',
  'bäd',
  'bad\x01',
  '',
  'X-A ',
  ' X-A',
);
const valueText = fc.oneof(
  fc.constantFrom(
    '',
    'a',
    'a b',
    'a,b',
    'größe',
    'a\x01b',
    'a\tb',
    'a\x7fb',
    'a\0b',
    'a\rb',
    'a\nb',
    '\xff',
    '\xa0a\xa0',
    'a\v',
    ' folded',
  ),
  fc.string({ maxLength: 20 }),
);
const header = fc
  .tuple(nameText, spaces, valueText, spaces)
  .map(([name, before, value, after]) => `${name}:${before}${value}${after}`);
const framing = fc.constantFrom(
  'Content-Length: 3',
  'Content-Length: 0',
  'Content-Length: 10',
  'Content-Length: 03',
  'Content-Length: +3',
  'Content-Length: 3 ',
  'Content-Length: 3, 3',
  'Content-Length: ',
  'Content-Length: 0x3',
  'Content-Length: 99999999999999999999999',
  'Transfer-Encoding: chunked',
  'Transfer-Encoding: CHUNKED',
  'Transfer-Encoding: gzip, chunked',
  'Transfer-Encoding: gzip',
  'Transfer-Encoding: gzip chunked',
  'Transfer-Encoding:',
  'Transfer-Encoding: chunked, gzip',
  'Transfer-Encoding: xchunked',
  'Transfer-Encoding: chunked ',
  'Connection: close',
  'Connection: keep-alive',
  'Connection: upgrade',
  'Upgrade: websocket',
);
const statusLine = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.constantFrom('HTTP/1.1 200 OK', 'HTTP/1.1 200', 'HTTP/1.1 200 ', 'HTTP/1.0 404 Not Found'),
  },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      'HTTP/1.1 204 No',
      'HTTP/1.1 304 No',
      'HTTP/1.1 101 Now',
      'HTTP/1.1 599 größe',
      'HTTP/1.1 199 x',
    ),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      'HTTP/2.0 200 OK',
      'HTTP/3.0 200 OK',
      'HTTP/1.2 200 OK',
      'HTTP/0.9 200 OK',
      'http/1.1 200 OK',
      'HTTP/1.1  200 OK',
      'HTTP/1.1 20 OK',
      'HTTP/1.1 2000 OK',
      'HTTP/1.1 20x OK',
      'HTTP/1.1 099 OK',
      'HTTP/1.1\t200 OK',
      ' HTTP/1.1 200 OK',
      'ICY 200 OK',
      'HTTP/1.1 200\tOK',
      'HTTP/1.1 200 a\x01b',
      'HTTP/1.1 200 a\rb',
      '',
    ),
  },
);
const chunk = fc.constantFrom(
  '3\r\nabc\r\n',
  '1;x=y\r\na\r\n',
  '1 ; x="y z"\r\na\r\n',
  '1 \r\na\r\n',
  'A\r\n0123456789\r\n',
  '0003\r\nabc\r\n',
  '3\nabc\r\n',
  '3\r\nabc\n',
  '3\r\nabcd\r\n',
  'g\r\n',
  '-1\r\n',
  '\r\n',
  '1;\r\na\r\n',
  'fffffffffffffffff\r\n',
);
const body = fc.oneof(
  fc.constantFrom('', 'abc', 'ab', 'abcdefghij'),
  fc
    .tuple(
      fc.array(chunk, { maxLength: 3 }),
      fc.constantFrom('0\r\n\r\n', '0\r\nX-T: 1\r\n\r\n', '0;x\r\n\r\n', '', '0\r\n'),
    )
    .map(([chunks, end]) => chunks.join('') + end),
);
const informational = fc.constantFrom(
  '',
  '',
  '',
  'HTTP/1.1 100 Continue\r\n\r\n',
  'HTTP/1.1 103 Hints\r\nX-A: b\r\n\r\n',
);
const lineEnd = fc.oneof(
  { weight: 20, arbitrary: fc.constant('\r\n') },
  { weight: 1, arbitrary: fc.constantFrom('\n', '\r', '\r\r\n') },
);

const responseBytes = fc
  .tuple(informational, statusLine, fc.array(fc.oneof(header, framing), { maxLength: 5 }), lineEnd, lineEnd, body)
  .map(([before, status, headers, end, last, text]) =>
    Buffer.from(`${before}${[status, ...headers].map((line) => `${line}${end}`).join('')}${last}${text}`, 'latin1'),
  );

function cut(bytes: Buffer, size: number): Buffer[] {
  const pieces: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += size) pieces.push(bytes.subarray(at, at + size));
  return pieces;
}

test("our parser accepts and rejects the same responses as Node's, in pieces of any size", async (t) => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom('GET', 'HEAD'),
      responseBytes,
      fc.constantFrom(1, 2, 7, 1000),
      async (method, bytes, size) => {
        t.deepEqual(readOurselves(method, cut(bytes, size)), await readWithNode(method, cut(bytes, size)));
      },
    ),
    { numRuns: 3000 },
  );
});

test('hostile heads and chunks are parsed in linear time or rejected', (t) => {
  const head = 'HTTP/1.1 200 OK\r\n';
  const blanks = ' '.repeat(60_000);
  // A parser that rescans the other blanks at each blank takes minutes.
  for (let times = 0; times < 200; times += 1)
    t.is(readOurselves('GET', [Buffer.from(`${head}X-A:${blanks}\x01\r\n\r\n`)]), 'invalid');
  t.like(readOurselves('GET', [Buffer.from(`${head}X-A:${blanks}a \t\r\n\r\n`)]), {
    status: 200,
    headers: { 'x-a': 'a' },
  });
  const chunks = (count: number, before: string, behind: string) =>
    Buffer.from(`${head}Transfer-Encoding: chunked\r\n\r\n${`${before}1${behind}\r\na\r\n`.repeat(count)}0\r\n\r\n`);
  t.like(readOurselves('GET', [chunks(10, '', `;x=${'y'.repeat(1000)}`)]), { body: 'a'.repeat(10), isWhole: true });
  t.is(readOurselves('GET', [chunks(20, '', `;x=${'y'.repeat(1000)}`)]), 'invalid');
  t.is(readOurselves('GET', [chunks(20, '0'.repeat(1000), '')]), 'invalid');
  t.like(readOurselves('GET', cut(chunks(100_000, '', ''), 1000)), { body: 'a'.repeat(100_000), isWhole: true });
  t.like(readOurselves('GET', [chunks(20_000, '0'.repeat(15), '')]), { body: 'a'.repeat(20_000), isWhole: true });
});

test('informational responses share the header limit of a single head', (t) => {
  const hints = (bytes: number) => `HTTP/1.1 103 Hints\r\nLink: ${'a'.repeat(bytes)}\r\n\r\n`;
  const last = 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n';
  t.like(readOurselves('GET', [Buffer.from(hints(1000).repeat(50) + last)]), { status: 200, isWhole: true });
  t.is(readOurselves('GET', [Buffer.from(hints(1000).repeat(70) + last)]), 'invalid');
});
