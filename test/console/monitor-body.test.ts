import test from 'ava';
import * as fc from 'fast-check';
import { presentMonitorDetail } from '../../api/monitors/presenter.ts';
import { createBody, patchBody } from '../../console/pages/monitor-form/body.ts';
import {
  draftOf,
  emptyDraft,
  removeHeader,
  type Draft,
  type HeaderDraft,
} from '../../console/pages/monitor-form/draft.ts';
import { withFollowing, type Surroundings } from '../../console/pages/monitor-form/problems.ts';
import type { MonitorDraft } from '../../core/monitors/input/complete.ts';
import type { MonitorBody } from '../../core/monitors/input/fields.ts';
import { readMonitorCreate, readMonitorPatch } from '../../core/monitors/input/read.ts';
import { MONITOR_TYPES, type MonitorType } from '../../core/monitors/monitor.ts';
import { CONTEXT } from '../core/monitors/input/context.ts';

const SURROUNDINGS: Surroundings = {
  minInterval: CONTEXT.minIntervalSeconds,
  sharedLocations: CONTEXT.sharedAgentIds.length,
};

function create(body: MonitorBody & { name: string }): MonitorDraft {
  const read = readMonitorCreate(body, CONTEXT);
  if (!read.ok) throw new Error(read.problems.map(({ message }) => message).join('; '));
  return read.value;
}

function patch(current: MonitorDraft, body: MonitorBody): MonitorDraft {
  const read = readMonitorPatch(body, { current, context: CONTEXT });
  if (!read.ok) throw new Error(read.problems.map(({ message }) => message).join('; '));
  return read.value;
}

/** Returns the form's draft of a stored monitor, read through JSON. */
function opened({ settings, agentSources }: MonitorDraft): Draft {
  const monitor = {
    ...settings,
    no: 1,
    id: 'mon_1',
    tenantId: 'ten_1',
    enabled: true,
    state: 'up',
    stateSinceMs: 0,
    checksVersion: 1,
    createdAt: 0,
    updatedAt: 0,
  } as const;
  const read = presentMonitorDetail(
    monitor,
    { agentIds: agentSources, unable: [], parents: [], maintenance: undefined },
    { canWrite: true },
  );
  return withFollowing(draftOf(JSON.parse(JSON.stringify(read))), SURROUNDINGS);
}

/** Opens a stored monitor in the form, changes the draft and saves it. */
function edited(stored: MonitorDraft, change: (draft: Draft) => Draft): MonitorDraft {
  const original = opened(stored);
  return patch(
    stored,
    JSON.parse(JSON.stringify(patchBody(change(original), { original, surroundings: SURROUNDINGS }))),
  );
}

const words = fc.string({
  minLength: 1,
  maxLength: 8,
  unit: fc.constantFrom('a', 'B', '7', ' ', '"', '\\', 'é', '😀', '\n'),
});
const headerName = fc.stringMatching(/^[a-z][a-z-]{0,6}$/);
const headers = (prefix: string) =>
  fc.dictionary(
    headerName.map((name) => prefix + name),
    fc.string({ maxLength: 8, unit: fc.constantFrom('a', '0', ' ', ';', 'é') }),
    { minKeys: 1, maxKeys: 3 },
  );
const optional = <T extends Record<string, fc.Arbitrary<unknown>>>(parts: T) => fc.record(parts, { requiredKeys: [] });

const secretOrNot = (value: string, secret: string) =>
  fc.oneof(
    fc.constant({}),
    words.map((text) => ({ [value]: text })),
    words.map((text) => ({ [value]: text, [secret]: true })),
  );
const request = fc
  .tuple(
    optional({
      headers: headers('p-'),
      secretHeaders: headers('s-'),
      auth: fc.constantFrom({ type: 'bearer', token: 't0ken' }, { type: 'basic', username: 'ann', password: '' }),
      contentType: fc.constant('text/plain'),
      traceparent: fc.constant(true),
    }),
    secretOrNot('body', 'bodySecret'),
  )
  .map(([rest, body]) => ({ ...rest, ...body }));
