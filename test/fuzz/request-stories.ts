import * as fc from 'fast-check';
import type { DescribedOperation, Document } from '../helpers/described-operations.ts';
import { breakBody, idOf, nasty, valuesOf } from './schema-values.ts';

/** A request before its sender is chosen: ids are placeholders. */
export type DraftRequest = {
  operation: DescribedOperation;
  method: string;
  path: string;
  query: string;
  body: string | undefined;
  contentType: string;
  bearer: 'own' | 'reader' | 'other' | 'none';
};

/** Requests that one account sends in sequence. */
export type Story = DraftRequest[];

/** Relative frequency of an operation, 4 by default: destructive operations must not end everything. */
const WEIGHTS: Readonly<Record<string, number>> = {
  createMonitor: 12,
  createChannel: 8,
  updateMonitor: 12,
  updateChannel: 8,
  addIncidentNote: 6,
  deleteAgent: 1,
  deleteMonitor: 1,
  deleteChannel: 1,
  getDescription: 1,
  signIn: 2,
  changePassword: 2,
  startTotp: 3,
  confirmTotp: 8,
  removeTotp: 4,
  renewRecoveryCodes: 6,
  signOut: 1,
  endSession: 2,
  endOtherSessions: 2,
  rotateAgentToken: 1,
  createInvitation: 6,
  findInvitation: 6,
  acceptInvitation: 6,
  removeMember: 1,
};

/** Bodies that are not JSON, or hide their type. */
const RAW = [
  '{',
  '{"name":}',
  '[1,',
  '\0',
  '{"__proto__":{"name":"x"}}',
  '{"name":"a","name":"b"}',
  `${'['.repeat(3000)}`,
  '"',
  'null',
  '[]',
  '1',
  `{"name":"${'x'.repeat(1000)}"}`,
  '\uFEFF{"name":"x"}',
];

const CONTENT_TYPES = [
  'application/json',
  'application/json; charset=utf-16',
  'text/plain',
  'application/x-www-form-urlencoded',
  'application/JSON;x="',
  '',
];

/** Generates stories of requests from the description, some of them broken on purpose. */
export function storiesOf(
  document: Document,
  operations: readonly DescribedOperation[],
  length: number,
): fc.Arbitrary<Story> {
  const drafts = operations.map((operation) => ({
    weight: WEIGHTS[operation.id] ?? 4,
    arbitrary: draftsOf(document, operation),
  }));
  return fc.array(fc.oneof(...drafts), { minLength: length, maxLength: length });
}

type Parts = { path: string[]; query: [string, unknown][]; body: unknown; flaw: Flaw };

type Flaw = {
  kind: 'none' | 'body' | 'raw' | 'type' | 'query' | 'method' | 'path' | 'bearer';
  at: number;
  how: 'replace' | 'remove' | 'add';
  value: unknown;
};

const flaws: fc.Arbitrary<Flaw> = fc.record({
  kind: fc.oneof(
    { weight: 5, arbitrary: fc.constant('none' as const) },
    { weight: 3, arbitrary: fc.constant('body' as const) },
    {
      weight: 2,
      arbitrary: fc.constantFrom(
        'raw' as const,
        'type' as const,
        'query' as const,
        'method' as const,
        'path' as const,
        'bearer' as const,
      ),
    },
  ),
  at: fc.nat(1000),
  how: fc.constantFrom('replace' as const, 'remove' as const, 'add' as const),
  value: nasty,
});

