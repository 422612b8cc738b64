import { randomBytes } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import * as fc from 'fast-check';
import { ApiError } from '../../api/api-error.ts';
import { isValidPattern } from '../../api/monitors/monitor-context.ts';
import { readStatsWindow } from '../../api/statistics/stats-window.ts';
import { readIngest, readPull } from '../../core/agents/requests.ts';
import { splitDnsTarget } from '../../core/checks/dns/target.ts';
import { jsonValueText, parseJsonPath, readJsonPath } from '../../core/checks/http/json-path.ts';
import { parsePattern } from '../../core/checks/pattern.ts';
import { decodePayload } from '../../core/checks/transport/payload.ts';
import type { VendorFormat } from '../../core/checks/vendor/document.ts';
import { cleanAnswer } from '../../core/incidents/evidence.ts';
import { MONITOR_TYPES } from '../../core/monitors/monitor.ts';
import { parseTarget } from '../../core/monitors/targets.ts';
import { createSecretBox } from '../../models/secrets/secret-box.ts';
import { parseHostPort } from '../../net/host-address.ts';
import { openState, sealState } from '../../notifications/slack/authorization.ts';
import { readUpdate } from '../../notifications/telegram/update.ts';
import { parseExpiryDate } from '../../probes/domain/expiry-date.ts';
import { readRdapDomain } from '../../probes/domain/rdap-answer.ts';
import { readRootReferral, readWhoisAnswer } from '../../probes/domain/whois-answer.ts';
import { parseVendorDocument } from '../../probes/vendors/parse-document.ts';
import { breakBody, nasty } from './schema-values.ts';

/**
 * Time limit for one input, in milliseconds: thousands of times the longest on an idle machine, so exceeding it is a
 * hang.
 */
const MAX_MS = 20_000;

const RUNS = { numRuns: 1500 };

/** Generates texts from a parser's own tokens in random order, with arbitrary characters in between. */
const textOf = (...pieces: readonly string[]) =>
  fc
    .array(
      fc.oneof(
        { weight: 5, arbitrary: fc.constantFrom(...pieces) },
        { weight: 1, arbitrary: fc.string({ maxLength: 4, unit: 'binary-ascii' }) },
      ),
      { maxLength: 24 },
    )
    .map((parts) => parts.join(''));

/** Generates valid documents with random damage. */
const brokenOf = (good: readonly unknown[]) =>
  fc
    .tuple(
      fc.constantFrom(...good),
      fc.array(
        fc.record({
          at: fc.nat(2000),
          how: fc.constantFrom('replace' as const, 'remove' as const, 'add' as const),
          value: nasty,
        }),
        { maxLength: 3 },
      ),
    )
    .map(([document, flaws]) => flaws.reduce<unknown>((broken, flaw) => breakBody(broken, flaw), document));

/** Asserts that a parser returns one of its own results for every input, in time. */
function isTotal<T>(
  t: ExecutionContext,
  {
    inputs,
    parse,
    isAnswer,
  }: { inputs: fc.Arbitrary<T>; parse: (input: T) => unknown; isAnswer: (answer: unknown, input: T) => boolean },
): void {
  fc.assert(
    fc.property(inputs, (input) => {
      const before = performance.now();
      const answer = parse(input);
      return isAnswer(answer, input) && performance.now() - before < MAX_MS;
    }),
    RUNS,
  );
  t.pass();
}

const isParsed = (answer: unknown) => {
  const { ok, message } = answer as { ok: boolean; message?: string };
  return ok || (typeof message === 'string' && message.length > 0);
};
const isRead = (answer: unknown) => {
  const { ok, problems } = answer as { ok: boolean; problems?: { message: string }[] };
  return ok || (problems ?? []).length > 0;
};

