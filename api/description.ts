import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { RequestHandler } from 'express';
import type { Role } from '../core/accounts/roles.ts';

/** The path below which the described operations are served. */
export const BASE_PATH = '/v1';

/** A JSON schema of the description, as far as messages speak of it. */
export type Schema = {
  $ref?: string;
  type?: string | string[];
  properties?: Record<string, Schema>;
  additionalProperties?: Schema | boolean;
  propertyNames?: Schema;
  items?: Schema;
  enum?: unknown[];
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  exclusiveMinimum?: number;
  maximum?: number;
  minItems?: number;
  maxItems?: number;
  maxProperties?: number;
  /** What to say of a value that does not match, where the keywords would not make a sentence. */
  'x-expects'?: string;
};

type Parameter = { $ref?: string; name?: string; in?: string; schema?: Schema };
export type Operation = {
  operationId: string;
  /** Empty = open to everybody. */
  security?: Record<string, unknown>[];
  /** For people alone, and not for tokens. */
  'x-caller'?: 'session';
  /** The least role that a person needs. */
  'x-role'?: Role;
  /** For operators of the installation alone. */
  'x-operator'?: true;
  /** A narrower scope that suffices in place of `read`. */
  'x-scope'?: 'wall';
  responses?: Record<string, unknown>;
  parameters?: Parameter[];
  requestBody?: { required?: boolean; content?: Record<string, { schema?: Schema }> };
};
type PathItem = { servers?: { url: string }[]; parameters?: Parameter[] } & Partial<Record<Method, Operation>>;

export const METHODS = ['get', 'post', 'patch', 'delete'] as const;
export type Method = (typeof METHODS)[number];

type Components = { schemas: Record<string, Schema>; parameters: Record<string, Parameter> } & Record<
  string,
  Record<string, unknown>
>;

/** Where an operation stands in the description. */
export type OperationKey = { path: string; method: Method };

/** The description as far as the server itself reads it. */
export type Description = {
  openapi: string;
  servers: { url: string }[];
  paths: Record<string, PathItem>;
  webhooks?: Record<string, unknown>;
  components: Components;
};

/** Names the file beside openapi.yaml that holds its JSON, by a hash of the YAML: other YAML does not find it. */
export function descriptionFile(yaml: string): string {
  return `openapi.generated-${createHash('sha256').update(yaml).digest('hex').slice(0, 16)}.json`;
}

let ownDescription: Promise<Description> | null = null;

/**
 * Reads the description of the API, once in a process, from the JSON that `prepare` made of the present openapi.yaml.
 * Without that JSON it parses the YAML itself, which takes a fifth of a second.
 */
export function readDescription(): Promise<Description> {
  ownDescription ??= readDescriptionFile();
  return ownDescription;
}

async function readDescriptionFile(): Promise<Description> {
  const yaml = await readFile(new URL('openapi.yaml', import.meta.url), 'utf8');
  const made = await readFile(new URL(descriptionFile(yaml), import.meta.url), 'utf8').catch(ignoreMissing);
  return JSON.parse(made ?? (await descriptionJson(yaml))) as Description;
}

/** For `catch` of a read: null where there is no such file. */
export function ignoreMissing(error: unknown): null {
  if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
  throw error;
}

/** The description as it is served: the addresses of its servers are those of this installation. */
export function publishDescription(description: Description, publicUrl: string): Description {
  const located = (servers: { url: string }[]) =>
    servers.map((server) => ({ ...server, url: `${publicUrl}${server.url === '/' ? '' : server.url}` }));
  const paths = Object.entries(description.paths).map(([path, item]) => [
    path,
    { ...item, ...(item.servers && { servers: located(item.servers) }) },
  ]);
  return { ...description, servers: located(description.servers), paths: Object.fromEntries(paths) };
}

/**
 * Extracts what the requests of an operation are validated against, with the parameters of its path. References are
 * replaced by what they refer to: following them, the validator would read the whole description for every operation.
 * It is a copy because the validator also rewrites it.
 */
