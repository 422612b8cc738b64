import { z } from 'zod';
import { ConfigurationError, withoutEmpty, type Problem } from './failures.ts';
import {
  addressAndPort,
  addressRange,
  cellAddress,
  cellName,
  databaseUrl,
  flag,
  hostAndPort,
  issuerUrl,
  listenAddress,
  listOf,
  mailAddress,
  nonNegativeNumber,
  oneLine,
  provisionedDomain,
  redisUrl,
  regionName,
  roleRule,
  scopesOf,
  smtpUrl,
  urlOf,
  watchUrl,
  wholeNumber,
  type HostAndPort,
  type SmtpServer,
  LOG_LEVELS,
  type LogLevel,
} from './formats.ts';
import { openTelemetryOf, OPEN_TELEMETRY, type OpenTelemetry } from './open-telemetry.ts';
import { parseSecretKeys, type SecretKey } from './secret-keys.ts';
import { problemsOf, secret, variable } from './variables.ts';

/**
 * Configuration of every process of the service; null if not set, and then the part is off or chooses its own default.
 */
export type Environment = Readonly<{
  port: number;
  /** The address to listen on; null for all addresses of this machine. */
  host: string | null;
  /** Base of links, without a trailing slash. */
  publicUrl: string;
  /** Proxies whose `X-Forwarded-For` is trusted: addresses, ranges, `loopback`, `private`; empty if there are none. */
  trustedProxies: readonly string[];
  /** The name of this cell, which its tokens carry (docs/cells.md); null if it has none. */
  cell: string | null;
  /** Cells behind the router; the first takes requests that name no other cell. Empty if this is not a router. */
  cells: readonly Readonly<{ name: string; url: string }>[];
  dataDir: string;
  /** Null for embedded PostgreSQL in `dataDir`. */
  databaseUrl: string | null;
  /** One address, comma-separated Cluster nodes, or sentinels; null for queues in PostgreSQL. */
  redisUrl: string | null;
  /** Null only on embedded PostgreSQL, whose keys are generated. */
  secretKeys: readonly SecretKey[] | null;
  bootstrapToken: string | null;
  bootstrapPassword: string | null;
  allowPrivateNetwork: boolean;
  planCountLimits: boolean;
  agentRegions: readonly string[];
  agentRegion: string | null;
  /** Resolvers of a dns monitor's cross check (D-26), `address` or `address:port`; at least three. */
  dnsResolvers: readonly string[];
  /** The WHOIS server that refers to the server of a top-level domain (D-27). */
  whoisServer: HostAndPort;
  /** URL of IANA's registry of RDAP services (D-27). */
  rdapBootstrapUrl: string;
  /** Empty if there is no self-check (D-48). */
  selfCheckHosts: readonly HostAndPort[];
  deliveryRetrySeconds: readonly number[];
  webhookTimeoutSeconds: number;
  telegram: Readonly<{ botToken: string | null; botName: string | null; apiUrl: string }>;
  slack: Readonly<{ clientId: string | null; clientSecret: string | null; apiUrl: string }>;
  /** The mail server and the sender of emails; null if there is none. */
  mail: Readonly<SmtpServer & { from: Readonly<{ name: string; address: string }> }> | null;
  /** The OpenID Connect provider that people may sign in with (docs/sign-in.md); null if there is none. */
  openId: Readonly<{
    issuer: string;
    clientId: string;
    /** Null for a public client. */
    clientSecret: string | null;
    name: string;
    scopes: string;
    /** Null if roles are set in Spotcheck. */
    roleClaim: string | null;
    roles: readonly NonNullable<ReturnType<typeof roleRule>>[];
    provisionDomains: readonly NonNullable<ReturnType<typeof provisionedDomain>>[];
    linksByEmail: boolean;
    isOnly: boolean;
  }> | null;
  /** The canary's addresses, and its check interval; a null target is `publicUrl` (docs/watching.md). */
  canary: Readonly<{ urls: readonly string[]; target: string | null; seconds: number }>;
  queueBoardPassword: string | null;
  /** The port, on `host`, where a worker process serves its metrics and health; null for none. */
  metricsPort: number | null;
  /**
   * How long a stopping web process continues to serve after `/readyz` reports it, in seconds. Null for the default of
   * its process.
   */
  stopGraceSeconds: number | null;
  /** Destination of metrics and of spans of failed checks (docs/opentelemetry.md); null if they are not sent. */
  openTelemetry: OpenTelemetry | null;
  /** URL of a trace's page, containing `{trace_id}`; null if incidents have no link to their traces. */
  traceUrl: string | null;
  logLevel: LogLevel;
}>;

