import type { Timings } from '../checks/verdict.ts';
import { freshnessMs } from '../incidents/quorum.ts';
import { statusOf, type MonitorState, type MonitorStatus } from '../incidents/state.ts';

/** Newest check of a monitor by one source. Moments in Unix milliseconds, times in milliseconds. */
export type NewestCheck = {
  dueAtMs: number;
  verdict: 'up' | 'degraded' | 'down';
  latencyMs: number | null;
  httpStatus: number | null;
  /** Timings of the newest check that stored some; null = none did lately. */
  timings: Timings | null;
  /** Expiry of the certificate in the check, in Unix seconds; null = unknown. */
  certificateExpiresAt: number | null;
};

/** Exported data of a monitor; ratios from 0 to 1, null if no time is counted or there is no target. */
export type ExportedMonitor = {
  id: string;
  name: string;
  type: string;
  target: string;
  tags: readonly string[];
  intervalSeconds: number;
  enabled: boolean;
  state: MonitorState;
  isIncidentOpen: boolean;
  isInMaintenance: boolean;
  uptime: Readonly<Record<UptimeWindow, number | null>>;
  errorBudgetRemaining: number | null;
  /** Newest checks by the unique names of their sources. */
  checks: ReadonlyMap<string, NewestCheck>;
};

/** Windows of `spotcheck_monitor_uptime_ratio`, each until now, in days. */
export const UPTIME_WINDOWS = { '1d': 1, '7d': 7, '30d': 30 } as const;

type UptimeWindow = keyof typeof UPTIME_WINDOWS;

/** Maximum length of the list of tags, in characters; longer ones are cut, so that lines are bounded. */
const MAX_TAGS_CHARACTERS = 1024;

/** Size of one piece of the text, in characters, so that a large account does not block the event loop. */
const PIECE_CHARACTERS = 65_536;

/** Values with their additional labels, each as `,name="value"`. */
type Samples = readonly (readonly [labels: string, value: number | null])[];

type CheckSamples = (check: NewestCheck, monitor: ExportedMonitor) => Samples;

type MonitorSamples = (monitor: ExportedMonitor) => Samples;

const STATES = ['up', 'degraded', 'down', 'pending', 'paused'] as const satisfies readonly MonitorStatus[];

/** Steps of a request with their names in blackbox_exporter. */
const HTTP_STEPS = [
  ['resolve', 'dnsMs'],
  ['connect', 'connectMs'],
  ['tls', 'tlsMs'],
  ['processing', 'firstByteMs'],
  ['transfer', 'downloadMs'],
] as const satisfies readonly (readonly [string, keyof Timings])[];

const only = (types: readonly string[], samples: CheckSamples): CheckSamples => {
  return (check, monitor) => (types.includes(monitor.type) ? samples(check, monitor) : []);
};

/** Measured metrics per source, in the names and units of blackbox_exporter. */
const CHECK_FAMILIES: readonly { name: string; help: string; samples: CheckSamples }[] = [
  {
    name: 'probe_success',
    help: 'Whether the newest check found the target up or degraded.',
    samples: ({ verdict }) => [['', verdict === 'down' ? 0 : 1]],
  },
  {
    name: 'probe_duration_seconds',
    help: 'How long the newest check took.',
    samples: ({ latencyMs }) => [['', seconds(latencyMs)]],
  },
  {
    name: 'probe_dns_lookup_time_seconds',
    help: 'How long the name lookup of the newest check with timings took.',
    samples: ({ timings }) => [['', seconds(timings?.dnsMs)]],
  },
  {
    name: 'probe_http_status_code',
    help: 'The status code of the response, 0 without one.',
    samples: only(['http'], ({ httpStatus }) => [['', httpStatus ?? 0]]),
  },
  {
    name: 'probe_http_duration_seconds',
    help: 'How long the steps of the newest request with timings took.',
    samples: only(['http'], ({ timings }) =>
      HTTP_STEPS.map(([phase, name]) => [`,phase="${phase}"`, seconds(timings?.[name])]),
    ),
  },
  {
    name: 'probe_http_ssl',
    help: 'Whether the target is requested over TLS.',
    samples: only(['http'], (_, { target }) => [['', /^https:/i.test(target) ? 1 : 0]]),
  },
  {
    name: 'probe_http_version',
    help: 'The version of HTTP of the request.',
    samples: only(['http'], ({ httpStatus }) => [['', httpStatus === null ? null : 1.1]]),
  },
  {
    name: 'probe_ssl_earliest_cert_expiry',
    help: 'When the certificate that was shown last expires, in Unix seconds.',
    samples: ({ certificateExpiresAt }) => [['', certificateExpiresAt]],
  },
  {
    name: 'probe_icmp_duration_seconds',
    help: 'How long the echo reply took.',
    samples: only(['icmp'], ({ latencyMs }) => [[',phase="rtt"', seconds(latencyMs)]]),
  },
  {
    name: 'probe_dns_duration_seconds',
    help: 'How long the answer to the query took.',
    samples: only(['dns'], ({ latencyMs }) => [[',phase="request"', seconds(latencyMs)]]),
  },
];

