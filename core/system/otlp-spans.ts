import type { TraceIds } from '../checks/trace-context.ts';
import type { Timings } from '../checks/verdict.ts';
import { cleanText } from '../foreign-text.ts';
import { withoutQuery } from '../incidents/answer-evidence.ts';
import { TIMING_NAMES } from '../incidents/failure-evidence.ts';
import type { MonitorType } from '../monitors/monitor.ts';
import { attributesOf, nanosecondsOf, type Attribute, type Origin } from './otlp.ts';

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
const MOST_TEXT = 500;

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
    status: { code: ERROR, message: cleanText(reason ?? '', MOST_TEXT) },
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
