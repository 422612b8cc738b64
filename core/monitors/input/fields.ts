import type { DnsMode, DnsRecordType } from '../../checks/dns/records.ts';
import type { AssertionInput } from '../../checks/http/assertions.ts';
import type { ScheduleInput } from '../../heartbeats/schedule.ts';
import type { Parent } from '../dependencies.ts';
import type { CheckSpec, HttpMethod, MonitorType, RequestSpec, TransportSpec } from '../monitor.ts';

/**
 * Body of a creation or a PATCH that the API description accepts. The API's generated types must be assignable to
 * these.
 */
export type MonitorBody = {
  name?: string;
  type?: MonitorType;
  target?: string;
  interval_seconds?: number;
  timeout_ms?: number;
  /** Any text: methods are case-insensitive. */
  method?: string | null;
  expected_status?: string | null;
  body_match?: string | null;
  /** A number counts as in most languages: everything but 0 is true. */
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

/** An SLA over service hours; maintenance is excluded unless `exclude_maintenance` is false. */
export type ServiceSlaInput = { target: number; timezone: string; hours: string; exclude_maintenance?: boolean };

/** A body with each field read; dependencies between fields are not validated yet. */
export type MonitorInput = Omit<MonitorBody, 'method' | 'follow_redirects'> & {
  method?: HttpMethod | null;
  follow_redirects?: boolean;
};

/** `check_spec` as sent by a customer, for any type. `vendor`, `dependencies` and other read-only parts are ignored. */
export type CheckSpecInput = {
  request?: RequestInput;
  assertions?: readonly AssertionInput[];
  transport?: TransportInput;
  domain?: { warnDays?: number };
  ping?: NonNullable<CheckSpec['ping']>;
  /** The token belongs to the server and is ignored when sent back. */
  heartbeat?: Omit<NonNullable<CheckSpec['heartbeat']>, 'schedule'> & { schedule?: ScheduleInput };
  dns?: DnsInput;
  vendor?: object;
  dependencies?: readonly string[];
};

/** `check_spec.request`: `secretHeaderNames` is part of reads, and ignored here. */
export type RequestInput = Omit<RequestSpec, 'auth' | 'traceparent'> & {
  traceparent?: boolean;
  secretHeaders?: Record<string, string>;
  preserveSecretHeaders?: boolean;
  removeSecretHeaders?: readonly string[];
  auth?: AuthInput;
  preserveBody?: boolean;
};

/** Credentials; the type alone keeps the stored ones. */
export type AuthInput = { type: 'bearer' | 'basic'; token?: string; username?: string; password?: string };

export type TransportInput = TransportSpec & { preservePayload?: boolean };

/** `check_spec.dns` (D-26). */
export type DnsInput = { records?: readonly DnsRecordInput[]; crossCheck?: boolean };

export type DnsRecordInput = { type: DnsRecordType; mode: DnsMode; expected?: string[] };
