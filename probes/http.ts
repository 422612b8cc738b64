import { expectsStatus, needsBody } from '../core/checks/http/judge.ts';
import type { CertificateFacts, HttpAnswered, HttpFailed, HttpObservation } from '../core/checks/http/observation.ts';
import { NO_TIMINGS, type FixedCause, type Timings } from '../core/checks/verdict.ts';
import { decodeHeader, isBeyondAscii, isLatin1 } from '../core/foreign-text.ts';
import { STORED_BODY_BYTES } from '../core/incidents/evidence.ts';
import type { CheckTarget } from '../core/monitors/monitor.ts';
import { createProbeClient, type HttpClient, type HttpExchange, type HttpResponse } from '../net/http-client.ts';
import {
  MAX_REDIRECTS,
  buildFirstHop,
  carriesSecrets,
  followRedirect,
  redirectTarget,
  type Hop,
} from './http/request.ts';

/** Permissions of a probe where it runs (D-30). */
export type ProbeEnvironment = { allowPrivateNetwork: boolean };

const MAX_BODY_BYTES = 1024 * 1024;

/**
 * Creates the http probe: one check with its redirects over fresh connections, under one deadline, measured and not
 * judged (D-21). The probe rejects only if this machine lacks resources.
 */
export function createHttpProbe(environment: ProbeEnvironment): (target: CheckTarget) => Promise<HttpObservation> {
  const send = createProbeClient(environment);
  return (target) => new HttpCheck(target, send).run();
}

class HttpCheck {
  readonly #target: CheckTarget;
  readonly #send: HttpClient;
  readonly #journey = new HttpJourney();
  readonly #readsBody: boolean;

  constructor(target: CheckTarget, send: HttpClient) {
    this.#target = target;
    this.#send = send;
    this.#readsBody = needsBody(target);
  }

  async run(): Promise<HttpObservation> {
    const first = buildFirstHop(this.#target);
    if (first === null) return this.#journey.failed('unsupported', 'The target is not an http or https URL');

    const hasSecrets = carriesSecrets(first);
    let hop = first;
    for (let redirects = 0; ; redirects += 1) {
      const remainingMs = this.#target.timeoutMs - this.#journey.elapsedMs();
      if (remainingMs <= 0) return this.#journey.failed('timeout', 'Timed out while following redirects');

      const exchange = await this.#sendHop(hop, { deadlineMs: remainingMs, hasSecrets });
      this.#journey.add(exchange, hop.url.hostname);
      if (exchange.outcome === 'failed') return this.#journey.failed(exchange.cause, exchange.reason);

      const { status, headers } = exchange;
      const to = this.#nextUrl(hop, { status, location: headers.location });
      if (to === null)
        return await this.#journey.answered(exchange, { isBodyRead: this.#readsBody, hadSecrets: hasSecrets });
      if (redirects === MAX_REDIRECTS)
        return this.#journey.failed('too_many_redirects', `More than ${MAX_REDIRECTS} redirects`);
      if (hasSecrets && hop.url.protocol === 'https:' && to.protocol === 'http:') {
        return this.#journey.failed(
          'insecure_redirect',
          'A redirect from https to http was refused because the check carries secrets',
        );
      }
      hop = followRedirect({ hop, status, to }, first.url);
    }
  }

  #sendHop(hop: Hop, { deadlineMs, hasSecrets }: { deadlineMs: number; hasSecrets: boolean }): Promise<HttpExchange> {
    const headers: Record<string, string> = {};
    for (const { name, value } of hop.headers.values()) headers[name] = value;
    return this.#send({
      url: hop.url,
      method: hop.method,
      headers,
      ...(hop.body !== null && { body: hop.body.text }),
      deadlineMs,
      keepsBody: true,
      bodyLimit: (status, { location }) =>
        this.#readsBody && this.#nextUrl(hop, { status, location }) === null ? MAX_BODY_BYTES : 0,
      // A sample is kept of a final response that fails or is to be shown, for people to read, but not if it may repeat
      // secrets.
      bodySampleLimit: (status, { location }) =>
        hasSecrets ||
        hop.method === 'HEAD' ||
        (expectsStatus(this.#target, status) && this.#target.isShown !== true) ||
        this.#nextUrl(hop, { status, location }) !== null
          ? 0
          : STORED_BODY_BYTES,
    });
  }

  #nextUrl(hop: Hop, response: { status: number; location: string | undefined }): URL | null {
    return this.#target.followRedirects ? redirectTarget(response, hop.url) : null;
  }
}

