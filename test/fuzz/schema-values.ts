import * as fc from 'fast-check';
import { anyCharacter } from '../helpers/any-character.ts';
import { resolveIn, type DescribedSchema, type Document } from '../helpers/described-operations.ts';

/** Placeholder for the id of an account's resource, until the sending account is chosen. */
export const ID_MARK = /@@(\w+):(\d+)@@/g;

const anyText = fc.string({ maxLength: 12, unit: anyCharacter });

/**
 * Values that break parsers, databases and schemas: wrong types, bounds, NUL, lone surrogates, prototypes, and long or
 * deep values.
 */
export const nasty: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    true,
    -1,
    0,
    1.5,
    1e308,
    2 ** 53,
    2 ** 31,
    '',
    ' ',
    '\0',
    'a\0b',
    '\ud800',
    '\u202e',
    'x'.repeat(300),
    [],
    [[]],
    {},
    [null],
    ['\0'],
    { '': 1 },
    { constructor: 1 },
    { toString: {} },
    "'; DROP TABLE monitors; --",
    '%00',
    '%s%n',
    '99999999999999999999',
    'NaN',
    '(?=x)',
    '(a+)+$',
    '$[',
    'http://',
    'javascript:1',
    '-1',
    '1e3',
    '0x10',
    '../..',
    '=1+1',
  ),
  fc.jsonValue({ maxDepth: 2 }),
  anyText,
);

/** Meaningful values by field name: a schema alone allows any text. */
const MEANT: Readonly<Record<string, readonly unknown[]>> = {
  cron: ['0 2 * * *', '*/15 * * * *', '@daily', '* * 30 2 *', '0 0 29 2 +MON', '59 23 LW * *'],
  target: [
    'https://shop.example/health',
    'http://a.example:8080/?q=%20#x',
    'a.example:53',
    '[::1]:25',
    '192.0.2.1',
    'example.com',
    'dns://192.0.2.53/example.com',
    'github',
    'ec2:us-east-1',
    'xn--bcher-kva.example',
    '',
  ],
  method: ['get', 'POST', 'oPtIoNs'],
  email: ['@@email:0@@', '@@email:0@@', 'nobody@example.org'],
  password: ['@@password:0@@', '@@password:0@@', '@@password:0@@', 'not the password'],
  current: ['@@password:0@@', '@@password:0@@', 'not the password'],
  new: ['@@password:1@@'],
  return_to: ['/', '/monitors?tag=a', '//other.example'],
  // The first is the current code of the app, the others are recovery codes; each works once.
  code: ['@@code:0@@', '@@code:0@@', '@@code:0@@', '@@code:1@@', '@@code:2@@', '@@code:3@@', '@@code:4@@', '123456'],
  expected_status: ['200', '2xx,301', ' 2XX , 404 ,'],
  url: ['https://hooks.example/in', 'https://hooks.example:8443/a?b=c', 'http://plain.example'],
  components: [[], ['Actions'], ['ec2:us-east-1']],
  records: [[], [{ type: 'A', mode: 'exists' }], [{ type: 'MX', mode: 'contains', expected: ['10 mail.example.com'] }]],
  assertions: [
    [],
    [{ source: 'text_body', op: 'matches', value: '^a+$' }],
    [
      { source: 'json_body', op: 'gt', path: "$.items[0]['n']", value: '1' },
      { source: 'header', op: 'exists', name: 'ETag' },
    ],
    [{ source: 'response_time', op: 'lt', value: '500' }],
  ],
  auth: [{ type: 'bearer', token: 'abc' }, { type: 'basic', username: 'a', password: 'b' }, { type: 'basic' }],
  publicKey: [Buffer.alloc(32, 9).toString('base64'), Buffer.alloc(32).toString('base64')],
  capabilities: [['http', 'cert', 'tcp', 'icmp', 'udp'], ['http'], []],
  ts: [
    Math.floor(Date.now() / 1000),
    Date.now() / 1000,
    Math.floor(Date.now() / 1000) - 200_000,
    Math.floor(Date.now() / 1000) + 300,
  ],
  since: [0, Math.floor(Date.now() / 1000) - 7200],
  until: [Math.floor(Date.now() / 1000) + 86_400, Math.floor(Date.now() / 1000) - 60, 0],
  // These two are exceptions: here `id` is no id but, like the text `token`, the link of the newest invitation.
  id: ['@@link:0@@'],
  token: ['@@link:0@@', 'nobody-knows'],
  tag: ['prod', 'env:prod'],
  hours: ['Mo-Fr 08:00-20:00', 'Sa 22:00-02:00; Su 1:00-2:00,3:00-4:00', '24/7', 'always'],
  timezone: ['Europe/Berlin', 'UTC', 'Australia/Lord_Howe', 'browser', '+01:00'],
  text: ['a note', 'zwei\nZeilen'],
  // The one region that requests may retire, so that others are left for checks.
  region: ['virginia', 'virginia', 'nowhere'],
  move_to: ['frankfurt', null],
  exit_status: [0, 1, 255, 256],
};

