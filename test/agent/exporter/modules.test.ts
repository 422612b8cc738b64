import test from 'ava';
import { InvalidModules, readModules } from '../../../agent/exporter/modules.ts';

const read = (text: string) => readModules(text, (fields, name) => (fields.text(name) === null ? null : 'of a file\n'));
const problemsOf = (text: string): string[] => {
  try {
    read(text);
    return [];
  } catch (error) {
    if (!(error instanceof InvalidModules)) throw error;
    return error.message.split('\n').map((line) => line.trim());
  }
};

test("Debian's default file is accepted, and its grpc module marked as unsupported", (t) => {
  const modules = read(`
modules:
  http_2xx:
    prober: http
  http_post_2xx:
    prober: http
    http:
      method: POST
  pop3s_banner:
    prober: tcp
    tcp:
      query_response:
      - expect: "^+OK"
      tls: true
      tls_config:
        insecure_skip_verify: false
  grpc:
    prober: grpc
    grpc:
      tls: true
      preferred_ip_protocol: "ip4"
  irc_banner:
    prober: tcp
    tcp:
      query_response:
      - send: "NICK prober"
      - expect: "PING :([^ ]+)"
        send: "PONG \${1}"
  icmp_ttl5:
    prober: icmp
    timeout: 5s
    icmp:
      ttl: 5
`);
  t.deepEqual(
    [...modules.values()].map(({ name, probe }) => `${name} ${probe.prober}`),
    ['http_2xx http', 'http_post_2xx http', 'pop3s_banner tcp', 'grpc unsupported', 'irc_banner tcp', 'icmp_ttl5 icmp'],
  );
  const http = modules.get('http_2xx')?.probe;
  t.like(http, {
    settings: { preferred: 6, fallback: true, method: 'GET', followsRedirects: true, validStatusCodes: [], body: null },
  });
  t.like(modules.get('icmp_ttl5'), { timeoutMs: 5000, probe: { settings: { ttl: 5, preferred: 6 } } });
});

test('credentials, files, anchors and the truth values of YAML 1.1 are read as blackbox_exporter reads them', (t) => {
  const modules = read(`
modules:
  first:
    prober: http
    timeout: 1m30s
    http: &http
      ip_protocol_fallback: no
      body_file: body.json
      basic_auth: {username: ann, password: secret}
      body_size_limit: 2KB
  second:
    prober: http
    timeout: 500ms
    http:
      <<: *http
      preferred_ip_protocol: ip4
      body_size_limit: 1MB
`);
  t.like(modules.get('first'), {
    timeoutMs: 90_000,
    probe: {
      settings: {
        preferred: 6,
        fallback: false,
        body: 'of a file\n',
        authorization: `Basic ${Buffer.from('ann:secret').toString('base64')}`,
        bodySizeLimit: 2048,
      },
    },
  });
  t.like(modules.get('second'), { timeoutMs: 500, probe: { settings: { preferred: 4, bodySizeLimit: 1_048_576 } } });
});

