import type { ServiceSla } from '../statistics/service-hours.ts';
import type { Monitor } from './monitor.ts';

type Named = Pick<
  Monitor,
  | 'name'
  | 'type'
  | 'target'
  | 'intervalSeconds'
  | 'timeoutMs'
  | 'method'
  | 'expectedStatus'
  | 'bodyMatch'
  | 'followRedirects'
  | 'downAfterFailures'
  | 'upAfterSuccesses'
  | 'downMinSources'
  | 'heartbeatGraceSeconds'
  | 'slaTarget'
  | 'sla'
  | 'reopenSeconds'
  | 'monthlyDrill'
  | 'tags'
  | 'enabled'
>;

/**
 * Returns the settings of a monitor by their names in the API's responses and the audit log; without sources and
 * `check_spec`.
 */
export function namedSettings(monitor: Named) {
  return {
    name: monitor.name,
    type: monitor.type,
    target: monitor.target,
    interval_seconds: monitor.intervalSeconds,
    timeout_ms: monitor.timeoutMs,
    method: monitor.method,
    expected_status: monitor.expectedStatus,
    body_match: monitor.bodyMatch,
    follow_redirects: toFlag(monitor.followRedirects),
    down_after_failures: monitor.downAfterFailures,
    up_after_successes: monitor.upAfterSuccesses,
    down_min_sources: monitor.downMinSources,
    heartbeat_grace_seconds: monitor.heartbeatGraceSeconds,
    sla_target: monitor.slaTarget,
    sla: monitor.sla && namedServiceSla(monitor.sla),
    reopen_seconds: monitor.reopenSeconds,
    monthly_drill: monitor.monthlyDrill,
    tags: [...monitor.tags],
    enabled: toFlag(monitor.enabled),
  };
}

/** Returns an SLA over service hours by its names in the API. */
function namedServiceSla({ target, timezone, hours, excludeMaintenance }: ServiceSla) {
  return { target, timezone, hours, exclude_maintenance: excludeMaintenance };
}

function toFlag(isSet: boolean): 0 | 1 {
  return isSet ? 1 : 0;
}