test("any text is parsed as a registry's date or null", (t) => {
  const dates = textOf(
    '2026',
    '0000',
    '31',
    '12',
    '-',
    '/',
    '.',
    ' ',
    'T',
    ':',
    '24',
    '60',
    'Feb',
    'February',
    'Z',
    '+',
    '+99',
    'UTC',
    'pm',
    ',',
    'Tue',
    'st',
    'of',
    '\u00a0',
    '9'.repeat(30),
  );
  isTotal(t, {
    inputs: dates,
    parse: parseExpiryDate,
    isAnswer: (seconds) => seconds === null || Number.isSafeInteger(seconds),
  });
});

test('a date is parsed from every format that registries use', (t) => {
  const moments = fc
    .date({ min: new Date('1985-01-01'), max: new Date('2200-01-01'), noInvalidDate: true })
    .map((date) => Math.floor(date.getTime() / 1000));
  fc.assert(
    fc.property(moments, (seconds) => {
      const date = new Date(seconds * 1000);
      const iso = date.toISOString();
      const [, weekday = '', day = '', month = '', year = '', clock = ''] =
        /^(\w+), (\d+) (\w+) (\d+) ([\d:]+)/.exec(date.toUTCString()) ?? [];
      const forms = [
        iso,
        iso.replace('T', ' ').replace('Z', ''),
        iso.replaceAll(/[-:T]/g, '').slice(0, 14),
        `${day}-${month}-${year} ${clock} UTC`,
        `${weekday} ${month} ${day} ${clock} UTC ${year}`,
        `${month} ${day}, ${year} ${clock}`,
      ];
      for (const form of forms) t.is(parseExpiryDate(form), seconds, form);
    }),
    { numRuns: 300 },
  );
});

test('any WHOIS response is registered, not found, rate limited or unreadable', (t) => {
  const answers = textOf(
    'Domain Name: ',
    'shop.example',
    '\r\n',
    '\n',
    'Registry Expiry Date: ',
    '2027-01-01T00:00:00Z',
    'No match for ',
    'Status: free',
    'Registrar: ',
    'refer: ',
    'whois.example:99999',
    'http://[::1',
    'limit exceeded',
    '%',
    '>>>',
    ':',
    ' '.repeat(200),
    'xn--',
    '\0',
  );
  isTotal(t, {
    inputs: answers,
    parse: (text) => readWhoisAnswer(text, 'shop.example').outcome,
    isAnswer: (outcome) => ['registered', 'not_found', 'limited', 'unreadable'].includes(String(outcome)),
  });
  isTotal(t, {
    inputs: answers,
    parse: readRootReferral,
    isAnswer: (server) => server === null || typeof (server as { host: string }).host === 'string',
  });
});

test('no repetitive WHOIS response takes long to parse', (t) => {
  for (const piece of [
    'limit ',
    'Domain Name: ',
    'no ',
    '<',
    '\t',
    'Registrar: x\n',
    'exceeded ',
    'a: ',
    '-',
    'not ',
  ]) {
    const before = performance.now();
    readWhoisAnswer(piece.repeat(60_000), 'shop.example');
    parseExpiryDate(piece.repeat(60_000));
    t.true(performance.now() - before < MAX_MS, piece);
  }
});

const RDAP = {
  objectClassName: 'domain',
  ldhName: 'shop.example',
  events: [{ eventAction: 'expiration', eventDate: '2027-01-01T00:00:00Z' }],
  entities: [{ roles: ['registrar'], vcardArray: ['vcard', [['fn', {}, 'text', 'Registrar']]] }],
};

test('any JSON or text is parsed as an RDAP domain or null', (t) => {
  const texts = fc.oneof(
    brokenOf([RDAP]).map((value) => JSON.stringify(value) ?? ''),
    textOf('{', '}', '"ldhName"', ':', 'null', '[', ']'),
  );
  isTotal(t, {
    inputs: texts,
    parse: (text) => readRdapDomain(text, 'shop.example'),
    isAnswer: (found) =>
      found === null ||
      [null, 'number'].includes(
        (found as { expiresAt: number | null }).expiresAt === null
          ? null
          : typeof (found as { expiresAt: unknown }).expiresAt,
      ),
  });
});

