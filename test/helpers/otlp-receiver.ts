import type { IncomingHttpHeaders } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import type { MetricsRequest, OtlpMetric, OtlpSpan, TraceRequest } from '../../core/system/otlp.ts';
import type { Harness } from './harness.ts';
import { startHttpServer } from './http-server.ts';

/** A received request, with its body decompressed. */
export type OtlpArrival = { path: string; headers: IncomingHttpHeaders; body: Buffer };

/** An OTLP collector; `answer` is its response from now on, null = no response. */
export type OtlpReceiver = {
  url: string;
  arrivals: OtlpArrival[];
  answer: { status: number; headers?: Record<string, string>; body?: string } | null;
  /** Spans and metrics received as JSON. */
  spans: () => OtlpSpan[];
  metrics: () => OtlpMetric[];
  /** Resource attributes of the newest request for a signal. */
  resource: (signal: 'traces' | 'metrics') => Record<string, unknown>;
};

/** Starts an HTTP server that stores all OTLP requests. */
export async function startOtlpReceiver(t: Harness): Promise<OtlpReceiver> {
  const arrivals: OtlpArrival[] = [];
  const { port } = await startHttpServer(t, (request, response) => {
    void (async () => {
      const sent = await buffer(request);
      const body = request.headers['content-encoding'] === 'gzip' ? gunzipSync(sent) : sent;
      arrivals.push({ path: request.url ?? '', headers: request.headers, body });
      const { answer } = receiver;
      if (answer !== null) response.writeHead(answer.status, answer.headers).end(answer.body ?? '');
    })();
  });
  const traces = (): TraceRequest[] => bodiesAt('/v1/traces');
  const metrics = (): MetricsRequest[] => bodiesAt('/v1/metrics');
  const bodiesAt = (end: string) =>
    arrivals.filter(({ path }) => path.endsWith(end)).map(({ body }) => JSON.parse(body.toString()));
  const receiver: OtlpReceiver = {
    url: `http://127.0.0.1:${port}`,
    arrivals,
    answer: { status: 200 },
    spans: () => traces().flatMap(({ resourceSpans: [{ scopeSpans }] }) => scopeSpans[0].spans),
    metrics: () => metrics().flatMap(({ resourceMetrics: [{ scopeMetrics }] }) => scopeMetrics[0].metrics),
    resource(signal) {
      const resource =
        signal === 'traces'
          ? traces().at(-1)?.resourceSpans[0].resource
          : metrics().at(-1)?.resourceMetrics[0].resource;
      return Object.fromEntries((resource?.attributes ?? []).map(({ key, value }) => [key, Object.values(value)[0]]));
    },
  };
  return receiver;
}
