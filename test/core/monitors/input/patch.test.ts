import test from 'ava';
import * as fc from 'fast-check';
import type { MonitorDraft } from '../../../../core/monitors/input/complete.ts';
import type { MonitorBody, RequestInput } from '../../../../core/monitors/input/fields.ts';
import { readMonitorCreate, readMonitorPatch } from '../../../../core/monitors/input/read.ts';
import { MONITOR_TYPES } from '../../../../core/monitors/monitor.ts';
import { CONTEXT } from './context.ts';

function created(body: MonitorBody): MonitorDraft {
  const read = readMonitorCreate({ name: 'x', ...body }, CONTEXT);
  if (!read.ok) throw new Error(read.problems.map(({ message }) => message).join('; '));
  return read.value;
}

function patched(current: MonitorDraft, body: MonitorBody): MonitorDraft {
  const read = readMonitorPatch(body, { current, context: CONTEXT });
  if (!read.ok) throw new Error(read.problems.map(({ message }) => message).join('; '));
  return read.value;
}

function messages(current: MonitorDraft, body: MonitorBody): string[] {
  const read = readMonitorPatch(body, { current, context: CONTEXT });
  return read.ok ? [] : read.problems.map(({ message }) => message);
}

const FULL = created({
  target: 'https://example.com',
  interval_seconds: 30,
  down_min_sources: 3,
  sla_target: 99.9,
  sla: { target: 99.5, timezone: 'europe/berlin', hours: ' Mo-Fr 08:00-20:00 ' },
  body_match: 'ok',
  warn_days: 20,
  dependencies: ['mon_vendor'],
  check_spec: {
    request: {
      headers: { Accept: '*/*' },
      secretHeaders: { 'X-Key': 's3cret-header' },
      auth: { type: 'basic', username: 'ann', password: 's3cret-password' },
      body: 's3cret-body',
      bodySecret: true,
    },
    assertions: [{ source: 'text_body', op: 'contains', value: 'ok' }],
  },
});

test('an empty PATCH of http clears request, assertions and secrets, resets the quorum, and keeps the rest', (t) => {
  const after = patched(FULL, {});
  t.deepEqual(after, {
    ...FULL,
    settings: {
      ...FULL.settings,
      downMinSources: 2,
      checkSpec: { domain: { warnDays: 20 }, dependencies: ['mon_vendor'] },
    },
    secrets: {},
  });
});

test('a service-hours SLA is kept if omitted, replaced as a whole if sent, and removed by null', (t) => {
  const sla = { target: 99.5, timezone: 'Europe/Berlin', hours: 'Mo-Fr 08:00-20:00', excludeMaintenance: true };
  t.deepEqual(patched(FULL, { name: 'y' }).settings.sla, sla);
  const counted = { target: 99, timezone: 'UTC', hours: '24/7', exclude_maintenance: false };
  const replaced = patched(FULL, { sla: counted });
  t.deepEqual(replaced.settings.sla, { target: 99, timezone: 'UTC', hours: '24/7', excludeMaintenance: false });
  const { exclude_maintenance: _default, ...rest } = counted;
  t.true(patched(replaced, { sla: rest }).settings.sla?.excludeMaintenance);
  t.is(patched(FULL, { sla: null }).settings.sla, null);
});

test('all problems of a service-hours SLA are reported at once by field', (t) => {
  t.deepEqual(messages(FULL, { sla: { target: 99, timezone: 'Mars/Olympus', hours: 'Mo-Fr 8 to 5' } }), [
    'sla.timezone must be a zone of the IANA time zone database, such as Europe/Berlin, got "Mars/Olympus"',
    'sla.hours has a rule that cannot be read, "Mo-Fr 8 to 5": write them as in Mo-Fr 08:00-20:00; Sa 09:00-13:00',
  ]);
});

test('sending back the result of a read with the preserve flags changes nothing', (t) => {
  const { request, ...rest } = FULL.settings.checkSpec;
  const checkSpec = { ...rest, request: { ...request, preserveSecretHeaders: true, preserveBody: true } };
  t.deepEqual(patched(FULL, { check_spec: checkSpec, down_min_sources: 3 }), FULL);
});

