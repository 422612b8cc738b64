import { parseExpectedStatus } from '../../../core/checks/http/expected-status.ts';
import { worstDetectionSeconds } from '../../../core/checks/recheck.ts';
import { isAgentChecked, type MonitorType } from '../../../core/monitors/monitor.ts';
import { parseTarget } from '../../../core/monitors/targets.ts';
import { readServiceHours } from '../../../core/statistics/service-hours.ts';
import { DAY_SECONDS } from '../../../core/time.ts';
import { capitalize } from '../../client/answer.ts';
import type { Schemas } from '../../client/api.ts';
import { judgeTags } from '../../parts/monitors.ts';
import type { Draft, ServiceHoursDraft } from './draft.ts';
import {
  LIMITS,
  MAX_CHARACTERS,
  judgeAssertions,
  judgeDuration,
  judgeLength,
  judgeNumber,
  judgeRecords,
  judgeRequest,
  judgeTransport,
  type Found,
} from './judge-spec.ts';
import { countLocations, defaultsOf, positive, type Surroundings } from './problems.ts';

/** The draft, the limits of the account, and the monitor as it is stored (null for a new one). */
type Judged = { draft: Draft; surroundings: Surroundings; stored: Draft | null };

/**
 * Finds all errors of a draft before it is sent, by field and in the units of the form. Errors that only the service
 * can find, such as those of the vendors' components, are left to it.
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
    ...(isAgentChecked(draft.type) && { down_min_sources: judgeQuorum(judged), agent_sources: judgeSources(judged) }),
    ...OF_TYPE[draft.type](judged),
  };
  return Object.fromEntries(
    Object.entries(found).flatMap(([field, text]) => (text === undefined ? [] : [[field, text]])),
  );
}

/**
 * Judges the locations. Only a new monitor may have none, which the service then chooses; a stored one would keep its
 * old ones.
 */
