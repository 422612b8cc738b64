import type { TraceIds } from '../checks/trace-context.ts';
import type { Timings } from '../checks/verdict.ts';
import { cleanText } from '../foreign-text.ts';
import { TIMING_NAMES, withoutQuery } from '../incidents/evidence.ts';
import type { MonitorType } from '../monitors/monitor.ts';

/** A value of an attribute, as OTLP writes it in JSON: 64-bit integers are text. */
type AnyValue = { stringValue: string } | { intValue: string } | { doubleValue: number } | { boolValue: boolean };

type Attribute = { key: string; value: AnyValue };

/** What a process says of itself with all that it sends. */
type Resource = { attributes: Attribute[] };

/** Who measured: this program, in its version. */
type Scope = { name: string; version: string };

/** A message's `resource` and `scope`, the same in all that a process sends. */
export type Origin = { resource: Resource; scope: Scope };

/** Attributes in the form of OTLP; what is null or undefined is left out. */
export function attributesOf(values: Readonly<Record<string, string | number | null | undefined>>): Attribute[] {
  return Object.entries(values).flatMap(([key, value]) =>
    value === null || value === undefined ? [] : [{ key, value: valueOf(value) }],
  );
}

/** A moment in Unix nanoseconds, as text: numbers are not that exact. Exact to a microsecond. */
function nanosecondsOf(unixMs: number): string {
  return `${Math.round(unixMs * 1000)}000`;
}

function valueOf(value: string | number): AnyValue {
  if (typeof value === 'string') return { stringValue: value };
  return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value };
}

/** A check that failed, as its span shows it. Times in milliseconds, moments in Unix milliseconds. */
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

/** A span of OTLP; the names are those of its JSON. */
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
export type TraceRequest = { resourceSpans: [{ resource: Origin['resource']; scopeSpans: [ScopeSpans] }] };
type ScopeSpans = { scope: Origin['scope']; spans: OtlpSpan[] };

const INTERNAL = 1;
const CLIENT = 3;
const ERROR = 2;

/** Characters of texts that a target or its owner wrote. */
const MAX_TEXT = 500;

/** The steps of an exchange by their names as spans. */
const STEP_NAMES = {
  dnsMs: 'dns',
  connectMs: 'connect',
  tlsMs: 'tls',
  firstByteMs: 'first byte',
  downloadMs: 'download',
} as const satisfies Record<keyof Timings, string>;

/** The request that exports the spans of failed checks, those of their steps included. */
export function traceRequestOf(checks: readonly FailedCheck[], { resource, scope }: Origin): TraceRequest {
  return { resourceSpans: [{ resource, scopeSpans: [{ scope, spans: checks.flatMap(spansOf) }] }] };
}

/** The span of the check, whose id its request carried, and one below it for each step that was measured. */
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

/** The steps one after the other: those of redirects are added up, so that each is there once. */
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
    // A status is an error by its number (OpenTelemetry's conventions for HTTP).
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

/** Of the URL neither a user nor what follows the path, which may carry credentials. */
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

/** A metric as the registry of a process has it. */
type RegisteredMetric = {
  name: string;
  help: string;
  type: string;
  values: readonly RegisteredValue[];
};

/** One sample; those of a histogram say by `metricName` what they are. */
type RegisteredValue = {
  value: number;
  labels: Readonly<Partial<Record<string, string | number>>>;
  metricName?: string;
};

type Point = { attributes: Attribute[]; startTimeUnixNano?: string; timeUnixNano: string };
type NumberPoint = Point & { asDouble: number };
type HistogramPoint = Point & { count: string; sum: number; bucketCounts: string[]; explicitBounds: number[] };

/** A metric of OTLP; the names are those of its JSON. */
export type OtlpMetric = { name: string; description: string } & (
  | { gauge: { dataPoints: NumberPoint[] } }
  | { sum: { dataPoints: NumberPoint[]; aggregationTemporality: number; isMonotonic: true } }
  | { histogram: { dataPoints: HistogramPoint[]; aggregationTemporality: number } }
);

/** `ExportMetricsServiceRequest` of OTLP. */
export type MetricsRequest = { resourceMetrics: [{ resource: Origin['resource']; scopeMetrics: [ScopeMetrics] }] };
type ScopeMetrics = { scope: Origin['scope']; metrics: OtlpMetric[] };

const CUMULATIVE = 2;

/** Since when values have been counted, and of which moment they are. */
type Span = { startedAtMs: number; nowMs: number };

/**
 * The request that exports the metrics of a process under the names that `/metrics` has. Counts are since
 * `startedAtMs`. What has no value is left out, and so is a kind of metric that we have none of.
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

/** The samples of a histogram by their labels; the buckets, each of which counts those below it too, one by one. */
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

/** A label is text in Prometheus, and stays it. */
function textOf(labels: RegisteredValue['labels']): Record<string, string> {
  return Object.fromEntries(Object.entries(labels).map(([name, value]) => [name, String(value)]));
}
