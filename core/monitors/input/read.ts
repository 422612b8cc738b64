import {
  chooseDefaultSources,
  DEFAULT_WARN_DAYS,
  defaultGraceSeconds,
  defaultsOf,
  defaultTimeoutMs,
} from '../defaults.ts';
import { isAgentChecked, type MonitorType } from '../monitor.ts';
import { isRecord, type Problem, type Read } from './checks.ts';
import { completeMonitor, type MonitorContext, type MonitorDraft } from './complete.ts';
import { monitorInput, READ_ONLY_FIELDS, type MonitorInput } from './fields.ts';

/** Reads the body of a creation into a complete monitor (D-10 to D-17), or into everything that is wrong with it. */
export function readMonitorCreate(body: unknown, context: MonitorContext): Read<MonitorDraft> {
  const input = readFields(body);
  if (!input.ok) return input;
  const problems: Problem[] = [];
  if (input.value.name === undefined) problems.push({ field: 'name', message: 'name is required' });

  const base = defaultMonitor(input.value.type ?? 'http', { input: input.value, context });
  return conclude(completeMonitor(base, { input: input.value, context }, problems), problems);
}

/**
 * Reads the body of a PATCH into the complete monitor that results from the current one (D-07, D-16), or into
 * everything that is wrong.
 */
export function readMonitorPatch(
  body: unknown,
  { current, context }: { current: MonitorDraft; context: MonitorContext },
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
  return conclude(completeMonitor(current, { input: withoutSame(input.value, current), context }, problems), problems);
}

/**
 * Leaves out times that are sent back as they are stored: only a change is held against the plan and the rules for
 * both.
 */
function withoutSame(input: MonitorInput, { settings }: MonitorDraft): MonitorInput {
  const { interval_seconds: intervalSeconds, timeout_ms: timeoutMs, ...rest } = input;
  return {
    ...rest,
    ...(intervalSeconds !== undefined &&
      intervalSeconds !== settings.intervalSeconds && { interval_seconds: intervalSeconds }),
    ...(timeoutMs !== undefined && timeoutMs !== settings.timeoutMs && { timeout_ms: timeoutMs }),
  };
}

/** Each field by itself. What is wrong with one would only make noise in the rules for several, so those wait. */
function readFields(body: unknown): Read<MonitorInput> {
  const problems: Problem[] = [];
  const writable = isRecord(body)
    ? Object.fromEntries(Object.entries(body).filter(([key]) => !READ_ONLY_FIELDS.includes(key)))
    : body;
  const input = monitorInput(writable, '', problems);
  const readOnly = isRecord(body) ? Object.keys(body).filter((key) => READ_ONLY_FIELDS.includes(key)) : [];
  problems.push(...readOnly.map((field) => ({ field, message: `${field} is read-only` })));
  return input !== undefined && problems.length === 0 ? { ok: true, value: input } : { ok: false, problems };
}

function conclude(value: MonitorDraft, problems: Problem[]): Read<MonitorDraft> {
  return problems.length === 0 ? { ok: true, value } : { ok: false, problems };
}

/** A monitor of which nothing is known but its type and interval. */
function defaultMonitor(
  type: MonitorType,
  { input, context }: { input: MonitorInput; context: MonitorContext },
): MonitorDraft {
  const defaults = defaultsOf(type, context.minIntervalSeconds);
  const intervalSeconds = input.interval_seconds ?? defaults.intervalSeconds;
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
      checkSpec: type === 'domain' ? { domain: { warnDays: DEFAULT_WARN_DAYS } } : {},
    },
    agentSources: isAgentChecked(type) ? chooseDefaultSources(context.monitorId, context.aliveAgentIds) : [],
    secrets: {},
  };
}
