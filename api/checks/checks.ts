import type { Response } from 'express';
import { PLAN_LIMITS } from '../../core/accounts/plans.ts';
import type { Timings } from '../../core/checks/verdict.ts';
import { renderCsv, type CsvColumns } from '../../core/csv.ts';
import { DAY_MS, toUnixSeconds } from '../../core/time.ts';
import { findAgentNo, findServiceAgent, type NamedAgent } from '../../models/agents/agents.ts';
import { listChecks, type StoredCheck } from '../../models/checks/check-results.ts';
import type { CheckRequest } from '../../models/checks/schedule.ts';
import type { Database } from '../../models/database.ts';
import { listPings, type StoredPing } from '../../models/heartbeats/ping-record.ts';
import { findMeasuredMonitor, type MeasuredMonitor } from '../../models/monitors/monitors.ts';
import { badRequest, notFound } from '../api-error.ts';
import type { Handler, Parts, Query } from '../handler.ts';
import { checkMonitor } from '../monitors/changes.ts';
import { cutPage, readPage, type WrittenRequest } from '../pagination.ts';
import { authorOf, callerOf, idOf, isId } from '../request-context.ts';
import type { components } from '../schema.generated.ts';

/** Default number of checks in a page: there are a thousand a day. */
const DEFAULT_LIMIT = 100;

/** Maximum number of checks in one CSV file: a week of one location at a check a minute. */
const CSV_LIMIT = 10_000;

/** Maximum output of jobs in one page, in bytes; a page with more ends early, after at least one ping. */
const OUTPUT_BYTES = 1_048_576;

/** Tolerated lead of agents' clocks. */
const CLOCK_SLACK_MS = 60_000;

/** Second part of a cursor over pings, which need none: no two pings have the same time. */
const NO_TIE = '0';

type Schemas = components['schemas'];

type ListQuery = Query<'listChecks'>;

/** A request for checks, independent of the monitor's type. */
type ChecksRequest = {
  monitor: MeasuredMonitor;
  source: string | undefined;
  verdict: ListQuery['verdict'];
  fromMs: number;
  toMs: number;
  before: { atMs: number; tie: number } | null;
  limit: number;
  isCsv: boolean;
};

type Entry = { atMs: number; tie: string; shown: Schemas['Check'] };

/** `GET /monitors/{id}/checks`, as JSON by pages or as one table for spreadsheets. */
export function listChecksHandler({
  database,
  config,
  now,
  rateLimits,
}: Parts<'database' | 'config' | 'now' | 'rateLimits'>): Handler<'listChecks'> {
  return async (request, response) => {
    const key = { tenantId: callerOf(response).tenantId, id: idOf(request) };
    if (request.query.format === 'csv') await rateLimits.take('export', key.tenantId);
    const monitor = await findMeasuredMonitor(database, key);
    if (monitor === null) throw notFound('monitor', key.id);
    const requested = readRequest(monitor, { request, response }, now());
    const list = monitor.type === 'heartbeat' ? listPingEntries : listCheckEntries;
    const entries = await list(database, requested);
    if (requested.isCsv) {
      const checks = entries.slice(0, requested.limit).map((entry) => entry.shown);
      response
        .set('Content-Disposition', `attachment; filename="checks-${key.id}.csv"`)
        .type('text/csv')
        .send(renderChecksCsv(checks));
      return;
    }
    const fitting = countFitting(entries);
    const shown = cutPage(
      entries.slice(0, fitting),
      {
        limit: requested.limit,
        isCut: fitting < entries.length,
        positionOf: ({ atMs, tie }) => ({ at: atMs, id: tie }),
      },
      { request, response, publicUrl: config.publicUrl },
    );
    response.json({ checks: shown.map((entry) => entry.shown) });
  };
}

/** Returns how many of the first entries fit into a page by their output. */
function countFitting(entries: readonly Entry[]): number {
  let bytes = 0;
  const beyond = entries.findIndex(({ shown }) => (bytes += Buffer.byteLength(shown.output ?? '')) > OUTPUT_BYTES);
  return beyond === -1 ? entries.length : beyond;
}

/**
 * Reads the request. Results are shown for as long as the plan keeps them, although partitions are dropped by whole
 * days.
 */
function readRequest(
  monitor: MeasuredMonitor,
  { request, response }: { request: WrittenRequest & { query: ListQuery }; response: Response },
  nowMs: number,
): ChecksRequest {
  const { limit, after } = readPage(request);
  const { source, verdict, since, until, format } = request.query;
  if (since !== undefined && until !== undefined && until < since)
    throw badRequest(`until must be ${since} (since) or later, got ${until}`);
  if (after !== null && !/^\d{1,9}$/.test(after.id))
    throw badRequest('cursor must come from the Link header of this list, got a different value');
  const isCsv = format === 'csv';
  const keptFromMs = nowMs - PLAN_LIMITS[callerOf(response).plan].resultDays * DAY_MS;
  return {
    monitor,
    source,
    verdict,
    // A monitor has no checks from before its creation.
    fromMs: Math.max(keptFromMs, monitor.createdAt * 1000 - CLOCK_SLACK_MS, since === undefined ? 0 : since * 1000),
    toMs: until === undefined ? nowMs + CLOCK_SLACK_MS : Math.min((until + 1) * 1000, nowMs + DAY_MS),
    before: after === null ? null : { atMs: after.at, tie: Number(after.id) },
    limit: limit ?? (isCsv ? CSV_LIMIT : DEFAULT_LIMIT),
    isCsv,
  };
}

