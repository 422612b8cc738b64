import test from 'ava';
import * as fc from 'fast-check';
import {
  findJsonSource,
  jsonValueText,
  parseJsonPath,
  readJsonPath,
  type JsonPath,
} from '../../../../core/checks/http/json-path.ts';

const DOCUMENT = {
  status: 'ok',
  count: 3,
  none: null,
  off: false,
  list: [{ name: 'first' }, [10, 20]],
  'a b': { "it's": 1, 'say "hi"': 2, 'back\\slash': 3, '': 4, 'x.y': 5, ']': 6 },
  $ref: '#/x',
  'kebab-case': 'k',
  größe: 'm',
  '0': 'zero key',
};

const FOUND: Record<string, string> = {
  '$.status': 'ok',
  '$.count': '3',
  '$.none': 'null',
  '$.off': 'false',
  '$.list[0].name': 'first',
  '$.list[1][1]': '20',
  '$.list': '[{"name":"first"},[10,20]]',
  "$['status']": 'ok',
  '$["status"]': 'ok',
  "$['a b']['it\\'s']": '1',
  '$["a b"]["it\'s"]': '1',
  '$["a b"]["say \\"hi\\""]': '2',
  "$['a b']['back\\\\slash']": '3',
  "$['a b']['']": '4',
  "$['a b']['x.y']": '5',
  "$['a b'][']']": '6',
  '$.$ref': '#/x',
  '$.kebab-case': 'k',
  '$.größe': 'm',
  '$.0': 'zero key',
};

for (const [path, text] of Object.entries(FOUND)) {
  test(`${path} finds ${text}`, (t) => {
    const parsed = parseJsonPath(path);
    t.is(parsed.ok ? jsonValueText(readJsonPath(DOCUMENT, parsed.value)) : parsed.message, text);
  });
}

const MISSING = [
  '$.nothing',
  '$.status.length',
  '$.list.length',
  '$.list[2]',
  '$.list.0',
  '$[0]',
  '$.none.x',
  '$.constructor',
  '$.__proto__',
  '$.toString',
  '$.status[0]',
  '$.count.toFixed',
  '$.off.x',
];

for (const path of MISSING) {
  test(`${path} finds nothing`, (t) => {
    const parsed = parseJsonPath(path);
    t.true(parsed.ok);
    t.is(parsed.ok ? readJsonPath(DOCUMENT, parsed.value) : null, undefined);
  });
}

const REFUSED = [
  '',
  'status',
  '.status',
  ' $',
  '$.',
  '$..status',
  '$status',
  '$.a.',
  '$.a..b',
  '$[]',
  '$[01]',
  '$[-1]',
  '$[1.5]',
  '$[a]',
  '$[0',
  "$['a]",
  "$['a'",
  '$["a\']',
  "$['a\\n']",
  '$.*',
  '$[*]',
  '$.a b',
  '$.a ',
  '$[0:2]',
  "$['a','b']",
  '$[?(@.a)]',
  '$ .a',
  '$[9007199254740993000]',
  "$.a'b",
];

for (const path of REFUSED) {
  test(`the path "${path}" is refused with a message that names the field`, (t) => {
    const parsed = parseJsonPath(path);
    t.regex(parsed.ok ? '' : parsed.message, /^path must /);
  });
}

test('the root path is the whole document', (t) => {
  const parsed = parseJsonPath('$');
  t.true(parsed.ok && readJsonPath(DOCUMENT, parsed.value) === DOCUMENT);
});

test('a key named __proto__ is found if the document has it', (t) => {
  const parsed = parseJsonPath('$.__proto__.a');
  t.is(parsed.ok && readJsonPath(JSON.parse('{"__proto__":{"a":1}}'), parsed.value), 1);
});

function quoted(key: string, quote: string): string {
  return `[${quote}${key.replaceAll(/['"\\]/g, String.raw`\$&`)}${quote}]`;
}

