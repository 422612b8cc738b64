import { attributesOf, nanosecondsOf, type Attribute, type Origin } from './otlp.ts';

/** A metric as the registry of a process has it. */
export type RegisteredMetric = {
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
