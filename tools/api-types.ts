type Group<T> = Readonly<Record<string, T>>;
type Schema = Described & {
  $ref?: string;
  type?: string | string[];
  const?: unknown;
  enum?: unknown[];
  properties?: Group<Schema>;
  required?: string[];
  additionalProperties?: boolean | Schema;
  items?: Schema;
  oneOf?: Schema[];
  anyOf?: Schema[];
  allOf?: Schema[];
};
type Described = { description?: string };
/** A parameter, a header, a body or a response. */
type Part = Described & {
  $ref?: string;
  name?: string;
  in?: string;
  required?: boolean;
  schema?: Schema;
  headers?: Group<Part>;
  content?: Group<Described & { schema?: Schema }>;
};
type Operation = Described & { operationId: string; parameters?: Part[]; requestBody?: Part; responses?: Group<Part> };
type Item = Described & { parameters?: Part[] } & { [method in (typeof METHODS)[number]]?: Operation };
type PartGroup = 'responses' | 'parameters' | 'requestBodies' | 'headers';

/** The parts of an API description that types are made from. */
export type ApiDescription = {
  paths: Group<Item>;
  webhooks?: Group<Item>;
  components?: { schemas?: Group<Schema> } & { [group in PartGroup]?: Group<Part> };
};

const METHODS = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace'] as const;
const PLACES = ['query', 'header', 'path', 'cookie'];
/** Schema keywords that become types, those that types cannot express (remarks and conditions), and limits. */
const TOLD = /^(\$ref|type|const|enum|properties|required|additionalProperties|items|oneOf|anyOf|allOf)$/;
const UNTOLD = /^(title|description|examples?|default|if|then|else|not|x-.+)$/;
const LIMITS = /^(format|pattern|propertyNames|exclusive(Min|Max)imum|(min|max)(imum|Length|Items|Properties))$/;

/**
 * Generates the types of an API in the shape that `openapi-fetch` uses. Throws on an unknown keyword, since types
 * without it would be wider than the description.
 */
export function apiTypes({ paths, webhooks = {}, components = {} }: ApiDescription): string {
  const { schemas = {}, responses = {}, parameters = {}, requestBodies = {}, headers = {} } = components;
  const resolve = (part: Part, group: Group<Part>): Part => ({ ...group[part.$ref?.split('/').at(-1) ?? ''], ...part });

  const parametersMember = (given: readonly Part[]) => {
    const resolved = given.map((part) => resolve(part, parameters));
    // An operation's own definition of a parameter overrides that of its path.
    const last = [...new Map(resolved.map((part) => [`${part.in} ${part.name}`, part])).values()];
    const places = PLACES.map((place) => {
      const parts = last.filter((part) => part.in === place);
      const isOptional = parts.every(({ required }) => required !== true);
      const held = parts.map((part) =>
        member(part.name ?? '', partType(part), { ...part, isOptional: part.required !== true }),
      );
      return member(place, held.length === 0 ? 'never' : braces(held), { isOptional });
    });
    return member('parameters', braces(places));
  };
  const operationMember = (operation: Operation, item: Item) => {
    const body = operation.requestBody;
    const isOptional = body === undefined || resolve(body, requestBodies).required !== true;
    const parts = [
      parametersMember([...(item.parameters ?? []), ...(operation.parameters ?? [])]),
      member('requestBody', body === undefined ? 'never' : bodyType(body), { isOptional }),
      member('responses', groupType(operation.responses ?? {}, responseType)),
    ];
    return member(operation.operationId, braces(parts));
  };
  const itemType = (item: Item) => {
    const methods = METHODS.map((method) => {
      const operation = item[method];
      if (operation === undefined) return member(method, 'never', { isOptional: true });
      return member(method, `operations[${JSON.stringify(operation.operationId)}]`, operation);
    });
    return braces([parametersMember(item.parameters ?? []), ...methods]);
  };
  const operations = [...Object.values(paths), ...Object.values(webhooks)].flatMap((item) =>
    METHODS.flatMap((method) => item[method] ?? []).map((operation) => operationMember(operation, item)),
  );
  const groups = [
    member('schemas', groupType(schemas, schemaType)),
    member('responses', groupType(responses, responseType)),
    member('parameters', groupType(parameters, partType)),
    member('requestBodies', groupType(requestBodies, bodyType)),
    member('headers', groupType(headers, partType)),
  ];
  return [
    `export type paths = ${groupType(paths, itemType)};`,
    `export type webhooks = ${groupType(webhooks, itemType)};`,
    `export type components = ${braces(groups)};`,
    `export type operations = ${braces(operations)};\n`,
  ].join('\n\n');
}