/** Maximum timeout: receivers are promised 8 s (D-50), and an operator may only shorten that. */
const MAX_WEBHOOK_TIMEOUT_SECONDS = 8;
const MAX_RETRY_SECONDS = 86_400;
/** Maximum retries: receivers are promised three (D-50). */
const MAX_RETRIES = 3;
/** Maximum grace period: process supervisors kill processes that take longer to stop. */
const MAX_STOP_GRACE_SECONDS = 600;
/** Two that disagree prove nothing (D-26); each additional one costs one more query per record. */
const MIN_DNS_RESOLVERS = 3;
const MAX_DNS_RESOLVERS = 10;
/** Interval of the canary's checks, in seconds, and the maximum addresses that it pings. */
const CANARY_SECONDS = { default: 30, min: 5, max: 300 } as const;
const MAX_WATCH_URLS = 10;
/** The router keeps separate connections to each cell. */
const MAX_CELLS = 100;

const logLevel = z.enum(LOG_LEVELS, `one of ${LOG_LEVELS.join(', ')}`);
const httpUrl = variable('an http:// or https:// URL without query', urlOf('http:', 'https:'));
const boolean = variable('true or false', flag);
const text = variable('one line of text', oneLine);
const region = variable('a name of lower-case letters, digits and hyphens, at most 32, other than service', regionName);

