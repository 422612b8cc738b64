import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { parseEnv } from 'node:util';
import test from 'ava';
import { readAgentEnvironment } from '../../config/agent-environment.ts';
import { readEnvironment } from '../../config/environment.ts';
import { ConfigurationError } from '../../config/failures.ts';

const KEY = randomBytes(32).toString('base64');

/** Returns the names of the variables for which an environment is refused. */
function refused(env: NodeJS.ProcessEnv): readonly string[] {
  try {
    readEnvironment(env);
    return [];
  } catch (error) {
    if (error instanceof ConfigurationError) return error.problems.map(({ name }) => name);
    throw error;
  }
}

test('an empty environment configures an embedded installation on port 3000', (t) => {
  const environment = readEnvironment({});
  t.like(environment, {
    port: 3000,
    host: '127.0.0.1',
    publicUrl: 'http://localhost:3000',
    dataDir: '.data',
    databaseUrl: null,
    redisUrl: null,
    secretKeys: null,
    logLevel: 'info',
  });
  t.like(environment, { allowPrivateNetwork: true, planCountLimits: false, webhookTimeoutSeconds: 8 });
  t.deepEqual(environment.agentRegions, ['local']);
  t.deepEqual(environment.deliveryRetrySeconds, [5, 25, 125]);
  t.deepEqual(environment.dnsResolvers, ['1.1.1.1', '8.8.8.8', '9.9.9.9']);
  t.deepEqual(environment.trustedProxies, [], 'no proxy is trusted by default');
});

test('an external database turns private networks off and plan counts on, unless they are set', (t) => {
  const external = { DATABASE_URL: 'postgres://u:p@db.example/spotcheck', SECRET_KEYS: `k1:${KEY}` };
  t.like(readEnvironment(external), { host: null, allowPrivateNetwork: false, planCountLimits: true });
  t.like(readEnvironment({ ...external, ALLOW_PRIVATE_NETWORK: 'true', PLAN_COUNT_LIMITS: '0' }), {
    allowPrivateNetwork: true,
    planCountLimits: false,
  });
});

test('an external database without a key ring is refused', (t) => {
  t.deepEqual(refused({ DATABASE_URL: 'postgres://u:p@db.example/spotcheck' }), ['SECRET_KEYS']);
  t.deepEqual(refused({ DATABASE_URL: 'postgres://u:p@db.example/spotcheck', SECRET_KEYS: ' ' }), ['SECRET_KEYS']);
});

test('an empty variable counts as unset', (t) => {
  t.deepEqual(readEnvironment({ PORT: '', DATABASE_URL: '', LOG_LEVEL: ' ' }), readEnvironment({}));
});

test('the public URL follows the port and loses its trailing slash', (t) => {
  t.is(readEnvironment({ PORT: '8080' }).publicUrl, 'http://localhost:8080');
  t.is(readEnvironment({ PUBLIC_URL: 'https://status.example/app/' }).publicUrl, 'https://status.example/app');
  t.is(readEnvironment({ PUBLIC_URL: 'HTTPS://Status.Example:443/App//' }).publicUrl, 'https://status.example/App');
});

test('the configuration is frozen', (t) => {
  const environment = readEnvironment({});
  for (const value of [
    environment,
    environment.agentRegions,
    environment.dnsResolvers,
    environment.trustedProxies,
    environment.telegram,
    environment.slack,
    environment.deliveryRetrySeconds,
  ])
    t.true(Object.isFrozen(value));
});

