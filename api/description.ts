import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { RequestHandler } from 'express';
import type { Role } from '../core/accounts/roles.ts';

/** Base path of the described operations. */
export const BASE_PATH = '/v1';

/** A JSON schema of the description, with the keywords that messages use. */
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
  /** Expectation for messages about invalid values, if the keywords would not make a sentence. */
  'x-expects'?: string;
};

type Parameter = { $ref?: string; name?: string; in?: string; schema?: Schema };
export type Operation = {
  operationId: string;
  /** Empty = public. */
  security?: Record<string, unknown>[];
  /** Requires a person's session; API tokens are refused. */
  'x-caller'?: 'session';
  /** Minimum role of a person. */
  'x-role'?: Role;
  /** Restricted to operators of the installation. */
  'x-operator'?: true;
  /** A narrower scope that suffices in place of `read`. */
  'x-scope'?: 'wall';
  responses?: Record<string, unknown>;
  parameters?: Parameter[];
  requestBody?: { required?: boolean; content?: Record<string, { schema?: Schema }> };
};
type PathItem = { servers?: { url: string }[]; parameters?: Parameter[] } & Partial<Record<Method, Operation>>;

export const METHODS = ['get', 'post', 'patch', 'delete'] as const;
type Method = (typeof METHODS)[number];

type Components = { schemas: Record<string, Schema>; parameters: Record<string, Parameter> } & Record<
  string,
  Record<string, unknown>
>;

/** Path and method of an operation in the description. */
export type OperationKey = { path: string; method: Method };

/** The parts of the description that the server itself reads. */
export type Description = {
  openapi: string;
  servers: { url: string }[];
  paths: Record<string, PathItem>;
  webhooks?: Record<string, unknown>;
  components: Components;
};

/**
 * Returns the name of the JSON file beside openapi.yaml; it contains a hash of the YAML, so that other YAML does not
 * match.
 */
export function descriptionFile(yaml: string): string {
  return `openapi.generated-${createHash('sha256').update(yaml).digest('hex').slice(0, 16)}.json`;
}

let ownDescription: Promise<Description> | null = null;

/**
 * Reads the description of the API, once per process, from the JSON that `prepare` made of this openapi.yaml. Without
 * that JSON it parses the YAML, which takes a fifth of a second.
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

/** Returns null for the error of a missing file, and throws any other: for `catch` of a read. */
export function ignoreMissing(error: unknown): null {
  if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
  throw error;
}

/** Returns the description to publish, with the server URLs of this installation. */
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
 * Returns the part of an operation that its requests are validated against, with the parameters of its path. References
 * are resolved: if the validator followed them, it would read the whole description for every operation. The part is a
 * copy because the validator also modifies it.
 */
export function requestPart(description: Description, { path, method }: OperationKey): Operation {
  const item = description.paths[path];
  const operation = item?.[method];
  if (operation === undefined) throw new Error(`${method} ${path} is not described`);
  const { operationId, parameters = [], requestBody } = operation;
  const part = { operationId, parameters: [...(item?.parameters ?? []), ...parameters], requestBody };
  return resolveReferences(description, part) as Operation;
}

/** Copies a value with all references resolved, nested ones too; references must not be circular. */
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

/** Resolves a schema that only refers to another one. Any property beside a reference is a description. */
export function resolveSchema(description: Description, schema: Schema | undefined): Schema | undefined {
  const name = schema?.$ref?.replace('#/components/schemas/', '');
  return name === undefined ? schema : resolveSchema(description, description.components.schemas[name]);
}

/** Returns the schema of a list's query parameter; undefined if there is none of that name. */
export function querySchema(description: Description, path: string, name: string): Schema | undefined {
  return parameterSchema(description, { path, method: 'get' }, { in: 'query', name });
}

/** Returns the schema of an operation's parameter, matching headers case-insensitively; undefined if it has none. */
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

/** Returns the schema of an operation's JSON body; undefined if it takes none. */
export function bodySchema(description: Description, { path, method }: OperationKey): Schema | undefined {
  return resolveSchema(
    description,
    description.paths[path]?.[method]?.requestBody?.content?.['application/json']?.schema,
  );
}

/** Reports whether an operation takes a body that must not be left out. */
export function isBodyRequired(description: Description, { path, method }: OperationKey): boolean {
  const body = description.paths[path]?.[method]?.requestBody;
  return body?.content?.['application/json'] !== undefined && body.required !== false;
}

/**
 * Converts the description of the API from YAML, which people write, to JSON, which programs read at every start in a
 * hundredth of the time. The YAML parser is loaded only here.
 */
export async function descriptionJson(yaml: string): Promise<string> {
  const { CORE_SCHEMA, load, mergeTag } = await import('js-yaml');
  return `${JSON.stringify(load(yaml, { schema: CORE_SCHEMA.withTags(mergeTag) }), null, 1)}\n`;
}

/** `GET /openapi.json`: its bytes and tag are made once, because they never change while the process runs. */
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
