import { once } from 'node:events';
import tls, { type TLSSocket } from 'node:tls';
import type { Answer } from 'dns-packet';
import type { BlackboxServers } from './blackbox-targets.ts';
import { RCODES, startDnsServer, type DnsReply } from './dns-server.ts';
import type { Harness } from './harness.ts';
import { startUdpServer } from './udp-server.ts';

/** A probe and whether it should succeed. */
export type BlackboxCase = { module: string; target: string; isSuccess: boolean; hostname?: string };

const IP4 = { preferred_ip_protocol: 'ip4' };
const http = (settings: object = {}) => ({ prober: 'http', timeout: '5s', http: { ...IP4, ...settings } });
const tcp = (settings: object = {}) => ({ prober: 'tcp', timeout: '5s', tcp: { ...IP4, ...settings } });
const dns = (settings: object) => ({ prober: 'dns', timeout: '5s', dns: { ...IP4, ...settings } });
const header = (name: string, regexp: string, more: object = {}) => [{ header: name, regexp, ...more }];

const RULES = {
  fail_if_matches_regexp: ['10\\.0\\.0\\.1$'],
  fail_if_all_match_regexp: ['IN\tA\t10\\.'],
  fail_if_not_matches_regexp: ['^www\\.example\\.\t300\tIN\tA\t10\\..*'],
  fail_if_none_matches_regexp: ['10\\.0\\.0\\.2$'],
};

