import test from 'ava';
import * as fc from 'fast-check';
import { readJsonPath, type JsonPath } from '../../../../core/checks/http/json-path.ts';
import { findJsonSource } from '../../../../core/checks/http/json-source.ts';

const DOCUMENT =
  ' { "a" : [ 1 , {"b]": "x\\"}" , "c": 1e21 }, [] , -0 ],"n":9007199254740993, "n" : 2.0e0 ,"\\u0061b": "\\\\", ' +
  '"": {"t": true} } \n';

const CASES: readonly [path: JsonPath, source: string | null][] = [
  [[], DOCUMENT.trim()],
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
  test(`at ${JSON.stringify(path)} stands ${source}`, (t) => t.is(findJsonSource(DOCUMENT, path), source));
}

/** Every path of a value, its own one first. */
function pathsOf(value: unknown, path: JsonPath = []): JsonPath[] {
  if (typeof value !== 'object' || value === null) return [path];
  const steps = Array.isArray(value) ? value.map((_, index) => index) : Object.keys(value);
  return [
    path,
    ...steps.flatMap((step) => pathsOf((value as Record<string | number, unknown>)[step], [...path, step])),
  ];
}

test('of any document each value is found as it was written', (t) => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 4 }), fc.constantFrom(undefined, 2, '\t'), (value, indent) => {
      const document = JSON.stringify(value, null, indent);
      for (const path of pathsOf(JSON.parse(document)))
        t.deepEqual(JSON.parse(findJsonSource(document, path) ?? ''), readJsonPath(JSON.parse(document), path));
    }),
  );
});