const VENDOR_DOCUMENTS: Readonly<Record<VendorFormat, unknown>> = {
  'statuspage-summary': {
    page: { id: 'x', name: 'Shop', url: 'https://s.example' },
    status: { indicator: 'minor', description: 'x' },
    components: [{ id: 'c', name: 'API', status: 'operational', group: false }],
    incidents: [{ id: 'i', name: 'n', status: 'investigating', impact: 'major', components: [{ id: 'c' }] }],
    scheduled_maintenances: [],
  },
  'instatus-summary': {
    page: { name: 'Shop', url: 'https://s.example', status: 'UP' },
    activeIncidents: [{ name: 'n', started: '2026-01-01', status: 'INVESTIGATING', impact: 'MAJOROUTAGE' }],
    activeMaintenances: [],
  },
  'instatus-components': { components: [{ id: 'c', name: 'API', status: 'OPERATIONAL', children: [] }] },
  'aws-events': [
    {
      date: '1700000000',
      arn: 'arn:aws:health:us-east-1::event/EC2/x',
      region_name: 'N. Virginia',
      status: '3',
      service: 'ec2-us-east-1',
      service_name: 'EC2',
      summary: 'x',
      event_log: [{ summary: 'x', message: 'y', status: 1, timestamp: 1_700_000_000 }],
      impacted_services: {},
    },
  ],
  'aws-feed':
    '<?xml version="1.0"?><rss version="2.0"><channel><title>EC2</title><item><title>Service is operating ' +
    'normally: [RESOLVED]</title><pubDate>Mon, 01 Jan 2024 00:00:00 GMT</pubDate></item></channel></rss>',
  'google-incidents': [
    {
      id: 'i',
      external_desc: '# t\nx',
      status_impact: 'SERVICE_OUTAGE',
      severity: 'high',
      begin: '2026-01-01T00:00:00+00:00',
      end: null,
      most_recent_update: { status: 'SERVICE_OUTAGE' },
      affected_products: [{ id: 'p', title: 'P' }],
      currently_affected_locations: [{ id: 'l', title: 'L' }],
    },
  ],
  'google-products': { products: [{ id: 'p', title: 'P' }] },
  'azure-feed': '<rss version="2.0"><channel><title>Azure Status</title></channel></rss>',
};

for (const [format, good] of Object.entries(VENDOR_DOCUMENTS) as [VendorFormat, unknown][]) {
  test(`any bytes in place of ${format} are accepted or rejected`, (t) => {
    const pieces =
      typeof good === 'string'
        ? (good.match(/<[^>]*>|[^<]+/g) ?? [])
        : ['{', '}', '[', ']', '"', ':', ',', 'null', '9'.repeat(400), '"a"'];
    const documents = fc.oneof(
      {
        weight: 4,
        arbitrary:
          typeof good === 'string'
            ? textOf(...pieces, '&amp;', '&#x110000;', '<![CDATA[', ']]>', '<!--').map((text) => Buffer.from(text))
            : brokenOf([good]).map((value) => Buffer.from(JSON.stringify(value) ?? '')),
      },
      { weight: 1, arbitrary: textOf(...pieces).map((text) => Buffer.from(`\uFEFF${text}`, 'utf16le').swap16()) },
      { weight: 1, arbitrary: fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes)) },
    );
    isTotal(t, {
      inputs: documents,
      parse: (body) =>
        parseVendorDocument(
          body,
          {
            url: 'https://s.example',
            format,
            minAgeMs: 0,
            maxStoredBytes: 524_288,
            isInCatalog: false,
            component: 'ec2:us-east-1',
          },
          Date.now(),
        ),
      isAnswer: isParsed,
    });
    const whole = parseVendorDocument(
      Buffer.from(typeof good === 'string' ? good : JSON.stringify(good)),
      {
        url: 'https://s.example',
        format,
        minAgeMs: 0,
        maxStoredBytes: 524_288,
        isInCatalog: false,
        component: 'ec2:us-east-1',
      },
      Date.now(),
    );
    t.true(whole.ok, JSON.stringify(whole));
    t.true(
      parseVendorDocument(
        Buffer.from(`${'['.repeat(200_000)}`),
        { url: 'https://s.example', format, minAgeMs: 0, maxStoredBytes: 524_288, isInCatalog: false },
        0,
      ).ok === false,
    );
  });
}

