import zlib from 'node:zlib';
import test from 'ava';
import type { Assertion, CheckTarget } from '../../core/monitors/monitor.ts';
import { httpTarget } from '../helpers/check-target.ts';
import {
  drip,
  flood,
  say,
  sayAll,
  startAttacker,
  startProbing,
  withstand,
  type Bounds,
  type Probing,
  type Way,
} from './attack.ts';

let probing: Probing;
test.before(async () => {
  probing = await startProbing();
});
test.after.always(() => probing.child.disconnect());

/** Timeouts for checks without a response, and for those whose response only waits for the machine, in milliseconds. */
const TIMEOUT_MS = 600;
const AMPLE_MS = 20_000;
const MIB = 1024 * 1024;
const HEAD = 'HTTP/1.1 200 OK\r\n';
const CHUNKED = `${HEAD}Transfer-Encoding: chunked\r\n\r\n`;

/** Returns a response with this body, optionally with a content coding. */
function page(body: string | Buffer, coding = 'identity'): Way {
  const bytes = Buffer.from(body as string);
  return sayAll(
    Buffer.concat([
      Buffer.from(`${HEAD}Content-Encoding: ${coding}\r\nContent-Length: ${bytes.length}\r\n\r\n`),
      bytes,
    ]),
  );
}

/**
 * Behavior of a website, and the cause that a check finds; null = the check is up. There are several causes where the
 * machine's speed decides whether the budget for judging runs out first.
 */
type Attack = {
  way: Way;
  cause: string | null | readonly (string | null)[];
  scheme?: 'http' | 'https';
  bounds?: Bounds;
  target?: Partial<CheckTarget>;
};

const READS = { bodyMatch: 'needle' };

const SLOW: Record<string, Attack> = {
  'a status line in single bytes': { way: drip('', `${HEAD.trim()} and so on, `), cause: 'timeout' },
  'headers in single bytes': { way: drip(HEAD, 'X-A: b\r\n'), cause: 'timeout' },
  'an endless header line in single bytes': { way: drip(`${HEAD}X-A: `, 'b'), cause: 'timeout' },
  'informational responses in single bytes': {
    way: drip('', 'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n'),
    cause: 'timeout',
  },
  'a chunk size in single bytes': { way: drip(CHUNKED, '0'), cause: 'timeout', target: READS },
  'a chunk extension in single bytes': { way: drip(`${CHUNKED}1;`, 'x'), cause: 'timeout', target: READS },
  'a chunked body in single bytes': { way: drip(CHUNKED, '1\r\nx\r\n'), cause: 'timeout', target: READS },
  'trailers in single bytes': { way: drip(`${CHUNKED}1\r\nx\r\n0\r\n`, 'X-A: b\r\n'), cause: 'timeout', target: READS },
  'a body with a length in single bytes': {
    way: drip(`${HEAD}Content-Length: 1000000\r\n\r\n`, 'x'),
    cause: 'timeout',
    target: READS,
  },
  'a compressed body in single bytes': {
    way: drip(`${HEAD}Content-Encoding: gzip\r\n\r\n\x1f\x8b\x08\0\0\0\0\0\0\x03`, '\0\0\0\xff\xff'),
    cause: 'timeout',
    target: READS,
  },
  'a TLS handshake in single bytes': {
    way: drip('\x16\x03\x03\x40\x00\x02\x00\x3f\xfc\x03\x03', 'x'),
    cause: 'timeout',
    scheme: 'https',
  },
  'a TLS handshake that stops after its first record': {
    way: say('\x16\x03\x03\x00\x04\x02\x00\x00\x4c'),
    cause: 'timeout',
    scheme: 'https',
  },
};

const ENDLESS: Record<string, Attack> = {
  'endless headers': { way: flood(HEAD, 'X-A: b\r\n'.repeat(5000)), cause: 'conn_error' },
  'an endless header line at full speed': { way: flood(`${HEAD}X-A: `, 'b'.repeat(64 * 1024)), cause: 'conn_error' },
  'an endless status line': { way: flood('HTTP/1.1 200 ', 'b'.repeat(64 * 1024)), cause: 'conn_error' },
  'endless informational responses': {
    way: flood('', 'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n'.repeat(2000)),
    cause: 'conn_error',
    target: { timeoutMs: 20_000 },
  },
  'endless 100 Continue responses': {
    way: flood('', 'HTTP/1.1 100 Continue\r\n\r\n'.repeat(2000)),
    cause: 'conn_error',
    target: { timeoutMs: 20_000 },
  },
  'an endless chunk extension': {
    way: flood(`${CHUNKED}1;`, 'x'.repeat(64 * 1024)),
    cause: 'conn_error',
    target: READS,
  },
  'endless trailers': {
    way: flood(`${CHUNKED}1\r\nx\r\n0\r\n`, 'X-A: b\r\n'.repeat(5000)),
    cause: 'conn_error',
    target: READS,
  },
  'a chunk with an enormous size': {
    way: flood(`${CHUNKED}fffffffffffffff\r\n`, Buffer.alloc(64 * 1024, 'x')),
    cause: 'body_mismatch',
    target: READS,
  },
  'an endless body': {
    way: flood(`${HEAD}\r\n`, Buffer.alloc(64 * 1024, 'x')),
    cause: 'body_mismatch',
    target: READS,
    bounds: { copies: 10 },
  },
  'a quarter of a million chunks of one byte': {
    way: sayAll(`${CHUNKED}${'1\r\nx\r\n'.repeat(MIB / 4)}0\r\n\r\n`),
    cause: 'body_mismatch',
    target: { ...READS, timeoutMs: 20_000 },
    bounds: { grownMb: 40 },
  },
  'an endless body after a bad status': {
    way: flood('HTTP/1.1 500 No\r\n\r\n', Buffer.alloc(64 * 1024, 'x')),
    cause: 'status_500',
  },
};