test('without preserve flags secret headers are cleared, but bodySecret and auth as read keep theirs', (t) => {
  const sentBack = patched(FULL, { check_spec: { request: FULL.settings.checkSpec.request } });
  t.deepEqual(sentBack.secrets, { auth: FULL.secrets.auth, body: 's3cret-body' });
  t.deepEqual(messages(created({}), { check_spec: { request: { bodySecret: true } } }), [
    'check_spec.request.body is required when bodySecret is true, unless preserveBody is true',
  ]);
  const after = patched(FULL, { check_spec: { request: { auth: { type: 'basic' } } } });
  t.deepEqual(after.secrets, { auth: { username: 'ann', password: 's3cret-password' } });
  t.deepEqual(after.settings.checkSpec.request, { auth: { type: 'basic' } });
});

test('new secret headers are added to preserved ones or replace them, ignoring case', (t) => {
  const after = patched(FULL, {
    check_spec: { request: { preserveSecretHeaders: true, secretHeaders: { 'x-key': 'new', Other: 'two' } } },
  });
  t.deepEqual(after.secrets.secretHeaders, { 'x-key': 'new', Other: 'two' });
  t.deepEqual(after.settings.checkSpec.request?.secretHeaderNames, ['Other', 'x-key']);
});

test('an empty object clears the secret headers', (t) => {
  t.deepEqual(patched(FULL, { check_spec: { request: { secretHeaders: {} } } }).secrets, {});
});

test('warn_days and dependencies are kept if check_spec omits them, and cleared by 0 and an empty list', (t) => {
  t.like(patched(FULL, { check_spec: {} }).settings.checkSpec, {
    domain: { warnDays: 20 },
    dependencies: ['mon_vendor'],
  });
  t.deepEqual(patched(FULL, { warn_days: 0, dependencies: [] }).settings.checkSpec, {});
});

test('a heartbeat keeps settings and token when check_spec is omitted, and only the token when it is sent', (t) => {
  const heartbeat = created({ type: 'heartbeat', check_spec: { heartbeat: { maxDurationSeconds: 600 } } });
  t.deepEqual(patched(heartbeat, { name: 'y' }).settings.checkSpec, {
    heartbeat: { maxDurationSeconds: 600, token: 'token-of-the-server' },
  });
  t.deepEqual(patched(heartbeat, { check_spec: {} }).settings.checkSpec, {
    heartbeat: { token: 'token-of-the-server' },
  });
});

test("a heartbeat's interval may be shorter than its unused timeout unless the timeout is sent", (t) => {
  const heartbeat = created({ type: 'heartbeat', interval_seconds: 3600 });
  const shortened = patched(heartbeat, { interval_seconds: 5 });
  t.like(shortened.settings, { intervalSeconds: 5, timeoutMs: 10_000 });
  t.deepEqual(patched(shortened, { name: 'x', timeout_ms: 10_000 }), shortened);
  t.deepEqual(messages(heartbeat, { interval_seconds: 5, timeout_ms: 5000 }), [
    'timeout_ms must be less than interval_seconds x 1000 (5000), got 5000',
  ]);
});

test('a secret udp payload is kept under preservePayload and never shown', (t) => {
  const udp = created({
    type: 'udp',
    target: 'example.com:53',
    check_spec: { transport: { payload: 'hush', payloadSecret: true, expect: 'x' } },
  });
  t.deepEqual(udp.settings.checkSpec, { transport: { expect: 'x', payloadSecret: true } });
  t.deepEqual(udp.secrets, { payload: 'hush' });
  t.deepEqual(patched(udp, { check_spec: { transport: { payloadSecret: true, preservePayload: true } } }).secrets, {
    payload: 'hush',
  });
  t.deepEqual(patched(udp, { check_spec: udp.settings.checkSpec }), udp);
  t.deepEqual(patched(udp, { check_spec: { transport: { payload: 'open' } } }).secrets, {});
});

const AGAIN =
  'must be sent again in full: stored secrets are kept only while the scheme, host and port of target and the ' +
  'Host header stay the same';