/** Returns the modules of all cases in the format of `blackbox.yml`. `caFile` contains the trusted authority. */
export function blackboxModules(caFile: string): Record<string, object> {
  const trusting = { tls_config: { ca_file: caFile } };
  const insecure = { tls_config: { insecure_skip_verify: true } };
  const rules = Object.fromEntries(
    Object.entries(RULES).map(([rule, patterns]) => [
      `dns_${rule}`,
      dns({ query_name: 'www.example', query_type: 'A', validate_answer_rrs: { [rule]: patterns } }),
    ]),
  );
  const typed = (['A', 'AAAA', 'MX', 'TXT', 'SRV', 'SOA', 'CAA', 'CNAME', 'NS'] as const).map((type) => [
    `dns_${type}`,
    dns({
      query_name: 'all.example',
      query_type: type,
      validate_answer_rrs: { fail_if_not_matches_regexp: [LINES[type]] },
    }),
  ]);
  return {
    http_2xx: http(),
    http_any_family: { prober: 'http', timeout: '5s' },
    http_ip6_only: {
      prober: 'http',
      timeout: '5s',
      http: { preferred_ip_protocol: 'ip6', ip_protocol_fallback: false },
    },
    http_ip4_only: http({ ip_protocol_fallback: false }),
    http_short: { prober: 'http', timeout: '2s', http: IP4 },
    http_404: http({ valid_status_codes: [404, 500] }),
    http_302: http({ valid_status_codes: [302] }),
    http_unfollowed: http({ follow_redirects: false }),
    http_unfollowed_302: http({ follow_redirects: false, valid_status_codes: [301, 302] }),
    http_unfollowed_body: http({
      follow_redirects: false,
      valid_status_codes: [302],
      fail_if_body_matches_regexp: ['x'],
    }),
    http_no_follow: http({ no_follow_redirects: true }),
    http_post: http({ method: 'POST', body: '{"a":1}', headers: { 'Content-Type': 'application/json' } }),
    http_post_echo: http({
      method: 'POST',
      body: '{"a":1}',
      headers: { 'Content-Type': 'application/json' },
      fail_if_body_not_matches_regexp: ['^POST /echo', 'content-type=application/json', 'body=\\{"a":1\\}'],
    }),
    ...Object.fromEntries(
      ['HEAD', 'PUT', 'DELETE', 'OPTIONS', 'PATCH'].map((method) => [`http_${method}`, http({ method })]),
    ),
    http_headers: http({
      headers: { 'X-Probe': 'yes', Host: 'virtual.example' },
      fail_if_body_not_matches_regexp: ['x-probe=yes', 'host=virtual\\.example\\n'],
    }),
    http_host_echo: http({ fail_if_body_not_matches_regexp: ['host=name\\.example\\n'] }),
    http_basic: http({ basic_auth: { username: 'ann', password: 'p:w' } }),
    http_bearer: http({ bearer_token: 't0ken' }),
    http_authorization: http({ authorization: { type: 'Token', credentials: 'abc' } }),
    body_matches: http({ fail_if_body_matches_regexp: ['version=1\\.2\\.\\d'] }),
    body_matches_other: http({ fail_if_body_matches_regexp: ['version=2', 'hello'] }),
    body_not_matches: http({ fail_if_body_not_matches_regexp: ['Hello', 'ünïcode'] }),
    body_not_matches_other: http({ fail_if_body_not_matches_regexp: ['Hello', 'absent'] }),
    body_case: http({ fail_if_body_not_matches_regexp: ['(?i)HELLO, WORLD'] }),
    body_lines: http({ fail_if_body_not_matches_regexp: ['(?m)^version='] }),
    body_start: http({ fail_if_body_not_matches_regexp: ['^version='] }),
    body_dotall: http({ fail_if_body_not_matches_regexp: ['(?s)Hello.*version'] }),
    body_dot: http({ fail_if_body_not_matches_regexp: ['Hello.*version'] }),
    body_empty: http({ fail_if_body_not_matches_regexp: ['^$'] }),
    header_matches: http({ fail_if_header_matches: header('X-Version', '^v1') }),
    header_matches_other: http({ fail_if_header_matches: header('x-version', '^v2') }),
    header_not_matches: http({ fail_if_header_not_matches: header('X-Version', '^v\\d+$') }),
    header_not_matches_other: http({ fail_if_header_not_matches: header('X-Version', '^w') }),
    header_missing: http({ fail_if_header_matches: header('X-Absent', 'x') }),
    header_missing_allowed: http({ fail_if_header_matches: header('X-Absent', 'x', { allow_missing: true }) }),
    header_not_missing: http({ fail_if_header_not_matches: header('X-Absent', 'x') }),
    header_not_missing_allowed: http({ fail_if_header_not_matches: header('X-Absent', 'x', { allow_missing: true }) }),
    header_cookie: http({ fail_if_header_not_matches: header('Set-Cookie', '^b=2') }),
    http_gzip: http({ compression: 'gzip', fail_if_body_not_matches_regexp: ['Hello'] }),
    http_br: http({ compression: 'br' }),
    http_deflate: http({ compression: 'deflate' }),
    http_limited: http({ body_size_limit: '1KB' }),
    http_fail_if_ssl: http({ fail_if_ssl: true, ...trusting }),
    http_fail_if_not_ssl: http({ fail_if_not_ssl: true, ...trusting }),
    http_11: http({ valid_http_versions: ['HTTP/1.1', 'HTTP/2.0'] }),
    http_10: http({ valid_http_versions: ['HTTP/1.0'] }),
    http_trusting: http(trusting),
    http_insecure: http(insecure),
    http_insecure_trusting: http({ tls_config: { ...trusting.tls_config, ...insecure.tls_config } }),
    http_server_name: http({ tls_config: { ca_file: caFile, server_name: 'other.example' } }),
    http_tls13: http({ tls_config: { ca_file: caFile, min_version: 'TLS13' } }),
    tcp_connect: tcp(),
    tcp_any_family: { prober: 'tcp', timeout: '5s' },
    tcp_banner: tcp({ query_response: [{ expect: '^220 .* ESMTP' }] }),
    tcp_second_line: tcp({ query_response: [{ expect: '^250' }] }),
    tcp_other: { prober: 'tcp', timeout: '300ms', tcp: { ...IP4, query_response: [{ expect: '^SSH-2.0-' }] } },
    tcp_send: tcp({ query_response: [{ send: 'QUIT' }] }),
    tcp_irc: tcp({
      query_response: [{ send: 'NICK x' }, { expect: 'PING :([^ ]+)', send: 'PONG ${1}' }, { expect: '^:[^ ]+ 001' }],
    }),
    tcp_tls: tcp({ tls: true, ...trusting, query_response: [{ expect: '^\\+OK' }] }),
    tcp_tls_untrusting: tcp({ tls: true }),
    tcp_tls_insecure: tcp({ tls: true, ...insecure }),
    tcp_starttls: tcp({
      ...trusting,
      query_response: [
        { expect: '^220', send: 'STARTTLS' },
        { expect: '^220', starttls: true },
        { send: 'NOOP' },
        { expect: '^250' },
      ],
    }),
    tcp_starttls_untrusting: tcp({
      query_response: [
        { expect: '^220', send: 'STARTTLS' },
        { expect: '^220', starttls: true },
      ],
    }),
    dns_nxdomain: dns({ query_name: 'absent.example', query_type: 'A' }),
    dns_nxdomain_valid: dns({ query_name: 'absent.example', query_type: 'A', valid_rcodes: ['NXDOMAIN'] }),
    dns_servfail: dns({ query_name: 'broken.example', query_type: 'A' }),
    dns_servfail_valid: dns({ query_name: 'broken.example', query_type: 'A', valid_rcodes: ['NOERROR', 'SERVFAIL'] }),
    dns_refused: dns({ query_name: 'refused.example', query_type: 'A', recursion_desired: false }),
    dns_silent: { prober: 'dns', timeout: '300ms', dns: { ...IP4, query_name: 'silent.example', query_type: 'A' } },
    dns_www: dns({ query_name: 'www.example', query_type: 'A' }),
    dns_www_dot: dns({ query_name: 'www.example.', query_type: 'A' }),
    dns_tcp: dns({ query_name: 'www.example', query_type: 'A', transport_protocol: 'tcp' }),
    dns_tls: dns({
      query_name: 'www.example',
      query_type: 'A',
      transport_protocol: 'tcp',
      dns_over_tls: true,
      ...trusting,
    }),
    dns_empty: dns({ query_name: 'all.example', query_type: 'PTR' }),
    dns_empty_rule: dns({
      query_name: 'all.example',
      query_type: 'PTR',
      validate_answer_rrs: { fail_if_not_matches_regexp: ['x'] },
    }),
    dns_empty_none: dns({
      query_name: 'all.example',
      query_type: 'PTR',
      validate_authority_rrs: { fail_if_none_matches_regexp: ['x'] },
    }),
    dns_empty_matches: dns({
      query_name: 'all.example',
      query_type: 'PTR',
      validate_additional_rrs: { fail_if_matches_regexp: ['x'] },
    }),
    dns_other_none: dns({
      query_name: 'www.example',
      query_type: 'A',
      validate_answer_rrs: { fail_if_none_matches_regexp: ['10\\.9'] },
    }),
    dns_other_matches: dns({
      query_name: 'www.example',
      query_type: 'A',
      validate_answer_rrs: { fail_if_matches_regexp: ['10\\.9'] },
    }),
    dns_other_all: dns({
      query_name: 'www.example',
      query_type: 'A',
      validate_answer_rrs: { fail_if_all_match_regexp: ['\\.1$'] },
    }),
    dns_other_not: dns({
      query_name: 'www.example',
      query_type: 'A',
      validate_answer_rrs: { fail_if_not_matches_regexp: ['\\.1$'] },
    }),
    ...rules,
    ...Object.fromEntries(typed),
    icmp: { prober: 'icmp', timeout: '2s' },
    icmp_ip4: { prober: 'icmp', timeout: '2s', icmp: IP4 },
    icmp_ttl5: { prober: 'icmp', timeout: '2s', icmp: { ttl: 5 } },
    icmp_ip6_only: {
      prober: 'icmp',
      timeout: '2s',
      icmp: { preferred_ip_protocol: 'ip6', ip_protocol_fallback: false },
    },
  };
}