export function requestPart(description: Description, { path, method }: OperationKey): Operation {
  const item = description.paths[path];
  const operation = item?.[method];
  if (operation === undefined) throw new Error(`${method} ${path} is not described`);
  const { operationId, parameters = [], requestBody } = operation;
  const part = { operationId, parameters: [...(item?.parameters ?? []), ...parameters], requestBody };
  return resolveReferences(description, part) as Operation;
}

/** Copies a value with all that it refers to, directly or by others; references must not go in a circle. */
function resolveReferences(description: Description, value: unknown): unknown {
  if (Array.isArray(value)) return value.map((item) => resolveReferences(description, item));
  if (typeof value !== 'object' || value === null) return value;
  const { $ref: reference, ...rest } = value as Record<string, unknown>;
  const beside = Object.fromEntries(
    Object.entries(rest).map(([name, inner]) => [name, resolveReferences(description, inner)]),
  );
  if (typeof reference !== 'string') return beside;
  const [, group = '', name = ''] = /^#\/components\/(\w+)\/(\w+)$/.exec(reference) ?? [];
  const referred = description.components[group]?.[name];
  if (referred === undefined) throw new Error(`nothing is described at ${reference}`);
  return { ...(resolveReferences(description, referred) as object), ...beside };
}

/** Resolves a schema that only refers to another one. What stands beside a reference is a description. */
export function resolveSchema(description: Description, schema: Schema | undefined): Schema | undefined {
  const name = schema?.$ref?.replace('#/components/schemas/', '');
  return name === undefined ? schema : resolveSchema(description, description.components.schemas[name]);
}

/** The schema of a query parameter of a list; undefined when it has none of that name. */
export function querySchema(description: Description, path: string, name: string): Schema | undefined {
  return parameterSchema(description, { path, method: 'get' }, { in: 'query', name });
}

/**
 * The schema of a parameter of an operation, headers by their names in lower case; undefined when it has none of it.
 */
export function parameterSchema(
  description: Description,
  { path, method }: OperationKey,
  wanted: { in: 'query' | 'header'; name: string },
): Schema | undefined {
  const item = description.paths[path];
  const parameters = [...(item?.parameters ?? []), ...(item?.[method]?.parameters ?? [])];
  const nameOf = (name = '') => (wanted.in === 'header' ? name.toLowerCase() : name);
  const resolved = parameters.map((parameter) =>
    parameter.$ref === undefined
      ? parameter
      : description.components.parameters[parameter.$ref.replace('#/components/parameters/', '')],
  );
  return resolveSchema(
    description,
    resolved.find((parameter) => parameter?.in === wanted.in && nameOf(parameter.name) === wanted.name)?.schema,
  );
}

/** The schema of an operation's JSON body; undefined when it takes none. */
export function bodySchema(description: Description, { path, method }: OperationKey): Schema | undefined {
  return resolveSchema(
    description,
    description.paths[path]?.[method]?.requestBody?.content?.['application/json']?.schema,
  );
}

/** False for an operation that takes no body, and for one whose body may be left out. */
export function isBodyRequired(description: Description, { path, method }: OperationKey): boolean {
  const body = description.paths[path]?.[method]?.requestBody;
  return body?.content?.['application/json'] !== undefined && body.required !== false;
}

/**
 * Converts the description of the API from YAML, which people write, to JSON. Programs read it at every start, and JSON
 * takes a hundredth of the time that parsing the YAML does. The parser is loaded only where it is needed.
 */
export async function descriptionJson(yaml: string): Promise<string> {
  const { CORE_SCHEMA, load, mergeTag } = await import('js-yaml');
  return `${JSON.stringify(load(yaml, { schema: CORE_SCHEMA.withTags(mergeTag) }), null, 1)}\n`;
}

/** `GET /openapi.json`: its bytes and their tag are made once, because they never change while the process runs. */
export function getDescriptionHandler(description: Description): RequestHandler {
  let made: { bytes: Buffer; tag: string } | undefined;
  return (_request, response) => {
    made ??= makeBytes(description);
    response.type('application/json').set('ETag', made.tag).send(made.bytes);
  };
}

function makeBytes(description: Description): { bytes: Buffer; tag: string } {
  const bytes = Buffer.from(JSON.stringify(description));
  return { bytes, tag: `"${createHash('sha256').update(bytes).digest('base64url')}"` };
}
