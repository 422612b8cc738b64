/** The parts of a JSON schema that are shown. */
export type Schema = {
  $ref?: string;
  type?: string | readonly string[];
  description?: string;
  properties?: Readonly<Record<string, Schema>>;
  required?: readonly string[];
  additionalProperties?: Schema | boolean;
  items?: Schema;
  enum?: readonly unknown[];
  const?: unknown;
  oneOf?: readonly Schema[];
  anyOf?: readonly Schema[];
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  exclusiveMinimum?: number;
  maximum?: number;
  minItems?: number;
  maxItems?: number;
  pattern?: string;
  'x-extension'?: boolean;
};

export type Example = { $ref?: string; summary?: string; value?: unknown };
export type Content = Readonly<Record<string, { schema?: Schema; examples?: Readonly<Record<string, Example>> }>>;
export type Parameter = {
  $ref?: string;
  name: string;
  in: string;
  required?: boolean;
  description?: string;
  schema?: Schema & { 'x-id'?: string };
};
export type Answer = { $ref?: string; description: string; content?: Content };
export type Body = { $ref?: string; required?: boolean; description?: string; content: Content };

type RawOperation = {
  operationId: string;
  summary: string;
  description?: string;
  tags: readonly string[];
  parameters?: readonly Parameter[];
  requestBody?: Body;
  responses: Readonly<Record<string, Answer>>;
  security?: readonly Readonly<Record<string, unknown>>[];
  'x-extension'?: boolean;
  'x-caller'?: string;
  'x-role'?: string;
  'x-operator'?: boolean;
};
type Item = { servers?: readonly { url: string }[]; parameters?: readonly Parameter[] } & Readonly<
  Record<Method, RawOperation | undefined>
>;

const METHODS = ['get', 'head', 'post', 'patch', 'delete'] as const;
export type Method = (typeof METHODS)[number];

/** The parts of `/openapi.json` that are shown. */
export type Description = {
  info: { title: string; version: string; description: string };
  servers: readonly { url: string }[];
  tags: readonly { name: string; description: string }[];
  paths: Readonly<Record<string, Item>>;
  webhooks?: Readonly<Record<string, Item>>;
  components: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
};

/** An operation, or an event that webhooks receive (`server` null), with the parameters of its path. */
export type Operation = Omit<RawOperation, 'parameters'> & {
  method: Method;
  path: string;
  server: string | null;
  parameters: readonly Parameter[];
};

/** Lists all operations and events by tag, in the order of the tags; empty tags are left out. */
export function listOperations(
  description: Description,
): { name: string; description: string; operations: Operation[] }[] {
  const [server] = description.servers;
  const all = [
    ...Object.entries(description.paths).flatMap(([path, item]) =>
      operationsOf(description, { path, item, server: item.servers?.[0]?.url ?? server?.url ?? '' }),
    ),
    ...Object.entries(description.webhooks ?? {}).flatMap(([path, item]) =>
      operationsOf(description, { path, item, server: null }),
    ),
  ];
  return description.tags
    .map((tag) => ({ ...tag, operations: all.filter(({ tags }) => tags.includes(tag.name)) }))
    .filter(({ operations }) => operations.length > 0);
}

function operationsOf(
  description: Description,
  { path, item, server }: { path: string; item: Item; server: string | null },
): Operation[] {
  return METHODS.flatMap((method) => {
    const { [method]: raw } = item;
    if (raw === undefined) return [];
    const parameters = [...(item.parameters ?? []), ...(raw.parameters ?? [])].map((parameter) =>
      follow(description, parameter),
    );
    return [{ ...raw, method, path, server, parameters }];
  });
}

/** Resolves a `$ref`; properties beside the reference take precedence. */
export function follow<T extends { $ref?: string }>(description: Description, thing: T): T {
  const { $ref: reference, ...own } = thing;
  if (reference === undefined) return thing;
  const [, , group = '', name = ''] = reference.split('/');
  // The description is checked at build time: every reference resolves to the same kind.
  return follow(description, { ...(description.components[group]?.[name] as T), ...own });
}

/** Whether an operation contains the searched text. */
export function isFound(
  { path, summary, operationId, description = '', parameters }: Operation,
  words: readonly string[],
): boolean {
  const text =
    `${path} ${summary} ${operationId} ${description} ${parameters.map(({ name }) => name).join(' ')}`.toLowerCase();
  return words.every((word) => text.includes(word));
}