const KEEP_HEADERS = { preserveSecretHeaders: true };
const KEPT_PARTS: [string, RequestInput, string][] = [
  ['secret headers', KEEP_HEADERS, `check_spec.request.secretHeaders ${AGAIN}`],
  ['credentials', { auth: { type: 'basic' } }, `check_spec.request.auth ${AGAIN}`],
  ['secret bodies', { bodySecret: true, preserveBody: true }, `check_spec.request.body ${AGAIN}`],
];
for (const [what, request, message] of KEPT_PARTS) {
  test(`${what} must be sent again if the target's scheme, host or port changes, and are kept otherwise`, (t) => {
    for (const target of [
      'http://example.com',
      'https://example.org',
      'https://www.example.com',
      'https://example.com:8443',
    ]) {
      t.deepEqual(messages(FULL, { target, check_spec: { request } }), [message], target);
    }
    for (const target of ['https://example.com', 'https://EXAMPLE.com:443/other?path=1']) {
      t.deepEqual(messages(FULL, { target, method: 'PUT', check_spec: { request } }), [], target);
    }
  });
}

test('the target may change if each secret is either sent again or dropped', (t) => {
  const request: RequestInput = {
    preserveSecretHeaders: true,
    secretHeaders: { 'x-key': 'new' },
    auth: { type: 'basic', username: 'ann', password: 'new' },
    body: 'new',
    bodySecret: true,
  };
  const moved = patched(FULL, { target: 'https://example.org', check_spec: { request } });
  t.deepEqual(moved.secrets, {
    secretHeaders: { 'x-key': 'new' },
    auth: { username: 'ann', password: 'new' },
    body: 'new',
  });
  t.deepEqual(patched(FULL, { target: 'https://example.org' }).secrets, {});
});

test('a different Host header, plain or secret, counts as a different server', (t) => {
  const sent = (request: RequestInput) => messages(FULL, { check_spec: { request: { ...KEEP_HEADERS, ...request } } });
  t.deepEqual(sent({ headers: { host: 'evil.example' } }), [`check_spec.request.secretHeaders ${AGAIN}`]);
  t.deepEqual(sent({ secretHeaders: { HOST: 'evil.example' } }), [`check_spec.request.secretHeaders ${AGAIN}`]);
  const fronted = created({
    target: 'https://example.com',
    check_spec: { request: { headers: { Host: 'shop.example' }, secretHeaders: { 'X-Key': 'k' } } },
  });
  t.deepEqual(
    messages(fronted, {
      check_spec: { request: { ...KEEP_HEADERS, headers: { HOST: 'shop.example', Accept: '*/*' } } },
    }),
    [],
  );
  t.deepEqual(messages(fronted, { check_spec: { request: KEEP_HEADERS } }), [
    `check_spec.request.secretHeaders ${AGAIN}`,
  ]);
});

test("a draft's secrets are not kept when it gets a target", (t) => {
  const draft = created({ check_spec: { request: { auth: { type: 'bearer', token: 'k' } } } });
  t.deepEqual(
    messages(draft, { target: 'https://evil.example', check_spec: { request: { auth: { type: 'bearer' } } } }),
    [`check_spec.request.auth ${AGAIN}`],
  );
});

for (const type of ['tcp', 'udp'] as const) {
  test(
    `a secret ${type} payload must be sent again if the host or port of the target changes, with ` +
      'check_spec or without it',
    (t) => {
      const transport = { payloadSecret: true, preservePayload: true };
      const stored = created({
        type,
        target: '[2001:db8::1]:53',
        check_spec: { transport: { payload: 'hush', payloadSecret: true } },
      });
      for (const target of ['[2001:db8::2]:53', '[2001:db8::1]:54', 'example.com:53']) {
        for (const body of [{ target }, { target, check_spec: { transport } }])
          t.deepEqual(messages(stored, body), [`check_spec.transport.payload ${AGAIN}`]);
      }
      t.deepEqual(patched(stored, { target: '[2001:DB8:0::1]:053', check_spec: { transport } }).secrets, {
        payload: 'hush',
      });
      t.deepEqual(
        patched(stored, {
          target: 'example.com:53',
          check_spec: { transport: { payload: 'new', payloadSecret: true } },
        }).secrets,
        { payload: 'new' },
      );
      t.deepEqual(patched(stored, { target: 'example.com:53', check_spec: {} }).secrets, {});
    },
  );
}

