import type { DnsMode, DnsRecordType } from '../../checks/dns/records.ts';
import type { AssertionInput } from '../../checks/http/assertions.ts';
import { accepted, refused, type Parsed } from '../../foreign-text.ts';
import type { ScheduleInput } from '../../heartbeats/schedule.ts';
import { readServiceHours, type ServiceSla } from '../../statistics/service-hours.ts';
import { readTimeZone } from '../../time-zones.ts';
import { BROWSER_ZONE } from '../../time.ts';
import type { Parent } from '../dependencies.ts';
import type { CheckSpec, HttpMethod, MonitorType, RequestSpec, TransportSpec } from '../monitor.ts';
import { show, type Problem } from './checks.ts';

/**
 * The body of a creation or a PATCH, in the shape that the description gives it: what passes its validation. The types
 * of the API, which are generated from the description, must fit these.
 */
export type MonitorBody = {
  name?: string;
  type?: MonitorType;
  target?: string;
  interval_seconds?: number;
  timeout_ms?: number;
  /** Any text: methods are read whatever their case. */
  method?: string | null;
  expected_status?: string | null;
  body_match?: string | null;
  /** A number says it as programs do: everything but 0 is true. */
  follow_redirects?: boolean | number;
  down_after_failures?: number;
  up_after_successes?: number;
  down_min_sources?: number | null;
  sla_target?: number | null;
  sla?: ServiceSlaInput | null;
  reopen_seconds?: number;
  monthly_drill?: boolean;
  tags?: readonly string[];
  grace_seconds?: number;
  agent_sources?: readonly string[];
  check_spec?: CheckSpecInput;
  warn_days?: number;
  components?: readonly string[];
  dependencies?: readonly string[];
  depends_on?: readonly Parent[];
};

/** An SLA over service hours; maintenance is left out unless `exclude_maintenance` is false. */
type ServiceSlaInput = { target: number; timezone: string; hours: string; exclude_maintenance?: boolean };

/** A body of which each field was read; what depends on other fields is still to be judged. */
export type MonitorInput = Omit<MonitorBody, 'method' | 'follow_redirects'> & {
  method?: HttpMethod | null;
  follow_redirects?: boolean;
};

/**
 * `check_spec` as a customer sends it, for any type. `vendor`, `dependencies` and other read-only parts of a read are
 * ignored.
 */
export type CheckSpecInput = {
  request?: RequestInput;
  assertions?: readonly AssertionInput[];
  transport?: TransportInput;
  domain?: { warnDays?: number };
  ping?: NonNullable<CheckSpec['ping']>;
  /** The token is the server's and ignored when it is sent back. */
  heartbeat?: Omit<NonNullable<CheckSpec['heartbeat']>, 'schedule'> & { schedule?: ScheduleInput };
  dns?: DnsInput;
  vendor?: object;
  dependencies?: readonly string[];
};

/** `check_spec.request`: `secretHeaderNames` is what a read shows, and ignored. */
export type RequestInput = Omit<RequestSpec, 'auth' | 'traceparent'> & {
  traceparent?: boolean;
  secretHeaders?: Record<string, string>;
  preserveSecretHeaders?: boolean;
  removeSecretHeaders?: readonly string[];
  auth?: AuthInput;
  preserveBody?: boolean;
};

/** Credentials; the type alone keeps those that are stored. */
export type AuthInput = { type: 'bearer' | 'basic'; token?: string; username?: string; password?: string };

export type TransportInput = TransportSpec & { preservePayload?: boolean };

/** `check_spec.dns` (D-26). */
export type DnsInput = { records?: readonly DnsRecordInput[]; crossCheck?: boolean };

export type DnsRecordInput = { type: DnsRecordType; mode: DnsMode; expected?: string[] };

/** Refuses to keep a stored secret, `field`, for a target that it was not stored for (D-69). */
export function refuseMoved(field: string, problems: Problem[]): void {
  const rule =
    'stored secrets are kept only while the scheme, host and port of target and the Host header stay the same';
  problems.push({ field, message: `${field} must be sent again in full: ${rule}` });
}

/** One value that can be secret, as it was sent, and the stored secret that it may keep. */
type SecretValue = {
  field: string;
  keys: { value: string; secret: string; preserve: string };
  value: string | undefined;
  isSecret: boolean | undefined;
  preserves: boolean | undefined;
  stored: string | undefined;
};

/**
 * Returns the secret to store. The one that was sent, or else the stored one, so that a read can be sent back;
 * undefined for a plain value, and after a problem.
 */
export function preserveOrReplace(
  { field, keys, value, isSecret, preserves, stored }: SecretValue,
  problems: Problem[],
): string | undefined {
  const complain = (key: string, rest: string): undefined => {
    problems.push({ field: `${field}.${key}`, message: `${field}.${key} ${rest}` });
  };
  if (!isSecret) return preserves ? complain(keys.preserve, `requires ${keys.secret} to be true`) : undefined;
  if (preserves && value !== undefined)
    return complain(keys.value, `must be omitted when ${keys.preserve} is true, which keeps the stored value`);
  if (preserves) return stored ?? complain(keys.preserve, 'has nothing to keep: no secret value is stored');
  return (
    value ?? stored ?? complain(keys.value, `is required when ${keys.secret} is true, unless ${keys.preserve} is true`)
  );
}

/**
 * Completes an SLA over service hours from what was sent: the zone as the IANA database writes it, maintenance left out
 * unless it says otherwise. Adds a problem for an unknown zone and for hours that cannot be read.
 */
export function completeServiceSla(input: ServiceSlaInput, problems: Problem[]): ServiceSla {
  const { target, exclude_maintenance: excludeMaintenance = true } = input;
  const zone = readServiceZone('sla.timezone', input.timezone);
  if (!zone.ok) problems.push({ field: 'sla.timezone', message: zone.message });
  const hours = readServiceHours(input.hours);
  if (!hours.ok) problems.push({ field: 'sla.hours', message: `sla.hours ${hours.problem}` });
  return {
    target,
    timezone: zone.ok ? zone.value : input.timezone,
    hours: input.hours.trim(),
    excludeMaintenance,
  };
}

/** The zone of service hours as the IANA time zone database writes it; what is wrong says so about `field`. */
export function readServiceZone(field: string, text: string): Parsed<string> {
  const zone = readTimeZone(text);
  return zone === null || zone === BROWSER_ZONE
    ? refused(`${field} must be a zone of the IANA time zone database, such as Europe/Berlin, got ${show(text)}`)
    : accepted(zone);
}
