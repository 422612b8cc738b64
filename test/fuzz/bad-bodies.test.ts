import anyTest, { type TestFn } from 'ava';
import * as fc from 'fast-check';
import { withApiServer, type ApiServer } from '../api/api-server.ts';
import { anyCharacter } from '../helpers/any-character.ts';

const test = anyTest as TestFn<{ api: ApiServer }>;
withApiServer(test);

const BODIES = 300;

/** Far more than one token may send in a minute, so the bodies are divided among several. */
const BODIES_PER_TOKEN = 100;

const SEED = 20_261;

/**
 * Values that break parsers, databases and schemas: wrong types, bounds, NUL, lone surrogates, prototypes, and long or
 * deep values.
 */
const nasty = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    true,
    -1,
    0,
    1.5,
    1e308,
    -0,
    2 ** 53,
    '',
    ' ',
    '\0',
    'a\0b',
    '\ud800',
    'x'.repeat(300),
    'x'.repeat(9000),
    [],
    [[]],
    {},
    { __proto__: null },
    [null],
    [''],
    ['\0'],
    { '': 1 },
    { constructor: 1 },
    { toString: {} },
    "'; DROP TABLE monitors; --",
    '%00',
    '99999999999999999999',
    'NaN',
    '(?=x)',
    '$[',
    'http://',
    'javascript:1',
  ),
  fc.jsonValue(),
  fc.string({ unit: anyCharacter }),
);

/** A field that no resource has: it makes any body invalid. */
const UNKNOWN = { no_such_field: 1 };

const MONITOR_FIELDS = [
  'name',
  'type',
  'target',
  'interval_seconds',
  'timeout_ms',
  'method',
  'expected_status',
  'body_match',
  'follow_redirects',
  'down_after_failures',
  'up_after_successes',
  'down_min_sources',
  'sla_target',
  'reopen_seconds',
  'monthly_drill',
  'sla',
  'tags',
  'grace_seconds',
  'agent_sources',
  'check_spec',
  'warn_days',
  'components',
  'dependencies',
  'depends_on',
  'id',
  'status',
  'enabled',
  'created_at',
];
const CHANNEL_FIELDS = [
  'type',
  'name',
  'url',
  'enabled',
  'all_monitors',
  'monitor_ids',
  'monitor_tags',
  'id',
  'status',
];
const CHECK_SPEC_FIELDS = [
  'request',
  'assertions',
  'transport',
  'domain',
  'ping',
  'heartbeat',
  'dns',
  'vendor',
  'dependencies',
];
const REQUEST_FIELDS = [
  'headers',
  'secretHeaders',
  'preserveSecretHeaders',
  'secretHeaderNames',
  'auth',
  'body',
  'bodySecret',
  'preserveBody',
  'contentType',
  'traceparent',
];

function objectOf(fields: readonly string[], value: fc.Arbitrary<unknown>): fc.Arbitrary<Record<string, unknown>> {
  return fc.dictionary(fc.constantFrom(...fields), value, { minKeys: 1, maxKeys: 4 });
}

const checkSpec = fc.oneof(
  objectOf(CHECK_SPEC_FIELDS, nasty),
  fc.record({ request: objectOf(REQUEST_FIELDS, nasty) }),
  fc.record({ assertions: fc.array(objectOf(['source', 'op', 'value', 'path', 'name'], nasty), { minLength: 1 }) }),
);
const badMonitor = fc
  .tuple(objectOf(MONITOR_FIELDS, nasty), checkSpec, fc.boolean())
  .map(([fields, spec, isDeep]): object => ({ ...fields, ...(isDeep && { check_spec: spec }), ...UNKNOWN }));
const badChannel = objectOf(CHANNEL_FIELDS, nasty).map((fields): object => ({ ...fields, ...UNKNOWN }));
const noObject = fc.oneof(fc.constantFrom<unknown>(null, 1, 'x', true, []), fc.array(fc.jsonValue()));

const badReplay = objectOf(['since', 'until'], nasty).map((fields): object => ({ ...fields, ...UNKNOWN }));

/** Texts that are not JSON, or hide their type. */
const rawTexts = fc.constantFrom(
  '{',
  '{"name":}',
  '[1,',
  '{"name":"x"',
  '\0',
  `${'['.repeat(50_000)}`,
  `{"name":${'['.repeat(20_000)}${']'.repeat(20_000)}}`,
  '{"__proto__":{"name":"x"}}',
  '{"constructor":{"prototype":{}}}',
);

