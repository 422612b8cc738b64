import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import test, { type ExecutionContext } from 'ava';
import type { VendorFormat } from '../../core/checks/vendor/document.ts';
import type { CheckTarget, MonitorType } from '../../core/monitors/monitor.ts';
import { parseVendorDocument } from '../../probes/vendors/parse-document.ts';
import { httpTarget } from '../helpers/check-target.ts';
import { HOSTILE_ASSERTIONS, HOSTILE_BODY } from '../helpers/long-judging.ts';
import { startUdpServer } from '../helpers/udp-server.ts';
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
const KIB = 1024;
const MIB = 1024 * KIB;

function targetOf(type: MonitorType, target: string, rest: Partial<CheckTarget> = {}): CheckTarget {
  return httpTarget({ type, target, timeoutMs: TIMEOUT_MS, method: null, expectedStatus: null, ...rest });
}

const EXPECTS = {
  checkSpec: { transport: { payload: 'hello', expect: '(a+)+b', expectMode: 'regex' } },
} satisfies Partial<CheckTarget>;

const TALKERS: Record<string, { way: Way; cause: string | null; timeoutMs?: number }> = {
  'a TCP server that sends endless data': { way: flood('', Buffer.alloc(64 * KIB, 'a')), cause: 'tcp_mismatch' },
  'a TCP server that sends single bytes': { way: drip('', 'a'), cause: 'tcp_mismatch', timeoutMs: 2000 },
  'a TCP server that sends nothing': { way: say(''), cause: 'tcp_no_banner' },
  'a TCP server that sends endless incomplete characters': {
    way: flood('', '\xf0\x9f'.repeat(4 * KIB)),
    cause: 'tcp_mismatch',
  },
};

for (const [what, { way, cause, timeoutMs = cause === 'tcp_mismatch' ? AMPLE_MS : TIMEOUT_MS }] of Object.entries(
  TALKERS,
)) {
  test.serial(`${what} is ${cause}, in time and within bounds`, async (t) => {
    const check = await withstand(t, probing, {
      target: targetOf('tcp', `127.0.0.1:${await startAttacker(t, way)}`, {
        ...EXPECTS,
        timeoutMs,
      }),
    });
    t.is(check.cause, cause);
  });
}

/**
 * Starts a thread that answers each datagram with as many as it can send in two seconds, and returns its port. `change`
 * is the body of a function of the datagram's bytes.
 */
async function startFlood(t: ExecutionContext, change: string): Promise<number> {
  const thread = new Worker(
    `const { parentPort } = require('node:worker_threads');
    const socket = require('node:dgram').createSocket('udp4').on('error', () => {});
    const change = (bytes) => { ${change} };
    socket.on('message', (message, { port, address }) => {
      const answer = change(Buffer.from(message));
      const endMs = Date.now() + 2000;
      const go = () => {
        for (let sent = 0; sent < 200; sent += 1) socket.send(answer, port, address);
        if (Date.now() < endMs) setImmediate(go);
      };
      go();
    });
    socket.bind(0, '127.0.0.1', () => parentPort.postMessage(socket.address().port));`,
    { eval: true },
  );
  t.teardown(async () => void (await thread.terminate()));
  const [port] = await once(thread, 'message');
  return Number(port);
}

const A_EXISTS = { checkSpec: { dns: { records: [{ type: 'A', mode: 'exists' }] } } } satisfies Partial<CheckTarget>;

test.serial('the first datagram of a flood decides', async (t) => {
  const port = await startFlood(t, 'return bytes;');
  const check = await withstand(t, probing, {
    target: targetOf('udp', `127.0.0.1:${port}`, { ...EXPECTS, timeoutMs: AMPLE_MS }),
  });
  t.is(check.cause, 'udp_mismatch');
});

test.serial('a flood of answers to other DNS questions is ignored and blocks no other check', async (t) => {
  const port = await startFlood(t, 'bytes[0] ^= 0x55; bytes[2] |= 0x80; return bytes;');
  const check = await withstand(t, probing, { target: targetOf('dns', `dns://127.0.0.1:${port}/a.example`, A_EXISTS) });
  t.is(check.cause, 'timeout');
});

/** Returns the question of a message, and its header with another number of answers. */
function partsOf(message: Buffer, answers: number): [Buffer, Buffer] {
  const head = Buffer.from(message.subarray(0, 12));
  for (const [at, value] of [
    [2, 0x8180],
    [4, 1],
    [6, answers],
    [8, 0],
    [10, 0],
  ] as const)
    head.writeUInt16BE(value, at);
  let end = 12;
  while (message[end]) end += (message[end] ?? 0) + 1;
  return [head, message.subarray(12, end + 5)];
}