const VARIABLES = z.object({
  PORT: variable('a port from 0 to 65535', wholeNumber(0, 65_535)).default(3000),
  HOST: variable(
    'an IP address of this machine, 0.0.0.0 or :: for all of them, or localhost',
    listenAddress,
  ).optional(),
  PUBLIC_URL: httpUrl.optional(),
  TRUSTED_PROXIES: variable(
    'addresses, ranges such as 10.0.0.0/8, loopback or private, comma-separated, each once',
    listOf(trustedProxy),
  ).default([]),
  CELL: variable('a letter, and up to 15 letters and digits, in lower case', cellName).optional(),
  CELLS: variable(
    `up to ${MAX_CELLS} of name=http://host:port without a path, comma-separated, each name and address once, a name ` +
      'being a letter, and up to 15 letters and digits, in lower case',
    cellAddresses,
  ).default([]),
  DATA_DIR: text.default('.data'),
  DATABASE_URL: secret(
    variable(
      'a postgres:// URL, with several hosts after commas where one of them is a standby (target_session_attrs: ' +
        'read-write or primary)',
      databaseUrl,
    ).optional(),
  ),
  REDIS_URL: secret(
    variable(
      'redis:// or rediss:// URLs of one kind, comma-separated, or redis+sentinel://host:port,host:port/0?name=master',
      redisUrl,
    ).optional(),
  ),
  SECRET_KEYS: secret(
    variable('id:base64 pairs, comma-separated, each key 32 bytes, each id unique', parseSecretKeys).optional(),
  ),
  BOOTSTRAP_TOKEN: secret(
    variable('spk_ and then letters, digits, - or _', (value) =>
      /^spk_[A-Za-z0-9_-]{1,200}$/.test(value) ? value : null,
    ).optional(),
  ),
  BOOTSTRAP_PASSWORD: secret(text.optional()),
  ALLOW_PRIVATE_NETWORK: boolean.optional(),
  PLAN_COUNT_LIMITS: boolean.optional(),
  AGENT_REGIONS: variable(
    'names of lower-case letters, digits and hyphens, comma-separated, each once, none of them service',
    listOf(regionName),
  ).default(['local']),
  AGENT_REGION: region.optional(),
  SELF_CHECK_HOSTS: variable('host:port, comma-separated, each once', listOf(hostAndPort)).default([]),
  DNS_RESOLVERS: variable(
    `addresses or address:port, comma-separated, ${MIN_DNS_RESOLVERS} to ${MAX_DNS_RESOLVERS}, each once`,
    dnsResolvers,
  ).default(['1.1.1.1', '8.8.8.8', '9.9.9.9']),
  WHOIS_SERVER: variable('host:port', hostAndPort).default({ host: 'whois.iana.org', port: 43 }),
  RDAP_BOOTSTRAP_URL: httpUrl.default('https://data.iana.org/rdap/dns.json'),
  DELIVERY_RETRY_SECONDS: variable(
    `up to ${MAX_RETRIES} numbers of seconds from 0 to ${MAX_RETRY_SECONDS}, comma-separated`,
    retrySeconds,
  ).default([5, 25, 125]),
  WEBHOOK_TIMEOUT_SECONDS: variable(`seconds above 0, at most ${MAX_WEBHOOK_TIMEOUT_SECONDS}`, webhookTimeout).default(
    MAX_WEBHOOK_TIMEOUT_SECONDS,
  ),
  TELEGRAM_BOT_TOKEN: secret(text.optional()),
  TELEGRAM_BOT_NAME: text.optional(),
  TELEGRAM_API_URL: httpUrl.default('https://api.telegram.org'),
  SLACK_CLIENT_ID: text.optional(),
  SLACK_CLIENT_SECRET: secret(text.optional()),
  SLACK_API_URL: httpUrl.default('https://slack.com/api'),
  SMTP_URL: secret(
    variable(
      'an smtp:// or smtps:// URL with a host, and a user and a password or neither, without path and query',
      smtpUrl,
    ).optional(),
  ),
  MAIL_FROM: variable('an address such as alerts@example.com, or Name <alerts@example.com>', mailAddress).optional(),
  OIDC_ISSUER: variable(
    'the https:// URL of the provider as it writes itself (http:// on this machine alone), without /.well-known/',
    issuerUrl,
  ).optional(),
  OIDC_CLIENT_ID: text.optional(),
  OIDC_CLIENT_SECRET: secret(text.optional()),
  OIDC_NAME: variable('one line of at most 40 characters', (value) =>
    value.length <= 40 ? oneLine(value) : null,
  ).default('OpenID Connect'),
  OIDC_SCOPES: variable('scopes with a blank between, openid among them', scopesOf).default('openid email profile'),
  OIDC_ROLE_CLAIM: text.optional(),
  OIDC_ROLES: variable(
    'owner=VALUE, editor=VALUE or viewer=VALUE, comma-separated, each once; * stands for any value',
    listOf(roleRule),
  ).default([]),
  OIDC_PROVISION_DOMAINS: variable(
    'domains such as example.com, or example.com=ten_... with the account to join, comma-separated, each once',
    listOf(provisionedDomain),
  ).default([]),
  OIDC_LINK_BY_EMAIL: boolean.default(false),
  OIDC_ONLY: boolean.default(false),
  WATCH_URLS: secret(
    variable(
      `up to ${MAX_WATCH_URLS} http:// or https:// URLs without user and password, comma-separated, each once`,
      watchUrls,
    ).default([]),
  ),
  WATCH_TARGET: httpUrl.optional(),
  WATCH_SECONDS: variable(
    `seconds from ${CANARY_SECONDS.min} to ${CANARY_SECONDS.max}`,
    wholeNumber(CANARY_SECONDS.min, CANARY_SECONDS.max),
  ).default(CANARY_SECONDS.default),
  QUEUE_BOARD_PASSWORD: secret(text.optional()),
  METRICS_PORT: variable('a port from 0 to 65535', wholeNumber(0, 65_535)).optional(),
  STOP_GRACE_SECONDS: variable(`seconds from 0 to ${MAX_STOP_GRACE_SECONDS}`, (value) =>
    atMost(nonNegativeNumber(value), MAX_STOP_GRACE_SECONDS),
  ).optional(),
  ...OPEN_TELEMETRY,
  LOG_LEVEL: logLevel.default('info'),
});

/** Variables that only some processes require. */
type Required = 'DATABASE_URL' | 'AGENT_REGION' | 'CELLS';

const REQUIRED_FOR = {
  DATABASE_URL: 'a PostgreSQL server; only npm start runs on the embedded one',
  AGENT_REGION: 'the region of the shared agent that this check process is',
  CELLS: 'the cells that the router leads to, as name=http://host:port',
} as const satisfies Record<Required, string>;

/**
 * Reads the service's configuration from an environment; throws a `ConfigurationError` that lists every problem,
 * including variables that this process requires.
 */
export function readEnvironment(env: NodeJS.ProcessEnv, required: readonly Required[] = []): Environment {
  const given = withoutEmpty(env);
  const parsed = VARIABLES.safeParse(given);
  const problems = [
    ...problemsOf(parsed.error, VARIABLES.shape, given),
    ...missingKeys(given),
    ...missingNeeds(given),
    ...missing(given, required),
  ];
  if (!parsed.success || problems.length > 0) throw new ConfigurationError(problems);
  return environmentOf(parsed.data);
}