const BAD: readonly [what: string, yaml: string, problem: RegExp][] = [
  ['invalid YAML', 'modules: [', /^not valid YAML/],
  ['no modules', 'modules: {}', /^modules must have at least one module/],
  ['a list instead of a module', 'modules: [a]', /^the file\.modules must be a mapping/],
  ['an unknown top-level key', 'modules: {a: {prober: http}}\nmodule: {}', /^the file\.module is not an option/],
  ['an unknown prober', 'modules: {a: {prober: smtp}}', /^modules\.a\.prober must be one of http, .*, got "smtp"/],
  ['no prober', 'modules: {a: {timeout: 5s}}', /^modules\.a\.prober must be one of/],
  [
    'an invalid timeout',
    'modules: {a: {prober: icmp, timeout: 5}}',
    /^modules\.a\.timeout must be a duration such as 5s/,
  ],
  [
    'a misspelled option',
    'modules: {a: {prober: http, http: {methd: GET}}}',
    /^modules\.a\.http\.methd is not an option/,
  ],
  [
    'a proxy',
    'modules: {a: {prober: http, http: {proxy_url: "http://x"}}}',
    /^modules\.a\.http\.proxy_url is not supp/,
  ],
  ['HTTP/2 only', 'modules: {a: {prober: http, http: {valid_http_versions: [HTTP/2.0]}}}', /valid_http_versions must/],
  [
    'an invalid pattern',
    'modules: {a: {prober: tcp, tcp: {query_response: [{expect: "("}]}}}',
    /\[0\]\.expect must be a reg/,
  ],
  [
    'a look-ahead',
    'modules: {a: {prober: http, http: {fail_if_body_matches_regexp: ["(?=x)"]}}}',
    /^modules\.a\.http\.fail_if_body_matches_regexp\[0\] must be a regular expression in RE2 syntax/,
  ],
  [
    'a pattern that is too large when expanded',
    'modules: {a: {prober: http, http: {fail_if_body_matches_regexp: ["((a{99}){99}){99}"]}}}',
    /of at most 10000 characters/,
  ],
  [
    'two kinds of credentials',
    'modules: {a: {prober: http, http: {bearer_token: x, basic_auth: {username: y}}}}',
    /at most one of/,
  ],
  [
    'a header match without a pattern',
    'modules: {a: {prober: http, http: {fail_if_header_matches: [{header: x}]}}}',
    /regexp/,
  ],
  [
    'a header with a line break',
    'modules: {a: {prober: http, http: {headers: {X: "a\\nb"}}}}',
    /headers\.X must be a header/,
  ],
  ['no query name', 'modules: {a: {prober: dns, dns: {query_type: A}}}', /query_name must be a domain name/],
  [
    'an unknown query type',
    'modules: {a: {prober: dns, dns: {query_name: x, query_type: AX}}}',
    /query_type must be one of/,
  ],
  [
    'an unknown response code',
    'modules: {a: {prober: dns, dns: {query_name: x, valid_rcodes: [OK]}}}',
    /valid_rcodes must be/,
  ],
  ['DoT over UDP', 'modules: {a: {prober: dns, dns: {query_name: x, dns_over_tls: true}}}', /transport_protocol must/],
  [
    'a payload size',
    'modules: {a: {prober: icmp, icmp: {payload_size: 9}}}',
    /^modules\.a\.icmp\.payload_size is not supp/,
  ],
  ['a TTL above 255', 'modules: {a: {prober: icmp, icmp: {ttl: 256}}}', /ttl must be a whole number from 0 to 255/],
  [
    'a CA file without a certificate',
    'modules: {a: {prober: http, http: {tls_config: {ca_file: x}}}}',
    /tls_config must have cert/,
  ],
];
for (const [what, yaml, problem] of BAD)
  test(`a file with ${what} is rejected with an error that locates it`, (t) => {
    t.regex(problemsOf(yaml).join('\n'), problem);
  });

test('invalid YAML is rejected with line, column and reason, without quoting the file', (t) => {
  const password = 'modules: {a: {prober: http, http: {basic_auth: {\n  password: secret, username: [}}}}}';
  t.deepEqual(problemsOf(password), [
    'not valid YAML at line 2, column 32: missed comma between flow collection entries',
  ]);
  for (const value of ['*secret', '!secret x', '!secret! x', '!<secret> x', '!sec^ret x'])
    t.regex(problemsOf(`bearer_token: ${value}`).join('\n'), /^not valid YAML at line 1, column \d+: [a-z ]+$/);
});

test('all problems of a file are reported together', (t) => {
  const problems = problemsOf(
    'modules: {a: {prober: http, http: {oauth2: {}, no_proxy: x}}, b: {prober: tcp, tcp: {source_ip_address: ::1}}}',
  );
  t.is(problems.length, 3);
});