const NOTHING = Buffer.alloc(32 * MIB);
const GZIPPED = zlib.gzipSync(NOTHING, { level: 1 });
const GZIPPED_TWICE = zlib.gzipSync(GZIPPED);
const QUICK_BROTLI = { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 1 } };
const BOMB = { cause: 'body_mismatch', target: { ...READS, timeoutMs: 20_000 }, bounds: { copies: 8, grownMb: 128 } };

const BOMBS: Record<string, Attack> = {
  'a gzip bomb': { ...BOMB, way: page(GZIPPED, 'gzip') },
  'a deflate bomb': { ...BOMB, way: page(zlib.deflateSync(NOTHING, { level: 1 }), 'deflate') },
  'a raw deflate bomb': { ...BOMB, way: page(zlib.deflateRawSync(NOTHING, { level: 1 }), 'deflate') },
  'a br bomb': { ...BOMB, way: page(zlib.brotliCompressSync(NOTHING, QUICK_BROTLI), 'br') },
  'a zstd bomb': { ...BOMB, way: page(zlib.zstdCompressSync(NOTHING), 'zstd') },
  'a bomb within a bomb': { ...BOMB, way: page(GZIPPED_TWICE, 'gzip') },
  'a bomb in two codings, of which at most one is decoded': { ...BOMB, way: page(GZIPPED_TWICE, 'gzip, gzip') },
  'a zstd frame that requires a window of 2 GiB': {
    ...BOMB,
    way: page(Buffer.from('28b52ffd00a801000000', 'hex'), 'zstd'),
    cause: 'conn_error',
  },
  'a bomb after a bad status': {
    ...BOMB,
    way: sayAll(Buffer.concat([Buffer.from('HTTP/1.1 500 No\r\nContent-Encoding: gzip\r\n\r\n'), GZIPPED])),
    cause: 'status_500',
  },
};

/**
 * Memory limit of the judging thread, in megabytes. Reading one such body takes some 65, and the previous one may not
 * have been collected yet.
 */
const JUDGING_MB = 96;

const text = (value: string, op = 'matches'): Assertion => ({ source: 'text_body', op, value });
const json = (assertion: Partial<Assertion>): Assertion => ({
  source: 'json_body',
  path: '$',
  op: 'exists',
  ...assertion,
});
const asserts = (...assertions: Assertion[]): Partial<CheckTarget> => ({
  timeoutMs: 20_000,
  checkSpec: { assertions },
});
const fifty = (make: (index: number) => Assertion) => asserts(...Array.from({ length: 50 }, (_, index) => make(index)));

/** Pattern whose search in a body of a million `a` is the most expensive. */
const BARELY_NOT = `${'a'.repeat(1300)}b${'a'.repeat(1250)}`;
const LETTERS = 'äöü漢字'.repeat(80_000);

/** Deeper than the call stack allows, yet parsed in a tenth of the budget. */
const DEEP = 30_000;