function environmentOf(values: z.infer<typeof VARIABLES>): Environment {
  const isEmbedded = values.DATABASE_URL === undefined;
  return Object.freeze({
    port: values.PORT,
    // An installation on a personal machine serves only that machine unless its owner sets `HOST`.
    host: values.HOST ?? (isEmbedded ? '127.0.0.1' : null),
    publicUrl: values.PUBLIC_URL ?? `http://localhost:${values.PORT}`,
    trustedProxies: Object.freeze(values.TRUSTED_PROXIES),
    cell: values.CELL ?? null,
    cells: Object.freeze(values.CELLS),
    dataDir: values.DATA_DIR,
    databaseUrl: values.DATABASE_URL ?? null,
    redisUrl: values.REDIS_URL ?? null,
    secretKeys: values.SECRET_KEYS === undefined ? null : Object.freeze(values.SECRET_KEYS),
    bootstrapToken: values.BOOTSTRAP_TOKEN ?? null,
    bootstrapPassword: values.BOOTSTRAP_PASSWORD ?? null,
    allowPrivateNetwork: values.ALLOW_PRIVATE_NETWORK ?? isEmbedded,
    planCountLimits: values.PLAN_COUNT_LIMITS ?? !isEmbedded,
    agentRegions: Object.freeze(values.AGENT_REGIONS),
    agentRegion: values.AGENT_REGION ?? null,
    dnsResolvers: Object.freeze(values.DNS_RESOLVERS),
    whoisServer: Object.freeze(values.WHOIS_SERVER),
    rdapBootstrapUrl: values.RDAP_BOOTSTRAP_URL,
    selfCheckHosts: Object.freeze(values.SELF_CHECK_HOSTS),
    deliveryRetrySeconds: Object.freeze(values.DELIVERY_RETRY_SECONDS),
    webhookTimeoutSeconds: values.WEBHOOK_TIMEOUT_SECONDS,
    telegram: Object.freeze({
      botToken: values.TELEGRAM_BOT_TOKEN ?? null,
      botName: values.TELEGRAM_BOT_NAME ?? null,
      apiUrl: values.TELEGRAM_API_URL,
    }),
    slack: Object.freeze({
      clientId: values.SLACK_CLIENT_ID ?? null,
      clientSecret: values.SLACK_CLIENT_SECRET ?? null,
      apiUrl: values.SLACK_API_URL,
    }),
    mail:
      values.SMTP_URL === undefined || values.MAIL_FROM === undefined
        ? null
        : Object.freeze({ ...values.SMTP_URL, from: values.MAIL_FROM }),
    openId:
      values.OIDC_ISSUER === undefined || values.OIDC_CLIENT_ID === undefined
        ? null
        : Object.freeze({
            issuer: values.OIDC_ISSUER,
            clientId: values.OIDC_CLIENT_ID,
            clientSecret: values.OIDC_CLIENT_SECRET ?? null,
            name: values.OIDC_NAME,
            scopes: values.OIDC_SCOPES,
            roleClaim: values.OIDC_ROLE_CLAIM ?? null,
            roles: Object.freeze(values.OIDC_ROLES),
            provisionDomains: Object.freeze(values.OIDC_PROVISION_DOMAINS),
            linksByEmail: values.OIDC_LINK_BY_EMAIL,
            isOnly: values.OIDC_ONLY,
          }),
    canary: Object.freeze({
      urls: Object.freeze(values.WATCH_URLS),
      target: values.WATCH_TARGET ?? null,
      seconds: values.WATCH_SECONDS,
    }),
    queueBoardPassword: values.QUEUE_BOARD_PASSWORD ?? null,
    metricsPort: values.METRICS_PORT ?? null,
    stopGraceSeconds: values.STOP_GRACE_SECONDS ?? null,
    openTelemetry: openTelemetryOf(values),
    traceUrl: values.TRACE_URL ?? null,
    logLevel: values.LOG_LEVEL,
  });
}

/** An external server outlives this machine's disk, so the keys to secrets sealed in it must not be generated here. */
function missingKeys(given: Record<string, string>): Problem[] {
  if (given['DATABASE_URL'] === undefined || given['SECRET_KEYS'] !== undefined) return [];
  return [{ name: 'SECRET_KEYS', expected: 'a key ring (id:base64,...), because DATABASE_URL is set', received: null }];
}

