import { parseExpectedStatus } from '../../../core/checks/http/expected-status.ts';
import { isAgentChecked, type MonitorType } from '../../../core/monitors/monitor.ts';
import { parseTarget } from '../../../core/monitors/targets.ts';
import { readServiceHours } from '../../../core/statistics/service-hours.ts';
import { capitalize } from '../../client/failure.ts';
import { judgeTags } from '../../parts/tags.ts';
import { countLocations, defaultsOf, positive, type Surroundings } from './defaults.ts';
import type { Draft, ServiceHoursDraft } from './draft.ts';
import { judgeAssertions, judgeRecords, judgeRequest, judgeTransport, type Found } from './judge-spec.ts';
import { judgeDuration, judgeLength, judgeNumber, LIMITS, MOST_CHARACTERS } from './limits.ts';

/** The draft, what the account allows, and the monitor as it is stored (null for a new one). */
export type Judged = { draft: Draft; surroundings: Surroundings; stored: Draft | null };

/**
 * Finds everything that is wrong with a draft before it is sent, by field and in the units of the form. What only the
 * service knows, such as the vendors' components, is left to it.
 */
export function judgeDraft(judged: Judged): Record<string, string> {
  const { draft } = judged;
  const found: Found = {
    target: judgeTarget(judged),
    name: judgeName(judged),
    interval_seconds: judgeInterval(judged),
    sla_target: judgeSlaTarget(draft.slaTarget),
    ...judgeServiceHours(draft.sla),
    reopen_seconds: judgeDuration(draft.reopen, LIMITS.reopen_seconds),
    tags: judgeTags(draft.tags),
    ...(draft.type !== 'heartbeat' && { timeout_ms: judgeTimeout(judged) }),
    ...(isAgentChecked(draft.type) && { down_min_sources: judgeQuorum(judged) }),
    ...OF_TYPE[draft.type](judged),
  };
  return Object.fromEntries(
    Object.entries(found).flatMap(([field, text]) => (text === undefined ? [] : [[field, text]])),
  );
}

const FORMS = {
  http: { missing: 'Enter a URL', wrong: 'Enter a full URL, like https://example.com/health' },
  tcp: { missing: 'Enter a host and port', wrong: 'Enter host:port, like db.example.com:5432' },
  udp: { missing: 'Enter a host and port', wrong: 'Enter host:port, like time.example.com:123' },
  icmp: { missing: 'Enter a host', wrong: 'Enter a host name or IP address, like router.example.com' },
  dns: { missing: 'Enter a name', wrong: 'Enter a name like example.com, or dns://server/name' },
  domain: { missing: 'Enter a domain', wrong: 'Enter a domain, like example.com' },
  vendor: { missing: 'Choose a vendor', wrong: 'Enter the URL of a status page, like https://status.example.com' },
  heartbeat: { missing: '', wrong: '' },
} as const satisfies Record<MonitorType, { missing: string; wrong: string }>;

