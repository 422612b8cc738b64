import test from 'ava';
import { readDescription, type Schema } from '../../api/description.ts';
import { curlOf } from '../../console/client/curl.ts';
import { cloneOf, emptyDraft, type AssertionDraft, type Draft } from '../../console/pages/monitor-form/draft.ts';
import { LIMITS, MAX_CHARACTERS } from '../../console/pages/monitor-form/judge-spec.ts';
import { judgeDraft } from '../../console/pages/monitor-form/judge.ts';
import type { MonitorType } from '../../core/monitors/monitor.ts';

const SURROUNDINGS = { minInterval: 1, sharedLocations: 3 };

/** Returns a draft that is valid except for `part`. */
const draftWith = (part: Partial<Draft>, type: MonitorType = 'http'): Draft => ({
  ...emptyDraft(type),
  name: 'Shop',
  ...part,
});

const judged = (
  draft: Draft,
  { stored = null, minInterval = 1 }: { stored?: Draft | null; minInterval?: number } = {},
) => judgeDraft({ draft, surroundings: { ...SURROUNDINGS, minInterval }, stored });

test('a new monitor needs a target or a name, and a stored one with a target needs both', (t) => {
  t.deepEqual(judged(emptyDraft('http')), { target: 'Enter a URL' });
  t.deepEqual(judged(emptyDraft('vendor')), { target: 'Choose a vendor' });
  t.deepEqual(judged(emptyDraft('heartbeat')), { name: 'Enter a name' });
  t.deepEqual(judged(draftWith({})), {});
  const stored = draftWith({ target: 'https://shop.example/' });
  t.deepEqual(judged(draftWith({ name: ' ' }), { stored }), { target: 'Enter a URL', name: 'Enter a name' });
});

test('a monitor that has locations cannot be saved without any', (t) => {
  const stored = draftWith({ target: 'https://shop.example/', sources: ['agt_1'] });
  const problem = { agent_sources: 'Choose at least one location' };
  t.deepEqual(judged({ ...stored, sources: [] }, { stored }), problem);
  t.deepEqual(judged({ ...stored, sources: ['agt_2'] }, { stored }), {});
  t.deepEqual(judged({ ...stored, sources: [] }), {}, 'a new monitor gets default locations');
  t.deepEqual(judged({ ...stored, sources: [] }, { stored: { ...stored, sources: [] } }), {});
});

const TARGETS: [MonitorType, string, string | undefined][] = [
  ['http', 'https://shop.example/', undefined],
  ['http', 'localhost:9401', 'Start with http:// or https://'],
  ['http', 'ftp://x', 'Start with http:// or https://'],
  ['http', 'https://', 'Enter a full URL, like https://example.com/health'],
  ['http', 'https://me:pass@shop.example/', 'Enter the user name and password under Request, Authentication'],
  ['http', `https://shop.example/${'x'.repeat(2048)}`, 'At most 2048 characters'],
  ['http', `https://shop.example/${'😀'.repeat(2000)}`, undefined],
  ['http', `shop.example/${'😀'.repeat(2000)}`, 'Start with http:// or https://'],
  ['tcp', 'db.example.com', 'Enter host:port, like db.example.com:5432'],
  ['udp', '[::1]:123', undefined],
  ['icmp', 'a b', 'Enter a host name or IP address, like router.example.com'],
  ['dns', 'dns://192.0.2.53/example.com', undefined],
  ['domain', 'localhost', 'Enter a domain, like example.com'],
  ['vendor', 'https://a:b@status.example.com', 'Leave out the user name and password'],
];

test('a target is validated by monitor type, and the error shows the expected format', (t) => {
  for (const [type, target, problem] of TARGETS)
    t.is(judged(draftWith({ target }, type))['target'], problem, `${type} ${target}`);
});

/** Returns the form fields of an SLA over service hours. */
function serviceHours(target: string, hours: string): Partial<Draft> {
  return { sla: { target, hours, timezone: '', excludesMaintenance: true } };
}

