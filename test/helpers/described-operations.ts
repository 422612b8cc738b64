/** A JSON schema in the description, with only the keywords that limit requests. */
export type DescribedSchema = {
  $ref?: string;
  type?: string | string[];
  enum?: unknown[];
  const?: unknown;
  pattern?: string;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  exclusiveMinimum?: number;
  maximum?: number;
  minItems?: number;
  maxItems?: number;
  required?: string[];
  properties?: Record<string, DescribedSchema>;
  additionalProperties?: DescribedSchema | boolean;
  propertyNames?: DescribedSchema;
  items?: DescribedSchema;
  oneOf?: DescribedSchema[];
  anyOf?: DescribedSchema[];
  /** Kind of the resource that the id belongs to. */
  'x-id'?: string;
};

export type DescribedParameter = {
  name: string;
  in: 'path' | 'query' | 'header';
  required: boolean;
  schema: DescribedSchema;
};

/** One operation of the description. */
export type DescribedOperation = {
  id: string;
  method: string;
  /** Path from the root of the installation, with ids in braces. */
  path: string;
  /** Kind of token that the operation requires, `session` for users; null = it is open. */
  token: 'api' | 'agent' | 'session' | null;
  parameters: DescribedParameter[];
  /** Null if the operation takes none; `example` is the first in the description. */
  body: { schema: DescribedSchema; isRequired: boolean; example: unknown } | null;
  /** Statuses that the response may have. */
  statuses: string[];
};

type Referring = { $ref?: string };
type Operation = {
  operationId: string;
  security?: Record<string, unknown>[];
  parameters?: (Referring & DescribedParameter)[];
  requestBody?: Referring & {
    required?: boolean;
    content: Record<string, { schema: DescribedSchema; examples?: Record<string, { value: unknown }> }>;
  };
  responses: Record<string, unknown>;
};
type PathItem = { servers?: { url: string }[]; parameters?: (Referring & DescribedParameter)[] } & Record<
  string,
  Operation
>;

/** An OpenAPI document, as served or as read from its file. */
export type Document = {
  servers: { url: string }[];
  security: Record<string, unknown>[];
  paths: Record<string, PathItem>;
  components: Record<string, Record<string, unknown>>;
};

const METHODS = ['get', 'post', 'put', 'patch', 'delete'];

/** Returns every operation of a document, in its order. */
export function listOperations(document: Document): DescribedOperation[] {
  return Object.entries(document.paths).flatMap(([path, item]) =>
    METHODS.flatMap((method) => {
      const operation = item[method];
      return operation === undefined ? [] : [operationOf(document, { path, item, method, operation })];
    }),
  );
}

/** Resolves a reference in the document; returns other values unchanged. Fields beside a reference are kept. */
export function resolveIn<T extends Referring>(document: Document, value: T): T {
  if (value.$ref === undefined) return value;
  const found = value.$ref
    .split('/')
    .slice(1)
    .reduce<unknown>((inner, name) => (inner as Record<string, unknown>)[name], document);
  const { $ref: _, ...beside } = value;
  return { ...resolveIn(document, found as T), ...beside } as T;
}

function operationOf(
  document: Document,
  { path, item, method, operation }: { path: string; item: PathItem; method: string; operation: Operation },
): DescribedOperation {
  const base = new URL((item.servers ?? document.servers)[0]?.url ?? '/', 'http://localhost').pathname.replace(
    /\/$/,
    '',
  );
  const [security] = operation.security ?? document.security;
  const parameters = [...(item.parameters ?? []), ...(operation.parameters ?? [])].map((parameter) =>
    resolveIn(document, parameter),
  );
  const requestBody = operation.requestBody && resolveIn(document, operation.requestBody);
  const content = requestBody?.content['application/json'];
  return {
    id: operation.operationId,
    method: method.toUpperCase(),
    path: `${base}${path}`,
    token:
      security === undefined ? null : 'agentToken' in security ? 'agent' : 'session' in security ? 'session' : 'api',
    parameters: parameters.map((parameter) => ({
      name: parameter.name,
      in: parameter.in,
      required: parameter.required ?? false,
      schema: resolveIn(document, parameter.schema),
    })),
    body:
      content === undefined
        ? null
        : {
            schema: resolveIn(document, content.schema),
            isRequired: requestBody?.required ?? false,
            example: exampleOf(document, content.examples),
          },
    statuses: Object.keys(operation.responses),
  };
}

function exampleOf(document: Document, examples: Record<string, Referring & { value?: unknown }> = {}): unknown {
  const [first] = Object.values(examples);
  return first === undefined ? undefined : resolveIn(document, first).value;
}
