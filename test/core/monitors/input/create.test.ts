import test from 'ava';
import * as fc from 'fast-check';
import { ASSERTION_OPS } from '../../../../core/checks/http/assertions.ts';
import type { MonitorDraft } from '../../../../core/monitors/input/complete.ts';
import type { CheckSpecInput, MonitorBody } from '../../../../core/monitors/input/fields.ts';
import { readMonitorCreate } from '../../../../core/monitors/input/read.ts';
import { ASSERTION_SOURCES, MONITOR_TYPES, type MonitorType } from '../../../../core/monitors/monitor.ts';
import { anyCharacter } from '../../../helpers/any-character.ts';
import { CONTEXT } from './context.ts';

type CreateBody = MonitorBody & { name: string };

function create(body: CreateBody): MonitorDraft {
  const read = readMonitorCreate(body, CONTEXT);
  if (!read.ok) throw new Error(read.problems.map(({ message }) => message).join('; '));
  return read.value;
}

function messages(body: CreateBody): string[] {
  const read = readMonitorCreate(body, CONTEXT);
  return read.ok ? [] : read.problems.map(({ message }) => message);
}

test('a name alone creates an http monitor with all defaults', (t) => {
  t.deepEqual(create({ name: 'Shop' }), {
    settings: {
      name: 'Shop',
      type: 'http',
      target: '',
      intervalSeconds: 60,
      timeoutMs: 10_000,
      method: 'GET',
      expectedStatus: '2xx',
      bodyMatch: null,
      followRedirects: true,
      downAfterFailures: 2,
      upAfterSuccesses: 1,
      downMinSources: 2,
      heartbeatGraceSeconds: null,
      slaTarget: null,
      sla: null,
      reopenSeconds: 0,
      monthlyDrill: false,
      tags: [],
      checkSpec: {},
    },
    agentSources: ['agt_a', 'agt_b', 'agt_c'],
    parents: [],
    secrets: {},
  });
});

const DEFAULTS: [
  MonitorType,
  { intervalSeconds: number; downMinSources: number; heartbeatGraceSeconds: number | null; method: string | null },
][] = [
  ['http', { intervalSeconds: 60, downMinSources: 2, heartbeatGraceSeconds: null, method: 'GET' }],
  ['tcp', { intervalSeconds: 60, downMinSources: 2, heartbeatGraceSeconds: null, method: null }],
  ['icmp', { intervalSeconds: 60, downMinSources: 2, heartbeatGraceSeconds: null, method: null }],
  ['udp', { intervalSeconds: 60, downMinSources: 2, heartbeatGraceSeconds: null, method: null }],
  ['domain', { intervalSeconds: 3600, downMinSources: 1, heartbeatGraceSeconds: null, method: null }],
  ['heartbeat', { intervalSeconds: 60, downMinSources: 1, heartbeatGraceSeconds: 60, method: null }],
  ['dns', { intervalSeconds: 300, downMinSources: 1, heartbeatGraceSeconds: null, method: null }],
  ['vendor', { intervalSeconds: 120, downMinSources: 1, heartbeatGraceSeconds: null, method: null }],
];
for (const [type, expected] of DEFAULTS) {
  test(`a ${type} monitor gets the defaults of its type`, (t) =>
    t.like(create({ name: 'x', type }).settings, expected));
}

test("the default interval rises to the plan's shortest, and the timeout stays below a short interval", (t) => {
  const read = readMonitorCreate({ name: 'x' }, { ...CONTEXT, minIntervalSeconds: 120 });
  t.is(read.ok && read.value.settings.intervalSeconds, 120);
  t.is(create({ name: 'x', interval_seconds: 1 }).settings.timeoutMs, 500);
  t.is(create({ name: 'x', type: 'heartbeat', interval_seconds: 3600 }).settings.heartbeatGraceSeconds, 720);
});

test('with one agent or none the default quorum is 1', (t) => {
  for (const sharedAgentIds of [[], ['agt_a']]) {
    const read = readMonitorCreate({ name: 'x' }, { ...CONTEXT, sharedAgentIds, aliveAgentIds: sharedAgentIds });
    t.is(read.ok && read.value.settings.downMinSources, 1);
  }
});