const pathStep = fc.oneof(
  fc.nat({ max: 1_000_000 }).map((index) => ({ key: index, text: `[${index}]` })),
  fc
    .string({ unit: 'grapheme' })
    .chain((key) => fc.constantFrom("'", '"').map((quote) => ({ key, text: quoted(key, quote) }))),
  fc.stringMatching(/^[A-Za-z_$@#:-][\w-]{0,5}$/).map((key) => ({ key, text: `.${key}` })),
);

test('any path in the grammar is parsed into the same steps', (t) => {
  fc.assert(
    fc.property(fc.array(pathStep, { maxLength: 6 }), (steps) => {
      const parsed = parseJsonPath(`$${steps.map(({ text }) => text).join('')}`);
      return parsed.ok && JSON.stringify(parsed.value) === JSON.stringify(steps.map(({ key }) => key));
    }),
  );
  t.pass();
});

test('a path to any value inside any document finds that value', (t) => {
  fc.assert(
    fc.property(fc.jsonValue(), (document) => {
      const json: unknown = JSON.parse(JSON.stringify(document));
      return listPaths(json, '$').every(({ path, value }) => {
        const parsed = parseJsonPath(path);
        return parsed.ok && readJsonPath(json, parsed.value) === value;
      });
    }),
  );
  t.pass();
});

test('any text is either parsed or refused, and never throws', (t) => {
  fc.assert(
    fc.property(
      fc.string({ unit: fc.constantFrom('$', '.', '[', ']', "'", '"', '\\', 'a', '0', '1', ' ', '*') }),
      (text) => {
        const parsed = parseJsonPath(`$${text}`);
        return parsed.ok || parsed.message.startsWith('path must ');
      },
    ),
  );
  t.pass();
});

function listPaths(value: unknown, path: string): { path: string; value: unknown }[] {
  const here = { path, value };
  if (typeof value !== 'object' || value === null) return [here];
  const inner = Array.isArray(value)
    ? value.flatMap((item, index) => listPaths(item, `${path}[${index}]`))
    : Object.entries(value).flatMap(([key, item]) => listPaths(item, path + quoted(key, '"')));
  return [here, ...inner];
}

const SOURCE =
  ' { "a" : [ 1 , {"b]": "x\\"}" , "c": 1e21 }, [] , -0 ],"n":9007199254740993, "n" : 2.0e0 ,"\\u0061b": "\\\\", ' +
  '"": {"t": true} } \n';

const CASES: readonly [path: JsonPath, source: string | null][] = [
  [[], SOURCE.trim()],
  [['a', 0], '1'],
  [['a', 1, 'b]'], '"x\\"}"'],
  [['a', 1, 'c'], '1e21'],
  [['a', 2], '[]'],
  [['a', 2, 0], null],
  [['a', 3], '-0'],
  [['a', 4], null],
  [['n'], '2.0e0'],
  [['ab'], '"\\\\"'],
  [['', 't'], 'true'],
  [['x'], null],
  [[0], null],
  [['a', 'b'], null],
  [['a', 0, 'b'], null],
];
for (const [path, source] of CASES) {
  test(`the source at ${JSON.stringify(path)} is ${source}`, (t) => t.is(findJsonSource(SOURCE, path), source));
}

/** Returns the paths of all values within a value, the root first. */
function pathsOf(value: unknown, path: JsonPath = []): JsonPath[] {
  if (typeof value !== 'object' || value === null) return [path];
  const steps = Array.isArray(value) ? value.map((_, index) => index) : Object.keys(value);
  return [
    path,
    ...steps.flatMap((step) => pathsOf((value as Record<string | number, unknown>)[step], [...path, step])),
  ];
}

test('the source found for any value in any document parses to that value', (t) => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 4 }), fc.constantFrom(undefined, 2, '\t'), (value, indent) => {
      const document = JSON.stringify(value, null, indent);
      for (const path of pathsOf(JSON.parse(document)))
        t.deepEqual(JSON.parse(findJsonSource(document, path) ?? ''), readJsonPath(JSON.parse(document), path));
    }),
  );
});