function responseType({ $ref, headers = {}, content }: Part): string {
  if ($ref !== undefined) return referenceType($ref);
  // Type generators treat a referenced header as always sent.
  const sent = Object.entries(headers).map(([name, part]) =>
    member(name, partType(part), { ...part, isOptional: part.$ref === undefined && part.required !== true }),
  );
  return braces([member('headers', braces([...sent, '[name: string]: unknown;'])), contentMember(content)]);
}

function bodyType({ $ref, content }: Part): string {
  return $ref === undefined ? braces([contentMember(content)]) : referenceType($ref);
}

function contentMember(content: Part['content']): string {
  return content === undefined
    ? member('content', 'never', { isOptional: true })
    : member('content', groupType(content, partType));
}

function partType({ $ref, schema = {} }: Part): string {
  return $ref === undefined ? schemaType(schema) : referenceType($ref);
}

function schemaType(schema: Schema): string {
  const { $ref, oneOf, anyOf, allOf = [] } = schema;
  const unknown = Object.keys(schema).find((keyword) => ![TOLD, UNTOLD, LIMITS].some((known) => known.test(keyword)));
  if (unknown !== undefined) refuse(unknown);
  const parts = [
    $ref === undefined ? ownType(schema) : referenceType($ref),
    ...[oneOf, anyOf].map((choices) => choices?.map(schemaType).join(' | ') ?? 'unknown'),
    ...allOf.map(schemaType),
  ].filter((part) => part !== 'unknown');
  return parts.length > 1 ? parts.map((part) => `(${part})`).join(' & ') : (parts[0] ?? 'unknown');
}

/** Returns the type of a schema without references: its values, or the kinds of its values. */
function ownType(schema: Schema): string {
  const values = schema.const === undefined ? schema.enum : [schema.const];
  if (values !== undefined) return values.map((value) => JSON.stringify(value)).join(' | ');
  const absent = schema.required?.find((name) => schema.properties?.[name] === undefined);
  if (absent !== undefined) refuse(`required ${absent}, which is no property beside it`);
  const kinds = [schema.type ?? (schema.properties === undefined ? [] : 'object')].flat();
  return kinds.map((kind) => kindType(kind, schema)).join(' | ') || 'unknown';
}

function kindType(kind: string, { properties, required = [], additionalProperties, items = {} }: Schema): string {
  if (kind === 'integer') return 'number';
  if (kind === 'array') return `(${schemaType(items)})[]`;
  if (kind !== 'object') return ['string', 'number', 'boolean', 'null'].includes(kind) ? kind : refuse(`type ${kind}`);
  const other = typeof additionalProperties === 'object' ? schemaType(additionalProperties) : 'unknown';
  const others = `Record<string, ${other}>`;
  if (properties === undefined) return others;
  const known = Object.entries(properties).map(([name, value]) =>
    member(name, schemaType(value), { ...value, isOptional: !required.includes(name) }),
  );
  return additionalProperties ? `(${braces(known)} & ${others})` : braces(known);
}

function referenceType(reference: string): string {
  const [, ...names] = reference.split('/').slice(1);
  return `components${names.map((name) => `[${JSON.stringify(name)}]`).join('')}`;
}

/** Returns the members of a group by name, each with its description. */
function groupType<T extends Described>(group: Group<T>, toType: (value: T) => string): string {
  return braces(Object.entries(group).map(([name, value]) => member(name, toType(value), value)));
}

/** Returns one member of a type. A status stays a number, because `openapi-fetch` looks it up as such. */
function member(name: string, type: string, how: Described & { isOptional?: boolean } = {}): string {
  const key = /^([A-Za-z_$][\w$]*|[1-9]\d*)$/.test(name) ? name : JSON.stringify(name);
  const comment = how.description === undefined ? '' : `/** ${how.description.trim().replaceAll('*/', '*\\/')} */\n`;
  return `${comment}${key}${how.isOptional === true ? '?' : ''}: ${type};`;
}

function braces(members: readonly string[]): string {
  return members.length === 0 ? '{}' : `{\n${members.join('\n').replaceAll(/^(?=.)/gm, '  ')}\n}`;
}

function refuse(what: string): never {
  throw new Error(`tools/api-types.ts has no type for ${what}`);
}