/** Returns a record for the name in the question; `type` is numeric. */
function record(type: number, data: Buffer): Buffer {
  const head = Buffer.from([0xc0, 12, 0, type, 0, 1, 0, 0, 0, 1, 0, 0]);
  head.writeUInt16BE(data.length, 10);
  return Buffer.concat([head, data]);
}

const answersOf =
  (...records: Buffer[]) =>
  (message: Buffer) =>
    Buffer.concat([...partsOf(message, records.length), ...records]);
const OURSELVES = Buffer.from([0xc0, 12]);
const ASKS_TXT = {
  checkSpec: { dns: { records: [{ type: 'TXT', mode: 'equals', expected: ['x'] }] } },
} satisfies Partial<CheckTarget>;

const RESOLVERS: Record<string, { answer: (message: Buffer) => Buffer; cause: string; asks?: Partial<CheckTarget> }> = {
  'a name that points to itself': {
    answer: (message) => Buffer.concat([partsOf(message, 1)[0], OURSELVES, Buffer.from([0, 1, 0, 1])]),
    cause: 'dns_error',
  },
  'a name that points beyond the message': {
    answer: (message) =>
      Buffer.concat([...partsOf(message, 1), Buffer.from([0xff, 0xff, 0, 1, 0, 1, 0, 0, 0, 1, 0, 4, 1, 2, 3, 4])]),
    cause: 'dns_error',
  },
  'a count of 65,535 records but none of them': {
    answer: (message) => Buffer.concat(partsOf(message, 65_535)),
    cause: 'dns_error',
  },
  'a record longer than its message': {
    answer: (message) =>
      Buffer.concat([...partsOf(message, 1), Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 1, 0xff, 0xff, 1])]),
    cause: 'dns_error',
  },
  'a thousand aliases of a name to itself': {
    answer: answersOf(...Array.from({ length: 1000 }, () => record(5, OURSELVES))),
    cause: 'dns_mismatch',
  },
  'a TXT record of 62 KiB': {
    answer: answersOf(
      record(
        16,
        Buffer.concat(Array.from({ length: 248 }, () => Buffer.concat([Buffer.of(255), Buffer.alloc(255, 'x')]))),
      ),
    ),
    cause: 'dns_mismatch',
    asks: ASKS_TXT,
  },
  'a TXT record of sixty thousand empty strings': {
    answer: answersOf(record(16, Buffer.alloc(60_000))),
    cause: 'dns_mismatch',
    asks: ASKS_TXT,
  },
  '3,900 addresses': {
    answer: answersOf(
      ...Array.from({ length: 3900 }, (_, index) => record(1, Buffer.from([192, 0, index >> 8, index & 255]))),
    ),
    cause: 'dns_mismatch',
    asks: { checkSpec: { dns: { records: [{ type: 'A', mode: 'equals', expected: ['192.0.2.1'] }] } } },
  },
  noise: { answer: (message) => Buffer.concat([message.subarray(0, 2), Buffer.alloc(500, 0xff)]), cause: 'dns_error' },
};

for (const [what, { answer, cause, asks = A_EXISTS }] of Object.entries(RESOLVERS)) {
  test.serial(`a DNS server that responds with ${what} is ${cause}`, async (t) => {
    const { port } = await startUdpServer(t, (datagram, reply) => reply(answer(datagram)));
    const check = await withstand(t, probing, {
      target: targetOf('dns', `dns://127.0.0.1:${port}/a.example`, { ...asks, timeoutMs: AMPLE_MS }),
    });
    t.is(check.cause, cause, check.reason ?? '');
    t.true((check.reason ?? '').length < 1000);
  });
}

const page = (body: string | Buffer, head = '') =>
  sayAll(
    Buffer.concat([
      Buffer.from(`HTTP/1.1 200 OK\r\n${head}Content-Length: ${body.length}\r\n\r\n`),
      Buffer.from(body as string),
    ]),
  );
const deep = (open: string, close: string, depth: number) => `${open.repeat(depth)}${close.repeat(depth)}`;
const MANY = JSON.stringify({
  page: { name: 'Shop' },
  status: { indicator: 'none', description: 'fine' },
  components: Array.from({ length: 40_000 }, (_, index) => ({
    id: `c${index}`,
    name: 'n'.repeat(30),
    status: 'operational',
  })),
  incidents: [],
  scheduled_maintenances: [],
});

const strangers = (list: string, element: string) =>
  `{"status":{"indicator":"none"},"${list}":[${Array(10_000).fill(element).join(',')}]}`;

