import type { TraceIds } from '../checks/trace-context.ts';
import type { Timings } from '../checks/verdict.ts';
import { cleanText } from '../foreign-text.ts';
import { TIMING_NAMES, withoutQuery } from '../incidents/evidence.ts';
import type { MonitorType } from '../monitors/monitor.ts';

/** A value of an attribute in OTLP's JSON: 64-bit integers are text. */
type AnyValue = { stringValue: string } | { intValue: string } | { doubleValue: number } | { boolValue: boolean };

type Attribute = { key: string; value: AnyValue };

/** The attributes that a process sends with all its data. */
type Resource = { attributes: Attribute[] };

/** The instrumentation: this program, with its version. */
type Scope = { name: string; version: string };

/** A message's `resource` and `scope`, the same in all messages of a process. */
export type Origin = { resource: Resource; scope: Scope };

/** Returns attributes in OTLP form, without null and undefined ones. */
export function attributesOf(values: Readonly<Record<string, string | number | null | undefined>>): Attribute[] {
  return Object.entries(values).flatMap(([key, value]) =>
    value === null || value === undefined ? [] : [{ key, value: valueOf(value) }],
  );
}

/** Converts a moment to Unix nanoseconds, as text: numbers are not precise enough. Exact to a microsecond. */
function nanosecondsOf(unixMs: number): string {
  return `${Math.round(unixMs * 1000)}000`;
}

function valueOf(value: string | number): AnyValue {
  if (typeof value === 'string') return { stringValue: value };
  return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value };
}

/** A failed check, as its span shows it. Times in milliseconds, moments in Unix milliseconds. */
export type FailedCheck = {
  ids: TraceIds;
  tenantId: string;
  monitor: { id: string; name: string; type: MonitorType; target: string; method: string | null };
  source: { id: string; name: string };
  startedAtMs: number;
  endedAtMs: number;
  timings: Timings | null;
  httpStatus: number | null;
  verdict: 'degraded' | 'down';
  cause: string | null;
  reason: string | null;
};

/** A span of OTLP with the field names of its JSON. */
export type OtlpSpan = {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  kind: number;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  attributes: Attribute[];
  status?: { code: number; message: string };
};

/** `ExportTraceServiceRequest` of OTLP. */
export type TraceRequest = { resourceSpans: [{ resource: Resource; scopeSpans: [ScopeSpans] }] };
type ScopeSpans = { scope: Scope; spans: OtlpSpan[] };

const INTERNAL = 1;
const CLIENT = 3;
const ERROR = 2;

/** Maximum length of texts from a target or its owner, in characters. */
const MAX_TEXT = 500;

/** Span names of the steps of an exchange. */
const STEP_NAMES = {
  dnsMs: 'dns',
  connectMs: 'connect',
  tlsMs: 'tls',
  firstByteMs: 'first byte',
  downloadMs: 'download',
} as const satisfies Record<keyof Timings, string>;

/** Builds the request that exports the spans of failed checks, including those of their steps. */
export function traceRequestOf(checks: readonly FailedCheck[], { resource, scope }: Origin): TraceRequest {
  return { resourceSpans: [{ resource, scopeSpans: [{ scope, spans: checks.flatMap(spansOf) }] }] };
}

/** Returns the span of the check, whose id its request contained, and a child span for each measured step. */
function spansOf(check: FailedCheck): OtlpSpan[] {
  const { ids, monitor, startedAtMs, endedAtMs, reason } = check;
  const span: OtlpSpan = {
    traceId: ids.traceId,
    spanId: ids.spanId,
    name: monitor.type === 'http' ? (monitor.method ?? 'GET') : `${monitor.type} check`,
    kind: CLIENT,
    startTimeUnixNano: nanosecondsOf(startedAtMs),
    endTimeUnixNano: nanosecondsOf(Math.max(startedAtMs, endedAtMs)),
    attributes: describe(check),
    status: { code: ERROR, message: cleanText(reason ?? '', MAX_TEXT) },
  };
  return [span, ...stepsOf(check)];
}

/** Returns the steps one after the other: those of redirects are added up, so that each occurs once. */
function stepsOf({ ids, startedAtMs, timings }: FailedCheck): OtlpSpan[] {
  const steps: OtlpSpan[] = [];
  let atMs = startedAtMs;
  for (const [index, name] of TIMING_NAMES.entries()) {
    const tookMs = timings?.[name] ?? null;
    if (tookMs === null) continue;
    steps.push({
      traceId: ids.traceId,
      spanId: ids.stepIds[index] ?? '',
      parentSpanId: ids.spanId,
      name: STEP_NAMES[name],
      kind: INTERNAL,
      startTimeUnixNano: nanosecondsOf(atMs),
      endTimeUnixNano: nanosecondsOf(atMs + tookMs),
      attributes: [],
    });
    atMs += tookMs;
  }
  return steps;
}

function describe({ tenantId, monitor, source, httpStatus, verdict, cause }: FailedCheck): Attribute[] {
  return attributesOf({
    ...(monitor.type === 'http' ? describeRequest(monitor) : describeTarget(monitor)),
    'http.response.status_code': httpStatus,
    // `error.type` of a status is its number (OpenTelemetry's conventions for HTTP).
    'error.type': cause === null ? '_OTHER' : cause.replace(/^status_(?=\d{3}$)/, ''),
    'spotcheck.tenant.id': tenantId,
    'spotcheck.monitor.id': monitor.id,
    'spotcheck.monitor.name': monitor.name,
    'spotcheck.monitor.type': monitor.type,
    'spotcheck.source': source.name,
    'spotcheck.source.id': source.id,
    'spotcheck.verdict': verdict,
    'spotcheck.cause': cause,
  });
}

