import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { Logger } from 'pino';
import { Counter, type Registry } from 'prom-client';
import { attributesOf, metricsRequestOf, type FailedCheck, type Origin } from '../core/system/otlp.ts';
import { within } from '../core/time.ts';
import { OtlpSender, type SenderOptions } from './sender.ts';
import { SpanExporter } from './span-exporter.ts';

export type TelemetryOptions = {
  settings: Readonly<
    Omit<SenderOptions, 'endpoint'> & {
      /** Null if this signal is not sent. */
      traces: SenderOptions['endpoint'] | null;
      metrics: SenderOptions['endpoint'] | null;
      metricIntervalMs: number;
      resource: Readonly<Record<string, string>>;
    }
  >;
  /** The role of this process (`all` for every role), and the region of its checks. */
  role: string;
  region?: string | null;
  version: string;
  registry: Registry;
  log: Logger;
};

/** `recordFailedCheck` is null if no spans are sent. `stop` sends the rest within a few seconds. */
export type Telemetry = {
  name: string;
  recordFailedCheck: ((check: FailedCheck) => void) | null;
  stop: () => Promise<void>;
};

/** Time limit for sending the last metrics of a process, in milliseconds. */
const LAST_METRICS_MS = 3000;

type Signal = 'traces' | 'metrics';

/** Starts sending a process's metrics, and the spans of its failed checks, to the operator's OTLP collector. */
export function startTelemetry(options: TelemetryOptions): Telemetry {
  const { settings, registry } = options;
  const { traces, metrics } = settings;
  const origin = originOf(options);
  const report = createReport(options);
  const spans =
    traces === null ? null : openSpans({ settings: { ...settings, endpoint: traces }, origin, report, registry });
  const stopMetrics =
    metrics === null
      ? null
      : exportMetrics({ ...options, settings: { ...settings, endpoint: metrics }, origin, report });
  return {
    name: 'telemetry',
    recordFailedCheck: spans && ((check) => spans.record(check)),
    async stop() {
      await Promise.all([spans?.stop(), stopMetrics?.()]);
    },
  };
}

type Report = (signal: Signal, trouble: string | null) => void;

function openSpans({
  settings,
  origin,
  report,
  registry,
}: {
  settings: SenderOptions;
  origin: Origin;
  report: Report;
  registry: Registry;
}): SpanExporter {
  const checks = new Counter({
    name: 'spotcheck_otlp_spans_total',
    help: 'Failed checks whose span was sent by OTLP, refused by the collector, or dropped',
    labelNames: ['outcome'],
    registers: [registry],
  });
  for (const outcome of ['sent', 'refused', 'dropped']) checks.inc({ outcome }, 0);
  return new SpanExporter({
    sender: new OtlpSender(settings),
    origin,
    count: (outcome, number) => checks.inc({ outcome }, number),
    onAttempt: (trouble) => report('traces', trouble),
    random: Math.random,
  });
}

/** Sends all metrics at the interval and on shutdown; the next request makes up for a failed one. */
function exportMetrics({
  settings,
  origin,
  report,
  registry,
}: {
  settings: SenderOptions & { metricIntervalMs: number };
  origin: Origin;
  report: Report;
  registry: Registry;
}): () => Promise<void> {
  const sender = new OtlpSender(settings);
  const startedAtMs = Date.now() - process.uptime() * 1000;
  let underWay: Promise<void> | null = null;
  const attempt = async () => {
    // prom-client's declarations type the kinds as numbers, but they are strings.
    const metrics = (await registry.getMetricsAsJSON()).map((metric) => ({ ...metric, type: String(metric.type) }));
    const sent = await sender.send(metricsRequestOf(metrics, { startedAtMs, nowMs: Date.now() }, origin));
    report('metrics', 'reason' in sent ? sent.reason : null);
  };
  const send = async () => {
    underWay ??= attempt()
      .catch((error: unknown) => report('metrics', error instanceof Error ? error.message : String(error)))
      .finally(() => (underWay = null));
    await underWay;
  };
  const timer = setInterval(() => void send(), settings.metricIntervalMs).unref();
  return async () => {
    clearInterval(timer);
    await within(LAST_METRICS_MS, (underWay ?? Promise.resolve()).then(send), undefined);
  };
}

/** Counts attempts, and logs when the collector goes away and comes back. */
function createReport({ settings, registry, log }: TelemetryOptions): Report {
  const attempts = new Counter({
    name: 'spotcheck_otlp_exports_total',
    help: 'Requests with metrics or spans sent by OTLP, by outcome',
    labelNames: ['signal', 'outcome'],
    registers: [registry],
  });
  for (const signal of ['traces', 'metrics'] as const)
    for (const outcome of ['accepted', 'failed']) if (settings[signal] !== null) attempts.inc({ signal, outcome }, 0);
  const failing = new Set<Signal>();
  return (signal, trouble) => {
    attempts.inc({ signal, outcome: trouble === null ? 'accepted' : 'failed' });
    if (trouble === null && failing.delete(signal)) log.info({ signal }, 'telemetry.restored');
    if (trouble === null || failing.has(signal)) return;
    failing.add(signal);
    log.warn({ signal, reason: trouble }, 'telemetry.failed');
  };
}

function originOf({ settings, role, region, version }: TelemetryOptions): Origin {
  const resource = attributesOf({
    'service.version': version,
    'service.instance.id': randomUUID(),
    'host.name': hostname(),
    'process.pid': process.pid,
    'spotcheck.role': role,
    'spotcheck.region': region,
    ...settings.resource,
  });
  return { resource: { attributes: resource }, scope: { name: 'spotcheck', version } };
}
