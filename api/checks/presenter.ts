import type { Timings } from '../../core/checks/verdict.ts';
import { renderCsv, type CsvColumns } from '../../core/csv.ts';
import type { NamedAgent } from '../../models/agents/agents.ts';
import type { StoredCheck } from '../../models/checks/check-record.ts';
import type { StoredPing } from '../../models/heartbeats/ping-record.ts';
import type { components } from '../schema.generated.ts';

type Schemas = components['schemas'];

/** A result as it is shown. */
export function presentCheck(check: StoredCheck): Schemas['Check'] {
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

/** What happened of a heartbeat, in the shape of a result. */
export function presentPing(ping: StoredPing, service: NamedAgent | null): Schemas['Check'] {
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
  };
}

/** Timings as they are shown, to a tenth of a millisecond; null where a step did not happen. */
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

/** Results as CSV, for spreadsheets: times in UTC, an empty cell for null. */
export function renderChecksCsv(checks: readonly Schemas['Check'][]): string {
  return renderCsv(CSV_COLUMNS, checks);
}