test('nothing is sent by OTLP unless an endpoint is set, and each signal can have its own endpoint or be off', (t) => {
  const read = (env: NodeJS.ProcessEnv) => readEnvironment(env).openTelemetry;
  t.is(read({}), null);
  t.is(read({ OTEL_SERVICE_NAME: 'x', OTEL_EXPORTER_OTLP_HEADERS: 'a=b' }), null);
  const base = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318/otlp/', OTEL_EXPORTER_OTLP_HEADERS: 'a=b%20c' };
  const both = read(base);
  t.deepEqual(both?.traces, { url: 'http://collector:4318/otlp/v1/traces', headers: { a: 'b c' } });
  t.deepEqual(both?.metrics, { url: 'http://collector:4318/otlp/v1/metrics', headers: { a: 'b c' } });
  t.like(both, { protocol: 'http/protobuf', compression: 'none', timeoutMs: 10_000, metricIntervalMs: 60_000 });
  t.deepEqual(both?.resource, { 'service.name': 'spotcheck' });
  t.true(Object.isFrozen(both) && Object.isFrozen(both?.traces?.headers) && Object.isFrozen(both?.resource));

  const own = {
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://traces.example/in',
    OTEL_EXPORTER_OTLP_TRACES_HEADERS: 'a=d',
  };
  t.deepEqual(read({ ...base, ...own })?.traces, { url: 'https://traces.example/in', headers: { a: 'd' } });
  t.is(read(own)?.metrics, null);
  t.is(read({ ...base, OTEL_TRACES_EXPORTER: 'none' })?.traces, null);
  t.is(read({ ...base, OTEL_SDK_DISABLED: 'true' }), null);
  const named = { OTEL_RESOURCE_ATTRIBUTES: 'service.name=a,team=b%2Cc', OTEL_SERVICE_NAME: 'd' };
  t.deepEqual(read({ ...base, ...named })?.resource, { 'service.name': 'd', team: 'b,c' });
});