test('any text is accepted or rejected as a target, and accepted tcp and dns targets can be split', (t) => {
  const targets = textOf(
    'http://',
    'https://',
    'dns://',
    'shop.example',
    '[::1]',
    ':',
    '443',
    '99999',
    '/',
    '@',
    '%00',
    '..',
    '.',
    '-',
    'xn--',
    '\u202e',
    'ec2:us-east-1',
    '192.0.2.1',
    '0x7f.1',
    '?',
    '#',
    '\\',
    ' ',
  );
  for (const type of MONITOR_TYPES) {
    isTotal(t, {
      inputs: targets,
      parse: (target) => parseTarget(type, target),
      isAnswer: (answer, target) =>
        isParsed(answer) &&
        (!(answer as { ok: boolean }).ok || target === '' || type !== 'tcp' || parseHostPort(target) !== null) &&
        (!(answer as { ok: boolean }).ok || target === '' || type !== 'dns' || splitDnsTarget(target) !== null),
    });
  }
});

test('any text is quickly accepted or rejected as a pattern', (t) => {
  const patterns = textOf(
    '(',
    ')',
    '(a+)+',
    '(?=',
    '(?<n>',
    '\\1',
    '[^',
    ']',
    '{9999}',
    '{2,1}',
    '\\pL',
    '\\Q',
    '*',
    '|',
    '(?i)',
    '.',
    '\\',
    '$',
  );
  isTotal(t, { inputs: patterns, parse: (pattern) => parsePattern(pattern, isValidPattern), isAnswer: isParsed });
});

test('any JSON path in any document yields a string', (t) => {
  const drawn = fc.tuple(
    textOf('$', '.', '[', ']', '0', "'", '"', '\\', 'a', '__proto__', 'constructor', 'length'),
    fc.jsonValue({ maxDepth: 3 }),
  );
  isTotal(t, {
    inputs: drawn,
    parse: ([text, document]) => {
      const path = parseJsonPath(text);
      const found = path.ok ? readJsonPath(document, path.value) : undefined;
      return found === undefined ? '' : jsonValueText(found);
    },
    isAnswer: (shown) => typeof shown === 'string',
  });
});

test('any text is accepted or rejected as a payload', (t) => {
  const payloads = textOf('\\x', '\\r', '\\n', '\\', '0', 'f', 'g', 'é', '\\\\');
  for (const encoding of ['utf8', 'hex'] as const)
    isTotal(t, { inputs: payloads, parse: (payload) => decodePayload(payload, encoding), isAnswer: isParsed });
});

test('a payload of bytes is decoded from hexadecimal digits and from escapes', (t) => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
      const digits = Buffer.from(bytes).toString('hex');
      t.deepEqual(decodePayload(digits, 'hex'), { ok: true, value: bytes });
      t.deepEqual(decodePayload(digits.replaceAll(/../g, '\\x$&'), 'utf8'), { ok: true, value: bytes });
    }),
    { numRuns: 200 },
  );
});

