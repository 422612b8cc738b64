import {
  resolveIn,
  type DescribedOperation,
  type DescribedSchema,
  type Document,
} from '../helpers/described-operations.ts';

/** Where in a request a value stands: a parameter's name, or the way through the body, 0 being any item of a list. */
export type RequestField = {
  operation: DescribedOperation;
  in: 'path' | 'query' | 'body';
  way: (string | number)[];
  schema: DescribedSchema;
};

/** What one request is sent as. */
export type BuiltRequest = { method: string; path: string; body: unknown };

/** Every field of an operation's request that takes a text: those of ids have `x-id` in their schema. */
export function listTextFields(document: Document, operation: DescribedOperation): RequestField[] {
  const parameters = operation.parameters.flatMap(({ name, in: where, schema }): RequestField[] =>
    where === 'header' ? [] : [{ operation, in: where, way: [name], schema }],
  );
  const body =
    operation.body === null
      ? []
      : listLeaves(document, operation.body.schema).map(({ way, schema }): RequestField => ({
          operation,
          in: 'body',
          way,
          schema,
        }));
  return [...parameters, ...body].filter(
    ({ schema }) => [schema.type ?? []].flat().includes('string') && schema.enum === undefined,
  );
}

/**
 * The request of an operation with a value at one field. Ids in the path that it is not about come from `idOf`, the
 * rest of the body is the description's example.
 */
export function buildRequest(
  { operation, in: where, way }: Pick<RequestField, 'operation' | 'in' | 'way'>,
  value: string,
  idOf: (kind: string) => string,
): BuiltRequest {
  const path = operation.parameters.reduce(
    (filled, { name, in: inPath, schema }) =>
      inPath === 'path'
        ? filled.replace(
            `{${name}}`,
            encodeURIComponent(where === 'path' && way[0] === name ? value : idOf(schema['x-id'] ?? name)),
          )
        : filled,
    operation.path,
  );
  const example = operation.body === null ? undefined : freshen(structuredClone(operation.body.example));
  return {
    method: operation.method,
    path: where === 'query' ? `${path}?${String(way[0])}=${encodeURIComponent(value)}` : path,
    body: where === 'body' ? setField(example, way, value) : example,
  };
}

/** Texts at the ends of a body; lists and maps stand for one entry each. */
function listLeaves(
  document: Document,
  schema: DescribedSchema,
  way: (string | number)[] = [],
): { way: (string | number)[]; schema: DescribedSchema }[] {
  const { properties = {}, items, additionalProperties } = schema;
  const inner = [
    ...Object.entries(properties).map(([name, value]) => ({ step: name, value })),
    ...(items === undefined ? [] : [{ step: 0, value: items }]),
    ...(typeof additionalProperties === 'object' ? [{ step: 'X-Any', value: additionalProperties }] : []),
  ];
  if (inner.length === 0) return [{ way, schema }];
  return inner.flatMap(({ step, value }) => listLeaves(document, resolveIn(document, value), [...way, step]));
}

/** What an item needs beside the field that is set. */
const BESIDE: Readonly<Record<string, object>> = { depends_on: { mode: 'hold' } };

function setField(into: unknown, [step, ...rest]: readonly (string | number)[], value: string): unknown {
  if (step === undefined) return value;
  if (typeof step === 'number') return [setField(Array.isArray(into) ? into[0] : undefined, rest, value)];
  const fields = (typeof into === 'object' && into !== null ? into : {}) as Record<string, unknown>;
  const beside = rest[0] === 0 && rest.length > 1 ? BESIDE[step] : undefined;
  return { ...fields, [step]: setField(beside === undefined ? fields[step] : [beside], rest, value) };
}

/**
 * Results of an example are of now: old ones are dropped before their agent is looked up. What lasts until a moment
 * lasts for an hour.
 */
function freshen(example: unknown): unknown {
  if (typeof example !== 'object' || example === null) return example;
  if ('results' in example && Array.isArray(example.results))
    return {
      ...example,
      results: example.results.map((result: object) => ({ ...result, ts: Math.floor(Date.now() / 1000) })),
    };
  if ('until' in example && !('since' in example)) return { ...example, until: Math.floor(Date.now() / 1000) + 3600 };
  return example;
}
