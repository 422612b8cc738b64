import type { Timings } from '../checks/verdict.ts';
import { freshnessMs } from '../incidents/quorum.ts';
import { statusOf, type MonitorState, type MonitorStatus } from '../incidents/state.ts';

/** The newest check of a monitor by one source. Moments in Unix milliseconds, times in milliseconds. */
export type NewestCheck = {
  dueAtMs: number;
  verdict: 'up' | 'degraded' | 'down';
  latencyMs: number | null;
  httpStatus: number | null;
  /** Of the newest check that stored some; null = none did lately. */
  timings: Timings | null;
  /** When the certificate that it was shown expires, in Unix seconds; null = not known. */
  certificateExpiresAt: number | null;
};

/** What is exported of a monitor; ratios from 0 to 1, null where no time is counted or there is no target. */
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
  uptime: Readonly<Record<UptimeWindow, number | null>>;
  errorBudgetRemaining: number | null;
  /** The newest checks by the names of their sources, each of which is there once. */
  checks: ReadonlyMap<string, NewestCheck>;
};

/** The windows of `spotcheck_monitor_uptime_ratio`, each until now, in days. */
export const UPTIME_WINDOWS = { '1d': 1, '7d': 7, '30d': 30 } as const;

export type UptimeWindow = keyof typeof UPTIME_WINDOWS;

/** Characters of the list of tags; what is beyond is cut, so that a line has a bound. */
const MAX_TAGS_CHARACTERS = 1024;

/** Characters of a piece of the text, so that a large account does not hold the event loop. */
const PIECE_CHARACTERS = 65_536;

/** Values with the labels that come on top, each as `,name="value"`. */
type Samples = readonly (readonly [labels: string, value: number | null])[];

type CheckSamples = (check: NewestCheck, monitor: ExportedMonitor) => Samples;

type MonitorSamples = (monitor: ExportedMonitor) => Samples;

const STATES = ['up', 'degraded', 'down', 'pending', 'paused'] as const satisfies readonly MonitorStatus[];

/** The steps of a request by the names that blackbox_exporter gives them. */
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

/** What is measured, in the names and units of blackbox_exporter: of each source. */
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

/** What was decided: of each monitor. */
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
 * Writes monitors in the text format of Prometheus, in pieces of some 64 kB. `probe_*` are of each source, as
 * blackbox_exporter names them, `spotcheck_monitor_*` of each monitor. A check that is too old to count is left out,
 * and so is what is null, so that its series ends.
 */
export function* writeMetrics(monitors: readonly ExportedMonitor[], nowMs: number): Generator<string> {
  const labelled = monitors.map((monitor) => ({
    monitor,
    labels: labelsOf(monitor),
    checks: freshChecks(monitor, nowMs),
  }));
  let piece = '';
  for (const { name, help, samples } of CHECK_FAMILIES) {
    piece += writeHead(name, help);
    for (const { monitor, labels, checks } of labelled) {
      for (const { source, check } of checks) piece += lines(name, labels + source, samples(check, monitor));
      if (piece.length >= PIECE_CHARACTERS) {
        yield piece;
        piece = '';
      }
    }
  }
  for (const { name, help, samples } of MONITOR_FAMILIES) {
    piece += writeHead(name, help);
    for (const { monitor, labels } of labelled) {
      piece += lines(name, labels, samples(monitor));
      if (piece.length >= PIECE_CHARACTERS) {
        yield piece;
        piece = '';
      }
    }
  }
  yield piece;
}

function lines(name: string, labels: string, samples: Samples): string {
  let text = '';
  for (const [more, value] of samples) if (value !== null) text += writeSample(name, labels + more, value);
  return text;
}

/** `tags` begins and ends with a comma, as service discovery writes lists, so that `.*,web,.*` finds a whole tag. */
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

/** The value of `Content-Type` of the text format that Prometheus and its like read. */
export const EXPOSITION_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/** Characters of a label's value; what is beyond is cut, so that a line has a bound. */
const MAX_LABEL_CHARACTERS = 256;

const ESCAPES: Readonly<Record<string, string>> = { '\\': '\\\\', '"': '\\"', '\n': '\\n' };

/** The two lines before the samples of a gauge. */
export function writeHead(name: string, help: string): string {
  return `# HELP ${name} ${help}\n# TYPE ${name} gauge\n`;
}

/** The line of one sample; `labels` as they stand between the braces, empty for none. */
export function writeSample(name: string, labels: string, value: number): string {
  return labels === '' ? `${name} ${value}\n` : `${name}{${labels}} ${value}\n`;
}

/** The value of a label, cut and escaped; half of a surrogate pair is not left behind. */
export function labelValue(text: string, most = MAX_LABEL_CHARACTERS): string {
  return text
    .slice(0, most)
    .toWellFormed()
    .replaceAll(/[\\"\n]/g, (character) => ESCAPES[character] ?? character);
}