/** Patterns for the records of `all.example` in the format of blackbox_exporter. */
const LINES = {
  A: '^all\\.example\\.\t60\tIN\tA\t10\\.1\\.1\\.1$',
  AAAA: '^all\\.example\\.\t60\tIN\tAAAA\t2001:db8::1$',
  MX: '\tMX\t10 mail\\.example\\.$',
  TXT: '\tTXT\t"v=spf1 -all" "say \\\\"hi\\\\""$',
  SRV: '\tSRV\t1 2 443 host\\.example\\.$',
  SOA: '\tSOA\tns\\.example\\. admin\\.example\\. 2026112701 3600 600 86400 60$',
  CAA: '\tCAA\t0 issue "ca\\.example"$',
  CNAME: '\tCNAME\tother\\.example\\.$',
  NS: '\tNS\tns1\\.example\\.$',
};

const all = { name: 'all.example', ttl: 60, class: 'IN' } as const;
const record = (answer: Answer): DnsReply => ({ answers: [answer] });

const ZONE: Record<string, DnsReply> = {
  'A www.example': {
    answers: [1, 2].map((last) => ({ type: 'A', name: 'www.example', ttl: 300, class: 'IN', data: `10.0.0.${last}` })),
  },
  'A all.example': record({ ...all, type: 'A', data: '10.1.1.1' }),
  'AAAA all.example': record({ ...all, type: 'AAAA', data: '2001:db8::1' }),
  'MX all.example': record({ ...all, type: 'MX', data: { preference: 10, exchange: 'mail.example' } }),
  'TXT all.example': record({ ...all, type: 'TXT', data: ['v=spf1 -all', 'say "hi"'] }),
  'SRV all.example': record({
    ...all,
    type: 'SRV',
    data: { priority: 1, weight: 2, port: 443, target: 'host.example' },
  }),
  'SOA all.example': record({
    ...all,
    type: 'SOA',
    data: {
      mname: 'ns.example',
      rname: 'admin.example',
      serial: 2_026_112_701,
      refresh: 3600,
      retry: 600,
      expire: 86_400,
      minimum: 60,
    },
  }),
  'CAA all.example': record({ ...all, type: 'CAA', data: { flags: 0, tag: 'issue', value: 'ca.example' } }),
  'CNAME all.example': record({ ...all, type: 'CNAME', data: 'other.example' }),
  'NS all.example': record({ ...all, type: 'NS', data: 'ns1.example' }),
  'A broken.example': { rcode: RCODES.SERVFAIL },
  'A refused.example': { rcode: RCODES.REFUSED },
  'A silent.example': { isSilent: true },
};