/** Metrics of decisions, per monitor. */
const MONITOR_FAMILIES: readonly { name: string; help: string; samples: MonitorSamples }[] = [
  {
    name: 'spotcheck_monitor_state',
    help: 'Which state the monitor has: 1 for that one, 0 for the others.',
    samples: ({ state }) => {
      const shown = statusOf(state);
      return STATES.map((name) => [`,state="${name}"`, name === shown ? 1 : 0]);
    },
  },
  {
    name: 'spotcheck_monitor_incident_open',
    help: 'Whether the monitor has an open incident.',
    samples: ({ isIncidentOpen }) => [['', isIncidentOpen ? 1 : 0]],
  },
  {
    name: 'spotcheck_monitor_in_maintenance',
    help: 'Whether the monitor is in maintenance.',
    samples: ({ isInMaintenance }) => [['', isInMaintenance ? 1 : 0]],
  },
  {
    name: 'spotcheck_monitor_uptime_ratio',
    help: 'The share of the counted time of a window until now in which the monitor was not down.',
    samples: ({ uptime }) => Object.entries(uptime).map(([window, ratio]) => [`,window="${window}"`, ratio] as const),
  },
  {
    name: 'spotcheck_monitor_error_budget_remaining_ratio',
    help: 'The share of the error budget of the last 30 days that is left, negative where the target is missed.',
    samples: ({ errorBudgetRemaining }) => [['', errorBudgetRemaining]],
  },
  {
    name: 'spotcheck_monitor_interval_seconds',
    help: 'How often the monitor is checked.',
    samples: ({ intervalSeconds }) => [['', intervalSeconds]],
  },
  {
    name: 'spotcheck_monitor_info',
    help: 'What is monitored.',
    samples: ({ type }) => [[`,type="${type}"`, 1]],
  },
];

/**
 * Writes monitors in the text format of Prometheus, in pieces of some 64 kB. `probe_*` are per source, named as in
 * blackbox_exporter, `spotcheck_monitor_*` per monitor. Checks too old to count and null values are left out, so that
 * their series end.
 */
export function* writeMetrics(monitors: readonly ExportedMonitor[], nowMs: number): Generator<string> {
  let piece = '';
  for (const text of writeFamilies(monitors, nowMs)) {
    piece += text;
    if (piece.length < PIECE_CHARACTERS) continue;
    yield piece;
    piece = '';
  }
  yield piece;
}

function* writeFamilies(monitors: readonly ExportedMonitor[], nowMs: number): Generator<string> {
  const labelled = monitors.map((monitor) => ({
    monitor,
    labels: labelsOf(monitor),
    checks: freshChecks(monitor, nowMs),
  }));
  for (const { name, help, samples } of CHECK_FAMILIES) {
    yield writeHead(name, help);
    for (const { monitor, labels, checks } of labelled)
      for (const { source, check } of checks) yield lines(name, labels + source, samples(check, monitor));
  }
  for (const { name, help, samples } of MONITOR_FAMILIES) {
    yield writeHead(name, help);
    for (const { monitor, labels } of labelled) yield lines(name, labels, samples(monitor));
  }
}

function lines(name: string, labels: string, samples: Samples): string {
  let text = '';
  for (const [more, value] of samples) if (value !== null) text += writeSample(name, labels + more, value);
  return text;
}

/** `tags` begins and ends with a comma, as lists in service discovery do, so that `.*,web,.*` matches a whole tag. */
function labelsOf({ id, name, target, tags }: ExportedMonitor): string {
  const list = tags.length === 0 ? '' : `,${tags.join(',')},`;
  return [
    `instance="${labelValue(target)}"`,
    `monitor_id="${id}"`,
    `monitor="${labelValue(name)}"`,
    `tags="${labelValue(list, MAX_TAGS_CHARACTERS)}"`,
  ].join(',');
}

function freshChecks(monitor: ExportedMonitor, nowMs: number): { source: string; check: NewestCheck }[] {
  if (!monitor.enabled) return [];
  const sinceMs = nowMs - freshnessMs(monitor.intervalSeconds);
  return [...monitor.checks]
    .filter(([, { dueAtMs }]) => dueAtMs >= sinceMs)
    .map(([source, check]) => ({ source: `,source="${labelValue(source)}"`, check }));
}

function seconds(ms: number | null | undefined): number | null {
  return ms === null || ms === undefined ? null : ms / 1000;
}

/** `Content-Type` of Prometheus' text format. */
export const EXPOSITION_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/** Maximum length of a label's value, in characters; longer ones are cut, so that lines are bounded. */
const MAX_LABEL_CHARACTERS = 256;

const ESCAPES: Readonly<Record<string, string>> = { '\\': '\\\\', '"': '\\"', '\n': '\\n' };

/** Writes the two lines before the samples of a gauge. */
export function writeHead(name: string, help: string): string {
  return `# HELP ${name} ${help}\n# TYPE ${name} gauge\n`;
}

/** Writes the line of one sample; `labels` is the text between the braces, empty for none. */
export function writeSample(name: string, labels: string, value: number): string {
  return labels === '' ? `${name} ${value}\n` : `${name}{${labels}} ${value}\n`;
}

/** Cuts and escapes the value of a label, without leaving half of a surrogate pair. */
export function labelValue(text: string, most = MAX_LABEL_CHARACTERS): string {
  return text
    .slice(0, most)
    .toWellFormed()
    .replaceAll(/[\\"\n]/g, (character) => ESCAPES[character] ?? character);
}
