import type { ReadSchedule, ScheduleInput } from '../../heartbeats/schedule.ts';
import { addProblem, show, type Problem } from '../../input.ts';
import { readServiceHours, type ServiceSla } from '../../statistics/service-hours.ts';
import { readNamedZone } from '../../time-zones.ts';
import { defaultDownMinSources } from '../defaults.ts';
import { sortParents, type Parent } from '../dependencies.ts';
import { isAgentChecked, sortTags, type CheckSpec, type MonitorSecrets, type MonitorSettings } from '../monitor.ts';
import { originOf, parseTarget } from '../targets.ts';
import { completeCheckSpec } from './check-spec.ts';
import type { MonitorInput, ServiceSlaInput } from './fields.ts';
import { refuseMoved } from './stored-secrets.ts';
import { completeVendor, type PageReading } from './vendor.ts';

/** Maximum warning period of a domain monitor, in days. */
const MAX_DOMAIN_WARN_DAYS = 3650;

/** Limits and objects of a monitor's account. */
export type MonitorContext = {
  monitorId: string;
  /** The plan's shortest interval (D-60). */
  minIntervalSeconds: number;
  /** Shared agents, which every account may use. */
  sharedAgentIds: readonly string[];
  /** The live ones among them, from which the default sources are chosen. */
  aliveAgentIds: readonly string[];
  /** The account's private agents. */
  ownAgentIds: readonly string[];
  /** The account's vendor monitors, on which a monitor can depend. */
  vendorMonitorIds: readonly string[];
  /** Reading of the vendor's page, if the write needs one (`findPageToRead`); null if it was not read. */
  vendorReading: PageReading | null;
  /** Token for a heartbeat that has none yet. */
  newHeartbeatToken: string;
  /** Finds the registrable domain of a host name; null if there is none. */
  findRegistrableDomain: (host: string) => string | null;
  /** Whether RE2 accepts a pattern. */
  isValidPattern: (pattern: string) => boolean;
  /** Parses the schedule of a heartbeat. */
  readSchedule: (schedule: ScheduleInput) => ReadSchedule;
};

/**
 * A monitor with all data to store: visible settings, sorted agents and parents, secrets to seal. The parents are
 * validated when they are stored.
 */
export type MonitorDraft = {
  settings: MonitorSettings;
  agentSources: string[];
  parents: readonly Parent[];
  secrets: MonitorSecrets;
};

/** An input, its monitor's context, and whether all absent fields stay unchanged (`readMonitorPatch`). */
type MonitorChange = { input: MonitorInput; context: MonitorContext; keepsOmitted?: boolean };

/**
 * Applies an input with individually valid fields to a base (the defaults, or the stored monitor). Adds every problem
 * of the whole: the result is valid only if there is none (D-07).
 */
export function completeMonitor(
  base: MonitorDraft,
  { input, context, keepsOmitted = false }: MonitorChange,
  problems: Problem[],
): MonitorDraft {
  const { type } = base.settings;
  const keptQuorum = keepsOmitted && input.down_min_sources === undefined ? base.settings.downMinSources : undefined;
  const agentSources = chooseSources(base, { input, context }, problems);
  const intervalSeconds = input.interval_seconds ?? base.settings.intervalSeconds;
  const settings: MonitorSettings = {
    ...base.settings,
    name: input.name ?? base.settings.name,
    target: type === 'heartbeat' ? '' : (input.target ?? base.settings.target),
    intervalSeconds,
    timeoutMs: input.timeout_ms ?? base.settings.timeoutMs,
    method: input.method ?? base.settings.method,
    expectedStatus: input.expected_status ?? base.settings.expectedStatus,
    bodyMatch: input.body_match === undefined ? base.settings.bodyMatch : input.body_match || null,
    followRedirects: input.follow_redirects ?? base.settings.followRedirects,
    downAfterFailures: input.down_after_failures ?? base.settings.downAfterFailures,
    upAfterSuccesses: input.up_after_successes ?? base.settings.upAfterSuccesses,
    downMinSources: input.down_min_sources ?? keptQuorum ?? defaultDownMinSources(type, agentSources.length),
    heartbeatGraceSeconds: input.grace_seconds ?? base.settings.heartbeatGraceSeconds,
    slaTarget: input.sla_target === undefined ? base.settings.slaTarget : input.sla_target,
    sla: input.sla === undefined ? base.settings.sla : input.sla && completeServiceSla(input.sla, problems),
    reopenSeconds: input.reopen_seconds ?? base.settings.reopenSeconds,
    monthlyDrill: input.monthly_drill ?? base.settings.monthlyDrill,
    tags: input.tags === undefined ? base.settings.tags : sortTags(input.tags),
  };
  checkTarget(base, { input, settings, context }, problems);
  checkTimes({ input, settings, minIntervalSeconds: context.minIntervalSeconds }, problems);
  checkQuorum(settings, agentSources.length, problems);
  const { checkSpec, secrets } = completeSpec(base, { input, context, keepsOmitted }, problems);
  const parents = input.depends_on === undefined ? base.parents : sortParents(input.depends_on);
  return { settings: { ...settings, checkSpec }, agentSources, parents, secrets };
}