/** Starts the DNS servers, and returns all cases; `hasIpv6` adds those for `::1`. */
export async function blackboxCases(
  t: Harness,
  { authority, ports }: BlackboxServers,
  hasIpv6: boolean,
): Promise<BlackboxCase[]> {
  const server = await startDnsServer(t, ZONE);
  const garbage = await startUdpServer(t, (_query, reply) => reply('no message'));
  const secureDns = await startSecureDns(t, { authority, to: server.address });
  const at = (name: keyof typeof ports, path = '/') => `127.0.0.1:${ports[name]}${path}`;
  const local = (name: keyof typeof ports, path = '/') => `https://localhost:${ports[name]}${path}`;
  const cases: BlackboxCase[] = [];
  const add = (isSuccess: boolean, module: string, ...targets: string[]): void =>
    void cases.push(...targets.map((target) => ({ module, target, isSuccess })));

  const statuses = [200, 201, 202, 203, 204, 205, 206, 226, 299];
  add(true, 'http_2xx', ...statuses.map((status) => at('http', `/status/${status}`)));
  const others = [
    300, 304, 305, 399, 400, 401, 402, 403, 404, 405, 410, 418, 429, 451, 499, 500, 501, 502, 503, 504, 599,
  ];
  add(false, 'http_2xx', ...others.map((status) => at('http', `/status/${status}`)));
  add(true, 'http_404', at('http', '/status/404'), at('http', '/status/500'));
  add(false, 'http_404', at('http', '/status/200'), at('http', '/status/501'));

  add(true, 'http_2xx', ...[0, 1, 2, 5, 9, 10].map((count) => at('http', `/redirect/${count}`)));
  add(false, 'http_2xx', at('http', '/redirect/11'), at('http', '/to/302'), at('http', '/to/302?url=/to/302'));
  add(true, 'http_302', at('http', '/redirect/11'), at('http', '/to/302'));
  add(false, 'http_302', at('http', '/redirect/1'));
  add(true, 'http_unfollowed', at('http', '/redirect/0'));
  add(false, 'http_unfollowed', at('http', '/redirect/1'), at('http', '/to/301?url=/'));
  add(true, 'http_unfollowed_302', at('http', '/redirect/1'), at('http', '/to/301?url=/'));
  add(false, 'http_unfollowed_302', at('http', '/redirect/0'), at('http', '/to/307?url=/'));
  add(false, 'http_unfollowed_body', at('http', '/redirect/1'));
  add(false, 'http_no_follow', at('http', '/redirect/1'));
  for (const status of [301, 302, 303]) {
    add(true, 'http_2xx', at('http', `/to/${status}?url=/method/GET`));
    add(true, 'http_post', at('http', `/to/${status}?url=/method/GET`));
    add(true, 'http_HEAD', at('http', `/to/${status}?url=/method/HEAD`));
  }
  for (const status of [307, 308]) {
    add(true, 'http_2xx', at('http', `/to/${status}?url=/method/GET`));
    add(true, 'http_post', at('http', `/to/${status}?url=/method/POST`));
    add(true, 'http_post_echo', at('http', `/to/${status}?url=/echo/x`).replace('/echo/x', '/echo'));
    add(false, 'http_post', at('http', `/to/${status}?url=/method/GET`));
  }
  add(false, 'http_2xx', at('http', '/to/300?url=/'), at('http', '/to/302?url=ftp://127.0.0.1/'));
  add(true, 'http_2xx', at('http', `/to/302?url=http://${at('http', '/status/200')}`));
  add(
    true,
    'http_2xx',
    at('http', `/to/302?url=http://localhost:${ports.http}/`),
    at('http', '/to/302?url=status/../../status/201'),
  );
  add(
    false,
    'http_2xx',
    at('http', `/to/302?url=http://${at('closed')}`),
    at('http', `/to/302?url=${local('trusted')}`),
  );
  add(true, 'http_trusting', at('http', `/to/302?url=${local('trusted')}`));
  add(false, 'http_trusting', at('http', `/to/302?url=${local('otherHost')}`));
  add(true, 'http_2xx', at('http', '/cookie/start'));
  const setting = (cookie: string): string => `/set/x?cookie=${encodeURIComponent(cookie)}`;
  const sent = ['a=1; Path=/', 'a=1; Path=/carries', 'a=1; Path=/; Max-Age=60', 'a=1; Path=/; HttpOnly; SameSite=Lax'];
  add(true, 'http_2xx', ...sent.map((cookie) => at('http', setting(cookie))));
  const unsent = ['a=1', 'a=1; Path=/set', 'a=1; Path=/; Secure', 'a=1; Path=/; Domain=example.com'];
  unsent.push('a=1; Path=/; Expires=Thu, 01 Jan 1970 00:00:00 GMT', 'a=1; Path=/; Max-Age=0', 'a=1; Path=/carri');
  add(false, 'http_2xx', ...unsent.map((cookie) => at('http', setting(cookie))));

  for (const method of ['HEAD', 'PUT', 'DELETE', 'OPTIONS', 'PATCH']) {
    add(true, `http_${method}`, at('http', `/method/${method}`));
    add(false, `http_${method}`, at('http', '/method/GET'));
  }
  add(true, 'http_post_echo', at('http', '/echo'));
  add(true, 'http_headers', at('http', '/echo'), at('http', '/to/302?url=/echo'));
  add(false, 'http_headers', at('http', `/to/302?url=http://${at('http', '/echo')}`));
  add(false, 'http_host_echo', at('http', '/echo'));
  cases.push({ module: 'http_host_echo', target: at('http', '/echo'), hostname: 'name.example', isSuccess: true });
  const basic = encodeURIComponent(`Basic ${Buffer.from('ann:p:w').toString('base64')}`);
  add(true, 'http_basic', at('http', `/auth/${basic}`), at('http', `/to/302?url=/auth/${basic}`));
  add(false, 'http_2xx', at('http', `/auth/${basic}`));
  add(true, 'http_2xx', `http://ann:p%3Aw@${at('http', `/auth/${basic}`)}`);
  add(true, 'http_bearer', at('http', '/auth/Bearer%20t0ken'));
  add(false, 'http_bearer', at('http', '/auth/Bearer%20other'));
  add(true, 'http_authorization', at('http', '/auth/Token%20abc'));

  add(false, 'body_matches', at('http'));
  add(true, 'body_matches_other', at('http'));
  add(true, 'body_not_matches', at('http'));
  add(false, 'body_not_matches', at('http', '/empty'), at('http', '/status/500'));
  add(false, 'body_not_matches_other', at('http'));
  for (const module of ['body_case', 'body_lines', 'body_dotall']) add(true, module, at('http'));
  for (const module of ['body_start', 'body_dot', 'body_empty']) add(false, module, at('http'));
  add(true, 'body_empty', at('http', '/empty'));
  for (const module of ['matches_other', 'not_matches', 'missing_allowed', 'not_missing_allowed', 'cookie'])
    add(true, `header_${module}`, at('http', '/headers'));
  for (const module of ['matches', 'not_matches_other', 'missing', 'not_missing'])
    add(false, `header_${module}`, at('http', '/headers'));
  for (const coding of ['gzip', 'br', 'deflate']) {
    add(true, `http_${coding}`, at('http', `/${coding}`));
    add(false, `http_${coding}`, at('http'));
  }
  add(true, 'http_2xx', at('http', '/gzip'), at('http', '/big/2000000'), at('http', '/headers'));
  add(true, 'http_limited', at('http', '/big/1024'));
  add(false, 'http_limited', at('http', '/big/1025'));

  add(true, 'http_fail_if_ssl', at('http'));
  add(false, 'http_fail_if_ssl', local('trusted'), at('http', `/to/302?url=${local('trusted')}`));
  add(false, 'http_fail_if_not_ssl', at('http'));
  add(true, 'http_fail_if_not_ssl', local('trusted'));
  add(true, 'http_11', at('http'));
  add(false, 'http_11', at('http10'));
  add(true, 'http_10', at('http10'));
  add(false, 'http_10', at('http'));
  add(true, 'http_2xx', at('http10'));

  const distrusted = ['expired', 'early', 'otherHost', 'selfSigned', 'byAddress'] as const;
  add(true, 'http_trusting', local('trusted'), `https://${at('trusted')}`, `https://${at('byAddress')}`, local('old'));
  add(false, 'http_trusting', ...distrusted.map((name) => local(name)), `https://${at('otherHost')}`);
  add(true, 'http_insecure', ...distrusted.map((name) => local(name)), local('trusted'));
  for (const module of ['http_trusting', 'http_insecure', 'http_insecure_trusting'])
    add(true, module, local('outlivesIssuer'), local('withAnother'));
  add(false, 'http_2xx', local('trusted'), local('selfSigned'), local('http'), at('trusted'));
  add(true, 'http_server_name', local('otherHost'));
  add(false, 'http_server_name', local('trusted'));
  add(true, 'http_tls13', local('trusted'));
  add(false, 'http_tls13', local('old'));

  add(false, 'http_2xx', at('closed'), at('closing'), at('garbage'), at('partial'), at('banner'));
  add(false, 'http_short', at('silent'), at('http', '/stalled'), `https://${at('silent')}`);
  add(true, 'http_2xx', `http://${at('http')}`, `HTTP://${at('http')}`.toLowerCase(), `localhost:${ports.http}`);
  add(false, 'http_short', 'http://', 'http://nothing.invalid/');
  add(false, 'http_ip6_only', at('http'));
  add(true, 'http_ip4_only', at('http'));
  if (hasIpv6) {
    const six = `[::1]:${ports.http6}`;
    add(true, 'http_any_family', `http://${six}/`, `${six}/status/200`, at('http'));
    add(true, 'http_ip6_only', six);
    add(true, 'http_2xx', six);
    add(false, 'http_ip4_only', six);
    add(false, 'http_any_family', `[::1]:${ports.closed}`, `${six}/status/500`);
    add(true, 'tcp_any_family', six);
    add(true, 'icmp', '::1');
    add(true, 'icmp_ip6_only', '::1');
    add(true, 'icmp_ttl5', '::1');
  }

  add(true, 'tcp_connect', at('banner', ''), at('silent', ''), at('closing', ''), `localhost:${ports.http}`);
  add(false, 'tcp_connect', at('closed', ''), '127.0.0.1', 'localhost');
  add(true, 'tcp_banner', at('banner', ''));
  add(false, 'tcp_banner', at('closed', ''), at('longLine', ''));
  add(true, 'tcp_second_line', at('banner', ''));
  add(false, 'tcp_other', at('banner', ''), at('silent', ''));
  add(true, 'tcp_send', at('banner', ''), at('closing', ''));
  add(true, 'tcp_irc', at('irc', ''));
  add(true, 'tcp_tls', `localhost:${ports.tlsBanner}`, at('tlsBanner', ''));
  add(false, 'tcp_tls', at('banner', ''), `localhost:${ports.expired}`, `localhost:${ports.otherHost}`);
  add(false, 'tcp_tls_untrusting', at('tlsBanner', ''), at('http', ''));
  add(true, 'tcp_tls_insecure', at('tlsBanner', ''), at('expired', ''), at('otherHost', ''));
  add(true, 'tcp_starttls', `localhost:${ports.starttls}`);
  add(false, 'tcp_starttls_untrusting', `localhost:${ports.starttls}`);

  const succeeding = ['www', 'www_dot', 'tcp', 'nxdomain_valid', 'servfail_valid', 'empty', 'empty_matches'];
  const failing = ['nxdomain', 'servfail', 'refused', 'silent', 'empty_rule', 'empty_none'];
  const types = ['A', 'AAAA', 'MX', 'TXT', 'SRV', 'SOA', 'CAA', 'CNAME', 'NS'];
  const kept = [
    'fail_if_all_match_regexp',
    'fail_if_not_matches_regexp',
    'fail_if_none_matches_regexp',
    'other_matches',
  ];
  const broken = ['fail_if_matches_regexp', 'other_none', 'other_all', 'other_not'];
  for (const name of [...succeeding, ...types, ...kept]) add(true, `dns_${name}`, server.address);
  for (const name of [...failing, ...broken]) add(false, `dns_${name}`, server.address);
  add(true, 'dns_tls', `localhost:${secureDns}`);
  add(false, 'dns_tls', at('banner', ''), `localhost:${ports.otherHost}`);
  add(false, 'dns_www', at('closed', ''), `127.0.0.1:${garbage.port}`);
  add(false, 'dns_tcp', at('closed', ''), at('closing', ''));

  add(true, 'icmp', '127.0.0.1', '127.1.2.3');
  add(true, 'icmp_ip4', 'localhost');
  add(true, 'icmp_ttl5', '127.0.0.1');
  add(false, 'icmp_ip6_only', '127.0.0.1');
  return cases;
}

/** Starts a DNS over TLS server that forwards each connection to a plain one; returns its port. */
async function startSecureDns(
  t: Harness,
  { authority, to }: { authority: BlackboxServers['authority']; to: string },
): Promise<number> {
  const { connect } = await import('node:net');
  const [host = '', port = ''] = to.split(':');
  const server = tls.createServer(await authority.issue({ hosts: ['localhost'] }), (socket: TLSSocket) => {
    const inner = connect(Number(port), host);
    socket.on('error', () => inner.destroy()).pipe(inner);
    inner.on('error', () => socket.destroy()).pipe(socket);
  });
  server.on('tlsClientError', () => undefined).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => void server.close());
  return (server.address() as { port: number }).port;
}