test('input is normalized before it is stored', (t) => {
  const { settings, agentSources } = create({
    name: 'x',
    target: 'https://example.com',
    method: 'pOsT',
    expected_status: ' 2XX , 301 ',
    body_match: '',
    follow_redirects: 0,
    sla_target: 100,
    agent_sources: ['agt_mine', 'agt_b', 'agt_mine'],
    warn_days: 20,
    dependencies: ['mon_vendor', 'mon_of_somebody', 'mon_vendor'],
  });
  t.like(settings, {
    method: 'POST',
    expectedStatus: ' 2XX , 301 ',
    bodyMatch: null,
    followRedirects: false,
    slaTarget: 100,
    downMinSources: 2,
  });
  t.deepEqual(settings.checkSpec, { domain: { warnDays: 20 }, dependencies: ['mon_vendor'] });
  t.deepEqual(agentSources, ['agt_b', 'agt_mine']);
});

test('an empty list of agents selects the default agents', (t) =>
  t.deepEqual(create({ name: 'x', agent_sources: [] }).agentSources, ['agt_a', 'agt_b', 'agt_c']));

test("a heartbeat gets the server's token and no target, and ignores those sent", (t) => {
  const { settings } = create({
    name: 'x',
    type: 'heartbeat',
    target: 'ignored',
    check_spec: { heartbeat: { token: 'mine', failEnabled: false } },
  });
  t.deepEqual(settings.checkSpec, { heartbeat: { failEnabled: false, token: 'token-of-the-server' } });
  t.is(settings.target, '');
});

test('a domain monitor warns 30 days ahead by default', (t) => {
  t.deepEqual(create({ name: 'x', type: 'domain' }).settings.checkSpec, { domain: { warnDays: 30 } });
  t.deepEqual(create({ name: 'x', type: 'domain', check_spec: { domain: { warnDays: 7 } } }).settings.checkSpec, {
    domain: { warnDays: 7 },
  });
  t.deepEqual(
    create({ name: 'x', type: 'domain', warn_days: 3650, check_spec: { domain: { warnDays: 7 } } }).settings.checkSpec,
    { domain: { warnDays: 3650 } },
  );
});

test('warn_days 0 disables the expiry warning of an http monitor', (t) =>
  t.deepEqual(create({ name: 'x', warn_days: 0 }).settings.checkSpec, {}));

test("the server sets a vendor's page URLs and ignores those sent", (t) => {
  const { settings } = create({
    name: 'x',
    type: 'vendor',
    target: 'github',
    check_spec: { vendor: { pageUrl: 'https://mine.example' } },
  });
  const pageUrl = 'https://www.githubstatus.com';
  t.deepEqual(settings.checkSpec, {
    vendor: { vendorId: 'github', pageUrl, probeUrl: `${pageUrl}/api/v2/summary.json`, components: [] },
  });
});