const BODIES: Record<string, Attack> = {
  'a body that makes backtracking engines explode': {
    way: page('a'.repeat(MIB)),
    cause: 'assert_text_body_matches',
    target: asserts(text('^(a+)+b')),
  },
  'overlapping alternatives': {
    way: page('a'.repeat(MIB)),
    cause: 'assert_text_body_matches',
    target: asserts(text('(a|aa|a?a?)*b')),
  },
  'nested repetitions': {
    way: page('x'.repeat(MIB)),
    cause: 'assert_text_body_matches',
    target: asserts(text('((x{0,30}){0,30})*y')),
  },
  'a hundred optional letters': {
    way: page('a'.repeat(MIB)),
    cause: 'assert_text_body_matches',
    target: asserts(text('(?:a?){100}a{100}b')),
  },
  // A slow machine may use up the budget with this pattern; the following ones must exceed it.
  'a pattern with a thousand states': {
    way: page('ab'.repeat(MIB / 4)),
    cause: ['assert_text_body_matches', null],
    target: asserts(text('(?s)a.{900}[cd]')),
  },
  'fifty patterns for letters of all scripts': {
    way: page(LETTERS),
    cause: null,
    target: fifty((index) => text(String.raw`(?i)(\p{L}+)*x${index}|$`)),
    bounds: { holdMs: 2500 },
  },
  'fifty patterns of hundreds of states': {
    way: page('ab'.repeat(MIB / 2)),
    cause: null,
    target: fifty((index) => text(`(?s)a.{${300 + index}}[cd]|$`)),
    bounds: { holdMs: 2500, grownMb: 256 },
  },
  'a body_match that almost matches': {
    way: page('a'.repeat(MIB)),
    cause: ['body_mismatch', null],
    target: { bodyMatch: BARELY_NOT.slice(800, 1824), timeoutMs: 20_000 },
    bounds: { holdMs: 150 },
  },
  'fifty texts that almost match': {
    way: page('a'.repeat(MIB)),
    cause: null,
    target: fifty((index) => text(BARELY_NOT.slice(index), 'not_contains')),
    bounds: { holdMs: 2500 },
  },
  'arrays nested half a million deep that must exist': {
    way: page(`${'['.repeat(MIB / 2)}${']'.repeat(MIB / 2)}`),
    cause: ['assert_json_body_exists', null],
    target: asserts(json({})),
    bounds: { grownMb: JUDGING_MB },
  },
  'arrays nested half a million deep that are compared': {
    way: page(`${'['.repeat(MIB / 2)}${']'.repeat(MIB / 2)}`),
    cause: ['assert_json_body_equals', null],
    target: asserts(json({ op: 'equals', value: '[]' })),
    bounds: { grownMb: JUDGING_MB },
  },
  'arrays far too deep for recursion': {
    way: page(`${'['.repeat(DEEP)}${']'.repeat(DEEP)}`),
    cause: 'assert_json_body_exists',
    target: asserts(json({})),
  },
  'objects far too deep for recursion': {
    way: page(`${'{"a":'.repeat(DEEP)}1${'}'.repeat(DEEP)}`),
    cause: 'assert_json_body_matches',
    target: asserts(json({ op: 'matches', value: 'a', path: '$.a.a' })),
  },
  'a value next to arrays far too deep for recursion': {
    way: page(`{"ok":1,"deep":${'['.repeat(DEEP)}${']'.repeat(DEEP)}}`),
    cause: null,
    target: asserts(json({ op: 'equals', value: '1', path: '$.ok' })),
  },
  'a number of two hundred thousand digits': {
    way: page('9'.repeat(200_000)),
    cause: 'assert_json_body_gt',
    target: asserts(json({ op: 'gt', value: '1' })),
  },
  'a number out of range': {
    way: page('1e999999999'),
    cause: 'assert_json_body_gt',
    target: asserts(json({ op: 'gt', value: '1' })),
  },
  'keys named like prototype properties': {
    way: page('{"__proto__":{"a":1},"constructor":{"prototype":{"a":1}}}'),
    cause: 'assert_json_body_exists',
    target: asserts(json({ path: '$.a' })),
  },
};

const REDIRECTS: Record<string, Attack> = {
  'redirects to itself': {
    way: sayAll('HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 0\r\n\r\n'),
    cause: 'too_many_redirects',
  },
  'redirects with a Location of 60 KiB': {
    way: sayAll(`HTTP/1.1 302 Found\r\nLocation: /${'a/../'.repeat(12_000)}\r\nContent-Length: 0\r\n\r\n`),
    cause: 'too_many_redirects',
  },
  'redirects with a query of 60 KiB': {
    way: sayAll(`HTTP/1.1 307 Found\r\nLocation: /?${'%41'.repeat(20_000)}\r\nContent-Length: 0\r\n\r\n`),
    cause: 'too_many_redirects',
  },
  'a redirect with an invalid Location': {
    way: sayAll(`HTTP/1.1 302 Found\r\nLocation: http://${'['.repeat(50_000)}\r\nContent-Length: 0\r\n\r\n`),
    cause: 'status_302',
  },
  'slow redirects': {
    way: (socket) => void setTimeout(() => socket.end('HTTP/1.1 302 Found\r\nLocation: /\r\n\r\n'), 150),
    cause: 'timeout',
  },
};

for (const [what, { way, cause, scheme = 'http', bounds = {}, target = {} }] of Object.entries({
  ...SLOW,
  ...ENDLESS,
  ...BOMBS,
  ...BODIES,
  ...REDIRECTS,
})) {
  test.serial(
    `${what}: ${[cause]
      .flat()
      .map((one) => one ?? 'none')
      .join(' or ')}, in time and within memory limits, while another check continues`,
    async (t) => {
      const port = await startAttacker(t, way);
      const check = await withstand(t, probing, {
        target: httpTarget({
          target: `${scheme}://127.0.0.1:${port}/`,
          timeoutMs: cause === 'timeout' ? TIMEOUT_MS : AMPLE_MS,
          ...target,
        }),
        bounds,
      });
      t.true([cause].flat().includes(check.cause), check.reason ?? '');
      t.true((check.reason ?? '').length < 1000);
    },
  );
}