const assertion = fc.oneof(
  fc.record({
    source: fc.constant('text_body'),
    op: fc.constantFrom('contains', 'not_contains', 'matches'),
    value: fc.constantFrom('ok', '', 'a b'),
  }),
  fc.record({
    source: fc.constant('json_body'),
    op: fc.constantFrom('exists', 'equals', 'gt'),
    path: fc.constantFrom('$.a', '$.items[0].id'),
    value: fc.constantFrom('1', ''),
  }),
  fc.record({
    source: fc.constant('header'),
    op: fc.constantFrom('exists', 'equals', 'lt'),
    name: fc.constant('x-age'),
    value: fc.constantFrom('1', ''),
  }),
  fc.record({
    source: fc.constantFrom('response_time', 'cert_expiry'),
    op: fc.constantFrom('lt', 'gt'),
    value: fc.constantFrom('14', '0.5'),
  }),
);
const transport = fc
  .tuple(
    optional({ expect: fc.constantFrom('ab', '00ff', 'c3BC'), expectMode: fc.constantFrom('contains', 'regex') }),
    fc.oneof(
      secretOrNot('payload', 'payloadSecret').map((part) =>
        Object.fromEntries(
          Object.entries(part).map(([key, value]) => [
            key,
            typeof value === 'string' ? value.replaceAll('\\', '') : value,
          ]),
        ),
      ),
      fc.constantFrom(
        { payload: '00ff', payloadEncoding: 'hex' },
        { payload: 'a\\r\\n', payloadEncoding: 'utf8', payloadSecret: true },
      ),
    ),
  )
  .map(([rest, payload]) => ({ ...rest, ...payload }));
const record = fc.oneof(
  fc.record({ type: fc.constantFrom('A', 'MX', 'TXT'), mode: fc.constantFrom('exists', 'absent') }),
  fc.record({
    type: fc.constant('A'),
    mode: fc.constantFrom('equals', 'contains', 'any'),
    expected: fc.constantFrom(['192.0.2.1'], ['192.0.2.1', '192.0.2.2']),
  }),
  fc.record({
    type: fc.constant('TXT'),
    mode: fc.constant('any'),
    expected: fc.array(
      words.filter((text) => text.trim() !== ''),
      { minLength: 1, maxLength: 3 },
    ),
  }),
);

const agentChecked = {
  agent_sources: fc.constantFrom([], ['agt_a'], ['agt_mine', 'agt_a'], ['agt_c', 'agt_b', 'agt_a']),
  down_min_sources: fc.constantFrom(1, null),
};
const BY_TYPE: Record<MonitorType, fc.Arbitrary<Record<string, unknown>>> = {
  http: optional({
    ...agentChecked,
    target: fc.constant('https://example.com/'),
    method: fc.constantFrom('get', 'POST'),
    expected_status: fc.constantFrom('200', '2xx,301'),
    body_match: words,
    follow_redirects: fc.boolean(),
    warn_days: fc.nat(40),
    check_spec: optional({ request, assertions: fc.array(assertion, { minLength: 1, maxLength: 3 }) }),
  }),
  tcp: optional({ ...agentChecked, target: fc.constant('example.com:25'), check_spec: optional({ transport }) }),
  udp: optional({ ...agentChecked, target: fc.constant('example.com:53'), check_spec: optional({ transport }) }),
  icmp: optional({
    ...agentChecked,
    target: fc.constant('example.com'),
    check_spec: optional({
      ping: optional({
        count: fc.integer({ min: 1, max: 10 }),
        lossDegradedPct: fc.nat(100),
        rttDegradedMs: fc.integer({ min: 1, max: 900 }),
      }),
    }),
  }),
  domain: optional({ target: fc.constant('example.com'), warn_days: fc.integer({ min: 1, max: 90 }) }),
  heartbeat: optional({
    grace_seconds: fc.constantFrom(0, 60, 90, 720),
    check_spec: optional({
      heartbeat: optional({
        failEnabled: fc.boolean(),
        maxDurationSeconds: fc.integer({ min: 1, max: 999 }),
        schedule: fc.constantFrom(
          { cron: '0 2 * * MON-FRI', timezone: 'Europe/Berlin', early_seconds: 300 },
          { cron: '@hourly' },
        ),
      }),
    }),
  }),
  dns: optional({
    target: fc.constant('example.com'),
    check_spec: optional({
      dns: optional({ records: fc.array(record, { minLength: 1, maxLength: 3 }), crossCheck: fc.boolean() }),
    }),
  }),
  vendor: optional({ target: fc.constant('github'), components: fc.constantFrom([], ['Actions', 'Git Operations']) }),
};
const common = {
  interval_seconds: fc.constantFrom(10, 60, 90, 3600),
  down_after_failures: fc.integer({ min: 1, max: 5 }),
  up_after_successes: fc.integer({ min: 1, max: 5 }),
  sla_target: fc.constantFrom(99.95, 100, null),
  reopen_seconds: fc.constantFrom(0, 300, 86_400),
  monthly_drill: fc.boolean(),
  sla: fc.constantFrom(
    null,
    { target: 99.5, timezone: 'America/New_York', hours: 'Mo-Fr 08:00-20:00; Sa 09:00-13:00' },
    { target: 100, timezone: 'UTC', hours: '24/7', exclude_maintenance: false },
  ),
};