const BYTE_ORDER_MARK = Buffer.from('\uFEFF');

/** Measurements of one check from its start over all of its hops. */
class HttpJourney {
  readonly #startedAtMs = Date.now();
  readonly #beganMs = performance.now();
  #timings = NO_TIMINGS;
  #waitedMs = 0;
  #certificate: CertificateFacts | null = null;

  elapsedMs(): number {
    return performance.now() - this.#beganMs;
  }

  /**
   * Adds one hop: timings are summed, and of the certificates the one that expires first is kept. Many certificates
   * name their hosts in an extension only: such a one is named by the host that presented it.
   */
  add({ timings, waitedMs, certificate }: HttpExchange, host: string): void {
    this.#waitedMs += waitedMs;
    this.#timings = this.#timings === NO_TIMINGS ? timings : addTimings(this.#timings, timings);
    if (certificate !== null && (this.#certificate === null || certificate.validTo < this.#certificate.validTo)) {
      this.#certificate = certificate.subject === '' ? { ...certificate, subject: host } : certificate;
    }
  }

  /**
   * Returns the observation of a final response; its body is null unless it was read. The time for a sample of the body
   * is not measured.
   */
  async answered(
    { status, headers, body, truncated, bodySample }: HttpResponse,
    { isBodyRead, hadSecrets }: { isBodyRead: boolean; hadSecrets: boolean },
  ): Promise<HttpAnswered> {
    const measured = this.#measured();
    return {
      ...measured,
      outcome: 'answered',
      status,
      headers: decodeHeaders(headers),
      body: isBodyRead ? decodeText(body, headers['content-type']) : null,
      bodyTruncated: truncated,
      bodyStart: isBodyRead ? body.subarray(0, STORED_BODY_BYTES) : nullIfEmpty(await bodySample),
      hadSecrets,
    };
  }

  /** Returns the observation of a check without a final response. */
  failed(cause: FixedCause, reason: string): HttpFailed {
    return { ...this.#measured(), outcome: 'failed', cause, reason };
  }

  #measured() {
    return {
      type: 'http',
      startedAt: this.#startedAtMs,
      latencyMs: this.elapsedMs() - this.#waitedMs,
      timings: this.#timings,
      certificate: this.#certificate,
    } as const;
  }
}

function addTimings(a: Timings, b: Timings): Timings {
  return {
    dnsMs: add(a.dnsMs, b.dnsMs),
    connectMs: add(a.connectMs, b.connectMs),
    tlsMs: add(a.tlsMs, b.tlsMs),
    firstByteMs: add(a.firstByteMs, b.firstByteMs),
    downloadMs: add(a.downloadMs, b.downloadMs),
  };
}

function add(a: number | null, b: number | null): number | null {
  return a === null || b === null ? (a ?? b) : a + b;
}

/** Decodes headers as UTF-8; most responses have ASCII only and are not copied. */
function decodeHeaders(headers: HttpResponse['headers']): HttpAnswered['headers'] {
  if (!Object.values(headers).some((value) => isBeyondAscii(String(value)))) return headers;
  const decoded = Object.entries(headers).map(([name, value]) => {
    const text = Array.isArray(value) ? value.map(decodeHeader) : value && decodeHeader(value);
    return [name, text] as const;
  });
  return Object.fromEntries(decoded);
}

/**
 * Decodes UTF-8 unless the response declares Latin-1. A byte-order mark means UTF-8 whatever the header, and is not
 * part of the text: JSON would be invalid with one.
 */
function decodeText(bytes: Buffer, contentType: string | undefined): string {
  if (BYTE_ORDER_MARK.equals(bytes.subarray(0, BYTE_ORDER_MARK.length)))
    return bytes.toString('utf8', BYTE_ORDER_MARK.length);
  return bytes.toString(isLatin1(contentType) ? 'latin1' : 'utf8');
}

/** Returns null for an empty sample, which does not prove that the body is empty. */
function nullIfEmpty(bytes: Buffer | undefined): Buffer | null {
  return bytes === undefined || bytes.length === 0 ? null : bytes;
}