const FIELDS: [field: string, part: Partial<Draft>, problem: string | undefined, type?: MonitorType][] = [
  ['interval_seconds', { interval: '120000' }, 'At most 24 hours (1440 minutes)'],
  ['interval_seconds', { interval: '90000' }, 'At most 24 hours'],
  ['interval_seconds', { interval: '172800' }, 'At most 24 hours (1 day)'],
  ['interval_seconds', { interval: '0' }, 'At least 1 second'],
  ['interval_seconds', { interval: '1.5' }, 'Enter whole seconds'],
  ['interval_seconds', { interval: 'soon' }, 'Enter a number'],
  ['timeout_ms', { interval: '5', timeout: '8000' }, 'Must be shorter than the interval (5 s)'],
  ['timeout_ms', { interval: '5', timeout: '4999' }, undefined],
  ['timeout_ms', { timeout: '10001' }, 'At most 10000'],
  ['sla_target', { slaTarget: '200' }, 'Between 0 and 100'],
  ['sla_target', { slaTarget: '0' }, 'Between 0 and 100'],
  ['sla_target', { slaTarget: '99.95' }, undefined],
  ['sla.target', serviceHours('', ''), undefined],
  ['sla.target', serviceHours('', 'Mo 08:00-09:00'), 'Enter a target, like 99.9'],
  ['sla.target', serviceHours('101', '24/7'), 'Between 0 and 100'],
  ['sla.hours', serviceHours('99', ''), 'Enter hours, like Mo-Fr 08:00-20:00'],
  ['sla.hours', serviceHours('99', '24/7'.padStart(200)), undefined],
  ['sla.hours', serviceHours('99', `24/7${',24/7'.repeat(40)}`), 'At most 200 characters'],
  [
    'sla.hours',
    serviceHours('99', 'Mo-Fr 08:00-25:00'),
    'Unknown times, "08:00-25:00": write them as in Mo-Fr 08:00-20:00; Sa 09:00-13:00',
  ],
  ['expected_status', { expectedStatus: '2xx, 301' }, undefined],
  ['expected_status', { expectedStatus: 'good' }, 'Use codes like 200, 2xx or 200,301'],
  ['down_min_sources', { quorum: '3', sources: ['a', 'b'] }, 'Only 2 locations check it'],
  ['warn_days', { warnDays: '0' }, 'At least 1', 'domain'],
  ['grace_seconds', { grace: '2592001' }, 'At most 30 days (2592000 seconds)', 'heartbeat'],
  ['check_spec.ping.count', { ping: { count: '11', lossDegradedPct: '', rttDegradedMs: '' } }, 'At most 10', 'icmp'],
];

test('fields are validated with limits in the units of the form', (t) => {
  for (const [field, part, problem, type] of FIELDS)
    t.is(judged(draftWith(part, type))[field], problem, `${field} ${JSON.stringify(part)}`);
  t.is(
    judged(draftWith({ interval: '10' }), { minInterval: 30 })['interval_seconds'],
    'At least 30 seconds on your plan',
  );
  const stored = draftWith({ interval: '10' });
  t.deepEqual(
    judged(stored, { stored, minInterval: 30 }),
    {},
    'a stored interval that an earlier plan allowed may stay',
  );
});

test('the limits of the form match the API description', async (t) => {
  const { components } = await readDescription();
  const { schemas } = components as { schemas: Record<string, Schema & { minimum?: number; maximum?: number }> };
  const fieldsOf = (name: string) => schemas[name]?.properties ?? {};
  const described = {
    interval_seconds: schemas['IntervalSeconds'],
    timeout_ms: schemas['TimeoutMs'],
    grace_seconds: schemas['GraceSeconds'],
    reopen_seconds: schemas['ReopenSeconds'],
    warn_days: schemas['WarnDays'],
    'check_spec.ping.count': fieldsOf('PingSpec')['count'],
    'check_spec.ping.lossDegradedPct': fieldsOf('PingSpec')['lossDegradedPct'],
    'check_spec.ping.rttDegradedMs': fieldsOf('PingSpec')['rttDegradedMs'],
    'check_spec.heartbeat.maxDurationSeconds': fieldsOf('HeartbeatSpec')['maxDurationSeconds'],
    'check_spec.heartbeat.schedule.early_seconds': fieldsOf('HeartbeatSchedule')['early_seconds'],
  } satisfies Record<keyof typeof LIMITS, unknown>;
  for (const [field, { min, max }] of Object.entries(LIMITS)) {
    const { minimum, maximum } = described[field as keyof typeof LIMITS] ?? {};
    t.deepEqual({ minimum, maximum }, { minimum: min, maximum: max }, field);
  }
  t.deepEqual(MAX_CHARACTERS, {
    target: Number(schemas['MonitorTarget']?.maxLength),
    expected_status: Number(schemas['ExpectedStatus']?.maxLength),
    body_match: Number(schemas['BodyMatch']?.maxLength),
    hours: Number(schemas['ServiceHoursText']?.maxLength),
  });
});