const GOOD: readonly NodeJS.ProcessEnv[] = [
  { PORT: '0' },
  { PORT: '65535' },
  {
    DATABASE_URL: 'postgres://u:p@h1:5432,[2001:db8::2]:5433,h3/d?target_session_attrs=read-write',
    SECRET_KEYS: `k1:${KEY}`,
  },
  { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318/' },
  { OTEL_EXPORTER_OTLP_HEADERS: 'Authorization=Basic%20YTpi,x-scope=1' },
  { OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=prod,team=a%2Cb,' },
  { TRACE_URL: 'https://grafana.example/explore?trace={trace_id}#{trace_id}' },
  { HOST: '0.0.0.0' },
  { HOST: '::' },
  { HOST: 'localhost' },
  { REDIS_URL: 'redis://127.0.0.1:6379/2' },
  { REDIS_URL: 'rediss://:pw@a.example:6379, rediss://:pw@b.example:6379' },
  { REDIS_URL: 'redis+sentinel://a.example,192.0.2.1:26379,[2001:db8::1]:26380?name=queues' },
  {
    REDIS_URL:
      'rediss+sentinel://user:p%40ss@a.example:26379/2?name=queues&sentinel_username=u&sentinel_password=p%26w',
  },
  { WEBHOOK_TIMEOUT_SECONDS: '0.5' },
  { TRUSTED_PROXIES: 'loopback, private,192.0.2.7,10.1.0.0/16,2001:db8::/32,::1' },
  { CELL: 'eu1', CELLS: 'a=http://10.0.0.1:3000, eu1=https://[2001:db8::1]/' },
  { STOP_GRACE_SECONDS: '0' },
  { DELIVERY_RETRY_SECONDS: '0' },
  { DELIVERY_RETRY_SECONDS: '0.1, 0.1,2' },
  { AGENT_REGIONS: 'hanoi,eu-west-1' },
  { SELF_CHECK_HOSTS: 'one.example:443,[2001:db8::1]:53' },
  { WHOIS_SERVER: '[2001:db8::1]:4343', RDAP_BOOTSTRAP_URL: 'http://rdap.example/dns.json' },
  { DNS_RESOLVERS: '192.0.2.1, 192.0.2.2:5353,2001:db8::1,[2001:db8::2]:5353' },
  { SECRET_KEYS: `new:${KEY},old:${KEY}` },
  { BOOTSTRAP_TOKEN: 'spk_abc-DEF_123' },
  { LOG_LEVEL: 'silent' },
  { SMTP_URL: 'smtp://localhost', MAIL_FROM: 'alerts@status.example' },
  { OIDC_ISSUER: 'https://id.example/application/o/spotcheck/', OIDC_CLIENT_ID: 'spotcheck' },
  { OIDC_ISSUER: 'http://[::1]:8080', OIDC_CLIENT_ID: 'spotcheck', OIDC_CLIENT_SECRET: 's', OIDC_ONLY: 'true' },
  { OIDC_ISSUER: 'http://localhost:8080', OIDC_CLIENT_ID: 'a', OIDC_PROVISION_DOMAINS: 'a.example=ten_1,b.example' },
  { OIDC_ISSUER: 'https://id.example', OIDC_CLIENT_ID: 'a', OIDC_ROLE_CLAIM: 'g', OIDC_ROLES: 'owner=A b,viewer=*' },
  { OIDC_ONLY: 'false', OIDC_LINK_BY_EMAIL: '0' },
  { SMTP_URL: 'smtps://alerts%40status.example:p%40ss@[2001:db8::1]:2465', MAIL_FROM: 'Status <a@status.example>' },
];
for (const env of GOOD) {
  test(`accepts ${Object.entries(env)
    .map(([name, value]) => `${name}=${value?.replaceAll(KEY, '<32 bytes>')}`)
    .join(' ')}`, (t) => {
    t.deepEqual(refused(env), []);
  });
}

/** Other variables that each variable requires. */
const NEEDED: Readonly<Record<string, NodeJS.ProcessEnv>> = {
  DATABASE_URL: { SECRET_KEYS: `k1:${KEY}` },
  SMTP_URL: { MAIL_FROM: 'alerts@status.example' },
  MAIL_FROM: { SMTP_URL: 'smtp://mail.example' },
  OIDC_ISSUER: { OIDC_CLIENT_ID: 'spotcheck' },
  OIDC_PROVISION_DOMAINS: { OIDC_ISSUER: 'https://id.example', OIDC_CLIENT_ID: 'spotcheck' },
  OIDC_ONLY: { OIDC_ISSUER: 'https://id.example', OIDC_CLIENT_ID: 'spotcheck' },
  OIDC_ROLES: { OIDC_ISSUER: 'https://id.example', OIDC_CLIENT_ID: 'spotcheck', OIDC_ROLE_CLAIM: 'groups' },
};

const BAD: readonly [name: string, ...values: string[]][] = [
  ['OTEL_EXPORTER_OTLP_ENDPOINT', 'collector:4318', 'grpc://collector:4317', 'http://u:p@h', 'http://h?key=s3cret'],
  ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'collector', 'http://u:p@h/v1/traces'],
  ['OTEL_EXPORTER_OTLP_METRICS_ENDPOINT', 'collector', 'http://u:p@h/v1/metrics'],
  ['OTEL_EXPORTER_OTLP_HEADERS', 'a', '=b', 'a b=c', 'a=%', 'a=%0a', 'a=%C3%A4', 'a=b,,c=d'],
  ['OTEL_EXPORTER_OTLP_TRACES_HEADERS', 'a'],
  ['OTEL_EXPORTER_OTLP_METRICS_HEADERS', 'a'],
  ['OTEL_EXPORTER_OTLP_PROTOCOL', 'grpc', 'json'],
  ['OTEL_EXPORTER_OTLP_COMPRESSION', 'zstd'],
  ['OTEL_EXPORTER_OTLP_TIMEOUT', '0', '10s', '60001'],
  ['OTEL_METRIC_EXPORT_INTERVAL', '999', '3600001', '1m'],
  ['OTEL_TRACES_EXPORTER', 'zipkin'],
  ['OTEL_METRICS_EXPORTER', 'prometheus'],
  ['OTEL_SDK_DISABLED', 'maybe'],
  ['OTEL_RESOURCE_ATTRIBUTES', 'a', 'a=%', Array.from({ length: 65 }, (_, at) => `a${at}=1`).join(',')],
  ['TRACE_URL', 'https://traces.example/', 'traces/{trace_id}', 'ftp://h/{trace_id}', 'https://u:p@h/{trace_id}'],
  ['CELL', 'A', '1a', 'a_b', 'a-b', 'a.b', 'a'.repeat(17)],
  [
    'CELLS',
    'a',
    'a=b',
    '=http://h',
    'a=http://h/path',
    'a=http://u:p@h',
    'a=http://h?x=1',
    'a=ftp://h',
    'a=http://h,a=http://i',
    'A=http://h',
    Array.from({ length: 101 }, (_, index) => `c${index}=http://h`).join(','),
  ],
  ['PORT', '-1', '65536', '80.5', '0x50', 'http', '1e3'],
  ['HOST', 'all', 'status.example', '127.1', '[::1]', '0.0.0.0:3000', 'fe80::1%eth0', '10.0.0.0/8'],
  [
    'PUBLIC_URL',
    'example.com',
    'ftp://example.com',
    'https:example.com',
    'https://example.com/?a=1',
    'https://example.com/?',
    'https://example.com/#top',
    'https://example.com/#',
    ' https://example.com',
    'https://example.com\n',
    'https://exam\tple.com',
  ],
  [
    'TRUSTED_PROXIES',
    'true',
    '1',
    'all',
    'proxy.example',
    '10.0.0.0/33',
    '10.0.0.0/0',
    '::/0',
    '10.0.0.0/255.0.0.0',
    '10.0.0.0/8/8',
    '10.1',
    '0x0a000001',
    '2001:db8::/129',
    'fe80::1%eth0',
    '::ffff:192.0.2.1',
    '64:ff9b::192.0.2.1',
    '[::1]',
    '192.0.2.7:80',
    'loopback,',
    'loopback,loopback',
  ],
  [
    'DATABASE_URL',
    'mysql://u@h/d',
    'postgres:',
    'h/d',
    'postgres://u@h1,,h2/d',
    'postgres://u@h1:x,h2/d',
    'postgres://u@h1,h2/d?target_session_attrs=standby',
  ],
  [
    'REDIS_URL',
    'http://h:6379',
    'redis://a:1,rediss://b:2',
    'redis://a:1,',
    '127.0.0.1:6379',
    'redis://:50%@a:1',
    'redis+sentinel://a:1,b:2/0',
    'redis+sentinel://a:1?name=',
    'redis+sentinel://a:1,a:1?name=m',
    'redis+sentinel://a:1,redis+sentinel://b:2?name=m',
    'redis+sentinel://a:65536?name=m',
    'redis+sentinel:///0?name=m',
    'redis+sentinel://a:1/x?name=m',
    'redis+sentinel://a:1?name=m&role=replica',
    'redis+sentinel://a:1?name=m&name=n',
    'sentinel://a:1?name=m',
  ],
  ['SECRET_KEYS', KEY, `k1:${KEY},k1:${KEY}`, 'k1:c2hvcnQ=', `k 1:${KEY}`, `k1:${KEY},`, `${'k'.repeat(33)}:${KEY}`],
  ['BOOTSTRAP_TOKEN', 'abc', 'spk_', 'spk_with space', 'spa_abc'],
  ['ALLOW_PRIVATE_NETWORK', 'maybe', 'yes please', 'constructor', '__proto__'],
  ['PLAN_COUNT_LIMITS', '2'],
  ['AGENT_REGIONS', 'a,,b', 'a,a', 'Hanoi', '-a', 'a b', 'service', 'x'.repeat(33)],
  ['AGENT_REGION', 'a,b', 'a:b', 'service'],
  ['SELF_CHECK_HOSTS', 'one.example', 'one.example:0', 'one.example:65536', '2001:db8::1:53', ':53'],
  [
    'DNS_RESOLVERS',
    '1.1.1.1,8.8.8.8',
    '1.1.1.1,1.1.1.1,8.8.8.8',
    'a.example,b.example,c.example',
    '1.1.1.1,8.8.8.8,9.9.9.9:0',
    '1.1.1.1,8.8.8.8,9.9.9.9:65536',
    '1.1.1.1,8.8.8.8,[9.9.9.9]:53',
    '1.1.1.1,8.8.8.8,2001:db8::1]:53',
    Array.from({ length: 11 }, (_, index) => `192.0.2.${index}`).join(','),
  ],
  ['WHOIS_SERVER', 'whois.iana.org', 'whois.iana.org:0', 'whois://whois.iana.org:43', 'a:43,b:43'],
  ['RDAP_BOOTSTRAP_URL', 'data.iana.org/rdap/dns.json', 'file:///dns.json'],
  ['DELIVERY_RETRY_SECONDS', '-1', '5,,25', 'soon', '86401', 'Infinity', '1,1,1,1'],
  ['STOP_GRACE_SECONDS', '-1', '601', 'long'],
  ['WEBHOOK_TIMEOUT_SECONDS', '0', '8.001', '9', '-1', 'NaN'],
  ['TELEGRAM_API_URL', 'api.telegram.org'],
  ['SLACK_API_URL', 'file:///etc/passwd'],
  [
    'SMTP_URL',
    'mail.example',
    'http://mail.example',
    'smtp://',
    'smtp://mail.example/inbox',
    'smtp://mail.example?pool=true',
    'smtp://user@mail.example',
    'smtp://:password@mail.example',
    'smtp://u:%E0%A4%A@mail.example',
    'smtp://mail.example:0',
  ],
  ['MAIL_FROM', 'alerts', 'a@b, c@d', 'A <a@b> B', 'A\r\nBcc: c@d <a@b>', 'a@b\nBcc: c@d', '<a@b> c@d', 'a b@c'],
  ['LOG_LEVEL', 'loud', 'INFO'],
  [
    'OIDC_ISSUER',
    'id.example',
    'http://id.example',
    'http://127.0.0.1.evil.example',
    'https://u:p@id.example',
    'https://id.example?a=b',
    'https://id.example#a',
    'https://id.example/.well-known/openid-configuration',
  ],
  ['OIDC_NAME', 'x'.repeat(41), 'a\nb'],
  ['OIDC_SCOPES', 'email', 'openid\temail', 'openid "email"'],
  ['OIDC_ROLES', 'owner', 'boss=a', 'owner=', 'owner=a,owner=a', '=a'],
  ['OIDC_PROVISION_DOMAINS', '*', '.example', 'a@b.example', 'a.example=default', 'a.example=', 'a.example,a.example'],
  ['OIDC_ONLY', 'yes'],
];
for (const [name, ...values] of BAD) {
  test(`refuses invalid values of ${name}`, (t) => {
    const others: NodeJS.ProcessEnv = NEEDED[name] ?? {};
    for (const value of values) t.deepEqual(refused({ ...others, [name]: value }), [name], value);
  });
}

test('all problems are reported at once, with variable, expected format and actual value', (t) => {
  const error = t.throws(
    () => readEnvironment({ PORT: 'http', LOG_LEVEL: 'loud', DATABASE_URL: 'postgres://u:p@h/d' }),
    { instanceOf: ConfigurationError },
  );
  t.is(
    error.message,
    [
      'Invalid configuration:',
      '  PORT: expected a port from 0 to 65535, got "http"',
      '  LOG_LEVEL: expected one of trace, debug, info, warn, error, fatal, silent, got "loud"',
      '  SECRET_KEYS: expected a key ring (id:base64,...), because DATABASE_URL is set',
    ].join('\n'),
  );
});

test('OIDC variables that depend on another one are refused without it', (t) => {
  const provider = { OIDC_ISSUER: 'https://id.example', OIDC_CLIENT_ID: 'spotcheck' };
  t.deepEqual(refused({ OIDC_ISSUER: 'https://id.example' }), ['OIDC_CLIENT_ID']);
  for (const [name, value] of [
    ['OIDC_CLIENT_ID', 'a'],
    ['OIDC_CLIENT_SECRET', 'a'],
    ['OIDC_PROVISION_DOMAINS', 'a.example'],
    ['OIDC_ONLY', 'true'],
    ['OIDC_LINK_BY_EMAIL', 'true'],
  ] as const)
    t.deepEqual(refused({ [name]: value }), ['OIDC_ISSUER'], name);
  t.deepEqual(refused({ ...provider, OIDC_ROLE_CLAIM: 'groups' }), ['OIDC_ROLES']);
  t.deepEqual(refused({ ...provider, OIDC_ROLES: 'viewer=*' }), ['OIDC_ROLE_CLAIM']);
  t.is(readEnvironment({}).openId, null);
  t.like(readEnvironment(provider).openId, {
    name: 'OpenID Connect',
    scopes: 'openid email profile',
    clientSecret: null,
    isOnly: false,
    linksByEmail: false,
  });
});

test('a mail server without a sender is refused, and a sender without a server', (t) => {
  t.deepEqual(refused({ SMTP_URL: 'smtp://mail.example' }), ['MAIL_FROM']);
  t.deepEqual(refused({ MAIL_FROM: 'alerts@status.example' }), ['SMTP_URL']);
  t.is(readEnvironment({}).mail, null);
  t.deepEqual(
    readEnvironment({ SMTP_URL: 'smtp://u:p%40ss@mail.example', MAIL_FROM: '"The Status" <a@b.example>' }).mail,
    {
      host: 'mail.example',
      port: 587,
      isSecure: false,
      signIn: { user: 'u', password: 'p@ss' },
      from: { name: 'The Status', address: 'a@b.example' },
    },
  );
  t.like(readEnvironment({ SMTP_URL: 'smtps://[::1]', MAIL_FROM: 'a@b.example' }).mail, {
    host: '::1',
    port: 465,
    isSecure: true,
    signIn: null,
  });
});

test('error messages never contain the value of a secret', (t) => {
  const names = [
    'DATABASE_URL',
    'REDIS_URL',
    'SECRET_KEYS',
    'BOOTSTRAP_TOKEN',
    'BOOTSTRAP_PASSWORD',
    'TELEGRAM_BOT_TOKEN',
    'SLACK_CLIENT_SECRET',
    'SMTP_URL',
    'QUEUE_BOARD_PASSWORD',
  ];
  const given = { ...Object.fromEntries(names.map((name) => [name, 'hunter2\n\n'])), ...NEEDED['SMTP_URL'] };
  const error = t.throws(() => readEnvironment(given), {
    instanceOf: ConfigurationError,
  });
  t.deepEqual(error.problems.map(({ name }) => name).toSorted(), names.toSorted());
  t.notRegex(error.message, /hunter2/);
});

const AGENT = { SPOTCHECK_URL: 'https://status.example/', SPOTCHECK_AGENT_TOKEN: 'spa_abc' };

test('the agent requires a service URL and a token, and has defaults for everything else', (t) => {
  t.deepEqual(readAgentEnvironment(AGENT), {
    serviceUrl: 'https://status.example',
    agentToken: 'spa_abc',
    dataDir: '.data',
    pullSeconds: 15,
    bufferResults: 10_000,
    bufferHours: 24,
    concurrency: 100,
    allowPrivateNetwork: true,
    selfCheckHosts: [],
    logLevel: 'info',
    probe: null,
  });
  const error = t.throws(
    () => readAgentEnvironment({ SPOTCHECK_AGENT_TOKEN: 'spk_of_another_kind', LOG_LEVEL: 'loud' }),
    { instanceOf: ConfigurationError },
  );
  t.deepEqual(
    error.problems.map(({ name }) => name),
    ['SPOTCHECK_URL', 'SPOTCHECK_AGENT_TOKEN', 'LOG_LEVEL'],
  );
  t.notRegex(error.message, /another_kind/);
});

test("the agent's configuration follows its variables, and an empty one counts as unset", (t) => {
  const given = {
    AGENT_PULL_SECONDS: '1',
    AGENT_BUFFER_RESULTS: '100',
    AGENT_BUFFER_HOURS: '',
    AGENT_CONCURRENCY: '2000',
    ALLOW_PRIVATE_NETWORK: 'false',
    SELF_CHECK_HOSTS: 'one.example:443',
    DATA_DIR: '/srv',
    LOG_LEVEL: 'debug',
    PROBE_LISTEN: '[::1]:9115',
    PROBE_CONFIG: 'blackbox.yml',
    PROBE_TOKEN: 'a-token-of-a-scrape',
  };
  const environment = readAgentEnvironment({ ...AGENT, ...given });
  t.like(environment, {
    pullSeconds: 1,
    bufferResults: 100,
    bufferHours: 24,
    concurrency: 2000,
    allowPrivateNetwork: false,
    dataDir: '/srv',
    logLevel: 'debug',
    probe: { listen: { host: '::1', port: 9115 }, configFile: 'blackbox.yml', token: 'a-token-of-a-scrape' },
  });
  t.deepEqual(environment.selfCheckHosts, [{ host: 'one.example', port: 443 }]);
  t.true(Object.isFrozen(environment) && Object.isFrozen(environment.selfCheckHosts));
});

const BAD_FOR_AGENTS: readonly [name: string, ...values: string[]][] = [
  ['SPOTCHECK_URL', 'status.example', 'ftp://status.example', 'https://status.example/?a=1'],
  ['SPOTCHECK_AGENT_TOKEN', 'spa_', 'spk_abc', 'spa_a b'],
  ['AGENT_PULL_SECONDS', '0', '61', '1.5', '-1', 'often'],
  ['AGENT_BUFFER_RESULTS', '99', '100001', '1e4'],
  ['AGENT_BUFFER_HOURS', '0', '25'],
  ['AGENT_CONCURRENCY', '0', '2001'],
  ['ALLOW_PRIVATE_NETWORK', 'maybe'],
  ['SELF_CHECK_HOSTS', 'one.example', 'a:1,a:1'],
  ['LOG_LEVEL', 'INFO'],
  ['PROBE_LISTEN', '9115', '127.0.0.1', 'agent.example:9115', '127.0.0.1:0'],
  ['PROBE_CONFIG', 'two\nlines'],
  ['PROBE_TOKEN', 'short', 'with a space in it'],
];
for (const [name, ...values] of BAD_FOR_AGENTS) {
  test(`the agent refuses invalid values of ${name}`, (t) => {
    for (const value of values) {
      const error = t.throws(() => readAgentEnvironment({ ...AGENT, [name]: value }), {
        instanceOf: ConfigurationError,
      });
      t.deepEqual(
        error.problems.map((problem) => problem.name),
        [name],
        value,
      );
    }
  });
}

test('the example file lists every variable and equals the default configuration', async (t) => {
  const read = (path: string) => readFile(new URL(`../../${path}`, import.meta.url), 'utf8');
  const example = parseEnv(await read('.env.example'));
  t.deepEqual(readEnvironment(example), readEnvironment({}));
  const files = ['environment', 'open-telemetry', 'agent-environment'];
  const sources = (await Promise.all(files.map((file) => read(`config/${file}.ts`)))).join('\n');
  const names = new Set(Array.from(sources.matchAll(/^ {2}([A-Z][A-Z_]+): /gm), ([, name]) => name));
  t.deepEqual(Object.keys(example).toSorted(), [...names].toSorted());
});