/**
 * Generates values that a schema of the description allows, or nearly: the server must refuse those that break rules
 * outside its keywords.
 */
export function valuesOf(document: Document, given: DescribedSchema, name = ''): fc.Arbitrary<unknown> {
  const schema = resolveIn(document, given);
  const meant = MEANT[name];
  if (schema['x-id'] !== undefined) return idOf(schema['x-id']);
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  if (schema.const !== undefined) return fc.constant(schema.const);
  if (meant !== undefined) return fc.constantFrom(...meant);
  const types = [schema.type ?? 'string'].flat();
  return fc.oneof(...types.map((type) => (OF_TYPE[type] ?? OF_TYPE['string'])?.(document, schema) ?? nasty));
}

/** Generates mostly ids of the account's resources, and sometimes unknown or malformed ones. */
export function idOf(kind: string): fc.Arbitrary<string> {
  return fc.oneof(
    { weight: 12, arbitrary: fc.nat(40).map((index) => `@@${kind}:${index}@@`) },
    {
      weight: 2,
      arbitrary: fc.constantFrom('mon_00000000000000000000000000', '-', 'agt_service', '@@agent:0@@', '@@monitor:0@@'),
    },
    { weight: 1, arbitrary: anyText },
  );
}

type Maker = (document: Document, schema: DescribedSchema) => fc.Arbitrary<unknown>;

const OF_TYPE: Readonly<Record<string, Maker>> = {
  null: () => fc.constant(null),
  boolean: () => fc.boolean(),
  integer: (_, { minimum = -5, maximum = 1_000_000 }) =>
    fc.oneof(fc.constantFrom(minimum, maximum, Math.min(60, maximum)), fc.integer({ min: minimum, max: maximum })),
  number: (_, { exclusiveMinimum = -5, maximum = 1000 }) =>
    fc.oneof(fc.constant(maximum), fc.double({ min: exclusiveMinimum, max: maximum, minExcluded: true, noNaN: true })),
  string: (_, { minLength = 0, maxLength = 40 }) =>
    fc.oneof(
      fc.constantFrom('shop', 'Größe & <b>', 'a b'),
      fc.string({ minLength, maxLength: Math.min(maxLength, 40) }),
    ),
  array: (document, { items = {}, maxItems = 3 }) =>
    fc.array(valuesOf(document, items), { maxLength: Math.min(maxItems, 3) }),
  object: (document, { properties = {}, required = [], additionalProperties }) => {
    const names = Object.keys(properties);
    if (names.length === 0)
      return typeof additionalProperties === 'object'
        ? fc.dictionary(fc.constantFrom('X-A', 'X-B', 'Host'), valuesOf(document, additionalProperties), { maxKeys: 2 })
        : fc.constant({});
    const values = new Map(names.map((name) => [name, valuesOf(document, properties[name] ?? {}, name)]));
    const optional = names.filter((name) => !required.includes(name));
    return fc
      .subarray(optional, { maxLength: Math.min(4, optional.length) })
      .chain((chosen) =>
        fc.record(Object.fromEntries([...required, ...chosen].map((name) => [name, values.get(name) ?? nasty]))),
      );
  },
};

/** Damages a valid body once: replaces a field or an item with a nasty value, removes it, or adds one. */
export function breakBody(
  body: unknown,
  { at, how, value }: { at: number; how: 'replace' | 'remove' | 'add'; value: unknown },
): unknown {
  if (typeof body !== 'object' || body === null) return value;
  const entries = Object.entries(body);
  const [key, inner] = entries[at % Math.max(1, entries.length)] ?? ['x', undefined];
  if (how === 'add') return Array.isArray(body) ? [...body, value] : { ...body, [`x${at % 3}`]: value };
  if (how === 'remove')
    return Array.isArray(body) ? body.slice(1) : Object.fromEntries(entries.filter(([name]) => name !== key));
  const replaced =
    typeof inner === 'object' && inner !== null && at % 2 === 1
      ? breakBody(inner, { at: Math.floor(at / 7), how, value })
      : value;
  return Array.isArray(body)
    ? body.map((item, index) => (String(index) === key ? replaced : item))
    : { ...body, [key]: replaced };
}