function judgeSources({ draft, stored }: Judged): string | undefined {
  const isEmptied = draft.sources.length === 0 && (stored?.sources.length ?? 0) > 0;
  return isEmptied ? 'Choose at least one location' : undefined;
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

/** Judges the target. A new monitor without one is a draft, if it has a name; a stored target cannot become empty. */
function judgeTarget({ draft: { type, name, target: written }, stored }: Judged): string | undefined {
  if (type === 'heartbeat') return undefined;
  const target = written.trim();
  const { missing, wrong } = FORMS[type];
  if (target === '') return (stored === null ? name.trim() === '' : stored.target !== '') ? missing : undefined;
  const tooLong = judgeLength(target, MAX_CHARACTERS.target);
  if (tooLong !== undefined || parseTarget(type, target).ok) return tooLong;
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
    body_match: judgeLength(judged.draft.bodyMatch, MAX_CHARACTERS.body_match),
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

/** Judges the name. A new monitor gets that of its target, if it has one. */
function judgeName({ draft: { type, name }, stored }: Judged): string | undefined {
  return name.trim() === '' && (stored !== null || type === 'heartbeat') ? 'Enter a name' : undefined;
}

/** Judges the interval. One that a former plan allowed can stay. */
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

/** Judges service hours: a target needs hours, and hours need a target. */
function judgeServiceHours({ target, hours }: ServiceHoursDraft): Found {
  if (target.trim() === '' && hours.trim() === '') return {};
  return {
    'sla.target': target.trim() === '' ? 'Enter a target, like 99.9' : judgeSlaTarget(target),
    'sla.hours': hours.trim() === '' ? 'Enter hours, like Mo-Fr 08:00-20:00' : judgeHours(hours),
  };
}

function judgeHours(hours: string): string | undefined {
  const isLong = judgeLength(hours.trim(), MAX_CHARACTERS.hours);
  if (isLong !== undefined) return isLong;
  const read = readServiceHours(hours);
  return read.ok ? undefined : capitalize(read.problem.replace(/^has /, ''));
}

function judgeStatus(text: string): string | undefined {
  if (text.trim() === '') return undefined;
  const isLong = judgeLength(text, MAX_CHARACTERS.expected_status);
  return isLong ?? (parseExpectedStatus(text).ok ? undefined : 'Use codes like 200, 2xx or 200,301');
}

/** Describes when the draft counts the monitor as down; null for impossible values. */
export function describeDown(draft: Draft, surroundings: Surroundings): string | null {
  const { failures } = numbersOf(draft, surroundings);
  if (failures === null) return null;
  const inRow = failures === 1 ? 'one failed check' : `${failures} failed checks in a row`;
  if (!isAgentChecked(draft.type)) return `Down after ${inRow}.`;
  const locations = countLocations(draft, surroundings.sharedLocations);
  const quorum = draft.quorum.trim() === '' ? defaultsOf(draft, surroundings).quorum : positive(draft.quorum);
  if (quorum === null || quorum > Math.max(1, locations)) return null;
  if (locations <= 1) return `Down after ${inRow} from its only location.`;
  if (quorum === 1)
    return `Down as soon as 1 of ${locations} locations sees ${inRow}: fast, but prone to false alarms.`;
  if (quorum === locations) return `Down when all ${locations} locations see ${inRow}.`;
  return `Down when ${quorum} of ${locations} locations agree, each after ${inRow}.`;
}

/** Describes when a check gives up, and whether the draft sets that; null for a heartbeat and for impossible values. */
export function describeTimeout(draft: Draft, surroundings: Surroundings): string | null {
  const { timeout } = numbersOf(draft, surroundings);
  if (draft.type === 'heartbeat' || timeout === null) return null;
  const after = `Each check times out after ${sayDuration(timeout / 1000)}`;
  return draft.timeout.trim() === '' ? `${after}, the default.` : `${after}.`;
}

/**
 * Returns the longest time until an outage is reported, in seconds; null if it cannot be computed. With a schedule it
 * counts from the run.
 */
export function latestNotice(draft: Draft, surroundings: Surroundings): number | null {
  const { interval, timeout, failures, grace } = numbersOf(draft, surroundings);
  if (draft.type === 'domain' || interval === null) return null;
  if (draft.type === 'heartbeat')
    return grace === null ? null : draft.heartbeat.cron.trim() === '' ? interval + grace : grace;
  return timeout === null || failures === null
    ? null
    : worstDetectionSeconds({
        type: draft.type,
        intervalSeconds: interval,
        timeoutMs: timeout,
        downAfterFailures: failures,
      });
}

/** Formats seconds: `1 min 30 s`, below ten seconds to the millisecond as `2.5 s`, above them rounded up. */
export function sayDuration(exact: number): string {
  const seconds = exact < 10 ? Math.round(exact * 1000) / 1000 : Math.ceil(Math.round(exact * 1000) / 1000);
  const parts = [
    [Math.floor(seconds / DAY_SECONDS), 'd'],
    [Math.floor(seconds / 3600) % 24, 'h'],
    [Math.floor(seconds / 60) % 60, 'min'],
    [seconds % 60, 's'],
  ] as const;
  const said = parts.filter(([amount]) => amount > 0).map(([amount, unit]) => `${amount} ${unit}`);
  return said.length === 0 ? '0 s' : said.join(' ');
}

function numbersOf(draft: Draft, surroundings: Surroundings) {
  const defaults = defaultsOf(draft, surroundings);
  const read = (text: string, standard: number | null, most = Infinity) => {
    const number = text.trim() === '' ? standard : positive(text);
    return number !== null && number <= most ? number : null;
  };
  return {
    interval: read(draft.interval, defaults.interval, LIMITS.interval_seconds.max),
    timeout: read(draft.timeout, defaults.timeout, LIMITS.timeout_ms.max),
    failures: read(draft.failures, defaults.failures),
    grace: draft.grace.trim() === '0' ? 0 : read(draft.grace, defaults.grace, LIMITS.grace_seconds.max),
  };
}

/** Suggests a name for a monitor from its target; empty if the target does not suggest one. */
export function suggestName(
  { type, target }: Pick<Draft, 'type' | 'target'>,
  vendors: readonly Schemas['Vendor'][],
): string {
  const written = target.trim();
  if (written === '' || type === 'heartbeat') return '';
  const vendor = type === 'vendor' ? vendors.find(({ id }) => id === written.toLowerCase())?.name : undefined;
  if (vendor !== undefined) return vendor;
  const url = URL.parse(written);
  const host = url === null || url.host === '' ? written : url.host + (url.pathname.length > 1 ? url.pathname : '');
  return host.slice(0, 255);
}
