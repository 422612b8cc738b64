import type { CheckSpec, DnsRecordSpec } from '../monitor.ts';
import { addProblem, flag, integer, listOf, oneOf, shape, text } from './checks.ts';
import type { Checked, Problem } from './checks.ts';

/** Days of warning that a domain or certificate can have. */
export const warnDays = integer({ min: 1, max: 3650 });

/** The longest that a started job, or a late ping, may take: 30 days, in seconds. */
const MAX_WAIT_SECONDS = 2_592_000;

/** `grace_seconds` of a heartbeat. */
export const graceSeconds = integer({ min: 0, max: MAX_WAIT_SECONDS });

/** `check_spec.domain` (D-27). */
export const domainInput = shape({ warnDays });

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
  type: oneOf(['A', 'AAAA', 'CNAME', 'MX', 'NS', 'TXT', 'SOA', 'SRV', 'CAA', 'PTR']),
  mode: oneOf(['equals', 'contains', 'any', 'exists', 'absent']),
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

/** The vendor that is watched by service and region, never as a whole. */
const BY_SERVICE_AND_REGION = 'aws';
const SERVICE_AND_REGION = /^[^\s:]+:[^\s:]+$/;

/** The dns settings with each record's expected values where its mode compares with any, and without where it does not. */
export function completeDns({ records, ...rest }: Checked<typeof dnsInput>, problems: Problem[]): NonNullable<CheckSpec['dns']> {
  return records === undefined ? rest : { ...rest, records: records.map((record, index) => completeDnsRecord(record, index, problems)) };
}

function completeDnsRecord({ type, mode, expected = [] }: Checked<typeof dnsRecordInput>, index: number, problems: Problem[]): DnsRecordSpec {
  const field = `check_spec.dns.records[${index}]`;
  if (type === undefined) addProblem(problems, `${field}.type`, { expected: 'a record type such as A or MX', got: 'nothing' });
  if (mode === undefined) addProblem(problems, `${field}.mode`, { expected: 'one of equals, contains, any, exists, absent', got: 'nothing' });
  const compares = mode !== 'exists' && mode !== 'absent';
  if (compares && expected.length === 0) addProblem(problems, `${field}.expected`, { expected: `a list of at least one value for ${mode ?? 'this mode'}`, got: 'none' });
  return { type: type ?? '', mode: mode ?? '', ...(compares && { expected }) };
}

/** Complains where the vendor is watched by `service:region` and there is none, or something else. */
export function checkComponents(target: string, components: readonly string[], problems: Problem[]): void {
  if (target.toLowerCase() !== BY_SERVICE_AND_REGION) return;
  const bad = components.find((component) => !SERVICE_AND_REGION.test(component));
  if (components.length === 0 || bad !== undefined) {
    addProblem(problems, 'components', { expected: 'at least one service:region, such as ec2:us-east-1, for AWS', got: bad === undefined ? 'none' : JSON.stringify(bad) });
  }
}
