import { z } from 'zod';
import { flag, listOf, oneLine, urlOf, wholeNumber } from './formats.ts';
import { secret, variable } from './variables.ts';

/** Destination of one signal, with the headers of each request, which may be credentials. */
type OtlpEndpoint = Readonly<{ url: string; headers: Readonly<Record<string, string>> }>;

/** Export of OpenTelemetry data from the processes of this installation; a signal is null if it is not sent. */
export type OpenTelemetry = Readonly<{
  traces: OtlpEndpoint | null;
  metrics: OtlpEndpoint | null;
  protocol: OtlpProtocol;
  compression: 'gzip' | 'none';
  /** Timeout of a request, in milliseconds. */
  timeoutMs: number;
  metricIntervalMs: number;
  /** Attributes of the installation, including `service.name`. */
  resource: Readonly<Record<string, string>>;
}>;

const PROTOCOLS = ['http/protobuf', 'http/json'] as const;

/** Encoding of messages; gRPC is not supported. */
type OtlpProtocol = (typeof PROTOCOLS)[number];

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const MAX_PAIRS = 64;

const pairs = 'up to 64 of name=value, comma-separated, values percent-encoded where they need it';
// A URL with a key in it is refused: the message says where the key belongs and does not repeat it.
const endpoint = secret(
  variable('an http:// or https:// URL without query, user and password (those go into the headers)', (text) => {
    const url = urlOf('http:', 'https:')(text);
    return url === null || new URL(url).username !== '' || new URL(url).password !== '' ? null : url;
  }).optional(),
);
const headers = secret(variable(`headers: ${pairs}`, headersOf).optional());
const exporter = z.enum(['otlp', 'none'], 'otlp or none').default('otlp');

/** Standard OpenTelemetry variables, and the link from incidents to their traces. */
export const OPEN_TELEMETRY = {
  OTEL_SDK_DISABLED: variable('true or false', flag).default(false),
  OTEL_TRACES_EXPORTER: exporter,
  OTEL_METRICS_EXPORTER: exporter,
  OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: endpoint,
  OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: endpoint,
  OTEL_EXPORTER_OTLP_HEADERS: headers,
  OTEL_EXPORTER_OTLP_TRACES_HEADERS: headers,
  OTEL_EXPORTER_OTLP_METRICS_HEADERS: headers,
  OTEL_EXPORTER_OTLP_PROTOCOL: z.enum(PROTOCOLS, `${PROTOCOLS.join(' or ')}: gRPC is not spoken`).default(PROTOCOLS[0]),
  OTEL_EXPORTER_OTLP_COMPRESSION: z.enum(['gzip', 'none'], 'gzip or none').default('none'),
  OTEL_EXPORTER_OTLP_TIMEOUT: variable('milliseconds from 100 to 60000', wholeNumber(100, MINUTE_MS)).default(10_000),
  OTEL_METRIC_EXPORT_INTERVAL: variable('milliseconds from 1000 to 3600000', wholeNumber(1000, HOUR_MS)).default(
    MINUTE_MS,
  ),
  OTEL_SERVICE_NAME: variable('one line of text', oneLine).default(''),
  OTEL_RESOURCE_ATTRIBUTES: variable(pairs, pairsOf).default({}),
  TRACE_URL: variable(
    'an http:// or https:// URL with {trace_id} in it, without user and password',
    traceUrl,
  ).optional(),
};

/** Returns the settings that the variables make up; null if nothing is sent. */
export function openTelemetryOf(values: z.infer<z.ZodObject<typeof OPEN_TELEMETRY>>): OpenTelemetry | null {
  const base = values.OTEL_EXPORTER_OTLP_ENDPOINT;
  const shared = values.OTEL_EXPORTER_OTLP_HEADERS;
  const endpointOf = (signal: 'traces' | 'metrics'): OtlpEndpoint | null => {
    const name = signal === 'traces' ? 'TRACES' : 'METRICS';
    const url = values[`OTEL_EXPORTER_OTLP_${name}_ENDPOINT`] ?? (base === undefined ? null : `${base}/v1/${signal}`);
    if (url === null || values[`OTEL_${name}_EXPORTER`] === 'none') return null;
    const own = values[`OTEL_EXPORTER_OTLP_${name}_HEADERS`];
    return Object.freeze({ url, headers: Object.freeze({ ...shared, ...own }) });
  };
  const [traces, metrics] = [endpointOf('traces'), endpointOf('metrics')];
  if (values.OTEL_SDK_DISABLED || (traces === null && metrics === null)) return null;
  const { OTEL_SERVICE_NAME: name, OTEL_RESOURCE_ATTRIBUTES: attributes } = values;
  return Object.freeze({
    traces,
    metrics,
    protocol: values.OTEL_EXPORTER_OTLP_PROTOCOL,
    compression: values.OTEL_EXPORTER_OTLP_COMPRESSION,
    timeoutMs: values.OTEL_EXPORTER_OTLP_TIMEOUT,
    metricIntervalMs: values.OTEL_METRIC_EXPORT_INTERVAL,
    resource: Object.freeze({
      'service.name': 'spotcheck',
      ...attributes,
      ...(name !== '' && { 'service.name': name }),
    }),
  });
}

/** Parses `name=value` pairs as OpenTelemetry writes them (W3C baggage); the last of a repeated name counts. */
function pairsOf(text: string): Readonly<Record<string, string>> | null {
  const entries = listOf(pairOf, { unique: false })(text.replace(/,\s*$/, ''));
  return entries === null || entries.length > MAX_PAIRS ? null : Object.fromEntries(entries);
}

function pairOf(text: string): [name: string, value: string] | null {
  const [, name = '', value = ''] = /^([^=\s]{1,255})\s*=\s*(\S.*|)$/.exec(text) ?? [];
  try {
    return name === '' || oneLine(decodeURIComponent(value)) === null ? null : [name, decodeURIComponent(value)];
  } catch {
    return null;
  }
}

function headersOf(text: string): Readonly<Record<string, string>> | null {
  const found = pairsOf(text);
  const isHeader = ([name, value]: [string, string]) =>
    /^[!#$%&'*+.^_`|~\w-]+$/.test(name) && /^[\x20-\x7E]*$/.test(value);
  return found !== null && Object.entries(found).every(isHeader) ? found : null;
}

function traceUrl(text: string): string | null {
  const url = URL.parse(text.replaceAll('{trace_id}', '0'));
  const isHttp = url !== null && (url.protocol === 'http:' || url.protocol === 'https:');
  return isHttp && text.includes('{trace_id}') && url.username === '' && url.password === '' && oneLine(text) !== null
    ? text
    : null;
}