type TargetInput = { input: MonitorInput; settings: MonitorSettings; context: MonitorContext };

function checkTarget(
  base: MonitorDraft,
  { input, settings: { type, target }, context }: TargetInput,
  problems: Problem[],
): void {
  if (input.target === undefined || type === 'heartbeat') return;
  if (target !== '') {
    const parsed = parseTarget(type, target);
    if (!parsed.ok) problems.push({ field: 'target', message: parsed.message });
    else if (type === 'domain' && context.findRegistrableDomain(target) === null) {
      problems.push({
        field: 'target',
        message:
          `target must be a registrable domain, such as example.co.uk, got ${show(target)}, a public ` +
          'suffix: name a domain under it',
      });
    }
  } else if (base.settings.target !== '') {
    problems.push({ field: 'target', message: 'target cannot be removed: pause or delete the monitor instead' });
  }
}

type Times = { input: MonitorInput; settings: MonitorSettings; minIntervalSeconds: number };

function checkTimes({ input, settings, minIntervalSeconds }: Times, problems: Problem[]): void {
  const { type, intervalSeconds, timeoutMs } = settings;
  // Only a sent interval is checked against the plan: after a change of plan other fields can still be changed.
  if (input.interval_seconds !== undefined && intervalSeconds < minIntervalSeconds) {
    addProblem(problems, 'interval_seconds', {
      expected: `${minIntervalSeconds} or more on this plan`,
      got: String(intervalSeconds),
    });
  }
  // A heartbeat sends no requests: its unused timeout must not prevent a shorter interval.
  const isLongTimeoutKept = type === 'heartbeat' && input.timeout_ms === undefined;
  if (timeoutMs >= intervalSeconds * 1000 && !isLongTimeoutKept) {
    problems.push({
      field: 'timeout_ms',
      message: `timeout_ms must be less than interval_seconds x 1000 (${intervalSeconds * 1000}), got ${timeoutMs}`,
    });
  }
  if (input.grace_seconds !== undefined && type !== 'heartbeat')
    doesNotApply('grace_seconds', { type, only: 'heartbeat' }, problems);
}

function checkQuorum({ type, downMinSources }: MonitorSettings, sources: number, problems: Problem[]): void {
  const most = isAgentChecked(type) ? Math.max(1, sources) : 1;
  if (downMinSources <= most) return;
  const reason = isAgentChecked(type) ? 'the number of its agents' : `${type} monitors have one source`;
  addProblem(problems, 'down_min_sources', {
    expected: most === 1 ? `1 (${reason})` : `a whole number from 1 to ${most} (${reason})`,
    got: String(downMinSources),
  });
}

function chooseSources(
  base: MonitorDraft,
  { input, context }: { input: MonitorInput; context: MonitorContext },
  problems: Problem[],
): string[] {
  const { type } = base.settings;
  const sent = input.agent_sources;
  // Stored or default sources remain: an empty list must not assign a private monitor to shared agents (D-12).
  if (sent === undefined || sent.length === 0) return base.agentSources;
  if (!isAgentChecked(type)) {
    doesNotApply('agent_sources', { type, only: 'http, tcp, icmp and udp' }, problems);
    return [];
  }
  // A retired region keeps the monitors that nothing else can check, and they can be sent back as they were read.
  const known = new Set([...context.sharedAgentIds, ...context.ownAgentIds, ...base.agentSources]);
  const unknown = sent.filter((id) => !known.has(id));
  if (unknown.length > 0) problems.push({ field: 'agent_sources', message: explainUnknownAgents(unknown) });
  return [...new Set(sent)].toSorted();
}

/** Explains that these ids are not agents that can check a monitor of the account. */
export function explainUnknownAgents(ids: readonly string[]): string {
  return `agent_sources must be ids of your agents or of shared ones, got unknown ${ids.slice(0, 5).join(', ')}`;
}

/**
 * Completes the settings of the type, replaced or kept (D-16), and those that have top-level fields and their own
 * rules.
 */
