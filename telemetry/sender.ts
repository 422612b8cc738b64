import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { parseJson } from '../core/foreign-text.ts';
import type { MetricsRequest, TraceRequest } from '../core/system/otlp.ts';
import {
  createHttpClient,
  readRetryAfter,
  type HttpClient,
  type HttpExchange,
  type HttpResponse,
} from '../net/http-client.ts';
import { encodeMessage } from './protobuf.ts';

/** Endpoint and encoding of one signal; see `OpenTelemetry` in the configuration. */
export type SenderOptions = {
  endpoint: Readonly<{ url: string; headers: Readonly<Record<string, string>> }>;
  protocol: 'http/protobuf' | 'http/json';
  compression: 'gzip' | 'none';
  timeoutMs: number;
};

/**
 * Outcome of a request. `partly`: the collector accepted only part of it. `retry`: the same request may be accepted
 * later, not before `afterMs` if the collector named a wait. `refused`: it never will be. A reason is a sentence
 * without secrets.
 */
export type Sent =
  | { outcome: 'accepted' | 'partly' }
  | { outcome: 'retry'; reason: string; afterMs: number | null }
  | { outcome: 'refused'; reason: string };

/** Statuses that OTLP clients may retry after. */
const RETRIED = new Set([429, 502, 503, 504]);

/** First byte of a `partial_success`: field 1, with a length. */
const PARTIAL_SUCCESS = 0x0a;

/** Maximum bytes read of a response, which contains counts and a sentence. */
const RESPONSE_BYTES = 4096;

const compress = promisify(gzip);

/** Sends OTLP requests over HTTP to the operator's collector, which may have a private address. */
export class OtlpSender {
  readonly #options: SenderOptions;
  readonly #client: HttpClient;

  constructor(options: SenderOptions) {
    this.#options = options;
    this.#client = createHttpClient({ allowPrivateNetwork: true, purpose: 'telemetry' });
  }

  /** Makes one attempt; never rejects because of the collector. */
  async send(request: TraceRequest | MetricsRequest): Promise<Sent> {
    const { endpoint, protocol, compression, timeoutMs } = this.#options;
    const isJson = protocol === 'http/json';
    const isCompressed = compression === 'gzip';
    try {
      const plain = isJson ? Buffer.from(JSON.stringify(request)) : encodeRequest(request);
      const exchange = await this.#client({
        url: new URL(endpoint.url),
        method: 'POST',
        headers: {
          'User-Agent': 'Spotcheck/1.0 (OTLP)',
          'Accept-Encoding': 'identity',
          ...endpoint.headers,
          'Content-Type': isJson ? 'application/json' : 'application/x-protobuf',
          ...(isCompressed && { 'Content-Encoding': 'gzip' }),
        },
        body: isCompressed ? await compress(plain) : plain,
        deadlineMs: timeoutMs,
        bodyLimit: () => RESPONSE_BYTES,
      });
      return readExchange(exchange, isJson);
    } catch (error) {
      // A request that cannot be encoded never can be; otherwise this machine lacks the resources for it at the moment.
      const reason = error instanceof Error ? error.message : String(error);
      return error instanceof TypeError ? { outcome: 'refused', reason } : { outcome: 'retry', reason, afterMs: null };
    }
  }
}

function encodeRequest(request: TraceRequest | MetricsRequest): Buffer {
  return encodeMessage('resourceSpans' in request ? 'TraceRequest' : 'MetricsRequest', request);
}

/** Judges by the status even if the body was incomplete, because retrying would send accepted data twice. */
function readExchange(exchange: HttpExchange, isJson: boolean): Sent {
  if (exchange.outcome === 'answered') return readResponse(exchange, isJson);
  const { partial, reason } = exchange;
  if (partial === null) return { outcome: 'retry', reason, afterMs: null };
  return readResponse({ ...partial, headers: {} }, isJson);
}

function readResponse({ status, headers, body }: Omit<HttpResponse, 'outcome' | 'truncated'>, isJson: boolean): Sent {
  if (status >= 200 && status < 300) return { outcome: isPartial(body, isJson) ? 'partly' : 'accepted' };
  const reason = `The collector responded with ${status}`;
  if (!RETRIED.has(status)) return { outcome: 'refused', reason };
  return { outcome: 'retry', reason, afterMs: readRetryAfter({ headers }, Date.now()) };
}

/**
 * Reports whether the collector rejected part of a request. Full success is an empty body or, as the Collector sends
 * it, an empty `partial_success` (field 1).
 */
function isPartial(body: Buffer, isJson: boolean): boolean {
  if (!isJson) return body[0] === PARTIAL_SUCCESS && body[1] !== 0;
  const partial: unknown = Reflect.get(Object(parseJson(body.toString())), 'partialSuccess');
  return Object.keys(Object(partial)).length > 0;
}
