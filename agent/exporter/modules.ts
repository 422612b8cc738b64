import { validateHeaderName, validateHeaderValue } from 'node:http';
import { CORE_SCHEMA, YAMLException, load, mergeTag } from 'js-yaml';
import { readDnsSettings, type DnsSettings } from './dns-settings.ts';
import { Fields, readAddressChoice, type AddressChoice, type Pattern } from './fields.ts';
import { readTlsSettings, type ReadFile, type TlsSettings } from './tls-settings.ts';

/** A pattern that a header must or must not match. */
export type HeaderMatch = { header: string; pattern: Pattern; allowMissing: boolean };

export type HttpSettings = AddressChoice & {
  /** Empty for 2xx. */
  validStatusCodes: readonly number[];
  /** Empty for any; as in `HTTP/1.1`. */
  validVersions: readonly string[];
  method: string;
  /** Names as written; without Host. */
  headers: ReadonlyMap<string, string>;
  hostHeader: string | null;
  /** Value of Authorization from `basic_auth`, `authorization` or `bearer_token`. */
  authorization: string | null;
  body: string | null;
  followsRedirects: boolean;
  failIfSsl: boolean;
  failIfNotSsl: boolean;
  failIfBodyMatches: readonly Pattern[];
  failIfBodyNotMatches: readonly Pattern[];
  failIfHeaderMatches: readonly HeaderMatch[];
  failIfHeaderNotMatches: readonly HeaderMatch[];
  compression: string | null;
  /** In bytes; 0 for no limit. */
  bodySizeLimit: number;
  tls: TlsSettings;
};

/** One step of a conversation over tcp. */
export type QueryResponse = {
  expect: Pattern | null;
  expectBytes: string;
  send: string;
  startsTls: boolean;
  labels: readonly { name: string; value: string }[];
};

export type TcpSettings = AddressChoice & { queries: readonly QueryResponse[]; isSecure: boolean; tls: TlsSettings };

export type IcmpSettings = AddressChoice & { ttl: number };

/** The prober of a module, with its settings. */
type Prober =
  | { prober: 'http'; settings: HttpSettings }
  | { prober: 'tcp'; settings: TcpSettings }
  | { prober: 'dns'; settings: DnsSettings }
  | { prober: 'icmp'; settings: IcmpSettings }
  | { prober: 'unsupported'; name: string };

/** A module of `blackbox.yml`; a timeout of 0 leaves it to the scrape. */
export type Module = { name: string; timeoutMs: number; probe: Prober; written: unknown };

/** Thrown with one line for each problem of the file. */
export class InvalidModules extends Error {
  override name = 'InvalidModules';
}

/** Probers of blackbox_exporter that the agent lacks: their modules load, and respond that they are not supported. */
const UNSUPPORTED = ['grpc', 'unix', 'websocket'];
const KNOWN = ['http', 'tcp', 'dns', 'icmp', ...UNSUPPORTED];

/** HTTP versions that the agent supports. */
const SPOKEN = ['HTTP/1.0', 'HTTP/1.1'];

/**
 * Parses a `blackbox.yml`. An unsupported option refuses the whole file, with a sentence that names module and option,
 * because a probe without it would judge differently. `readFile` reads the files that it names (certificates,
 * passwords). Throws `InvalidModules`.
 */
export function readModules(text: string, readFile: ReadFile): ReadonlyMap<string, Module> {
  const problems: string[] = [];
  const root = new Fields(parse(text), 'the file', problems);
  const modules = new Map<string, Module>();
  const named = root.child('modules');
  root.end();
  for (const name of named.names()) modules.set(name, readModule(name, named, { problems, readFile }));
  if (modules.size === 0 && problems.length === 0) problems.push('modules must have at least one module');
  if (problems.length > 0) throw new InvalidModules(problems.map((problem) => `  ${problem}`).join('\n'));
  return modules;
}