/**
 * Pairs of variables of which the first is useless without the second. Otherwise such a mistake would show only with
 * the first alert or sign-in. A variable set to false needs nothing.
 */
const NEEDS: readonly [name: string, other: string, what: string][] = [
  ['SMTP_URL', 'MAIL_FROM', 'the sender of emails'],
  ['MAIL_FROM', 'SMTP_URL', 'the mail server'],
  ['OIDC_ISSUER', 'OIDC_CLIENT_ID', 'the id of this installation at the provider'],
  ['OIDC_CLIENT_ID', 'OIDC_ISSUER', 'the URL of the provider'],
  ['OIDC_CLIENT_SECRET', 'OIDC_ISSUER', 'the URL of the provider'],
  ['OIDC_PROVISION_DOMAINS', 'OIDC_ISSUER', 'the URL of the provider'],
  ['OIDC_LINK_BY_EMAIL', 'OIDC_ISSUER', 'the URL of the provider'],
  ['OIDC_ONLY', 'OIDC_ISSUER', 'the URL of the provider'],
  ['OIDC_ROLE_CLAIM', 'OIDC_ROLES', 'what its values mean'],
  ['OIDC_ROLES', 'OIDC_ROLE_CLAIM', 'the claim with these values'],
  ['OIDC_ROLES', 'OIDC_ISSUER', 'the URL of the provider'],
];

function missingNeeds(given: Record<string, string>): Problem[] {
  const isOn = (name: string) => given[name] !== undefined && flag(given[name]) !== false;
  return NEEDS.filter(([name, other]) => isOn(name) && given[other] === undefined).map(([name, other, what]) => ({
    name: other,
    expected: `${what}, because ${name} is set`,
    received: null,
  }));
}

function missing(given: Record<string, string>, required: readonly Required[]): Problem[] {
  return required
    .filter((name) => given[name] === undefined)
    .map((name) => ({ name, expected: REQUIRED_FOR[name], received: null }));
}

/** Reads the configuration of a fleet process, which must have `DATABASE_URL` and `SECRET_KEYS`. */
export function readFleetEnvironment(
  env: NodeJS.ProcessEnv,
  required: readonly Required[] = [],
): Environment & { databaseUrl: string; secretKeys: readonly SecretKey[] } {
  const environment = readEnvironment(env, ['DATABASE_URL', ...required]);
  const { databaseUrl: fleetDatabaseUrl, secretKeys } = environment;
  if (fleetDatabaseUrl === null || secretKeys === null)
    throw new Error('DATABASE_URL or SECRET_KEYS is missing although it was required');
  return { ...environment, databaseUrl: fleetDatabaseUrl, secretKeys };
}

function trustedProxy(value: string): string | null {
  return value === 'loopback' || value === 'private' ? value : addressRange(value);
}

function cellAddresses(value: string): Environment['cells'] | null {
  const cells = listOf(cellAddress)(value);
  const names = new Set(cells?.map(({ name }) => name));
  const urls = new Set(cells?.map(({ url }) => url));
  const isUnique = names.size === cells?.length && urls.size === cells.length;
  return isUnique && cells.length <= MAX_CELLS ? cells : null;
}

function dnsResolvers(value: string): readonly string[] | null {
  const resolvers = listOf(addressAndPort)(value);
  return resolvers !== null && resolvers.length >= MIN_DNS_RESOLVERS && resolvers.length <= MAX_DNS_RESOLVERS
    ? resolvers
    : null;
}

function watchUrls(value: string): readonly string[] | null {
  const urls = listOf(watchUrl)(value);
  return urls !== null && urls.length <= MAX_WATCH_URLS ? urls : null;
}

function retrySeconds(value: string): readonly number[] | null {
  const waits = listOf((item) => atMost(nonNegativeNumber(item), MAX_RETRY_SECONDS), { unique: false })(value);
  return waits !== null && waits.length <= MAX_RETRIES ? waits : null;
}

function webhookTimeout(value: string): number | null {
  const seconds = atMost(nonNegativeNumber(value), MAX_WEBHOOK_TIMEOUT_SECONDS);
  return seconds === 0 ? null : seconds;
}

function atMost(value: number | null, max: number): number | null {
  return value !== null && value <= max ? value : null;
}
