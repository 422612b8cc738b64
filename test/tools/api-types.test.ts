import test from 'ava';
import { apiTypes } from '../../tools/api-types.ts';

const onOneLine = (text: string): string => text.replaceAll(/\s+/g, ' ').trim();

/** Returns the generated type of the only schema. */
function typeOf(schema: object): string | undefined {
  const types = onOneLine(apiTypes({ paths: {}, components: { schemas: { It: schema } } }));
  return /schemas: \{ It: (.*); \}; responses: /.exec(types)?.[1];
}

const TYPES: readonly [schema: object, type: string][] = [
  [{ type: 'integer', minimum: 1, maximum: 9 }, 'number'],
  [{ type: ['string', 'null'], maxLength: 9 }, 'string | null'],
  [{ type: ['string', 'null'], enum: ['a', null] }, '"a" | null'],
  [{ enum: [0, 1, true] }, '0 | 1 | true'],
  [{ const: 'a "b"' }, '"a \\"b\\""'],
  [{ type: 'array', items: { type: ['string', 'null'] } }, '(string | null)[]'],
  [{ type: ['array', 'null'], items: {} }, '(unknown)[] | null'],
  [{ type: 'object' }, 'Record<string, unknown>'],
  [{ type: 'object', additionalProperties: { type: 'number' } }, 'Record<string, number>'],
  [
    {
      type: ['object', 'null'],
      required: ['a'],
      additionalProperties: false,
      properties: { a: { type: 'string' }, 'b-c': { type: 'null', default: null } },
    },
    '{ a: string; "b-c"?: null; } | null',
  ],
  [
    { type: 'object', properties: { a: { type: 'string' } }, additionalProperties: true },
    '({ a?: string; } & Record<string, unknown>)',
  ],
  [{ oneOf: [{ $ref: '#/components/schemas/Other' }, { type: 'null' }] }, 'components["schemas"]["Other"] | null'],
  [
    { type: 'object', properties: { a: {} }, allOf: [{ if: {}, else: {} }, { anyOf: [{ const: 1 }, { const: 2 }] }] },
    '({ a?: unknown; }) & (1 | 2)',
  ],
];
for (const [schema, type] of TYPES) {
  test(`${JSON.stringify(schema)} is ${type}`, (t) => {
    t.is(typeOf(schema), type);
  });
}

for (const schema of [
  { prefixItems: [{ type: 'string' }] },
  { type: 'object', patternProperties: {} },
  { type: 'file' },
  { type: 'object', required: ['a'], properties: {} },
  { type: 'array', items: { discriminator: {} } },
]) {
  test(`${JSON.stringify(schema)} is refused rather than given a wider type`, (t) => {
    t.throws(() => typeOf(schema), { message: /^tools\/api-types\.ts has no type for / });
  });
}

test('paths, operations and shared components have the shape that openapi-fetch expects', (t) => {
  const types = apiTypes({
    paths: {
      '/things/{id}': {
        parameters: [{ $ref: '#/components/parameters/Id' }, { name: 'q', in: 'query', schema: { type: 'string' } }],
        post: {
          operationId: 'makeThing',
          description: 'Makes */ one.',
          parameters: [{ name: 'q', in: 'query', required: true, schema: { type: 'integer' } }],
          requestBody: { $ref: '#/components/requestBodies/Thing' },
          responses: {
            200: { headers: { Link: { schema: { type: 'string' } } }, content: { 'text/plain': {} } },
            404: { $ref: '#/components/responses/Missing' },
          },
        },
      },
    },
    components: {
      parameters: { Id: { name: 'id', in: 'path', required: true, schema: { type: 'string' } } },
      requestBodies: { Thing: { required: true, content: { 'application/json': { schema: { type: 'boolean' } } } } },
      responses: { Missing: {} },
    },
  });
  const [paths = '', , components = '', operations = ''] = types.split('\n\n').map(onOneLine);
  t.is(
    paths,
    'export type paths = { "/things/{id}": { parameters: { query?: { q?: string; }; header?: never; path: { id: ' +
      'components["parameters"]["Id"]; }; cookie?: never; }; get?: never; put?: never; /** Makes *\\/ one. */ post: ' +
      'operations["makeThing"]; delete?: never; options?: never; head?: never; patch?: never; trace?: never; }; };',
  );
  t.is(
    components,
    'export type components = { schemas: {}; responses: { Missing: { headers: { [name: string]: unknown; }; ' +
      'content?: never; }; }; parameters: { Id: string; }; requestBodies: { Thing: { content: { "application/json": ' +
      'boolean; }; }; }; headers: {}; };',
  );
  t.is(
    operations,
    'export type operations = { makeThing: { parameters: { query: { q: number; }; header?: never; path: { id: ' +
      'components["parameters"]["Id"]; }; cookie?: never; }; requestBody: components["requestBodies"]["Thing"]; ' +
      'responses: { 200: { headers: { Link?: string; [name: string]: unknown; }; content: { "text/plain": unknown; ' +
      '}; }; 404: components["responses"]["Missing"]; }; }; };',
  );
});