const BAD: [CreateBody, string][] = [
  [{ name: 'a\0b' }, 'name must be a string of Unicode characters, got one with NUL or an unpaired surrogate'],
  [{ name: 'a\ud800b' }, 'name must be a string of Unicode characters, got one with NUL or an unpaired surrogate'],
  [
    { name: 'x', target: 'example.com' },
    'target must be a URL with http or https, such as https://example.com/health, for http monitors, got "example.com"',
  ],
  [
    { name: 'x', interval_seconds: 5, timeout_ms: 5000 },
    'timeout_ms must be less than interval_seconds x 1000 (5000), got 5000',
  ],
  [{ name: 'x', method: 'FETCH' }, 'method must be one of GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS, got "FETCH"'],
  [
    { name: 'x', down_min_sources: 4 },
    'down_min_sources must be a whole number from 1 to 3 (the number of its agents), got 4',
  ],
  [{ name: 'x', type: 'dns', down_min_sources: 2 }, 'down_min_sources must be 1 (dns monitors have one source), got 2'],
  [{ name: 'x', grace_seconds: 60 }, 'grace_seconds applies to heartbeat monitors only, got a monitor of type http'],
  [
    { name: 'x', agent_sources: ['agt_a', 'agt_x', 'agt_y'] },
    'agent_sources must be ids of your agents or of shared ones, got unknown agt_x, agt_y',
  ],
  [
    { name: 'x', type: 'dns', agent_sources: ['agt_a'] },
    'agent_sources applies to http, tcp, icmp and udp monitors only, got a monitor of type dns',
  ],
  [
    { name: 'x', type: 'tcp', warn_days: 3 },
    'warn_days applies to http and domain monitors only, got a monitor of type tcp',
  ],
  [
    { name: 'x', type: 'domain', target: 'co.uk' },
    'target must be a registrable domain, such as example.co.uk, got "co.uk", a public suffix: name a ' +
      'domain under it',
  ],
  [
    { name: 'x', type: 'domain', warn_days: 0 },
    'warn_days must be a whole number from 1 to 3650 for domain monitors, got 0',
  ],
  [{ name: 'x', components: [] }, 'components applies to vendor monitors only, got a monitor of type http'],
  [
    { name: 'x', type: 'vendor', target: 'aws' },
    'components must be at least one service:region, such as ec2:us-east-1, for AWS, got none',
  ],
  [
    { name: 'x', type: 'vendor', dependencies: [] },
    'dependencies must be omitted for vendor monitors: a vendor depends on no other monitor',
  ],
  [
    { name: 'x', check_spec: { dns: {} } },
    'check_spec.dns does not apply to http monitors, only request, assertions, domain, dependencies',
  ],
  [
    { name: 'x', check_spec: { request: { body: 'x'.repeat(131_072) } } },
    'check_spec must be at most 131072 bytes of JSON, got 131095',
  ],
  [
    { name: 'x', check_spec: { assertions: [{ source: 'text_body', op: 'gt', value: '1' }] } },
    'check_spec.assertions[0].op must be one of contains, not_contains, matches for text_body, got "gt"',
  ],
  [
    { name: 'x', check_spec: { assertions: [{ source: 'text_body', op: 'matches', value: '(?=a)' }] } },
    'check_spec.assertions[0].value must be a regular expression in RE2 syntax, got "(?=a)"',
  ],
  [
    { name: 'x', type: 'udp', check_spec: { transport: { payload: 'abc', payloadEncoding: 'hex' } } },
    'check_spec.transport.payload must be pairs of hexadecimal digits, got something else',
  ],
  [
    { name: 'x', type: 'udp', check_spec: { transport: { expect: '(?=', expectMode: 'regex' } } },
    'check_spec.transport.expect must be a regular expression in RE2 syntax, got "(?="',
  ],
  [
    { name: 'x', type: 'dns', check_spec: { dns: { records: [{ type: 'A', mode: 'equals' }] } } },
    'check_spec.dns.records[0].expected must be a list of at least one value for equals, got none',
  ],
  [
    {
      name: 'x',
      type: 'dns',
      check_spec: { dns: { records: [{ type: 'A', mode: 'any', expected: ['192.0.2.1', 'example.com'] }] } },
    },
    'check_spec.dns.records[0].expected[1] must be an IPv4 address such as 192.0.2.1 for A, got "example.com"',
  ],
  [
    {
      name: 'x',
      type: 'dns',
      check_spec: { dns: { records: [{ type: 'MX', mode: 'equals', expected: ['mail.example.com'] }] } },
    },
    'check_spec.dns.records[0].expected[0] must be a preference and a host name such as 10 mail.example.com for ' +
      'MX, got "mail.example.com"',
  ],
  [
    { name: 'x', type: 'dns', target: 'dns://192.0.2.53' },
    'target must be a host name or an address, such as example.com, or dns://server[:port]/name, such as ' +
      'dns://192.0.2.53/example.com, for dns monitors, got "dns://192.0.2.53"',
  ],
];
for (const [index, [body, message]] of BAD.entries()) {
  test(`creation ${index} is refused: ${message.slice(0, 120)}`, (t) => t.deepEqual(messages(body), [message]));
}

test("an interval below the plan's minimum is refused with the limit", (t) => {
  const read = readMonitorCreate({ name: 'x', interval_seconds: 30 }, { ...CONTEXT, minIntervalSeconds: 60 });
  t.deepEqual(read, {
    ok: false,
    problems: [{ field: 'interval_seconds', message: 'interval_seconds must be 60 or more on this plan, got 30' }],
  });
});

test('every text that cannot be stored is reported by field, and unknown dependencies are ignored', (t) => {
  const read = readMonitorCreate(
    {
      name: 'a\0b',
      method: 'FETCH',
      components: ['ok', '\ud800'],
      dependencies: ['\0'],
      check_spec: {
        assertions: [{ source: 'text_body', op: 'contains', value: '\0' }],
        request: { body: '\udfff' },
        dependencies: ['\0'],
      },
    },
    CONTEXT,
  );
  t.deepEqual(read.ok ? [] : read.problems.map(({ field }) => field), [
    'name',
    'method',
    'components[1]',
    'check_spec.assertions[0].value',
    'check_spec.request.body',
  ]);
});