test('any JSON from an agent is accepted or rejected with problems, and its evidence cleaned or dropped', (t) => {
  const pull = { capabilities: ['http'], version: '1', arch: 'x64', publicKey: Buffer.alloc(32, 9).toString('base64') };
  const ingest = {
    results: [
      {
        monitorId: 'mon_1',
        ok: false,
        cause: 'timeout',
        reason: 'x',
        latencyMs: 1.5,
        httpStatus: 200,
        degraded: false,
        ts: 1_800_000_000,
        detail: { notAfter: '2027-01-01', timing: {}, answer: { status: 200, headers: { a: 'b' }, body: 'x' } },
      },
    ],
  };
  isTotal(t, { inputs: brokenOf([pull]), parse: readPull, isAnswer: isRead });
  isTotal(t, { inputs: brokenOf([ingest]), parse: readIngest, isAnswer: isRead });
  isTotal(t, {
    inputs: brokenOf([ingest.results[0]?.detail.answer]),
    parse: (answer) => cleanAnswer(answer, { status: 200, hasSecrets: false }),
    isAnswer: (answer) => answer === null || typeof answer === 'object',
  });
});

test('any JSON is a Telegram update of some kind', (t) => {
  const updates = [
    {
      update_id: 1,
      message: {
        message_id: 1,
        from: { id: 5, is_bot: false },
        chat: { id: 5, type: 'private' },
        date: 1,
        text: '/start abc',
      },
    },
    { update_id: 2, my_chat_member: { chat: { id: -5 }, new_chat_member: { status: 'kicked' } } },
    { update_id: 3, message: { chat: { id: 1 }, migrate_to_chat_id: -100 } },
  ];
  isTotal(t, {
    inputs: brokenOf(updates),
    parse: (json) => readUpdate(json, 'spotcheck_bot').update,
    isAnswer: (update) => typeof (update as { kind: string }).kind === 'string',
  });
});

test('a sealed Slack state can be opened, and nothing else is accepted as one', (t) => {
  const box = createSecretBox([{ id: 'one', key: randomBytes(32) }]);
  fc.assert(
    fc.property(
      fc.string({ minLength: 1, maxLength: 40 }),
      fc.nat(2_000_000_000),
      fc.nat(500),
      (code, expiresAtSeconds, at) => {
        const state = sealState({ code, expiresAtSeconds }, box.seal);
        const good = openState(state, { open: box.open, nowMs: 0 });
        t.like(good, expiresAtSeconds > 0 ? { outcome: 'good', code } : { outcome: 'expired' });
        const position = at % state.length;
        const changed = `${state.slice(0, position)}${state[position] === 'A' ? 'B' : 'A'}${state.slice(position + 1)}`;
        // The last base64 character may have unused bits.
        if (position < state.length - 1) t.is(openState(changed, { open: box.open, nowMs: 0 }).outcome, 'foreign');
      },
    ),
    { numRuns: 300 },
  );
  isTotal(t, {
    inputs: textOf('v1.', 'one', '.', 'AAAA', '=', '%00', '\0'),
    parse: (state) => openState(state, { open: box.open, nowMs: 0 }).outcome,
    isAnswer: (outcome) => outcome === 'foreign',
  });
});

test('any statistics window is accepted with a positive length or rejected with a 400', (t) => {
  const seconds = fc.option(
    fc.oneof(fc.integer({ min: 0, max: 99_999_999_999 }), fc.integer({ min: 1_699_000_000, max: 1_700_000_000 })),
    { nil: undefined },
  );
  const drawn = fc.record({
    from: seconds,
    to: seconds,
    resolution: fc.constantFrom(undefined, 'auto' as const, 'minute' as const, 'hour' as const, 'day' as const),
  });
  isTotal(t, {
    inputs: drawn,
    parse: ({ from, to, resolution }) => {
      try {
        return readStatsWindow(
          {
            ...(from !== undefined && { from }),
            ...(to !== undefined && { to }),
            ...(resolution !== undefined && { resolution }),
          },
          { nowMs: 1_700_000_000_000, resultDays: 90, results: { since: 0, perSecond: 0.1 } },
        );
      } catch (error) {
        return error;
      }
    },
    isAnswer: (window) =>
      window instanceof ApiError
        ? window.status === 400
        : (window as { to: number; from: number }).to > (window as { from: number }).from,
  });
});