/** Heartbeats are excluded, because they send no requests: the service reduces their timeout as needed. */
const timeout = { timeout_ms: fc.constantFrom(1, 5000, 9999) };

/** Generates any monitor that the API can hold. */
const anyMonitor = fc
  .constantFrom(...MONITOR_TYPES)
  .chain((type) =>
    fc
      .tuple(
        optional({ ...common, ...(type !== 'heartbeat' && timeout) }),
        BY_TYPE[type],
        type === 'vendor' ? fc.constant({}) : optional({ dependencies: fc.constantFrom([], ['mon_vendor']) }),
      )
      .map((parts) => Object.assign({ name: 'Shop', type }, ...parts) as MonitorBody & { name: string }),
  );

/** Removes empty objects, which are equivalent to absent ones. */
function bare(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const filled = Object.entries(value).map(([key, inner]) => [key, bare(inner)] as const);
  return Object.fromEntries(
    filled.filter(
      ([, inner]) =>
        typeof inner !== 'object' || inner === null || Array.isArray(inner) || Object.keys(inner).length > 0,
    ),
  );
}

test('opening and saving any monitor changes nothing, including its secrets', (t) => {
  fc.assert(
    fc.property(anyMonitor, (body) => {
      const stored = create(body);
      t.deepEqual(bare(edited(stored, (draft) => draft)), bare(stored));
    }),
    { numRuns: 300 },
  );
});

test('an edit changes only the edited fields and defaults that follow the interval', (t) => {
  fc.assert(
    fc.property(anyMonitor, (body) => {
      const stored = create(body);
      const after = edited(stored, (draft) => ({
        ...draft,
        name: ' Till ',
        slaTarget: '98.5',
        interval: '20000',
        assertions: draft.assertions.toReversed(),
      }));
      const assertions = stored.settings.checkSpec.assertions?.toReversed();
      const expected = {
        ...stored.settings,
        name: 'Till',
        slaTarget: 98.5,
        intervalSeconds: 20_000,
        checkSpec: { ...stored.settings.checkSpec, ...(assertions && { assertions }) },
      };
      // Timeout and grace follow the interval unless set.
      const { timeoutMs, heartbeatGraceSeconds, ...rest } = after.settings;
      t.deepEqual(
        bare({ ...after, settings: { ...rest, timeoutMs: 0, heartbeatGraceSeconds: 0 } }),
        bare({ ...stored, settings: { ...expected, timeoutMs: 0, heartbeatGraceSeconds: 0 } }),
      );
      t.true([stored.settings.timeoutMs, 10_000].includes(timeoutMs));
      t.true([stored.settings.heartbeatGraceSeconds, 4000].includes(heartbeatGraceSeconds));
    }),
    { numRuns: 150 },
  );
});

test('a monitor created from the form of a stored one equals it, unless it has secrets or is a heartbeat', (t) => {
  fc.assert(
    fc.property(anyMonitor, (body) => {
      const stored = create(body);
      if (Object.keys(stored.secrets).length > 0 || stored.settings.type === 'heartbeat') return;
      t.deepEqual(bare(create(createBody(opened(stored)))), bare(stored));
    }),
    { numRuns: 150 },
  );
});

for (const type of MONITOR_TYPES) {
  test(`an empty ${type} draft sends only its type and name`, (t) => {
    t.deepEqual(createBody({ ...emptyDraft(type), name: ' Shop ' }), { type, name: 'Shop' });
  });
}

test('a save without changes sends only fields that would otherwise be lost', (t) => {
  const http = create({
    name: 'x',
    target: 'https://example.com',
    interval_seconds: 30,
    check_spec: { request: { headers: { a: '1' }, secretHeaders: { b: '2' } } },
  });
  const body = (stored: MonitorDraft) =>
    patchBody(opened(stored), { original: opened(stored), surroundings: SURROUNDINGS });
  t.deepEqual(body(http), { check_spec: { request: { headers: { a: '1' }, preserveSecretHeaders: true } } });
  t.deepEqual(body(create({ name: 'x', type: 'vendor', target: 'github', components: ['Actions'] })), {});
  t.deepEqual(
    body(
      create({
        name: 'x',
        type: 'tcp',
        target: 'a.example:1',
        down_min_sources: 3,
        check_spec: { transport: { payload: 'x', payloadSecret: true } },
      }),
    ),
    { down_min_sources: 3 },
  );
});