test('an empty list of agents keeps the stored ones', (t) => {
  const own = created({ agent_sources: ['agt_mine'] });
  t.deepEqual(patched(own, { agent_sources: [] }).agentSources, ['agt_mine']);
  t.deepEqual(patched(own, { agent_sources: ['agt_a'] }).agentSources, ['agt_a']);
});

test('a region that was retired meanwhile can be sent back with the agents as they were read', (t) => {
  const stored = { ...FULL, agentSources: ['agt_a', 'agt_retired'] };
  t.deepEqual(patched(stored, { agent_sources: ['agt_retired', 'agt_b'] }).agentSources, ['agt_b', 'agt_retired']);
  t.deepEqual(messages(FULL, { agent_sources: ['agt_retired'], down_min_sources: 1 }), [
    'agent_sources must be ids of your agents or of shared ones, got unknown agt_retired',
  ]);
});

const REFUSED: [string, MonitorBody, string][] = [
  ['another type', { type: 'tcp' }, 'type must stay http, got tcp: the type of a monitor cannot be changed'],
  [
    'an interval shorter than the stored timeout',
    { interval_seconds: 5, timeout_ms: undefined },
    'timeout_ms must be less than interval_seconds x 1000 (5000), got 10000',
  ],
  ['an empty target', { target: '' }, 'target cannot be removed: pause or delete the monitor instead'],
  [
    'fewer agents than the quorum',
    { agent_sources: ['agt_a'], down_min_sources: 2 },
    'down_min_sources must be 1 (the number of its agents), got 2',
  ],
  [
    'kept credentials of another type',
    { check_spec: { request: { auth: { type: 'bearer' } } } },
    'check_spec.request.auth.token is required for bearer: there are no stored credentials of this type to keep',
  ],
  [
    'a field that does not apply to the type of credentials',
    { check_spec: { request: { auth: { type: 'bearer', token: 'a', username: 'b' } } } },
    'check_spec.request.auth.username does not apply to bearer, only token',
  ],
  [
    'a colon in the user name',
    { check_spec: { request: { auth: { type: 'basic', username: 'a:b', password: '' } } } },
    'check_spec.request.auth.username must be a string without a colon (RFC 7617), got one with a colon',
  ],
  [
    'preserveBody without bodySecret',
    { check_spec: { request: { preserveBody: true } } },
    'check_spec.request.preserveBody requires bodySecret to be true',
  ],
  [
    'a body beside preserveBody',
    { check_spec: { request: { preserveBody: true, bodySecret: true, body: 'x' } } },
    'check_spec.request.body must be omitted when preserveBody is true, which keeps the stored value',
  ],
  [
    'a duplicate header name',
    { check_spec: { request: { headers: { 'X-A': '1' }, secretHeaders: { 'x-a': '2' } } } },
    'check_spec.request.headers and check_spec.request.secretHeaders must name each header once, ignoring ' +
      'case, got x-a twice',
  ],
  [
    '51 headers',
    {
      check_spec: {
        request: {
          headers: Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`X-${i}`, ''])),
          preserveSecretHeaders: true,
        },
      },
    },
    'check_spec.request.headers must be at most 50 headers, plain and secret together, got 51',
  ],
];
for (const [what, body, message] of REFUSED) {
  test(`a PATCH with ${what} is refused`, (t) => t.deepEqual(messages(FULL, body), [message]));
}

test('warn_days may be up to 2147483647 for http, but at most 3650 for a domain', (t) => {
  t.deepEqual(patched(FULL, { warn_days: 2_147_483_647 }).settings.checkSpec.domain, { warnDays: 2_147_483_647 });
  t.deepEqual(patched(FULL, { check_spec: { domain: { warnDays: 3651 } } }).settings.checkSpec.domain, {
    warnDays: 3651,
  });
  const domain = created({ type: 'domain', target: 'example.com', warn_days: 3650 });
  t.deepEqual(messages(domain, { warn_days: 3651 }), [
    'warn_days must be a whole number from 1 to 3650 for domain monitors, got 3651',
  ]);
  t.deepEqual(messages(domain, { check_spec: { domain: { warnDays: 3651 } } }), [
    'check_spec.domain.warnDays must be a whole number from 1 to 3650 for domain monitors, got 3651',
  ]);
});