const assertion = (part: Partial<AssertionDraft>): AssertionDraft => ({
  source: 'text_body',
  op: 'contains',
  value: '',
  path: '',
  name: '',
  ...part,
});

test('empty and incomplete assertions are refused, each at the missing field', (t) => {
  const found = judged(
    draftWith({
      assertions: [
        assertion({}),
        assertion({ source: 'json_body', op: 'exists' }),
        assertion({ source: 'header', op: 'equals', value: 'x' }),
        assertion({ source: 'response_time', op: 'lt', value: '1 s' }),
        assertion({ source: 'json_body', op: 'equals', value: 'ok', path: '$.status' }),
      ],
    }),
  );
  t.deepEqual(found, {
    'check_spec.assertions[0].value': 'Enter a value',
    'check_spec.assertions[1].path': 'Enter a JSON path, like $.status',
    'check_spec.assertions[2].name': 'Enter a header name',
    'check_spec.assertions[3].value': 'Enter a number',
  });
  const stored = draftWith({ assertions: [assertion({ source: 'json_body', op: 'not_equals', path: '$.a' })] });
  t.deepEqual(judged(stored, { stored }), {}, 'the API accepts an assertion with an empty value');
});

test('DNS rules without a record or with an invalid one are refused', (t) => {
  const rule = (expected: string[]) => ({ type: 'A', mode: 'equals', expected }) as const;
  const found = judged(
    draftWith({ dns: { records: [rule(['']), rule([]), rule(['192.0.2.1', 'here', ''])], crossCheck: null } }, 'dns'),
  );
  t.deepEqual(found, {
    'check_spec.dns.records[0].expected[0]': 'Add at least one expected record',
    'check_spec.dns.records[1]': 'Add at least one expected record',
    'check_spec.dns.records[2].expected[1]': 'Not a valid A record. Example: 192.0.2.1',
  });
});

test('a cloned monitor keeps everything but its secrets, which must be entered again', (t) => {
  const { request, transport } = emptyDraft('http');
  const copy = cloneOf(
    draftWith({
      name: 'x'.repeat(255),
      request: {
        ...request,
        headers: [{ name: 'X-Key', value: '', kind: 'kept', isStored: true }],
        auth: { ...request.auth, type: 'bearer', isKept: true },
        body: { kind: 'kept', text: '' },
      },
      transport: { ...transport, payload: { kind: 'kept', text: '' } },
    }),
  );
  t.is(copy.name, `${'x'.repeat(248)} (copy)`);
  t.deepEqual(judged(copy), {
    'headers[0]': 'Enter the value of X-Key',
    'check_spec.request.auth.token': 'Enter the token',
    'check_spec.request.body': 'Enter a value, or clear the Secret box',
  });
});

test('a curl command quotes what a shell would interpret', (t) => {
  t.is(
    curlOf({ method: 'POST', path: '/agents', body: { name: "it's $HOME" } }, 'https://spotcheck.example'),
    [
      "curl -X POST 'https://spotcheck.example/v1/agents' \\",
      '  -H "Authorization: Bearer $SPOTCHECK_TOKEN" \\',
      "  -H 'Content-Type: application/json' \\",
      `  -d '{\n  "name": "it'\\''s $HOME"\n}'`,
    ].join('\n'),
  );
});