test('dns records drop expected values that their mode does not compare with', (t) => {
  const spec: CheckSpecInput = {
    dns: {
      records: [
        { type: 'A', mode: 'exists', expected: ['192.0.2.1'] },
        { type: 'MX', mode: 'any', expected: ['10 mail.example.com'] },
      ],
      crossCheck: true,
    },
  };
  t.deepEqual(create({ name: 'x', type: 'dns', check_spec: spec }).settings.checkSpec.dns, {
    records: [
      { type: 'A', mode: 'exists' },
      { type: 'MX', mode: 'any', expected: ['10 mail.example.com'] },
    ],
    crossCheck: true,
  });
});

test('any body yields problems that name their fields, or a monitor that satisfies the invariants', (t) => {
  const text = fc.string({ unit: anyCharacter });
  const flag = fc.boolean();
  const headers = fc.dictionary(fc.constantFrom('A', 'a', 'Host', 'X-Key'), fc.constantFrom('1', ''));
  const loose: fc.Arbitrary<CreateBody> = fc.record(
    {
      name: text.filter((name) => name.trim() !== ''),
      type: fc.constantFrom(...MONITOR_TYPES),
      target: fc.oneof(text, fc.constantFrom('https://example.com', 'example.com:53', 'example.com', 'github')),
      interval_seconds: fc.integer({ min: 1, max: 86_400 }),
      timeout_ms: fc.integer({ min: 1, max: 10_000 }),
      method: fc.oneof(text, fc.constantFrom('get', 'PUT', null)),
      down_min_sources: fc.integer({ min: 1, max: 5 }),
      agent_sources: fc.subarray(['agt_a', 'agt_b', 'agt_c', 'agt_mine', 'agt_x']),
      check_spec: fc.record(
        {
          request: fc.record(
            {
              headers,
              secretHeaders: headers,
              preserveSecretHeaders: flag,
              auth: fc.record(
                { type: fc.constantFrom('bearer', 'basic'), token: text, username: text },
                { requiredKeys: ['type'] },
              ),
              body: text,
              bodySecret: flag,
              preserveBody: flag,
            },
            { requiredKeys: [] },
          ),
          assertions: fc.array(
            fc.record(
              {
                source: fc.constantFrom(...ASSERTION_SOURCES),
                op: fc.constantFrom(...ASSERTION_OPS),
                value: text,
                path: text,
                name: text,
              },
              { requiredKeys: ['source', 'op'] },
            ),
          ),
          transport: fc.record(
            {
              payload: text,
              payloadEncoding: fc.constantFrom('utf8', 'hex'),
              expect: text,
              expectMode: fc.constantFrom('contains', 'regex'),
              payloadSecret: flag,
              preservePayload: flag,
            },
            { requiredKeys: [] },
          ),
        },
        { requiredKeys: [] },
      ),
      warn_days: fc.integer({ min: 0, max: 4000 }),
    },
    { requiredKeys: ['name'] },
  );
  t.notThrows(() =>
    fc.assert(
      fc.property(loose, (body) => {
        const read = readMonitorCreate(body, CONTEXT);
        if (!read.ok)
          return read.problems.length > 0 && read.problems.every(({ field, message }) => message.startsWith(field));
        const { settings, agentSources } = read.value;
        return (
          settings.timeoutMs < settings.intervalSeconds * 1000 &&
          settings.timeoutMs <= 10_000 &&
          settings.downMinSources >= 1 &&
          settings.downMinSources <= Math.max(1, agentSources.length) &&
          settings.name.trim() !== ''
        );
      }),
      { numRuns: 1000 },
    ),
  );
});

test('traceparent cannot be combined with a header of that name, and false is not stored', (t) => {
  const withRequest = (request: NonNullable<CheckSpecInput['request']>) => ({ name: 'x', check_spec: { request } });
  t.deepEqual(create(withRequest({ traceparent: true })).settings.checkSpec.request, { traceparent: true });
  t.deepEqual(create(withRequest({ traceparent: false })).settings.checkSpec.request, {});
  const own = { TraceParent: '00-own' };
  const refusal =
    'check_spec.request.traceparent must not be true beside a header named traceparent: leave out one of the two';
  t.deepEqual(messages(withRequest({ traceparent: true, headers: own })), [refusal]);
  t.deepEqual(messages(withRequest({ traceparent: true, secretHeaders: own })), [refusal]);
  t.deepEqual(messages(withRequest({ headers: own })), []);
});
