import type { IncomingHttpHeaders } from 'node:http';
import { REDIRECTS } from '../../core/checks/http/expected-status.ts';
import type { HttpAnswered } from '../../core/checks/http/observation.ts';
import type { Timings } from '../../core/checks/verdict.ts';
import { decodeHeader, percentDecode } from '../../core/foreign-text.ts';
import { checkTargetOf, type CheckTarget } from '../../core/monitors/monitor.ts';
import type { Judge } from '../../probes/judging/judge.ts';
import type { Pattern } from './fields.ts';
import { Cookies, exchange, type HopResponse } from './http-exchange.ts';
import type { HeaderMatch, HttpSettings } from './modules.ts';
import { ProbeFailure, type ChosenAddress, type ProbeRun } from './run.ts';
import { securedBy, setTlsGauges, type Secured } from './tls-settings.ts';

const MAX_REDIRECTS = 10;
const KEEPS_METHOD = new Set([307, 308]);

/** Maximum bytes of a body that patterns search, as in checks. */
const SEARCHED_BYTES = 1024 * 1024;

/** Requests a URL, and judges the final response. Throws a `ProbeFailure`. */
export async function probeHttp(run: ProbeRun, settings: HttpSettings, judge: Judge): Promise<void> {
  const { gauges } = run;
  gauges.declare('probe_http_content_length', 'probe_http_uncompressed_body_length', 'probe_http_redirects');
  gauges.declare('probe_http_ssl', 'probe_http_status_code', 'probe_http_version', 'probe_failed_due_to_regex');
  const url = URL.parse(/^https?:\/\//i.test(run.target) ? run.target : `http://${run.target}`);
  gauges.declareSteps('probe_http_duration_seconds', ['resolve']);
  if (url === null) {
    gauges.declare('probe_ip_protocol', 'probe_dns_lookup_time_seconds', 'probe_ip_addr_hash');
    throw new ProbeFailure('The target is not a URL');
  }
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  const address = await run.chooseAddress(host, settings);
  gauges.add('probe_http_duration_seconds', address.lookupSeconds, { phase: 'resolve' });
  gauges.declareSteps('probe_http_duration_seconds', ['connect', 'tls', 'processing', 'transfer']);
  await new HttpProbe({ run, settings, judge, first: { url, host, address } }).probe();
}

type HopHeaders = { isFirstHost: boolean; hostHeader: string; hasBody: boolean };
type First = { url: URL; host: string; address: ChosenAddress };

class HttpProbe {
  readonly #run: ProbeRun;
  readonly #settings: HttpSettings;
  readonly #judge: Judge;
  readonly #first: First;
  readonly #cookies = new Cookies();

  constructor({ run, settings, judge, first }: { run: ProbeRun; settings: HttpSettings; judge: Judge; first: First }) {
    this.#run = run;
    this.#settings = settings;
    this.#judge = judge;
    this.#first = first;
  }

  async probe(): Promise<void> {
    const { gauges } = this.#run;
    const { response, isUnfollowed } = await this.#request();
    gauges.set('probe_http_status_code', response.status);
    gauges.set('probe_http_version', Number(response.version));
    gauges.set('probe_http_content_length', lengthOf(response, this.#settings.method));
    const modifiedAtMs = Date.parse(String(response.headers['last-modified'] ?? ''));
    if (!Number.isNaN(modifiedAtMs)) gauges.set('probe_http_last_modified_timestamp_seconds', modifiedAtMs / 1000);
    const isSecure = response.tls !== null;
    gauges.set('probe_http_ssl', isSecure ? 1 : 0);
    setTlsGauges(gauges, response.tls);

    const problems: string[] = [];
    const { validStatusCodes, validVersions, failIfSsl, failIfNotSsl } = this.#settings;
    const { status } = response;
    if (!(validStatusCodes.length === 0 ? status >= 200 && status < 300 : validStatusCodes.includes(status)))
      problems.push(`The status code is ${status}`);
    if (problems.length === 0) problems.push(...this.#judgeHeaders(response.headers));
    problems.push(...(await this.#readBody(response, { isUnfollowed, isSearched: problems.length === 0 })));
    if (validVersions.length > 0 && !validVersions.includes(`HTTP/${response.version}`))
      problems.push(`The version is HTTP/${response.version}`);
    if (isSecure && failIfSsl) problems.push('The final response came over TLS');
    if (!isSecure && failIfNotSsl) problems.push('The final response came without TLS');
    if (problems.length > 0) throw new ProbeFailure(problems.join('; '));
  }

  /** Follows redirects as Go's client does. */
  async #request(): Promise<{ response: HopResponse; isUnfollowed: boolean }> {
    const { url: target, address, host } = this.#first;
    let { method, body } = this.#settings;
    // On all hops the first host is reached at the chosen address.
    const atAddress = new URL(target);
    atAddress.hostname = address.family === 6 ? `[${address.address}]` : address.address;
    let url = atAddress;
    let hostHeader = this.#run.hostname ?? this.#settings.hostHeader ?? target.host;
    for (let redirects = 0; ; redirects += 1) {
      const isFirstHost = url.host === atAddress.host;
      // The logged URL has no user, password and query, because each may be a secret.
      this.#run.log(`Requesting ${(isFirstHost ? target : url).origin}${url.pathname}`);
      const response = await exchange(this.#run, {
        url,
        method,
        headers: this.#headers(url, { isFirstHost, hostHeader, hasBody: body !== null }),
        body,
        secured: url.protocol === 'https:' ? this.#secured(url, { isFirstHost, host }) : null,
        reading: {
          keep: this.#hasBodyPatterns() ? SEARCHED_BYTES : 0,
          compression: this.#settings.compression,
          most: this.#settings.bodySizeLimit,
        },
      });
      this.#run.log(`Received the status code ${response.status}`);
      const to = redirectOf(response, url);
      if (to !== null) this.#run.gauges.set('probe_http_redirects', redirects + 1);
      if (to === 'nowhere') throw new ProbeFailure('A redirect leads to no URL of http');
      if (to === null) {
        this.#addTimings(response.timings(), redirects);
        return { response, isUnfollowed: false };
      }
      if (!this.#settings.followsRedirects || redirects === MAX_REDIRECTS) {
        this.#addTimings(response.timings(), redirects);
        return { response, isUnfollowed: true };
      }
      this.#cookies.keep(url, response.headers);
      this.#addTimings(response.timings(), redirects);
      response.leave();
      if (!KEEPS_METHOD.has(response.status)) {
        body = null;
        if (method !== 'HEAD') method = 'GET';
      }
      // The module's Host header applies only until a redirect names a host.
      if (to.host !== url.host || URL.canParse(response.headers.location ?? '')) hostHeader = to.host;
      // A redirect back to the target's name leads to the chosen address.
      if (to.host === target.host) to.hostname = atAddress.hostname;
      url = to;
    }
  }

  #secured(url: URL, { isFirstHost, host }: { isFirstHost: boolean; host: string }): Secured {
    const { tls, hostHeader } = this.#settings;
    if (!isFirstHost) return securedBy(tls, url.hostname.replace(/^\[(.*)\]$/, '$1'));
    return securedBy(tls, tls.serverName ?? this.#run.hostname ?? hostHeader ?? host);
  }

  /**
   * Builds the headers. Credentials are sent to the target alone, and not in the clear if it was requested over TLS
   * (D-600).
   */
  #headers(url: URL, { isFirstHost, hostHeader, hasBody }: HopHeaders): Record<string, string> {
    const { headers, authorization } = this.#settings;
    const { url: target } = this.#first;
    const isTrusted = isFirstHost && (url.protocol === 'https:' || target.protocol === 'http:');
    const sent = new Map<string, readonly [name: string, value: string]>();
    const add = (name: string, value: string): void => void sent.set(name.toLowerCase(), [name, value]);
    add('Host', hostHeader);
    add('User-Agent', 'Spotcheck/1.0 (uptime check)');
    const fromUrl = isTrusted ? credentialsOf(target) : null;
    if (fromUrl !== null) add('Authorization', fromUrl);
    if (isTrusted && authorization !== null) add('Authorization', authorization);
    for (const [name, value] of headers) {
      const key = name.toLowerCase();
      if ((isTrusted || !CREDENTIALS.has(key)) && (hasBody || !key.startsWith('content-'))) add(name, value);
    }
    const cookies = this.#cookies.sentTo(url);
    if (cookies !== '') add('Cookie', [sent.get('cookie')?.[1], cookies].filter(Boolean).join('; '));
    return Object.fromEntries([...sent.values()].map(([name, value]) => [name, Buffer.from(value).toString('latin1')]));
  }

  #judgeHeaders(headers: IncomingHttpHeaders): string[] {
    const { failIfHeaderMatches, failIfHeaderNotMatches } = this.#settings;
    if (failIfHeaderMatches.length + failIfHeaderNotMatches.length === 0) return [];
    const problem =
      failIfHeaderMatches.map((match) => this.#judgeHeader(match, { headers, failsOn: true })).find(Boolean) ??
      failIfHeaderNotMatches.map((match) => this.#judgeHeader(match, { headers, failsOn: false })).find(Boolean);
    this.#run.gauges.set('probe_failed_due_to_regex', problem === undefined ? 0 : 1);
    return problem ? [problem] : [];
  }

  #judgeHeader(
    { header, pattern, allowMissing }: HeaderMatch,
    { headers, failsOn }: { headers: IncomingHttpHeaders; failsOn: boolean },
  ): string | null {
    const values = [headers[header] ?? []].flat();
    if (values.length === 0) return allowMissing ? null : `The header ${header} is missing`;
    const isMatched = values.some((value) => this.#run.matches(pattern, decodeHeader(value)));
    if (isMatched !== failsOn) return null;
    return `The header ${header} ${failsOn ? 'matches' : 'does not match'} ${pattern.source}`;
  }

  /** Reads the body to its end, and returns its problems. */
  async #readBody(
    response: HopResponse,
    { isUnfollowed, isSearched }: { isUnfollowed: boolean; isSearched: boolean },
  ): Promise<string[]> {
    const { gauges } = this.#run;
    if (isUnfollowed) {
      response.leave();
      if (!isSearched || !this.#hasBodyPatterns()) return [];
      gauges.set('probe_failed_due_to_regex', 1);
      return ['The body of a redirect is not read'];
    }
    const { kept, length, isTruncated, problem } = await response.body();
    gauges.set('probe_http_uncompressed_body_length', length);
    gauges.set('probe_http_duration_seconds', (response.timings().downloadMs ?? 0) / 1000, { phase: 'transfer' });
    // Invalid gzip is detected before the patterns are searched, other codings while the body is read for them.
    const isUnread = problem !== null && length === 0 && this.#settings.compression === 'gzip';
    const isHeld = isSearched && this.#hasBodyPatterns() && !isUnread;
    const found = problem ?? (isHeld ? await this.#searchBody(kept.toString(), isTruncated) : null);
    if (isHeld) gauges.set('probe_failed_due_to_regex', found === null ? 0 : 1);
    return found === null ? [] : [found];
  }

  #hasBodyPatterns(): boolean {
    return this.#settings.failIfBodyMatches.length + this.#settings.failIfBodyNotMatches.length > 0;
  }

  async #searchBody(body: string, isTruncated: boolean): Promise<string | null> {
    for (const pattern of this.#settings.failIfBodyMatches)
      if (await this.#finds(pattern, { body, isTruncated })) return `The body matches ${pattern.source}`;
    for (const pattern of this.#settings.failIfBodyNotMatches)
      if (!(await this.#finds(pattern, { body, isTruncated }))) return `The body does not match ${pattern.source}`;
    return null;
  }

  /** Searches as a check judges an assertion: a long body in a thread, within 50 ms of CPU time (D-300). */
  async #finds({ source }: Pattern, { body, isTruncated }: { body: string; isTruncated: boolean }): Promise<boolean> {
    const { judgement } = await this.#judge.judge({
      target: asCheck(source),
      observation: asObservation(body, isTruncated),
      account: this.#run.target,
      check: `${this.#run.target} ${source}`,
    });
    if (judgement.verdict === 'none') throw new ProbeFailure(judgement.reason ?? 'The body could not be searched');
    return judgement.verdict === 'up';
  }

  /**
   * Adds the timings of a hop, except the first one's lookup, which is counted already, and the body's, which counts
   * where it is read.
   */
  #addTimings({ dnsMs, connectMs, tlsMs, firstByteMs }: Timings, redirects: number): void {
    const { gauges } = this.#run;
    const phases = { resolve: redirects === 0 ? null : dnsMs, connect: connectMs, tls: tlsMs, processing: firstByteMs };
    for (const [phase, ms] of Object.entries(phases))
      gauges.add('probe_http_duration_seconds', (ms ?? 0) / 1000, { phase });
  }
}

const CREDENTIALS = new Set(['authorization', 'cookie', 'proxy-authorization']);

/** Returns the target of a redirect, `nowhere` if that is not an http or https URL; null for any other response. */
function redirectOf({ status, headers: { location } }: HopResponse, from: URL): URL | 'nowhere' | null {
  if (!REDIRECTS.has(status) || location === undefined || location === '') return null;
  const to = URL.parse(Buffer.from(location, 'latin1').toString(), from.href);
  return to !== null && /^https?:$/.test(to.protocol) ? to : 'nowhere';
}

/** Returns the length as Go counts it: 0 if there is no body, -1 if the response does not declare it. */
function lengthOf({ status, headers }: HopResponse, method: string): number {
  if (headers['content-length'] !== undefined) return Number(headers['content-length']);
  const hasNoBody = status === 204 || status === 304 || (status >= 100 && status < 200);
  return hasNoBody && method !== 'HEAD' ? 0 : -1;
}

function credentialsOf({ username, password }: URL): string | null {
  if (username === '' && password === '') return null;
  return `Basic ${Buffer.from(`${percentDecode(username)}:${percentDecode(password)}`).toString('base64')}`;
}

function asCheck(pattern: string): CheckTarget {
  return checkTargetOf(
    {
      type: 'http',
      target: 'http://localhost/',
      timeoutMs: 1,
      method: 'GET',
      expectedStatus: null,
      bodyMatch: null,
      followRedirects: false,
      checkSpec: { assertions: [{ source: 'text_body', op: 'matches', value: pattern }] },
    },
    {},
  );
}

function asObservation(body: string, bodyTruncated: boolean): HttpAnswered {
  return {
    type: 'http',
    outcome: 'answered',
    startedAt: 0,
    latencyMs: 0,
    timings: { dnsMs: null, connectMs: null, tlsMs: null, firstByteMs: null, downloadMs: null },
    certificate: null,
    status: 200,
    headers: {},
    body,
    bodyTruncated,
    bodyStart: null,
    hadSecrets: false,
  };
}
