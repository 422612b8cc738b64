import { DNS_MODES, DNS_RECORD_TYPES, parseDnsRecord, type DnsRecordType } from '../../checks/dns/records.ts';
import type { CheckSpec, DnsRecordSpec } from '../monitor.ts';
import { addProblem, flag, integer, listOf, oneOf, shape, show, text, type Checked, type Problem } from './checks.ts';

/** The most days of warning, which domain monitors narrow (D-27): what a column of whole numbers holds. */
export const MAX_WARN_DAYS = 2_147_483_647;

/** The longest that a started job, or a late ping, may take: 30 days, in seconds. */
const MAX_WAIT_SECONDS = 2_592_000;

/** `grace_seconds` of a heartbeat. */
export const graceSeconds = integer({ min: 0, max: MAX_WAIT_SECONDS });

/** `check_spec.domain` (D-27). */
export const domainInput = shape({ warnDays: integer({ min: 1, max: MAX_WARN_DAYS }) });

/** `check_spec.ping` (D-25). */
export const pingInput = shape({
  count: integer({ min: 1, max: 10 }),
  lossDegradedPct: integer({ min: 0, max: 100 }),
  rttDegradedMs: integer({ min: 1, max: 10_000 }),
});

/** `check_spec.heartbeat`; the token is the server's and ignored when it is sent back. */
export const heartbeatInput = shape({
  token: text({ max: 128 }),
  failEnabled: flag,
  maxDurationSeconds: integer({ min: 1, max: MAX_WAIT_SECONDS }),
});

const dnsRecordInput = shape({
  type: oneOf(DNS_RECORD_TYPES),
  mode: oneOf(DNS_MODES),
  expected: listOf(text({ min: 1, max: 1024 }), 50),
});

/** `check_spec.dns` (D-26). */
export const dnsInput = shape({ records: listOf(dnsRecordInput, 50), crossCheck: flag });

/** What a read shows of a vendor; set by the server, so what is sent back is ignored. */
export const vendorInput = shape({
  vendorId: text({ max: 2048 }),
  pageUrl: text({ max: 2048 }),
  probeUrl: text({ max: 2048 }),
  components: listOf(text({ max: 255 }), 100),
});

/**
 * The dns settings with each record's expected values where its mode compares with any, and without where it does not.
 */
export function completeDns(
  { records, ...rest }: Checked<typeof dnsInput>,
  problems: Problem[],
): NonNullable<CheckSpec['dns']> {
  return records === undefined
    ? rest
    : { ...rest, records: records.flatMap((record, index) => completeDnsRecord(record, index, problems)) };
}

function completeDnsRecord(
  { type, mode, expected = [] }: Checked<typeof dnsRecordInput>,
  index: number,
  problems: Problem[],
): DnsRecordSpec[] {
  const field = `check_spec.dns.records[${index}]`;
  if (type === undefined)
    addProblem(problems, `${field}.type`, { expected: 'a record type such as A or MX', got: 'nothing' });
  if (mode === undefined)
    addProblem(problems, `${field}.mode`, { expected: `one of ${DNS_MODES.join(', ')}`, got: 'nothing' });
  if (type === undefined || mode === undefined) return [];
  if (mode === 'exists' || mode === 'absent') return [{ type, mode }];
  if (expected.length === 0)
    addProblem(problems, `${field}.expected`, { expected: `a list of at least one value for ${mode}`, got: 'none' });
  checkExpected(expected, { type, field: `${field}.expected` }, problems);
  return [{ type, mode, expected }];
}

/** What can never be found in a record of the type would be an alarm for ever. */
function checkExpected(
  expected: readonly string[],
  { type, field }: { type: DnsRecordType; field: string },
  problems: Problem[],
): void {
  for (const [index, value] of expected.entries()) {
    const record = parseDnsRecord(type, value);
    if (!record.ok)
      addProblem(problems, `${field}[${index}]`, { expected: `${record.message} for ${type}`, got: show(value) });
  }
}
