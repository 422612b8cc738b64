import type { CertificateFacts, HttpAnswered, HttpFailed } from '../../core/checks/http/observation.ts';
import type { FixedCause, Timings } from '../../core/checks/verdict.ts';
import { isLatin1, STORED_BODY_BYTES } from '../../core/incidents/answer-evidence.ts';
import type { HttpAnswer, HttpExchange } from '../../net/http-client.ts';

const NO_TIMINGS: Timings = { dnsMs: null, connectMs: null, tlsMs: null, firstByteMs: null, downloadMs: null };
const BYTE_ORDER_MARK = Buffer.from('\uFEFF');

/** What one check measures from its start over all of its hops. */
export class HttpJourney {
  readonly #startedAt = Date.now();
  readonly #startedAtMs = performance.now();
  #timings = NO_TIMINGS;
  #certificate: CertificateFacts | null = null;

  elapsedMs(): number {
    return performance.now() - this.#startedAtMs;
  }

  /** Takes in one hop: timings add up, and of the certificates the one that expires first is kept. */
  add({ timings, certificate }: HttpExchange): void {
    this.#timings = this.#timings === NO_TIMINGS ? timings : addTimings(this.#timings, timings);
    if (certificate !== null && (this.#certificate === null || certificate.validTo < this.#certificate.validTo)) {
      this.#certificate = certificate;
    }
  }

  /**
   * The observation of an answer that ends the journey; its body is null unless it was read. What a glimpse of the body
   * takes is not measured.
   */
  async answered(
    { status, headers, body, truncated, glimpse }: HttpAnswer,
    { isBodyRead, hadSecrets }: { isBodyRead: boolean; hadSecrets: boolean },
  ): Promise<HttpAnswered> {
    const measured = this.#measured();
    return {
      ...measured,
      outcome: 'answered',
      status,
      headers,
      body: isBodyRead ? decodeText(body, headers['content-type']) : null,
      bodyTruncated: truncated,
      bodyStart: isBodyRead ? body.subarray(0, STORED_BODY_BYTES) : nullIfEmpty(await glimpse),
      hadSecrets,
    };
  }

  /** The observation of a journey that came to no answer. */
  failed(cause: FixedCause, reason: string): HttpFailed {
    return { ...this.#measured(), outcome: 'failed', cause, reason };
  }

  #measured() {
    return {
      type: 'http',
      startedAt: this.#startedAt,
      latencyMs: this.elapsedMs(),
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

/**
 * UTF-8 unless the answer says Latin-1. A byte-order mark says UTF-8 whatever the header does, and is no part of the
 * text: JSON with one would be none.
 */
function decodeText(bytes: Buffer, contentType: string | undefined): string {
  if (BYTE_ORDER_MARK.equals(bytes.subarray(0, BYTE_ORDER_MARK.length)))
    return bytes.toString('utf8', BYTE_ORDER_MARK.length);
  return bytes.toString(isLatin1(contentType) ? 'latin1' : 'utf8');
}

/** A glimpse that saw nothing does not know that there is nothing. */
function nullIfEmpty(bytes: Buffer | undefined): Buffer | null {
  return bytes === undefined || bytes.length === 0 ? null : bytes;
}