test('follow_redirects accepts any number, and is off only for 0 and false', (t) => {
  for (const [sent, followRedirects] of [
    [2, true],
    [1, true],
    [-1, true],
    [0.5, true],
    [0, false],
    [true, true],
    [false, false],
  ] as const) {
    t.is(patched(FULL, { follow_redirects: sent }).settings.followRedirects, followRedirects, String(sent));
  }
});

test("sending back the stored interval is accepted even below the plan's minimum", (t) => {
  const context = { ...CONTEXT, minIntervalSeconds: 60 };
  t.true(readMonitorPatch({ interval_seconds: 30, timeout_ms: 10_000 }, { current: FULL, context }).ok);
});

test("the monitor's own type is accepted", (t) => t.deepEqual(messages(FULL, { type: 'http' }), []));

test('preserveBody is refused if no secret body is stored', (t) => {
  t.deepEqual(messages(created({}), { check_spec: { request: { bodySecret: true, preserveBody: true } } }), [
    'check_spec.request.preserveBody has nothing to keep: no secret value is stored',
  ]);
});

test("an interval below the plan's minimum is refused if sent, but not if already stored", (t) => {
  const context = { ...CONTEXT, minIntervalSeconds: 60 };
  t.true(readMonitorPatch({ name: 'y' }, { current: FULL, context }).ok);
  t.false(readMonitorPatch({ interval_seconds: 45 }, { current: FULL, context }).ok);
});

test('an empty PATCH of every other type keeps the whole monitor', (t) => {
  const bodies = MONITOR_TYPES.filter((type) => type !== 'http').map((type) => ({
    type,
    ...(type === 'vendor' && { components: ['a'] }),
  }));
  for (const body of bodies) t.deepEqual(patched(created(body), {}), created(body));
});

test('a PATCH is idempotent: applying it twice gives the same monitor', (t) => {
  const patch = fc.record(
    {
      name: fc.string({ minLength: 1 }).filter((name) => name.trim() !== ''),
      interval_seconds: fc.integer({ min: 11, max: 86_400 }),
      sla_target: fc.constantFrom(null, 99, 100),
      sla: fc.constantFrom(null, { target: 99, timezone: 'utc', hours: '24/7', exclude_maintenance: false }),
      warn_days: fc.integer({ min: 0, max: 3650 }),
      agent_sources: fc.subarray(['agt_a', 'agt_b', 'agt_c', 'agt_mine']),
      check_spec: fc.record(
        {
          request: fc.record(
            { headers: fc.constant({ A: '1' }), preserveSecretHeaders: fc.boolean() },
            { requiredKeys: [] },
          ),
        },
        { requiredKeys: [] },
      ),
    },
    { requiredKeys: [] },
  );
  t.notThrows(() =>
    fc.assert(
      fc.property(patch, (body) => {
        const once = patched(FULL, body);
        t.deepEqual(patched(once, body), once);
      }),
    ),
  );
});

test('no secret appears in the settings or in any message', (t) => {
  const value = fc.constantFrom('s3cret', 's3cret:', 's3cret\0', '\ud800s3cret');
  const headers = fc.constantFrom<Record<string, string>>({ A: 's3cret' }, { A: 's3cret', a: 's3cret' });
  const request = fc.record(
    {
      secretHeaders: headers,
      auth: fc.record(
        { type: fc.constantFrom('bearer', 'basic'), token: value, username: value, password: value },
        { requiredKeys: ['type'] },
      ),
      body: value,
      bodySecret: fc.constant(true),
      preserveBody: fc.boolean(),
    },
    { requiredKeys: ['bodySecret'] },
  );
  t.notThrows(() =>
    fc.assert(
      fc.property(request, (sent) => {
        const read = readMonitorPatch({ check_spec: { request: sent } }, { current: FULL, context: CONTEXT });
        return !JSON.stringify(read.ok ? read.value.settings : read.problems).includes('s3cret');
      }),
    ),
  );
});