/** A new monitor without a target is a draft, if it has a name; a stored target cannot become empty. */
function judgeTarget({ draft: { type, name, target: written }, stored }: Judged): string | undefined {
  if (type === 'heartbeat') return undefined;
  const target = written.trim();
  const { missing, wrong } = FORMS[type];
  if (target === '') return (stored === null ? name.trim() === '' : stored.target !== '') ? missing : undefined;
  if (target.length > MOST_CHARACTERS.target || parseTarget(type, target).ok)
    return judgeLength(target, MOST_CHARACTERS.target);
  const url = URL.parse(target);
  if (type !== 'http' && type !== 'vendor') return wrong;
  if (!/^https?:\/\//i.test(target)) return type === 'http' ? 'Start with http:// or https://' : wrong;
  if (url === null || (url.username === '' && url.password === '')) return wrong;
  return type === 'http'
    ? 'Enter the user name and password under Request, Authentication'
    : 'Leave out the user name and password';
}

const OF_TYPE = {
  http: (judged) => ({
    expected_status: judgeStatus(judged.draft.expectedStatus),
    body_match: judgeLength(judged.draft.bodyMatch, MOST_CHARACTERS.body_match),
    warn_days: judgeNumber(judged.draft.warnDays, LIMITS.warn_days),
    ...judgeAssertions(judged.draft.assertions, judged.stored),
    ...judgeRequest(judged.draft.request),
  }),
  tcp: ({ draft }) => judgeTransport(draft.transport),
  udp: ({ draft }) => judgeTransport(draft.transport),
  icmp: ({ draft: { ping } }) => ({
    'check_spec.ping.count': judgeNumber(ping.count, LIMITS['check_spec.ping.count']),
    'check_spec.ping.lossDegradedPct': judgeNumber(ping.lossDegradedPct, LIMITS['check_spec.ping.lossDegradedPct']),
    'check_spec.ping.rttDegradedMs': judgeNumber(ping.rttDegradedMs, LIMITS['check_spec.ping.rttDegradedMs']),
  }),
  heartbeat: ({ draft: { grace, heartbeat } }) => ({
    grace_seconds: judgeDuration(grace, LIMITS.grace_seconds),
    'check_spec.heartbeat.maxDurationSeconds': judgeDuration(
      heartbeat.maxDuration,
      LIMITS['check_spec.heartbeat.maxDurationSeconds'],
    ),
    'check_spec.heartbeat.schedule.early_seconds':
      heartbeat.cron.trim() === ''
        ? undefined
        : judgeDuration(heartbeat.early, LIMITS['check_spec.heartbeat.schedule.early_seconds']),
  }),
  dns: ({ draft }) => judgeRecords(draft.dns.records),
  domain: ({ draft }) => ({ warn_days: judgeNumber(draft.warnDays, { min: 1, max: 3650 }) }),
  vendor: ({ draft: { target, components } }) => ({
    components:
      target.toLowerCase() === 'aws' && components.every((text) => text.trim() === '')
        ? 'Add at least one service, like ec2:us-east-1'
        : undefined,
  }),
} as const satisfies Record<MonitorType, (judged: Judged) => Found>;

/** A new monitor gets the name of its target, where it has one. */
function judgeName({ draft: { type, name }, stored }: Judged): string | undefined {
  return name.trim() === '' && (stored !== null || type === 'heartbeat') ? 'Enter a name' : undefined;
}

/** An interval that a former plan allowed can stay. */
function judgeInterval({ draft: { interval }, surroundings: { minInterval }, stored }: Judged): string | undefined {
  if (stored?.interval === interval) return undefined;
  const { max } = LIMITS.interval_seconds;
  const problem = judgeDuration(interval, { min: minInterval, max });
  return problem !== undefined && minInterval > 1 && Number(interval) < minInterval
    ? `${problem} on your plan`
    : problem;
}

function judgeTimeout({ draft, surroundings }: Judged): string | undefined {
  const problem = judgeNumber(draft.timeout, LIMITS.timeout_ms);
  const interval = draft.interval.trim() === '' ? defaultsOf(draft, surroundings).interval : positive(draft.interval);
  if (problem !== undefined || interval === null || Number(draft.timeout) < interval * 1000) return problem;
  return `Must be shorter than the interval (${interval} s)`;
}

function judgeQuorum({ draft, surroundings }: Judged): string | undefined {
  const locations = Math.max(1, countLocations(draft, surroundings.sharedLocations));
  if (Number(draft.quorum) <= locations) return undefined;
  return locations === 1 ? 'Only 1 location checks it' : `Only ${locations} locations check it`;
}

function judgeSlaTarget(text: string): string | undefined {
  if (text.trim() === '') return undefined;
  const target = Number(text);
  return target > 0 && target <= 100 ? undefined : 'Between 0 and 100';
}

/** A target needs hours, and hours need a target. */
function judgeServiceHours({ target, hours }: ServiceHoursDraft): Found {
  if (target.trim() === '' && hours.trim() === '') return {};
  return {
    'sla.target': target.trim() === '' ? 'Enter a target, like 99.9' : judgeSlaTarget(target),
    'sla.hours': hours.trim() === '' ? 'Enter hours, like Mo-Fr 08:00-20:00' : judgeHours(hours),
  };
}

function judgeHours(hours: string): string | undefined {
  const isLong = judgeLength(hours.trim(), MOST_CHARACTERS.hours);
  if (isLong !== undefined) return isLong;
  const read = readServiceHours(hours);
  return read.ok ? undefined : capitalize(read.problem.replace(/^has /, ''));
}

function judgeStatus(text: string): string | undefined {
  if (text.trim() === '') return undefined;
  const isLong = judgeLength(text, MOST_CHARACTERS.expected_status);
  return isLong ?? (parseExpectedStatus(text).ok ? undefined : 'Use codes like 200, 2xx or 200,301');
}
