import {
  resolveIn,
  type DescribedOperation,
  type DescribedSchema,
  type Document,
} from '../helpers/described-operations.ts';

/**
 * Position of a value in a request: a parameter's name, or the path through the body, where 0 is any item of a list.
 */
export type RequestField = {
  operation: DescribedOperation;
  in: 'path' | 'query' | 'body';
  way: (string | number)[];
  schema: DescribedSchema;
};

/** Method, path and body of a request. */
export type BuiltRequest = { method: string; path: string; body: unknown };

/** Returns every text field in an operation's request; id fields have `x-id` in their schema. */
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
 * Builds the request of an operation with a value in one field. `idOf` supplies the other ids in the path, and the
 * description's example the rest of the body.
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

/** Returns the text fields in a body; lists and maps count as one entry each. */
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

/** Fields that an item requires besides the tested one. */
const BESIDE: Readonly<Record<string, object>> = { depends_on: { mode: 'hold' } };

function setField(into: unknown, [step, ...rest]: readonly (string | number)[], value: string): unknown {
  if (step === undefined) return value;
  if (typeof step === 'number') return [setField(Array.isArray(into) ? into[0] : undefined, rest, value)];
  const fields = (typeof into === 'object' && into !== null ? into : {}) as Record<string, unknown>;
  const beside = rest[0] === 0 && rest.length > 1 ? BESIDE[step] : undefined;
  return { ...fields, [step]: setField(beside === undefined ? fields[step] : [beside], rest, value) };
}

/**
 * Updates the times of an example. Results become current, because old ones are discarded before their agent is looked
 * up; `until` becomes an hour from now.
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
