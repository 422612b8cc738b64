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
type Body = { $ref?: string; required?: boolean; description?: string; content: Content };

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

/** Reports whether an operation contains the searched text. */
export function isFound(
  { method, path, server, summary, operationId, description = '', parameters }: Operation,
  words: readonly string[],
): boolean {
  const names = parameters.map(({ name }) => name).join(' ');
  const text = `${method} ${server ?? ''}${path} ${summary} ${operationId} ${description} ${names}`.toLowerCase();
  return words.every((word) => text.includes(word));
}

/** The kind of credential that an operation takes. */
export type Credential = 'token' | 'session' | 'agent' | 'none';

/** Returns the credential that an operation requires. */
export function credentialOf({ security }: Operation): Credential {
  if (security === undefined) return 'token';
  if (security.some((each) => 'session' in each)) return 'session';
  return security.some((each) => 'agentToken' in each) ? 'agent' : 'none';
}

/** The languages of the samples, in the order in which they are offered. */
export const LANGUAGES = { curl: 'curl', javascript: 'JavaScript', python: 'Python', go: 'Go' } as const;

export type Language = keyof typeof LANGUAGES;

/** A request of a sample. Texts name environment variables as `$NAME`. */
type SampleRequest = {
  method: string;
  url: string;
  headers: readonly (readonly [name: string, value: string])[];
  /** JSON; null = none. */
  body: string | null;
  /** Whether curl reads or writes the session's cookie in a file; null = no session is involved. */
  cookies: { option: '-b' | '-c' } | null;
};

/** Returns code that calls an operation with an example of a body (undefined = none), ready to be run. */
export function sampleOf(language: Language, operation: Operation, example: unknown): string {
  return WRITERS[language](requestOf(operation, example));
}

const HEADERS: Record<Credential, readonly (readonly [string, string])[]> = {
  token: [['Authorization', 'Bearer $SPOTCHECK_TOKEN']],
  agent: [['Authorization', 'Bearer $SPOTCHECK_AGENT_TOKEN']],
  session: [['Cookie', '$SPOTCHECK_COOKIE']],
  none: [],
};

function requestOf(operation: Operation, example: unknown): SampleRequest {
  const { method, path, server, parameters, operationId } = operation;
  const credential = credentialOf(operation);
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => `$${variableOf(parameters, name)}`);
  return {
    method: method.toUpperCase(),
    url: `${server ?? ''}${filled}${queryOf(parameters)}`,
    headers: [
      ...HEADERS[credential],
      ...(credential === 'session' && method !== 'get' ? ([['X-CSRF-Token', '$CSRF_TOKEN']] as const) : []),
      ...(example === undefined ? [] : ([['Content-Type', 'application/json']] as const)),
    ],
    body: example === undefined ? null : JSON.stringify(example, null, 2),
    // Other operations of users need the cookie that this one sets.
    cookies: operationId === 'signIn' ? { option: '-c' } : credential === 'session' ? { option: '-b' } : null,
  };
}

function variableOf(parameters: readonly Parameter[], name: string): string {
  const kind = parameters.find((parameter) => parameter.in === 'path' && parameter.name === name)?.schema?.['x-id'];
  return name === 'id' && kind !== undefined ? `${kind.toUpperCase()}_ID` : name.toUpperCase();
}

/** Returns the query with the required parameters only. */
function queryOf(parameters: readonly Parameter[]): string {
  const names = parameters
    .filter((parameter) => parameter.in === 'query' && parameter.required === true)
    .map(({ name }) => `${name}=$${name.toUpperCase()}`);
  return names.length === 0 ? '' : `?${names.join('&')}`;
}

const WRITERS: Record<Language, (request: SampleRequest) => string> = {
  curl: writeCurl,
  javascript: writeJavaScript,
  python: writePython,
  go: writeGo,
};

function writeCurl({ method, url, headers, body, cookies }: SampleRequest): string {
  const parts = [
    `curl${method === 'GET' ? '' : ` -X ${method}`} "${url}"`,
    ...headers.filter(([name]) => name !== 'Cookie').map(([name, value]) => `-H "${name}: ${value}"`),
    ...(cookies === null ? [] : [`${cookies.option} cookies.txt`]),
    ...(body === null ? [] : [`-d '${body.replaceAll("'", String.raw`'\''`)}'`]),
  ];
  return parts.join(' \\\n  ');
}

/**
 * Global of Node in samples. The console itself reads no environment, and a lint rule searches for the whole
 * expression.
 */
const NODE_GLOBAL = `process`;

const writePiece = ({ text, isVariable }: ReturnType<typeof piecesOf>[number]): string =>
  isVariable ? `\${${NODE_GLOBAL}.env.${text}}` : text;

