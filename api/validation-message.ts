import type { Request } from 'express';
import { BadRequest } from 'express-openapi-validator/dist/framework/types.js';
import { countCharacters } from '../core/input.ts';
import { badRequest } from './api-error.ts';
import {
  bodySchema,
  parameterSchema,
  querySchema,
  resolveSchema,
  type Description,
  type OperationKey,
  type Schema,
} from './description.ts';

/** An error of the validator: a JSON pointer into the request, the keyword that failed, and the validator's message. */
type Complaint = { path: string; message: string; keyword: string };

/** The part of a request that the errors are about, and the fields of its resource that requests cannot set. */
type Complained = {
  description: Description;
  schema: Schema | undefined;
  value: unknown;
  readOnly: readonly string[];
};

/** A field of a request, with its schema and value. */
type FieldPosition = { field: string; schema: Schema | undefined; value: unknown };

/** Fields that responses contain for a monitor, but no request can set (D-06). */
const READ_ONLY_FIELDS: readonly string[] = [
  'id',
  'status',
  'enabled',
  'state_since',
  'created_at',
  'updated_at',
  'heartbeat_grace_seconds',
  'next_expected',
  'agent_sources_unable',
];

/** Maximum number of sentences in one response. */
const MAX_SENTENCES = 8;

/** Maximum number of validator errors evaluated: a hostile body can cause a hundred thousand. */
const MAX_COMPLAINTS = 200;

/**
 * Names of fields whose values may be secrets, or which callers may mistake for such. Messages contain the kind or
 * length of such a value, never the value itself.
 */
const SECRET_FIELD = /(?:^|\.)(?:headers|secretHeaders|auth|body|bodySecret|payload|payloadSecret|url)(?:[.[]|$)/;

/**
 * Converts the validator's errors about one part of a request (its body or query) to sentences for the caller. Each
 * states the field, the expectation, and the received value; there is one per field.
 */
function describeComplaints(complaints: readonly Complaint[], root: Complained): string[] {
  const sentences = new Map<string, string>();
  // The error that an `if` led to its `then` adds nothing to the errors of the `then`.
  for (const complaint of complaints
    .slice(0, MAX_COMPLAINTS)
    .filter(({ keyword }) => keyword !== 'if')
    .toSorted((a, b) => rank(a) - rank(b))) {
    const position = locate(complaint.path, root);
    const sentence = describe(complaint, position, root);
    if (!sentences.has(position.field)) sentences.set(position.field, sentence);
  }
  return [...sentences.values()].slice(0, MAX_SENTENCES);
}

/** Ranks the most informative error about a field first: an invalid name is clearer than its pattern. */
function rank({ keyword }: Complaint): number {
  return keyword === 'propertyNames' ? 0 : 1;
}

function describe(
  { keyword, message }: Complaint,
  { field, schema, value }: FieldPosition,
  { description, readOnly }: Complained,
): string {
  const name = field === '' ? 'the body' : field;
  switch (keyword) {
    case 'additionalProperties':
      if (field === '""') return 'a field with an empty name is not known';
      return readOnly.includes(field) ? `${name} is read-only` : `${name} is not a known field`;
    case 'required':
      return `${name} is required`;
    case 'propertyNames':
      return `${name} must have ${expectation(resolveSchema(description, schema?.propertyNames))}`;
    case 'enum':
      return (
        `${name} must be ${schema?.['x-expects'] ?? `one of ${message.replace(/^.*: /, '')}`}, got ` +
        `${show(field, value)}`
      );
    case 'maxProperties': {
      if (schema?.['x-expects'] !== undefined) return `${name} must be ${expectation(schema)}`;
      const { length: entries } = Object.keys(Object(value));
      return `${name} must have at most ${schema?.maxProperties ?? 0} entries, got ${entries}`;
    }
    case 'minProperties':
      return `${name} must have at least one of ${Object.keys(schema?.properties ?? {}).join(', ')}`;
    default:
      return `${name} must be ${expectation(schema)}, got ${show(field, value, keyword)}`;
  }
}

/** Follows a JSON pointer through value and schema together. */
function locate(pointer: string, { description, schema, value }: Complained): FieldPosition {
  const position: FieldPosition = { field: '', schema, value };
  for (const step of pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))) {
    const isItem = Array.isArray(position.value);
    position.field += isItem ? `[${step}]` : `${position.field === '' ? '' : '.'}${step || '""'}`;
    position.schema = resolveSchema(description, isItem ? position.schema?.items : propertyOf(position.schema, step));
    position.value = childOf(position.value, step);
  }
  return position;
}

function childOf(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, key)
    ? (value as Record<string, unknown>)[key]
    : undefined;
}

function propertyOf(schema: Schema | undefined, name: string): Schema | undefined {
  const { properties = {}, additionalProperties } = schema ?? {};
  if (Object.hasOwn(properties, name)) return properties[name];
  return typeof additionalProperties === 'object' ? additionalProperties : undefined;
}

/** Describes a schema, as the end of "must be ...". */
function expectation(schema: Schema | undefined): string {
  if (schema === undefined) return 'something else';
  // An empty value, or one of another type, needs the same remedy as an invalid one.
  if (schema.enum !== undefined && schema['x-expects'] === undefined) return `one of ${schema.enum.join(', ')}`;
  const types = [schema.type ?? []].flat();
  const orNull = types.includes('null') ? ' or null' : '';
  const said = schema['x-expects'] ?? WORDS[types.find((type) => type !== 'null') ?? '']?.(schema) ?? 'something else';
  return `${said}${orNull}`;
}