const PAGES: Record<string, { way: Way; verdict: string; bounds?: Bounds }> = {
  'arrays nested a million deep': { way: page(deep('[', ']', 1_000_000)), verdict: 'none', bounds: { grownMb: 160 } },
  'objects nested a hundred thousand deep': {
    way: page(deep('{"page":', '}', 100_000).replace(':}', ':1}')),
    verdict: 'none',
    bounds: { holdMs: 1000 },
  },
  'components nested a hundred thousand deep': {
    way: page(deep('{"components":[', ']}', 100_000)),
    verdict: 'none',
    bounds: { holdMs: 1000 },
  },
  'forty thousand components': { way: page(MANY), verdict: 'up', bounds: { holdMs: 1000, grownMb: 96 } },
  'ten thousand components without a name': {
    way: page(strangers('components', '{}')),
    verdict: 'none',
  },
  'ten thousand incidents without a name': { way: page(strangers('incidents', '{}')), verdict: 'none' },
  'ten thousand components that are numbers': {
    way: page(strangers('components', '10')),
    verdict: 'none',
  },
  'an endless body': {
    way: flood('HTTP/1.1 200 OK\r\n\r\n', Buffer.alloc(64 * KIB, '[')),
    verdict: 'none',
    bounds: { holdMs: 1000, grownMb: 96 },
  },
  'a redirect loop': {
    way: sayAll('HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 0\r\n\r\n'),
    verdict: 'none',
  },
  'a body in single bytes': { way: drip('HTTP/1.1 200 OK\r\n\r\n', ' '), verdict: 'none' },
};

for (const [what, { way, verdict, bounds = {} }] of Object.entries(PAGES)) {
  test.serial(`a status page with ${what} is ${verdict}, in time and within bounds`, async (t) => {
    const target = targetOf('vendor', `http://127.0.0.1:${await startAttacker(t, way)}`, {
      timeoutMs: what.includes('single bytes') ? TIMEOUT_MS : AMPLE_MS,
    });
    t.is((await withstand(t, probing, { target, bounds })).verdict, verdict as 'none');
  });
}

const JUDGED: Record<string, { body: string; checkSpec: CheckTarget['checkSpec'] }> = {
  'letters counted by fifty patterns': { body: HOSTILE_BODY, checkSpec: { assertions: HOSTILE_ASSERTIONS } },
  'a megabyte of lists read by ten paths': {
    body: `[[]${',[]'.repeat(340_000)}]`,
    checkSpec: { assertions: Array.from({ length: 10 }, () => ({ source: 'json_body', op: 'exists', path: '$' })) },
  },
};

for (const [what, { body, checkSpec }] of Object.entries(JUDGED)) {
  test.serial(`a website with ${what} is no vote and delays no other check`, async (t) => {
    const target = httpTarget({ target: `http://127.0.0.1:${await startAttacker(t, page(body))}/`, checkSpec });
    const check = await withstand(t, probing, { target, bounds: { holdMs: 100, grownMb: 160 } });
    t.is(check.verdict, 'none');
    t.regex(check.reason ?? '', /^The check used up its 50 ms of CPU time at/);
  });
}

const REGISTRIES: Record<string, { whois?: Way; rdap?: Way; isRegistered?: true }> = {
  'a WHOIS server that sends endless data': { whois: flood('', `${'Domain Name: a'.repeat(100)}\r\n`) },
  'a WHOIS server that sends single bytes': { whois: drip('', 'refer: ') },
  'a WHOIS server that sends nothing': { whois: say('') },
  'a WHOIS response with a very long line of spaces': {
    whois: sayAll(`Domain Name: shop.example\r\n${' '.repeat(120_000)}:\r\n`),
    isRegistered: true,
  },
  'a WHOIS response with 32,000 fields': { whois: sayAll('a:b\n'.repeat(32_000)) },
  'a WHOIS response that repeats text close to a refusal': { whois: sayAll(`limit ${'exceed limit '.repeat(9000)}`) },
  'a WHOIS response with 300 long expiry dates': {
    whois: sayAll(`Domain Name: shop.example\r\n${`expires: ${'1'.repeat(400)}\r\n`.repeat(300)}`),
    isRegistered: true,
  },
  'a WHOIS server that refers to itself': { whois: sayAll('refer: 127.0.0.1\r\n') },
  'an RDAP response nested 30,000 deep': { rdap: page(deep('{"entities":[', ']}', 30_000)) },
  'an endless RDAP response': { rdap: flood('HTTP/1.1 200 OK\r\n\r\n', Buffer.alloc(64 * KIB, '[')) },
  'an RDAP response with 250,000 numbers as entities': {
    rdap: page(
      `{"objectClassName":"domain","ldhName":"shop.example","entities":[${Array(250_000).fill('0').join(',')}]}`,
    ),
    isRegistered: true,
  },
  'an RDAP server with a redirect loop': {
    rdap: sayAll('HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 0\r\n\r\n'),
  },
  'an RDAP server with an enormous Retry-After': {
    rdap: sayAll('HTTP/1.1 429 No\r\nRetry-After: 99999999999999999999\r\nContent-Length: 0\r\n\r\n'),
  },
};

