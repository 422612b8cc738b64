import type { DnsMode, DnsRecordType } from '../../checks/dns/records.ts';
import type { AssertionInput } from '../../checks/http/assertions.ts';
import type { ScheduleInput } from '../../heartbeats/schedule.ts';
import type { Parent } from '../dependencies.ts';
import type { CheckSpec, HttpMethod, MonitorType, RequestSpec, TransportSpec } from '../monitor.ts';

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
export type ServiceSlaInput = { target: number; timezone: string; hours: string; exclude_maintenance?: boolean };

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