test('emptied fields return to the defaults of the service', (t) => {
  const stored = create({
    name: 'x',
    target: 'https://example.com',
    interval_seconds: 30,
    timeout_ms: 1000,
    method: 'PUT',
    expected_status: '418',
    body_match: 'a',
    sla_target: 99,
    sla: { target: 99, timezone: 'UTC', hours: '24/7' },
    down_min_sources: 3,
    down_after_failures: 5,
    warn_days: 3,
    dependencies: ['mon_vendor'],
    follow_redirects: false,
  });
  const empty = edited(stored, (draft) => ({
    ...emptyDraft('http'),
    name: draft.name,
    target: draft.target,
    sources: draft.sources,
  }));
  t.deepEqual(bare(empty), bare(create({ name: 'x', target: 'https://example.com' })));
  const ping = create({ name: 'x', type: 'icmp', check_spec: { ping: { count: 3 } } });
  t.deepEqual(
    edited(ping, (draft) => ({ ...draft, ping: { count: '', lossDegradedPct: '', rttDegradedMs: '' } })).settings
      .checkSpec,
    { ping: {} },
  );
});

test('secrets are replaced or removed when requested, and kept otherwise', (t) => {
  const stored = create({
    name: 'x',
    check_spec: {
      request: {
        secretHeaders: { 'X-Key': 'old', 'X-Other': 'other' },
        auth: { type: 'bearer', token: 'old' },
        body: 'old',
        bodySecret: true,
      },
    },
  });
  const change = (draft: Draft, parts: Partial<Draft['request']>): Draft => ({
    ...draft,
    request: { ...draft.request, ...parts },
  });
  const replaced = edited(stored, (draft) =>
    change(draft, {
      headers: draft.request.headers.map((header) =>
        header.name === 'X-Key' ? { ...header, kind: 'secret', value: 'new' } : header,
      ),
      auth: { ...draft.request.auth, isKept: false, token: 'new' },
      body: { kind: 'secret', text: 'new' },
    }),
  );
  t.deepEqual(replaced.secrets, {
    secretHeaders: { 'X-Key': 'new', 'X-Other': 'other' },
    auth: { token: 'new' },
    body: 'new',
  });
  const plain = edited(stored, (draft) =>
    change(draft, { headers: [], auth: { ...draft.request.auth, type: '' }, body: { kind: 'plain', text: 'seen' } }),
  );
  t.deepEqual(plain.secrets, {});
  t.deepEqual(plain.settings.checkSpec, { request: { body: 'seen' } });
});

test('a secret header is removed without the rest, and stays in the form marked as removed until saved', (t) => {
  const kept = (name: string): HeaderDraft => ({ name, value: '', kind: 'kept', isStored: true });
  const plain: HeaderDraft = { name: 'a', value: '1', kind: 'plain', isStored: false };
  t.deepEqual(removeHeader([plain, kept('b'), kept('c')], 1), [plain, { ...kept('b'), kind: 'removed' }, kept('c')]);
  t.deepEqual(removeHeader([plain, kept('b')], 0), [kept('b')]);

  const current = create({
    name: 'x',
    target: 'https://a.example',
    check_spec: { request: { secretHeaders: { 'X-One': '1', 'X-Two': '2', 'X-Three': '3' } } },
  });
  const original = opened(current);
  const change = (changed: (all: readonly HeaderDraft[]) => readonly HeaderDraft[]) => {
    const draft = { ...original, request: { ...original.request, headers: changed(original.request.headers) } };
    return patch(current, patchBody(draft, { original, surroundings: SURROUNDINGS })).secrets;
  };
  const without = (name: string) => (all: readonly HeaderDraft[]) =>
    removeHeader(
      all,
      all.findIndex((header) => header.name === name),
    );
  t.deepEqual(change(without('X-Two')), { secretHeaders: { 'X-One': '1', 'X-Three': '3' } });
  t.deepEqual(
    change((all) => [...without('X-Two')(all), { name: 'x-two', value: 'new', kind: 'secret', isStored: false }]),
    { secretHeaders: { 'X-One': '1', 'X-Three': '3', 'x-two': 'new' } },
  );
  t.deepEqual(
    change((all) => without('X-One')(without('X-Two')(without('X-Three')(all)))),
    {},
  );
});

test('an invalid number is sent as typed, for the service to reject', (t) => {
  const body: object = createBody({ ...emptyDraft('http'), name: 'x', interval: 'often' });
  t.like(body, { interval_seconds: 'often' });
});