function completeSpec(
  base: MonitorDraft,
  { input, context, keepsOmitted = false }: MonitorChange,
  problems: Problem[],
): { checkSpec: CheckSpec; secrets: MonitorSecrets } {
  const { type, target, checkSpec: stored } = base.settings;
  const sent = input.check_spec ?? (type === 'http' && !keepsOmitted ? {} : undefined);
  const isMoved = originOf(type, input.target ?? target) !== originOf(type, target);
  const { isValidPattern, readSchedule, minIntervalSeconds } = context;
  const own = { checkSpec: stored, secrets: base.secrets, isMoved };
  const replaced =
    sent && completeCheckSpec(sent, { type, stored: own, isValidPattern, readSchedule, minIntervalSeconds }, problems);
  if (replaced === undefined && isMoved && Object.keys(base.secrets).length > 0)
    refuseMoved(type === 'http' ? 'check_spec.request' : 'check_spec.transport.payload', problems);
  const {
    domain: _domain,
    dependencies: _dependencies,
    vendor: _vendor,
    heartbeat,
    ...spec
  } = replaced?.checkSpec ?? stored;

  const warnDays = completeWarnDays(base, input, problems);
  const dependencies = completeDependencies(base, { input, context }, problems);
  const vendor = readVendor(base, { input, context }, problems);
  return {
    checkSpec: {
      ...spec,
      ...(type === 'heartbeat' && {
        heartbeat: {
          ...heartbeat,
          token: stored.heartbeat?.token ?? context.newHeartbeatToken,
          ...(stored.heartbeat?.slug !== undefined && { slug: stored.heartbeat.slug }),
        },
      }),
      ...(warnDays > 0 && { domain: { warnDays } }),
      ...(dependencies.length > 0 && { dependencies }),
      ...(vendor && { vendor }),
    },
    secrets: replaced?.secrets ?? base.secrets,
  };
}

/** Returns the days of warning; 0 = none (http only). */
function completeWarnDays({ settings }: MonitorDraft, input: MonitorInput, problems: Problem[]): number {
  const { type, checkSpec } = settings;
  if (input.warn_days !== undefined && type !== 'http' && type !== 'domain')
    doesNotApply('warn_days', { type, only: 'http and domain' }, problems);
  const specified = input.check_spec?.domain?.warnDays;
  const sent = input.warn_days ?? specified;
  if (type === 'domain' && sent !== undefined && (sent < 1 || sent > MAX_DOMAIN_WARN_DAYS)) {
    const field = sent === input.warn_days ? 'warn_days' : 'check_spec.domain.warnDays';
    addProblem(problems, field, {
      expected: `a whole number from 1 to ${MAX_DOMAIN_WARN_DAYS} for domain monitors`,
      got: String(sent),
    });
  }
  return sent ?? checkSpec.domain?.warnDays ?? 0;
}

function completeDependencies(
  { settings }: MonitorDraft,
  { input, context }: { input: MonitorInput; context: MonitorContext },
  problems: Problem[],
): string[] {
  if (input.dependencies === undefined) return settings.checkSpec.dependencies ?? [];
  if (settings.type === 'vendor') {
    problems.push({
      field: 'dependencies',
      message: 'dependencies must be omitted for vendor monitors: a vendor depends on no other monitor',
    });
    return [];
  }
  return [...new Set(input.dependencies)].filter((id) => context.vendorMonitorIds.includes(id));
}

function readVendor(
  { settings }: MonitorDraft,
  { input, context }: { input: MonitorInput; context: MonitorContext },
  problems: Problem[],
): CheckSpec['vendor'] {
  const { type, target, checkSpec } = settings;
  if (type === 'vendor')
    return completeVendor(
      input,
      { stored: { target, vendor: checkSpec.vendor }, read: context.vendorReading },
      problems,
    );
  if (input.components !== undefined) doesNotApply('components', { type, only: 'vendor' }, problems);
  return undefined;
}

function doesNotApply(field: string, { type, only }: { type: string; only: string }, problems: Problem[]): void {
  problems.push({ field, message: `${field} applies to ${only} monitors only, got a monitor of type ${type}` });
}

/**
 * Completes an SLA over service hours: the zone as spelled in the IANA database, maintenance excluded by default. Adds
 * a problem for an unknown zone and for invalid hours.
 */
function completeServiceSla(input: ServiceSlaInput, problems: Problem[]): ServiceSla {
  const { target, exclude_maintenance: excludeMaintenance = true } = input;
  const zone = readNamedZone('sla.timezone', input.timezone);
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