for (const [what, { whois = say(''), rdap, isRegistered }] of Object.entries(REGISTRIES)) {
  test.serial(
    `${what} proves ${isRegistered ? 'that the domain is registered' : 'nothing'}, in time and within bounds`,
    async (t) => {
      const registries = {
        whois: { host: '127.0.0.1', port: await startAttacker(t, whois) },
        rdapBase: rdap === undefined ? null : `http://127.0.0.1:${await startAttacker(t, rdap)}/`,
      };
      const target = targetOf('domain', 'shop.example', { timeoutMs: isRegistered ? AMPLE_MS : TIMEOUT_MS });
      t.is((await withstand(t, probing, { ...registries, target })).cause, isRegistered ? null : 'domain_unknown');
    },
  );
}

const LAUGHS = Array.from({ length: 10 }, (_, index) => `<!ENTITY l${index + 1} "${`&l${index};`.repeat(10)}">`).join(
  '',
);
const feed = (items: string, before = '') =>
  `<?xml version="1.0"?>${before}<rss><channel><title>Azure</title>${items}</channel></rss>`;
const item = (title: string, attributes = '') =>
  `<item${attributes}><title>${title}</title><pubDate>Mon, 01 Jan 2026 00:00:00 GMT</pubDate></item>`;
const UTF_16 = (text: string) => Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from(text, 'utf16le')]);

const FEEDS: Record<string, { body: string | Buffer; isRead: boolean }> = {
  'a billion laughs': { body: feed(item('&l10;'), `<!DOCTYPE lolz [<!ENTITY l0 "lol">${LAUGHS}]>`), isRead: false },
  'a billion laughs in UTF-16': {
    body: UTF_16(feed(item('&l10;'), `<!doctype lolz [<!ENTITY l0 "lol">${LAUGHS}]>`)),
    isRead: false,
  },
  'a local file as an entity': {
    body: feed(item('&file;'), '<!DOCTYPE a [<!ENTITY file SYSTEM "file:///etc/passwd">]>'),
    isRead: false,
  },
  'a megabyte of character entities': { body: feed(item('&#x41;'.repeat(MIB / 6))), isRead: true },
  'elements nested a hundred thousand deep': { body: feed(deep('<a>', '</a>', 100_000)), isRead: false },
  'an element with a hundred thousand attributes': {
    body: feed(item('x', Array.from({ length: 100_000 }, (_, index) => ` a${index}="b"`).join(''))),
    isRead: true,
  },
  'unclosed elements': { body: feed('<item>'.repeat(200_000)), isRead: false },
  'unclosed comments': { body: feed('<!--'.repeat(250_000)), isRead: false },
  'unclosed CDATA sections': { body: feed('<![CDATA['.repeat(100_000)), isRead: false },
  'unclosed tags': { body: feed('<a '.repeat(300_000)), isRead: false },
  'unclosed processing instructions': { body: feed('<?a '.repeat(250_000)), isRead: false },
  'unclosed quotes': { body: feed(`<a b="${'c="'.repeat(300_000)}`), isRead: false },
  'a million spaces in a tag': { body: feed(item('x', ' '.repeat(MIB))), isRead: true },
  'a name of a million letters': { body: feed(`<${'a'.repeat(MIB)}/>`), isRead: true },
  'fifteen thousand entries': { body: feed(item('Storage').repeat(15_000)), isRead: true },
  'elements named like prototype properties': {
    body: feed('<__proto__><a>1</a></__proto__><constructor>1</constructor>' + item('x')),
    isRead: false,
  },
};

const FORMATS = ['azure-feed', 'aws-feed'] as const satisfies VendorFormat[];

for (const [what, { body, isRead }] of Object.entries(FEEDS)) {
  test.serial(`a feed with ${what} is ${isRead ? 'read' : 'refused'} within three seconds of CPU time`, (t) => {
    for (const format of FORMATS) {
      const before = process.threadCpuUsage().user;
      const parsed = parseVendorDocument(
        Buffer.from(body as string),
        {
          url: 'https://status.example/',
          format,
          minAgeMs: 1000,
          maxStoredBytes: 524_288,
          isInCatalog: false,
          component: 's3:us-east-1',
        },
        Date.now(),
      );
      t.is(parsed.ok, isRead, JSON.stringify(parsed).slice(0, 300));
      t.true((process.threadCpuUsage().user - before) / 1000 < 3000, 'less than 3000 ms of CPU time');
    }
  });
}