type Described = Readonly<Record<string, string | number | null>>;

/** Omits the URL's user and the part after its path, which may contain credentials. */
function describeRequest({ target, method }: FailedCheck['monitor']): Described {
  const shown = withoutQuery(target);
  const [, scheme = '', host = '', port] = /^(https?):\/\/(\[[^\]]*\]|[^:/]*)(?::(\d+))?/i.exec(shown) ?? [];
  return {
    'http.request.method': method ?? 'GET',
    'url.full': shown,
    'server.address': host.replaceAll(/[[\]]/g, ''),
    'server.port': port === undefined ? (scheme.toLowerCase() === 'https' ? 443 : 80) : Number(port),
  };
}

function describeTarget({ type, target }: FailedCheck['monitor']): Described {
  const { host, port } = /^(?<host>\[[^\]]*\]|[^:]+):(?<port>\d{1,5})$/.exec(target)?.groups ?? {};
  if ((type === 'tcp' || type === 'udp') && host !== undefined)
    return { 'server.address': host.replaceAll(/[[\]]/g, ''), 'server.port': Number(port), 'network.transport': type };
  if (type === 'icmp') return { 'server.address': target };
  return { 'spotcheck.target': withoutQuery(target) };
}

/** A metric as in the registry of a process. */
type RegisteredMetric = {
  name: string;
  help: string;
  type: string;
  values: readonly RegisteredValue[];
};

/** One sample; in a histogram `metricName` tells its samples apart. */
type RegisteredValue = {
  value: number;
  labels: Readonly<Partial<Record<string, string | number>>>;
  metricName?: string;
};

type Point = { attributes: Attribute[]; startTimeUnixNano?: string; timeUnixNano: string };
type NumberPoint = Point & { asDouble: number };
type HistogramPoint = Point & { count: string; sum: number; bucketCounts: string[]; explicitBounds: number[] };

/** A metric of OTLP with the field names of its JSON. */
export type OtlpMetric = { name: string; description: string } & (
  | { gauge: { dataPoints: NumberPoint[] } }
  | { sum: { dataPoints: NumberPoint[]; aggregationTemporality: number; isMonotonic: true } }
  | { histogram: { dataPoints: HistogramPoint[]; aggregationTemporality: number } }
);

/** `ExportMetricsServiceRequest` of OTLP. */
export type MetricsRequest = { resourceMetrics: [{ resource: Resource; scopeMetrics: [ScopeMetrics] }] };
type ScopeMetrics = { scope: Scope; metrics: OtlpMetric[] };

const CUMULATIVE = 2;

/** Start of counting, and the moment of the values. */
type Span = { startedAtMs: number; nowMs: number };

/**
 * Builds the request that exports the metrics of a process under the names in `/metrics`. Counts are since
 * `startedAtMs`. Omits metrics without values, and metric types that this program does not use.
 */
export function metricsRequestOf(
  metrics: readonly RegisteredMetric[],
  span: Span,
  { resource, scope }: Origin,
): MetricsRequest {
  return {
    resourceMetrics: [
      { resource, scopeMetrics: [{ scope, metrics: metrics.flatMap((metric) => read(metric, span)) }] },
    ],
  };
}

function read({ name, help: description, type, values }: RegisteredMetric, span: Span): OtlpMetric[] {
  const head = { name, description };
  const aggregationTemporality = CUMULATIVE;
  if (type === 'histogram') {
    const dataPoints = histogramPoints(name, values, span);
    return dataPoints.length === 0 ? [] : [{ ...head, histogram: { dataPoints, aggregationTemporality } }];
  }
  const times = timesOf(span, type === 'counter');
  const dataPoints = values
    .filter(({ value }) => Number.isFinite(value))
    .map(({ value, labels }) => ({ attributes: attributesOf(textOf(labels)), ...times, asDouble: value }));
  if (dataPoints.length === 0) return [];
  if (type === 'gauge') return [{ ...head, gauge: { dataPoints } }];
  return type === 'counter' ? [{ ...head, sum: { dataPoints, aggregationTemporality, isMonotonic: true } }] : [];
}

function timesOf({ startedAtMs, nowMs }: Span, isSum: boolean): Pick<Point, 'startTimeUnixNano' | 'timeUnixNano'> {
  return { ...(isSum && { startTimeUnixNano: nanosecondsOf(startedAtMs) }), timeUnixNano: nanosecondsOf(nowMs) };
}

/** Groups the samples of a histogram by their labels and makes the buckets, which are cumulative, separate. */
function histogramPoints(name: string, values: readonly RegisteredValue[], span: Span): HistogramPoint[] {
  const series = Map.groupBy(values, ({ labels: { le: _bound, ...labels } }) => JSON.stringify(labels));
  return [...series.values()].map((samples) => {
    const only = (suffix: string) => samples.filter(({ metricName }) => metricName === `${name}_${suffix}`);
    const buckets = only('bucket').map(({ value, labels }) => ({ bound: Number(labels['le']), count: value }));
    const { le: _bound, ...labels } = samples[0]?.labels ?? {};
    return {
      attributes: attributesOf(textOf(labels)),
      ...timesOf(span, true),
      count: String(only('count')[0]?.value ?? 0),
      sum: only('sum')[0]?.value ?? 0,
      bucketCounts: buckets.map(({ count }, index) => String(count - (buckets[index - 1]?.count ?? 0))),
      explicitBounds: buckets.flatMap(({ bound }) => (Number.isFinite(bound) ? [bound] : [])),
    };
  });
}

/** A label is text in Prometheus, and remains so. */
function textOf(labels: RegisteredValue['labels']): Record<string, string> {
  return Object.fromEntries(Object.entries(labels).map(([name, value]) => [name, String(value)]));
}