function parse(text: string): unknown {
  try {
    return load(text, { schema: CORE_SCHEMA.withTags(mergeTag) });
  } catch (error) {
    if (!(error instanceof YAMLException)) throw error;
    const { reason, mark } = error;
    const at = mark ? ` at line ${mark.line + 1}, column ${mark.column + 1}` : '';
    throw new InvalidModules(`  not valid YAML${at}: ${withoutQuotation(reason)}`);
  }
}

/** Returns a parser's message without its trailing quotation from the file, which may be part of a secret. */
function withoutQuotation(reason: string): string {
  return reason.replace(/["!:].*/s, '').trim();
}

type Reading = { problems: string[]; readFile: ReadFile };

function readModule(name: string, modules: Fields, { problems, readFile }: Reading): Module {
  const written = modules.value(name);
  const fields = new Fields(written, `modules.${name}`, problems);
  const prober = fields.choice('prober', KNOWN) ?? '';
  if (!fields.has('prober')) fields.problem('prober', `must be one of ${KNOWN.join(', ')}`);
  const timeoutMs = fields.duration('timeout') ?? 0;
  // Settings of other probers have no effect, as in blackbox_exporter.
  for (const other of KNOWN) if (other !== prober) fields.child(other);
  const probe = readProber(prober, fields.child(prober), readFile);
  fields.end();
  return { name, timeoutMs, probe, written };
}

function readProber(prober: string, fields: Fields, readFile: ReadFile): Prober {
  switch (prober) {
    case 'http':
      return { prober, settings: readHttp(fields, readFile) };
    case 'tcp':
      return { prober, settings: readTcp(fields, readFile) };
    case 'dns':
      return { prober, settings: readDnsSettings(fields, readFile) };
    case 'icmp':
      return { prober, settings: readIcmp(fields) };
    default:
      return { prober: 'unsupported', name: prober };
  }
}

function readHttp(fields: Fields, readFile: ReadFile): HttpSettings {
  const { host: hostHeader, others } = readHeaders(fields);
  const validVersions = fields.texts('valid_http_versions');
  if (validVersions.length > 0 && !validVersions.some((version) => SPOKEN.includes(version)))
    fields.problem('valid_http_versions', `must have one that the agent speaks: ${SPOKEN.join(', ')}`);
  const compression = fields.choice('compression', ['gzip', 'deflate', 'br', 'identity']);
  // HTTP/2 is never used: allowing it changes nothing.
  fields.flag('enable_http2', true);
  // Has no effect without a proxy.
  fields.flag('skip_resolve_phase_with_proxy', false);
  fields.refuse('oauth2', 'proxy_url', 'proxy_from_environment', 'no_proxy', 'proxy_connect_header', 'http_headers');
  fields.refuse('fail_if_body_json_matches_cel', 'fail_if_body_json_not_matches_cel', 'enable_http3');
  const body = fields.text('body') ?? readFile(fields, 'body_file');
  const follows = fields.flag('follow_redirects', true);
  const settings: HttpSettings = {
    ...readAddressChoice(fields),
    validStatusCodes: fields.numbers('valid_status_codes'),
    validVersions,
    method: readMethod(fields),
    headers: others,
    hostHeader,
    authorization: readAuthorization(fields, readFile),
    body: body === '' ? null : body,
    followsRedirects: fields.has('no_follow_redirects') ? !fields.flag('no_follow_redirects', false) : follows,
    failIfSsl: fields.flag('fail_if_ssl', false),
    failIfNotSsl: fields.flag('fail_if_not_ssl', false),
    failIfBodyMatches: fields.patterns('fail_if_body_matches_regexp'),
    failIfBodyNotMatches: fields.patterns('fail_if_body_not_matches_regexp'),
    failIfHeaderMatches: readHeaderMatches(fields, 'fail_if_header_matches'),
    failIfHeaderNotMatches: readHeaderMatches(fields, 'fail_if_header_not_matches'),
    compression: compression === 'identity' ? null : compression,
    bodySizeLimit: fields.bytes('body_size_limit') ?? 0,
    tls: readTlsSettings(fields.child('tls_config'), readFile),
  };
  fields.end();
  return settings;
}

function readMethod(fields: Fields): string {
  const method = fields.text('method') || 'GET';
  if (!/^[!#$%&'*+.^_`|~\w-]+$/.test(method)) fields.problem('method', 'must be a method of HTTP');
  return method;
}

function readHeaders(fields: Fields): { host: string | null; others: ReadonlyMap<string, string> } {
  const headers = fields.child('headers');
  const others = new Map<string, string>();
  let host: string | null = null;
  for (const name of headers.names()) {
    const value = headers.text(name) ?? '';
    if (!isHeader(name, value)) headers.problem(name, 'must be a header that HTTP allows');
    else if (name.toLowerCase() === 'host') host = value;
    else others.set(name, value);
  }
  return { host, others };
}

function isHeader(name: string, value: string): boolean {
  try {
    validateHeaderName(name);
    validateHeaderValue(name, value);
    return !/^(?:content-length|transfer-encoding)$/i.test(name);
  } catch {
    return false;
  }
}

function readAuthorization(fields: Fields, readFile: ReadFile): string | null {
  const basic = fields.has('basic_auth') ? fields.child('basic_auth') : null;
  const other = fields.has('authorization') ? fields.child('authorization') : null;
  const bearer = fields.text('bearer_token') ?? readFile(fields, 'bearer_token_file');
  if ([basic, other, bearer].filter((one) => one !== null).length > 1)
    fields.problem(null, 'must have at most one of basic_auth, authorization, bearer_token and bearer_token_file');
  if (basic !== null) {
    basic.refuse('username_ref', 'password_ref');
    const username = basic.text('username') ?? readFile(basic, 'username_file') ?? '';
    const password = basic.text('password') ?? readFile(basic, 'password_file') ?? '';
    basic.end();
    return `Basic ${Buffer.from(`${username.trim()}:${password.trim()}`).toString('base64')}`;
  }
  if (other !== null) {
    other.refuse('credentials_ref');
    const type = other.text('type') || 'Bearer';
    const credentials = other.text('credentials') ?? readFile(other, 'credentials_file') ?? '';
    other.end();
    return `${type} ${credentials.trim()}`;
  }
  return bearer === null ? null : `Bearer ${bearer.trim()}`;
}

function readHeaderMatches(fields: Fields, name: string): HeaderMatch[] {
  return fields.children(name).flatMap((match) => {
    const header = match.text('header') ?? '';
    const pattern = match.pattern('regexp');
    const allowMissing = match.flag('allow_missing', false);
    match.end();
    if (header === '') match.problem('header', 'must be the name of a header');
    if (!match.has('regexp')) match.problem('regexp', 'must be a regular expression');
    return pattern === null ? [] : [{ header: header.toLowerCase(), pattern, allowMissing }];
  });
}

function readTcp(fields: Fields, readFile: ReadFile): TcpSettings {
  const settings = {
    ...readAddressChoice(fields),
    queries: fields.children('query_response').map(readQuery),
    isSecure: fields.flag('tls', false),
    tls: readTlsSettings(fields.child('tls_config'), readFile),
  };
  fields.end();
  return settings;
}

function readQuery(fields: Fields): QueryResponse {
  const expect = fields.pattern('expect');
  const labels = fields.children('labels').map((label) => {
    const read = { name: label.text('name') ?? '', value: label.text('value') ?? '' };
    label.end();
    if (!/^[a-zA-Z_]\w*$/.test(read.name)) label.problem('name', 'must be the name of a label');
    return read;
  });
  const expectBytes = fields.text('expect_bytes') ?? '';
  if (fields.has('expect') && expectBytes !== '')
    fields.problem('expect_bytes', 'must be left out where expect is set');
  const startsTls = fields.flag('starttls', false);
  const send = fields.text('send') ?? '';
  fields.end();
  return { expect, expectBytes, send, startsTls, labels };
}

function readIcmp(fields: Fields): IcmpSettings {
  fields.refuse('payload_size', 'dont_fragment');
  const settings = { ...readAddressChoice(fields), ttl: fields.whole('ttl', { least: 0, most: 255 }) || DEFAULT_TTL };
  fields.end();
  return settings;
}

/** Also Linux' default. */
const DEFAULT_TTL = 64;