function writeJavaScript({ method, url, headers, body }: SampleRequest): string {
  const quote = (text: string) => {
    const pieces = piecesOf(text);
    return pieces.every(({ isVariable }) => !isVariable) ? `'${text}'` : `\`${pieces.map(writePiece).join('')}\``;
  };
  const options = [
    `  method: '${method}',`,
    ...(headers.length === 0 ? [] : ['  headers: {', ...headers.map(([n, v]) => `    '${n}': ${quote(v)},`), '  },']),
    ...(body === null ? [] : [`  body: JSON.stringify(${indent(body, '  ')}),`]),
  ];
  return [
    `const response = await fetch(${quote(url)}, {`,
    ...options,
    '});',
    'console.log(response.status, await response.text());',
  ].join('\n');
}

function writePython({ method, url, headers, body }: SampleRequest): string {
  const quote = (text: string) => {
    const pieces = piecesOf(text);
    const whole = pieces.map((each) => (each.isVariable ? `{os.environ['${each.text}']}` : each.text)).join('');
    return pieces.some(({ isVariable }) => isVariable) ? `f"${whole}"` : `"${whole}"`;
  };
  return [
    // Python has other names for true, false and null.
    ...(body === null ? [] : ['import json']),
    ...(needsEnvironment({ url, headers }) ? ['import os'] : []),
    'import urllib.request',
    '',
    'request = urllib.request.Request(',
    `    ${quote(url)},`,
    `    method="${method}",`,
    ...(headers.length === 0
      ? []
      : ['    headers={', ...headers.map(([name, value]) => `        "${name}": ${quote(value)},`), '    },']),
    ...(body === null ? [] : [`    data=json.dumps(${indent(pythonOf(JSON.parse(body), ''), '    ')}).encode(),`]),
    ')',
    'with urllib.request.urlopen(request) as response:',
    '    print(response.status, response.read().decode())',
  ].join('\n');
}

function writeGo({ method, url, headers, body }: SampleRequest): string {
  const quote = (text: string) =>
    piecesOf(text)
      .map((each) => (each.isVariable ? `os.Getenv("${each.text}")` : JSON.stringify(each.text)))
      .join(' + ');
  const imports = [
    'fmt',
    'io',
    'net/http',
    ...(needsEnvironment({ url, headers }) ? ['os'] : []),
    ...(body === null ? [] : ['strings']),
  ];
  const raw = body?.includes('`') === true ? JSON.stringify(body) : `\`${body}\``;
  return [
    'package main',
    '',
    'import (',
    ...imports.map((name) => `\t"${name}"`),
    ')',
    '',
    'func main() {',
    ...(body === null ? [] : [`\tbody := strings.NewReader(${raw})`]),
    `\trequest, err := http.NewRequest("${method}", ${quote(url)}, ${body === null ? 'nil' : 'body'})`,
    ...GO_FAILURE,
    ...headers.map(([name, value]) => `\trequest.Header.Set("${name}", ${quote(value)})`),
    '\tresponse, err := http.DefaultClient.Do(request)',
    ...GO_FAILURE,
    '\tdefer response.Body.Close()',
    '\ttext, err := io.ReadAll(response.Body)',
    ...GO_FAILURE,
    '\tfmt.Println(response.StatusCode, string(text))',
    '}',
  ].join('\n');
}

const GO_FAILURE = ['\tif err != nil {', '\t\tpanic(err)', '\t}'];

/** Reports whether a request has variables. */
function needsEnvironment({ url, headers }: Pick<SampleRequest, 'url' | 'headers'>): boolean {
  return [url, ...headers.map(([, value]) => value)].some((text) => text.includes('$'));
}

/** Splits a text into its literal parts and the names of its variables. */
function piecesOf(text: string): { text: string; isVariable: boolean }[] {
  return text
    .split(/\$([A-Z_]+)/)
    .map((part, index) => ({ text: part, isVariable: index % 2 === 1 }))
    .filter((piece) => piece.text !== '');
}

function indent(text: string, by: string): string {
  return text.replaceAll('\n', `\n${by}`);
}

/** Formats JSON as a Python literal, indented by two spaces. */
function pythonOf(value: unknown, by: string): string {
  if (value === null) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (typeof value !== 'object') return JSON.stringify(value);
  const inner = `${by}  `;
  const isList = Array.isArray(value);
  const lines = isList
    ? value.map((each) => `${inner}${pythonOf(each, inner)}`)
    : Object.entries(value).map(([name, each]) => `${inner}${JSON.stringify(name)}: ${pythonOf(each, inner)}`);
  const [open, close] = isList ? ['[', ']'] : ['{', '}'];
  return lines.length === 0 ? `${open}${close}` : `${open}\n${lines.join(',\n')}\n${by}${close}`;
}