const ENDPOINTS: { method: string; path: string; bodies: fc.Arbitrary<unknown> }[] = [
  {
    method: 'POST',
    path: '/v1/monitors',
    bodies: fc.oneof(
      { weight: 20, arbitrary: badMonitor },
      { weight: 2, arbitrary: noObject },
      { weight: 2, arbitrary: rawTexts },
    ),
  },
  {
    method: 'PATCH',
    path: '/v1/monitors/:monitor',
    bodies: fc.oneof(
      { weight: 20, arbitrary: badMonitor },
      { weight: 2, arbitrary: noObject },
      { weight: 2, arbitrary: rawTexts },
    ),
  },
  {
    method: 'POST',
    path: '/v1/channels',
    bodies: fc.oneof(
      { weight: 20, arbitrary: badChannel },
      { weight: 2, arbitrary: noObject },
      { weight: 2, arbitrary: rawTexts },
    ),
  },
  {
    method: 'PATCH',
    path: '/v1/channels/:channel',
    bodies: fc.oneof(
      { weight: 20, arbitrary: badChannel },
      { weight: 2, arbitrary: noObject },
      { weight: 2, arbitrary: rawTexts },
    ),
  },
  {
    method: 'POST',
    path: '/v1/channels/:channel/replay',
    bodies: fc.oneof(
      { weight: 20, arbitrary: badReplay },
      { weight: 2, arbitrary: noObject },
      { weight: 2, arbitrary: rawTexts },
    ),
  },
];

for (const { method, path, bodies } of ENDPOINTS) {
  test(`${BODIES} bad bodies to ${method} ${path} are all refused with a reason, and change nothing`, async (t) => {
    const { api } = t.context;
    for (let start = 0; start < BODIES; start += BODIES_PER_TOKEN) {
      const { owner } = await api.account();
      const monitor = (await owner('POST', '/v1/monitors', { name: 'untouched', target: 'https://shop.example' })).json[
        'id'
      ];
      const channel = (await owner('POST', '/v1/channels', { name: 'untouched', monitor_ids: [monitor] })).json['id'];
      const state = async () =>
        [
          await owner('GET', `/v1/monitors/${monitor}`),
          await owner('GET', '/v1/monitors'),
          await owner('GET', `/v1/channels/${channel}`),
          await owner('GET', '/v1/channels'),
        ].map(({ json }) => json);
      const before = await state();
      for (const body of fc.sample(bodies, { seed: SEED + start, numRuns: BODIES_PER_TOKEN })) {
        const answer = await owner(method, path.replace(':monitor', monitor).replace(':channel', channel), body);
        t.is(answer.status, 400, `${JSON.stringify(body)?.slice(0, 300)} → ${answer.status} ${answer.text}`);
        t.regex(String(answer.json['error']), /\b(?:must|is|does|requires|applies|cannot|has)\b/);
        t.deepEqual(Object.keys(answer.json), ['error', 'request_id']);
      }
      t.deepEqual(await state(), before);
    }
  });
}

test('any nasty value in any monitor field is accepted, or rejected with a 400 that names the field', async (t) => {
  const { api } = t.context;
  const values = fc.sample(nasty, { seed: SEED, numRuns: 12 });
  for (const field of [
    ...MONITOR_FIELDS,
    ...CHECK_SPEC_FIELDS.map((key) => `check_spec.${key}`),
    ...REQUEST_FIELDS.map((key) => `check_spec.request.${key}`),
  ]) {
    const { owner } = await api.account();
    for (const value of values) {
      const body = field.split('.').reduceRight<unknown>((inner, key) => ({ [key]: inner }), value) as object;
      const answer = await owner('POST', '/v1/monitors', { name: 'x', ...body });
      const isNamed = answer.status === 400 && String(answer.json['error']).includes(field.split('.').at(-1) ?? '');
      t.true(
        answer.status === 201 || isNamed,
        `${JSON.stringify(body).slice(0, 300)} → ${answer.status} ${answer.text}`,
      );
    }
  }
});

test('any nasty value in any channel field is accepted, or rejected with a 400 that names the field', async (t) => {
  const { api } = t.context;
  for (const field of CHANNEL_FIELDS) {
    const { owner } = await api.account();
    for (const value of fc.sample(nasty, { seed: SEED, numRuns: 40 })) {
      const answer = await owner('POST', '/v1/channels', { [field]: value });
      const isNamed = answer.status === 400 && String(answer.json['error']).includes(field);
      t.true(
        answer.status === 201 || isNamed,
        `${field} ${JSON.stringify(value).slice(0, 300)} → ${answer.status} ${answer.text}`,
      );
    }
  }
});