async function listCheckEntries(
  database: Database,
  { monitor, source, verdict, fromMs, toMs, before, limit }: ChecksRequest,
): Promise<Entry[]> {
  const agentNo = source === undefined ? undefined : isId(source) ? await findAgentNo(database, source) : null;
  if (agentNo === null) return [];
  const checks = await listChecks(database, {
    monitorNo: monitor.no,
    ...(agentNo !== undefined && { agentNo }),
    ...(verdict !== undefined && { verdict }),
    fromMs,
    toMs,
    ...(before !== null && { before: { atMs: before.atMs, agentNo: before.tie } }),
    limit: limit + 1,
  });
  return checks.map((check) => ({ atMs: check.atMs, tie: String(check.agentNo), shown: presentCheck(check) }));
}

async function listPingEntries(
  database: Database,
  { monitor, source, verdict, fromMs, toMs, before, limit, isCsv }: ChecksRequest,
): Promise<Entry[]> {
  const service = await findServiceAgent(database);
  if (source !== undefined && source !== service?.id) return [];
  const pings = await listPings(database, {
    monitorNo: monitor.no,
    ...(verdict !== undefined && { verdict }),
    fromMs,
    toMs: Math.min(toMs, before?.atMs ?? toMs),
    limit: limit + 1,
    withOutput: !isCsv,
  });
  return pings.map((ping) => ({ atMs: ping.atMs, tie: NO_TIE, shown: presentPing(ping, service) }));
}

/** `POST /monitors/{id}/check` */
export function requestCheckHandler(
  dependencies: Parts<'database' | 'now' | 'rateLimits' | 'onScheduleChange' | 'logger'>,
): Handler<'requestCheck'> {
  return async (request, response) => {
    const id = idOf(request);
    const change = { account: callerOf(response), author: authorOf(response), monitorId: id };
    const requested = await checkMonitor(dependencies, change);
    response.status(202).json(presentRequest(id, requested, requested.requestedAtMs));
  };
}

function presentRequest(id: string, { sources }: CheckRequest, nowMs: number): Schemas['CheckRequested'] {
  return {
    id,
    requested_at: toUnixSeconds(nowMs),
    // The service's internal source is not an agent that customers see.
    sources: sources
      .filter(({ kind }) => kind !== 'service')
      .map(({ agentId, state, inability }) => ({
        id: agentId,
        state,
        ...(inability !== null && { reason: inability }),
      })),
  };
}

function presentCheck(check: StoredCheck): Schemas['Check'] {
  return {
    at: check.atMs / 1000,
    source: check.source,
    verdict: check.verdict,
    cause: check.cause,
    reason: check.reason,
    http_status: check.httpStatus,
    latency_ms: check.latencyMs,
    phases: check.timings === null ? null : presentTimings(check.timings),
    ...(check.dnsAnswers && {
      dns_answers: Object.entries(check.dnsAnswers).map(([type, answer]) => presentAnswer(type, answer)),
    }),
  };
}

function presentAnswer(
  type: string,
  answer: readonly string[] | string,
): NonNullable<Schemas['Check']['dns_answers']>[number] {
  return typeof answer === 'string'
    ? { type, records: [], failure: answer }
    : { type, records: [...answer], failure: null };
}

/** Returns a ping of a heartbeat in the form of a check result. */
function presentPing(ping: StoredPing, service: NamedAgent | null): Schemas['Check'] {
  return {
    at: ping.atMs / 1000,
    source: { id: service?.id ?? null, name: service?.name ?? null },
    verdict: ping.verdict,
    cause: ping.cause,
    reason: ping.reason,
    http_status: null,
    latency_ms: ping.durationMs,
    phases: null,
    ping: ping.kind,
    exit_status: ping.exitStatus,
    output: ping.output,
  };
}

/** Returns timings for responses, to a tenth of a millisecond; null for steps that did not happen. */
export function presentTimings({
  dnsMs,
  connectMs,
  tlsMs,
  firstByteMs,
  downloadMs,
}: Partial<Timings>): Schemas['PhasesMs'] {
  return {
    dns_ms: tenths(dnsMs),
    connect_ms: tenths(connectMs),
    tls_ms: tenths(tlsMs),
    first_byte_ms: tenths(firstByteMs),
    download_ms: tenths(downloadMs),
  };
}

function tenths(ms: number | null | undefined): number | null {
  return ms === null || ms === undefined ? null : Math.round(ms * 10) / 10;
}

const CSV_COLUMNS: CsvColumns<Schemas['Check']> = [
  ['time', ({ at }) => new Date(at * 1000).toISOString()],
  ['location', ({ source }) => source.name],
  ['verdict', ({ verdict }) => verdict],
  ['cause', ({ cause }) => cause],
  ['reason', ({ reason }) => reason],
  ['http_status', (check) => check.http_status],
  ['latency_ms', (check) => check.latency_ms],
  ['dns_ms', ({ phases }) => phases?.dns_ms ?? null],
  ['connect_ms', ({ phases }) => phases?.connect_ms ?? null],
  ['tls_ms', ({ phases }) => phases?.tls_ms ?? null],
  ['first_byte_ms', ({ phases }) => phases?.first_byte_ms ?? null],
  ['download_ms', ({ phases }) => phases?.download_ms ?? null],
  ['ping', ({ ping }) => ping ?? null],
  ['exit_status', (check) => check.exit_status ?? null],
];

/** Renders results as CSV for spreadsheets: times in UTC, an empty cell for null. */
function renderChecksCsv(checks: readonly Schemas['Check'][]): string {
  return renderCsv(CSV_COLUMNS, checks);
}