function draftsOf(document: Document, operation: DescribedOperation): fc.Arbitrary<DraftRequest> {
  const { parameters, body } = operation;
  const inPath = parameters
    .filter(({ in: where }) => where === 'path')
    .map(({ name, schema }) => fc.tuple(fc.constant(name), pathValues(document, name, schema)));
  const inQuery = (isRequired: boolean) =>
    parameters
      .filter(({ in: where, required }) => where === 'query' && required === isRequired)
      .map(({ name, schema }): fc.Arbitrary<[string, unknown]> =>
        fc.tuple(fc.constant(name), valuesOf(document, schema, name)),
      );
  const optional = inQuery(false);
  return fc
    .record({
      path: fc.tuple(...inPath).map((values) => values.map(([, value]) => String(value))),
      query: fc
        .tuple(
          fc.tuple(...inQuery(true)),
          optional.length === 0 ? fc.constant([]) : fc.array(fc.oneof(...optional), { maxLength: 2 }),
        )
        .map(([required, chosen]) => [...required, ...chosen]),
      body: body === null ? fc.constant(undefined) : bodiesOf(document, body),
      flaw: flaws,
    })
    .map((parts) => draftOf(operation, parts));
}

/** Generates bodies from their schema, and sometimes the example: random values rarely meet rules across fields. */
function bodiesOf(
  document: Document,
  { schema, example }: NonNullable<DescribedOperation['body']>,
): fc.Arbitrary<unknown> {
  const made = valuesOf(document, schema);
  if (example === undefined) return made;
  return fc.oneof({ weight: 9, arbitrary: made }, { weight: 1, arbitrary: fc.constant(example) });
}

function pathValues(
  document: Document,
  name: string,
  schema: DescribedOperation['parameters'][number]['schema'],
): fc.Arbitrary<unknown> {
  return name === 'token' ? idOf('token') : valuesOf(document, schema, name);
}

function draftOf(operation: DescribedOperation, { path, query, body, flaw }: Parts): DraftRequest {
  const names = operation.parameters.filter(({ in: where }) => where === 'path');
  const whole = names.reduce(
    (filled, { name }, index) => filled.replace(`{${name}}`, encodePart(path[index] ?? '')),
    operation.path,
  );
  const parameters: [string, unknown][] =
    flaw.kind === 'query'
      ? [...query, [['no_such', 'limit', 'cursor', 'limit[]', '__proto__'][flaw.at % 5] ?? '', flaw.value]]
      : query;
  return {
    operation,
    method:
      flaw.kind === 'method'
        ? (['PUT', 'PATCH', 'DELETE', 'POST', 'GET', 'HEAD', 'OPTIONS', 'PROPFIND'][flaw.at % 8] ?? 'PUT')
        : operation.method,
    path: flaw.kind === 'path' ? bend(whole, flaw.at) : whole,
    query: parameters
      .map(
        ([name, value]) =>
          `${encodePart(name)}=${encodePart(typeof value === 'string' ? value : (JSON.stringify(value) ?? ''))}`,
      )
      .join('&'),
    body: bodyOf(body, flaw),
    contentType: flaw.kind === 'type' ? (CONTENT_TYPES[flaw.at % CONTENT_TYPES.length] ?? '') : 'application/json',
    bearer: flaw.kind === 'bearer' ? ((['reader', 'other', 'none'] as const)[flaw.at % 3] ?? 'none') : 'own',
  };
}

function bodyOf(body: unknown, flaw: Flaw): string | undefined {
  if (flaw.kind === 'raw') return RAW[flaw.at % RAW.length];
  if (flaw.kind === 'body') return JSON.stringify(breakBody(body ?? {}, flaw));
  return body === undefined ? undefined : JSON.stringify(body);
}

/** Returns a variant of the path that resolves to the same resource or to none. */
function bend(path: string, at: number): string {
  const bends = [
    `${path}/`,
    path.toUpperCase(),
    `/${path}`,
    path.replace('/', '/./'),
    `${path}/..`,
    `${path}%2f`,
    `${path}%00`,
    `${path}%ff`,
    path.replace('/v1', '/v1/../v1'),
    `${path};a=b`,
    path.replace('/v1/', '/V1/'),
    `${path}/extra`,
  ];
  return bends[at % bends.length] ?? path;
}

/** Like `encodeURIComponent`, but keeps placeholders and accepts lone surrogates. */
function encodePart(text: string): string {
  return encodeURIComponent(text.toWellFormed())
    .replaceAll('%40%40', '@@')
    .replaceAll(/(@@\w+)%3A(\d+@@)/g, '$1:$2');
}
