import anyTest, { type TestFn } from 'ava';
import { withApiServer, type ApiServer } from './api-server.ts';

const test = anyTest as TestFn<{ api: ApiServer }>;
withApiServer(test);

const headers = (count: number, prefix = 'X') =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`${prefix}-${index}`, 'v']));

/** Returns assertions with patterns of the maximum size. */
const patterns = (count: number) =>
  Array.from({ length: count }, () => ({ source: 'text_body', op: 'matches', value: '.{1000}'.repeat(10) }));

const SLA = { target: 99.9, timezone: 'Europe/Berlin', hours: 'Mo-Fr 08:00-20:00' };
const LONG_HOURS = SLA.hours.padEnd(200);

/**
 * The last valid value of each limit, and the first invalid one if any. The description and the rules must set the same
 * limit.
 */
const LIMITS: [string, unknown, unknown][] = [
  ['name', { name: 'x'.repeat(255) }, { name: 'x'.repeat(256) }],
  ['target', { target: `https://a.example/${'x'.repeat(2030)}` }, { target: `https://a.example/${'x'.repeat(2031)}` }],
  ['interval_seconds, lowest', { interval_seconds: 1 }, { interval_seconds: 0 }],
  ['interval_seconds, highest', { interval_seconds: 86_400 }, { interval_seconds: 86_401 }],
  ['timeout_ms, lowest', { timeout_ms: 1 }, { timeout_ms: 0 }],
  ['timeout_ms, highest', { timeout_ms: 10_000 }, { timeout_ms: 10_001 }],
  [
    'timeout_ms under the interval',
    { interval_seconds: 5, timeout_ms: 4999 },
    { interval_seconds: 5, timeout_ms: 5000 },
  ],
  ['method in any case', { method: 'oPtIoNs' }, { method: 'TRACE' }],
  ['expected_status', { expected_status: ' 2XX , 301 ,' }, { expected_status: ' , ' }],
  [
    'expected_status, longest',
    { expected_status: `${'200,'.repeat(31)}2xx ` },
    { expected_status: `${'200,'.repeat(31)}200, ` },
  ],
  ['expected_status, one code', { expected_status: '999' }, { expected_status: '2000' }],
  ['body_match', { body_match: 'x'.repeat(1024) }, { body_match: 'x'.repeat(1025) }],
  ['body_match cleared', { body_match: null }, { body_match: 0 }],
  ['follow_redirects as number', { follow_redirects: 2 }, { follow_redirects: '2' }],
  ['follow_redirects as boolean', { follow_redirects: false }, { follow_redirects: 'false' }],
  ['down_after_failures', { down_after_failures: 5 }, { down_after_failures: 6 }],
  ['up_after_successes', { up_after_successes: 1 }, { up_after_successes: 0 }],
  ['down_min_sources', { down_min_sources: 3 }, { down_min_sources: 4 }],
  ['down_min_sources by default', { down_min_sources: null }, { down_min_sources: '1' }],
  ['sla_target', { sla_target: 100 }, { sla_target: 100.001 }],
  ['sla_target, lowest', { sla_target: 0.001 }, { sla_target: 0 }],
  ['reopen_seconds', { reopen_seconds: 86_400 }, { reopen_seconds: 86_401 }],
  ['reopen_seconds, lowest', { reopen_seconds: 0 }, { reopen_seconds: -1 }],
  ['sla_target cleared', { sla_target: null }, { sla_target: '99' }],
  ['sla', { sla: SLA }, { sla: { ...SLA, target: 100.001 } }],
  ['sla, lowest target', { sla: { ...SLA, target: 0.001 } }, { sla: { ...SLA, target: 0 } }],
  ['sla removed', { sla: null }, { sla: {} }],
  ['sla.timezone', { sla: { ...SLA, timezone: 'utc' } }, { sla: { ...SLA, timezone: 'browser' } }],
  [
    'sla.timezone, an older name',
    { sla: { ...SLA, timezone: 'Asia/Calcutta' } },
    { sla: { ...SLA, timezone: '+01:00' } },
  ],
  ['sla.hours, longest', { sla: { ...SLA, hours: LONG_HOURS } }, { sla: { ...SLA, hours: `${LONG_HOURS} ` } }],
  ['sla.hours', { sla: { ...SLA, hours: '24/7' } }, { sla: { ...SLA, hours: 'Mo-Fr 08:00-25:00' } }],
  [
    'sla.exclude_maintenance',
    { sla: { ...SLA, exclude_maintenance: false } },
    { sla: { ...SLA, exclude_maintenance: 0 } },
  ],
  [
    'tags',
    { tags: Array.from({ length: 20 }, (_, index) => `${'t'.repeat(60)}${index}:${'v'.repeat(64)}`) },
    { tags: [`t:${'v'.repeat(65)}`] },
  ],
  ['tags, none', { tags: [] }, { tags: [''] }],
  ['grace_seconds', { type: 'heartbeat', grace_seconds: 0 }, { grace_seconds: 60 }],
  [
    'grace_seconds, highest',
    { type: 'heartbeat', grace_seconds: 2_592_000 },
    { type: 'heartbeat', grace_seconds: 2_592_001 },
  ],
  ['agent_sources', { agent_sources: [] }, { agent_sources: ['x'] }],
  ['warn_days', { type: 'domain', warn_days: 3650 }, { type: 'domain', warn_days: 3651 }],
  ['warn_days, lowest', { type: 'domain', warn_days: 1 }, { type: 'domain', warn_days: 0 }],
  ['warn_days of http', { warn_days: 2_147_483_647 }, { warn_days: 2_147_483_648 }],
  ['warn_days off', { warn_days: 0 }, { warn_days: -1 }],
  ['components', { type: 'vendor', components: ['Actions'] }, { components: ['Actions'] }],
  [
    'dependencies',
    { dependencies: Array.from({ length: 50 }, (_, index) => `mon_${index}`) },
    { dependencies: Array.from({ length: 51 }, (_, index) => `mon_${index}`) },
  ],
  ['depends_on', { depends_on: [] }, { depends_on: [{ id: 'mon_none', mode: 'hold' }] }],
  ['depends_on, its mode', { depends_on: [] }, { depends_on: [{ id: 'mon_none', mode: 'drop' }] }],
  [
    'headers',
    { check_spec: { request: { headers: headers(25), secretHeaders: headers(25, 'Y') } } },
    { check_spec: { request: { headers: headers(25), secretHeaders: headers(26, 'Y') } } },
  ],
  [
    'header names',
    { check_spec: { request: { headers: { [`${'a'.repeat(248)}!#$%&'*+`]: '' } } } },
    { check_spec: { request: { headers: { ['a'.repeat(257)]: '' } } } },
  ],
  [
    'header values',
    { check_spec: { request: { headers: { A: `${'é'.repeat(8191)}\t` } } } },
    { check_spec: { request: { headers: { A: 'x'.repeat(8193) } } } },
  ],
  [
    'header lines',
    { check_spec: { request: { headers: { A: '' } } } },
    { check_spec: { request: { headers: { A: 'a\nb' } } } },
  ],
  [
    'auth bearer',
    { check_spec: { request: { auth: { type: 'bearer', token: '~'.repeat(8192) } } } },
    { check_spec: { request: { auth: { type: 'bearer', token: 'a b' } } } },
  ],
  [
    'auth basic',
    { check_spec: { request: { auth: { type: 'basic', username: '', password: ' :é' } } } },
    { check_spec: { request: { auth: { type: 'basic', username: 'a' } } } },
  ],
  [
    'assertions',
    {
      check_spec: {
        assertions: Array.from({ length: 50 }, () => ({ source: 'json_body', op: 'exists', path: "$['a'][0].b" })),
      },
    },
    {
      check_spec: { assertions: Array.from({ length: 51 }, () => ({ source: 'json_body', op: 'exists', path: '$' })) },
    },
  ],
  [
    'assertion on a header',
    { check_spec: { assertions: [{ source: 'header', op: 'not_equals', name: 'X-A', value: '' }] } },
    { check_spec: { assertions: [{ source: 'header', op: 'not_contains', name: 'X-A', value: '' }] } },
  ],
  [
    'assertion on the time',
    {
      check_spec: {
        assertions: [{ source: 'response_time', op: 'lt', value: '1.5', path: 'dropped', name: 'dropped' }],
      },
    },
    { check_spec: { assertions: [{ source: 'response_time', op: 'equals', value: '1' }] } },
  ],
  [
    'assertion on the certificate',
    { check_spec: { assertions: [{ source: 'cert_expiry', op: 'gt', value: '14' }] } },
    { check_spec: { assertions: [{ source: 'cert_expiry', op: 'gt', value: 'soon' }] } },
  ],
  [
    'assertion on the text',
    { check_spec: { assertions: [{ source: 'text_body', op: 'matches', value: '^a+$' }] } },
    { check_spec: { assertions: [{ source: 'text_body', op: 'matches', value: 'a(?!b)' }] } },
  ],
  [
    'patterns together',
    { check_spec: { assertions: patterns(2) } },
    { check_spec: { assertions: [...patterns(2), { source: 'header', op: 'matches', name: 'A', value: 'x' }] } },
  ],
  [
    'check_spec',
    { check_spec: { request: { body: 'x'.repeat(131_072 - '{"request":{"body":""}}'.length) } } },
    { check_spec: { request: { body: 'x'.repeat(131_073 - '{"request":{"body":""}}'.length) } } },
  ],
  [
    'transport',
    {
      type: 'udp',
      target: 'a.example:53',
      check_spec: { transport: { payload: '00ff', payloadEncoding: 'hex', expect: 'a+', expectMode: 'regex' } },
    },
    { type: 'udp', check_spec: { transport: { payload: '0', payloadEncoding: 'hex' } } },
  ],
  [
    'transport of tcp',
    { type: 'tcp', target: '[::1]:25', check_spec: { transport: { payload: 'x', payloadSecret: true } } },
    { type: 'tcp', check_spec: { transport: { payloadSecret: true } } },
  ],
  [
    'payload in bytes',
    { type: 'udp', check_spec: { transport: { payload: `${'x'.repeat(65_505)}é` } } },
    { type: 'udp', check_spec: { transport: { payload: `${'x'.repeat(65_506)}é` } } },
  ],
  [
    'payload in characters',
    { type: 'tcp', check_spec: { transport: { payload: '00'.repeat(32_768), payloadEncoding: 'hex' } } },
    { type: 'tcp', check_spec: { transport: { payload: '00'.repeat(32_769), payloadEncoding: 'hex' } } },
  ],
  [
    'payload with escapes',
    { type: 'udp', check_spec: { transport: { payload: '\\r\\n\\t\\\\\\x0A' } } },
    { type: 'tcp', check_spec: { transport: { payload: '\\0' } } },
  ],
  [
    'expect',
    { type: 'udp', check_spec: { transport: { expect: 'x'.repeat(8192) } } },
    { type: 'udp', check_spec: { transport: { expect: 'x'.repeat(8193) } } },
  ],
  [
    'expect as a pattern',
    { type: 'tcp', check_spec: { transport: { expect: '(?i)^ok$', expectMode: 'regex' } } },
    { type: 'tcp', check_spec: { transport: { expect: 'a(?=b)', expectMode: 'regex' } } },
  ],
  [
    'ping',
    { type: 'icmp', check_spec: { ping: { count: 10, lossDegradedPct: 100, rttDegradedMs: 10_000 } } },
    { type: 'icmp', check_spec: { ping: { lossDegradedPct: 101 } } },
  ],
  [
    'heartbeat',
    {
      type: 'heartbeat',
      check_spec: { heartbeat: { token: 'ignored', failEnabled: false, maxDurationSeconds: 2_592_000 } },
    },
    { type: 'heartbeat', check_spec: { heartbeat: { maxDurationSeconds: 0 } } },
  ],
  [
    'schedule',
    {
      type: 'heartbeat',
      check_spec: {
        heartbeat: { schedule: { cron: '0 0 29 2 *', timezone: 'Pacific/Kiritimati', early_seconds: 86_400 } },
      },
    },
    { type: 'heartbeat', check_spec: { heartbeat: { schedule: { cron: '0 0 30 2 *' } } } },
  ],
  [
    'dns',
    { type: 'dns', check_spec: { dns: { crossCheck: true, records: [{ type: 'CAA', mode: 'absent' }] } } },
    { type: 'dns', check_spec: { dns: { records: [{ type: 'CAA', mode: 'any', expected: [] }] } } },
  ],
  [
    'dns records of matching type',
    {
      type: 'dns',
      target: 'dns://[2001:db8::53]:5353/example.com',
      check_spec: {
        dns: {
          records: [
            { type: 'AAAA', mode: 'equals', expected: ['2001:DB8::0:1'] },
            { type: 'SOA', mode: 'any', expected: ['ns1.example.com'] },
          ],
        },
      },
    },
    {
      type: 'dns',
      check_spec: { dns: { records: [{ type: 'A', mode: 'equals', expected: ['192.0.2.1', 'example.com'] }] } },
    },
  ],
  ['dns targets', { type: 'dns', target: '192.0.2.1' }, { type: 'dns', target: 'dns://192.0.2.53' }],
  [
    'read-only fields',
    { check_spec: { dependencies: ['mon_1'], request: { secretHeaderNames: ['A'] } } },
    { check_spec: { vendor: { vendorId: 'github' } } },
  ],
];
for (const [what, good, bad] of LIMITS) {
  test(`the description and the validation set the same limit for ${what}`, async (t) => {
    const { owner } = await t.context.api.account();
    const taken = await owner('POST', '/v1/monitors', { name: 'x', ...(good as object) });
    t.is(taken.status, 201, taken.text);
    const shown = await owner('GET', `/v1/monitors/${taken.json['id']}`);
    t.is(shown.status, 200, shown.text);
    const refused = await owner('POST', '/v1/monitors', { name: 'x', ...(bad as object) });
    t.is(refused.status, 400, refused.text);
  });
}
