import { addProblem, findUnstorable, show, type Problem, type Read } from '../../input.ts';
import {
  chooseDefaultSources,
  DEFAULT_WARN_DAYS,
  defaultGraceSeconds,
  defaultsOf,
  defaultTimeoutMs,
} from '../defaults.ts';
import { HTTP_METHODS, isAgentChecked, type HttpMethod, type MonitorType } from '../monitor.ts';
import { completeMonitor, type MonitorContext, type MonitorDraft } from './complete.ts';
import type { MonitorBody, MonitorInput } from './fields.ts';

/** Ids that name no vendor monitor of the account are ignored, well-formed or not. */
const ONLY_LOOKED_UP = ['dependencies', 'check_spec.dependencies'];

/** Maximum interval of a monitor, in seconds: a day. */
const LONGEST_INTERVAL_SECONDS = 86_400;

/**
 * Reads the body of a creation into a complete monitor (D-10 to D-17), or into all its faults. The body is already
 * validated against the API description.
 */
export function readMonitorCreate(body: MonitorBody & { name: string }, context: MonitorContext): Read<MonitorDraft> {
  const input = readFields(body);
  if (!input.ok) return input;
  const problems: Problem[] = [];
  const base = defaultMonitor(input.value.type ?? 'http', { input: input.value, context });
  return conclude(completeMonitor(base, { input: input.value, context }, problems), problems);
}

/**
 * Reads the body of a PATCH into the complete monitor that results from the current one (D-07, D-16), or into all its
 * faults. With `keepsOmitted` every absent field stays unchanged, including `check_spec` and `down_min_sources` of an
 * http monitor (D-480).
 */
export function readMonitorPatch(
  body: MonitorBody,
  {
    current,
    context,
    keepsOmitted = false,
  }: { current: MonitorDraft; context: MonitorContext; keepsOmitted?: boolean },
): Read<MonitorDraft> {
  const input = readFields(body);
  if (!input.ok) return input;
  const problems: Problem[] = [];
  const { type } = current.settings;
  if (input.value.type !== undefined && input.value.type !== type) {
    problems.push({
      field: 'type',
      message: `type must stay ${type}, got ${input.value.type}: the type of a monitor cannot be changed`,
    });
  }
  const change = { input: withoutSame(input.value, current), context, keepsOmitted };
  return conclude(completeMonitor(current, change, problems), problems);
}

/** Leaves out times equal to the stored ones: only a change is validated against the plan and the rules for both. */
function withoutSame(input: MonitorInput, { settings }: MonitorDraft): MonitorInput {
  const { interval_seconds: intervalSeconds, timeout_ms: timeoutMs, ...rest } = input;
  return {
    ...rest,
    ...(intervalSeconds !== undefined &&
      intervalSeconds !== settings.intervalSeconds && { interval_seconds: intervalSeconds }),
    ...(timeoutMs !== undefined && timeoutMs !== settings.timeoutMs && { timeout_ms: timeoutMs }),
  };
}

/**
 * Checks single fields beyond their shapes, in the order sent. Rules for several fields would repeat a single field's
 * fault, so those are checked later.
 */
function readFields(body: MonitorBody): Read<MonitorInput> {
  const problems: Problem[] = [];
  let method: HttpMethod | null | undefined;
  for (const [field, value] of Object.entries(body)) {
    if (field === 'method') method = readMethod(body.method, problems);
    else findUnstorable(value, { field, except: ONLY_LOOKED_UP }, problems);
  }
  if (problems.length > 0) return { ok: false, problems };
  const follows = body.follow_redirects;
  return {
    ok: true,
    value: {
      ...body,
      name: body.name?.trim(),
      method,
      follow_redirects: follows === undefined ? undefined : Boolean(follows),
    },
  };
}

function readMethod(sent: string | null | undefined, problems: Problem[]): HttpMethod | null | undefined {
  if (sent === null || sent === undefined) return sent;
  return (
    HTTP_METHODS.find((known) => known === sent.toUpperCase()) ??
    addProblem(problems, 'method', { expected: `one of ${HTTP_METHODS.join(', ')}`, got: show(sent) })
  );
}

function conclude(value: MonitorDraft, problems: Problem[]): Read<MonitorDraft> {
  return problems.length === 0 ? { ok: true, value } : { ok: false, problems };
}

/** Returns a new monitor with the defaults of its type and interval. */
function defaultMonitor(
  type: MonitorType,
  { input, context }: { input: MonitorInput; context: MonitorContext },
): MonitorDraft {
  const defaults = defaultsOf(type, context.minIntervalSeconds);
  const intervalSeconds = input.interval_seconds ?? scheduledInterval(type, input, context) ?? defaults.intervalSeconds;
  return {
    settings: {
      name: '',
      type,
      target: '',
      ...defaults,
      intervalSeconds,
      timeoutMs: defaultTimeoutMs(intervalSeconds),
      bodyMatch: null,
      downMinSources: 1,
      heartbeatGraceSeconds: defaultGraceSeconds(type, intervalSeconds),
      slaTarget: null,
      sla: null,
      reopenSeconds: 0,
      monthlyDrill: false,
      tags: [],
      checkSpec: type === 'domain' ? { domain: { warnDays: DEFAULT_WARN_DAYS } } : {},
    },
    agentSources: isAgentChecked(type) ? chooseDefaultSources(context.monitorId, context.aliveAgentIds) : [],
    parents: [],
    secrets: {},
  };
}

/**
 * Returns the interval of a new heartbeat with a schedule: the longest time between two runs, at most a day. A release
 * without schedules uses it (D-556).
 */
function scheduledInterval(type: MonitorType, input: MonitorInput, context: MonitorContext): number | undefined {
  const schedule = input.check_spec?.heartbeat?.schedule;
  if (type !== 'heartbeat' || schedule === undefined) return undefined;
  const read = context.readSchedule(schedule);
  return read.ok ? Math.min(LONGEST_INTERVAL_SECONDS, read.longestSeconds) : undefined;
}