const WORDS: Record<string, (schema: Schema) => string> = {
  string: ({ minLength = 0, maxLength }) =>
    maxLength === undefined ? 'a string' : `a string of ${minLength} to ${maxLength} characters`,
  integer: ({ minimum, maximum }) => `a whole number${range(minimum, maximum)}`,
  number: ({ exclusiveMinimum, maximum }) => {
    const above = exclusiveMinimum === undefined ? '' : ` above ${exclusiveMinimum}`;
    const atMost = maximum === undefined ? '' : ` and at most ${maximum}`;
    return `a number${above}${atMost}`;
  },
  boolean: () => 'true or false',
  array: ({ minItems = 0, maxItems }) => {
    if (maxItems === undefined) return minItems === 0 ? 'a list' : `a list of at least ${minItems}`;
    return minItems === 0 ? `a list of at most ${maxItems} items` : `a list of ${minItems} to ${maxItems} items`;
  },
  object: () => 'an object',
};

function range(minimum: number | undefined, maximum: number | undefined): string {
  if (minimum === undefined) return '';
  return maximum === undefined ? ` of ${minimum} or more` : ` from ${minimum} to ${maximum}`;
}

/**
 * Describes the received value: the value itself if that helps and is not secret, otherwise its kind, length or count.
 */
function show(field: string, value: unknown, keyword = ''): string {
  if (value === undefined) return 'nothing';
  if (value === null) return 'null';
  if (typeof value === 'number' || typeof value === 'boolean')
    return SECRET_FIELD.test(field) ? `a ${typeof value}` : String(value);
  if (Array.isArray(value))
    return keyword === 'maxItems' || keyword === 'minItems' ? `${value.length} items` : 'a list';
  if (typeof value !== 'string') return 'an object';
  if (keyword === 'minLength' || keyword === 'maxLength') return `${countCharacters(value)} characters`;
  return SECRET_FIELD.test(field)
    ? 'a different value'
    : JSON.stringify(value.length > 60 ? `${value.slice(0, 60)}...` : value);
}

/** The refused request and its operation. */
type RefusedRequest = OperationKey & { description: Description; request: Request };

/** Converts the validator's refusal to a 400 with this API's messages, and returns any other error as it is. */
export function explainRefusal(refusal: unknown, requested: RefusedRequest): unknown {
  if (!(refusal instanceof BadRequest)) return refusal;
  return badRequest(...sentencesOf(refusal.errors, requested));
}

type ValidatorError = { path: string; message: string; errorCode?: string };

function sentencesOf(errors: readonly ValidatorError[], requested: RefusedRequest): string[] {
  const { description, path, method, request } = requested;
  const complaints = errors.map(({ path: pointer, message, errorCode }): Complaint => ({
    // The validator gives no place for an unknown field with an empty name.
    path: pointer === '' ? '/body/' : pointer,
    message,
    keyword: errorCode?.split('.')[0] ?? '',
  }));
  const inBody = complaints.filter((complaint) => complaint.path === '/body' || complaint.path.startsWith('/body/'));
  // The last of several errors about one parameter is the clearest: it states the values, not the type.
  const inQuery = new Map(
    complaints
      .filter((complaint) => complaint.path.startsWith('/query/'))
      .map((complaint) => [complaint.path, complaint]),
  );
  const bodySentences = describeComplaints(
    inBody.map((complaint) => ({ ...complaint, path: complaint.path.slice('/body'.length) })),
    {
      description,
      schema: bodySchema(description, { path, method }),
      value: request.body,
      readOnly: readOnlyFields(path),
    },
  );
  const querySentences = [...inQuery.values()].flatMap((complaint) => describeQuery(complaint, requested));
  const headerSentences = complaints.flatMap((complaint) => describeHeader(complaint, requested));
  const sentences = [...bodySentences, ...querySentences, ...new Set(headerSentences)];
  // Any other error is about the path: an id that cannot be decoded.
  return sentences.length > 0 ? sentences : ['the path must be percent-encoded UTF-8'];
}

/** Lists the read-only fields of a body at this path. */
function readOnlyFields(path: string): readonly string[] {
  if (path === '/trials') return READ_ONLY_FIELDS.map((name) => `monitor.${name}`);
  if (path === '/monitors/bulk') return READ_ONLY_FIELDS.map((name) => `patch.${name}`);
  return path.startsWith('/monitors') ? READ_ONLY_FIELDS : [];
}

function describeHeader({ path: pointer }: Complaint, { description, path, method }: RefusedRequest): string[] {
  const [, name = ''] = /^\/headers\/([^/]+)$/.exec(pointer) ?? [];
  const schema = parameterSchema(description, { path, method }, { in: 'header', name });
  return schema === undefined ? [] : [`the header ${name} must be ${expectation(schema)}`];
}

function describeQuery(complaint: Complaint, { description, path, request }: RefusedRequest): string[] {
  const complained = complaint.path.slice('/query'.length);
  const [, name = ''] = complained.split('/');
  const schema = querySchema(description, path, name);
  if (schema === undefined) return [`${name || '""'} is not a known query parameter here`];
  const sent: unknown = request.query[name];
  // The error of an empty value is about the value, not the number of values.
  const pointer = schema.type === 'array' && sent === '' ? `/${name}/0` : complained;
  // A repeatable parameter may be sent once.
  const value = schema.type === 'array' && !Array.isArray(sent) ? [sent] : sent;
  return describeComplaints([{ ...complaint, path: pointer }], {
    description,
    schema: { properties: { [name]: schema } },
    value: { [name]: value },
    readOnly: [],
  });
}
