import { buildAgentMessage } from '../agents/message.ts';
import { buildAdvisoryMessage } from '../checks/domain/advisory.ts';
import { fillSummary, openSummary, type SummaryMessage } from '../incidents/storm.ts';
import type { ReportMonitor } from '../statistics/reports/content.ts';
import { buildReportMessage } from '../statistics/reports/message.ts';
import { periodBefore } from '../statistics/reports/periods.ts';
import { DAY_SECONDS, toUnixSeconds } from '../time.ts';
import { buildChannelMessage, buildChannelTest, buildLossMessage } from './channel-message.ts';
import type { Channel, ChannelType } from './channel.ts';
import { buildDrillMessage, decideDrill } from './drill.ts';
import { buildTestMessage, type MonitorMessage, type StoredMessage } from './envelope.ts';
import type { MonitorEvent } from './event.ts';
import type { ChannelRule } from './rules.ts';
import { isStateful } from './webhook.ts';

/** Kinds of message, in display order. */
const SAMPLE_KINDS = [
  'down',
  'up',
  'degraded',
  'unknown',
  'reminder',
  'behind',
  'group',
  'summary',
  'unstable',
  'stable',
  'expiry',
  'agent_offline',
  'agent_online',
  'channel_failing',
  'channel_disconnected',
  'report',
  'drill',
  'drill_end',
  'test',
] as const;
export type SampleKind = (typeof SAMPLE_KINDS)[number];

/** The fields of a channel that decide which messages it gets. */
export type SampledChannel = Pick<
  Channel,
  'id' | 'type' | 'name' | 'format' | 'rules' | 'groupSeconds' | 'summarizesFlapping' | 'wantsReports'
>;

export type SampleFacts = {
  channel: Pick<Channel, 'id' | 'type' | 'name'>;
  /** The name of the monitor. */
  name: string;
  /** Time zone of reports; null = UTC. */
  timezone: string | null;
  nowMs: number;
  /** Base of links, without a trailing slash. */
  publicUrl: string;
};

/** Contents of a message about a monitor. */
type Named = Pick<SampleFacts, 'name' | 'nowMs' | 'publicUrl'>;

/** Kinds that some types of channel never get: the service's description lacks them, or people have the console. */
const ONLY_CHATS: readonly SampleKind[] = [
  'summary',
  'unstable',
  'stable',
  'channel_failing',
  'channel_disconnected',
  'report',
];
const ONLY_WEBHOOKS: readonly SampleKind[] = ['agent_offline', 'agent_online'];

/** Returns the kinds of message that exist for a channel, whether or not its settings enable them at present. */
export function listSampleKinds({ type, format }: Pick<Channel, 'type' | 'format'>): SampleKind[] {
  const missing = type === 'webhook' ? ONLY_CHATS : ONLY_WEBHOOKS;
  // Webhooks with a custom format get each alert by itself.
  return SAMPLE_KINDS.filter((kind) => !missing.includes(kind) && (kind !== 'group' || format === null));
}

/** Reports whether the present settings of a channel enable messages of a kind; monitors decide the rest. */
export function isSampleSent(channel: SampledChannel, kind: SampleKind): boolean {
  const { rules, groupSeconds, summarizesFlapping, wantsReports, format } = channel;
  switch (kind) {
    case 'down':
    case 'behind':
    case 'drill':
      return takes(rules, 'monitor.down');
    case 'up':
      return takes(rules, 'monitor.up');
    case 'drill_end':
      // Receivers that keep an alert open until its end always get that end.
      return takes(rules, 'monitor.up') || isStateful(format);
    case 'degraded':
      return takes(rules, 'monitor.degraded');
    case 'unknown':
      return takes(rules, 'monitor.unknown');
    case 'reminder':
      return rules?.some(({ repeat_seconds: every }) => every !== undefined) === true;
    case 'group':
      return groupSeconds > 0;
    case 'unstable':
    case 'stable':
      return summarizesFlapping;
    case 'report':
      return wantsReports;
    default:
      return true;
  }
}

function takes(rules: readonly ChannelRule[] | null, event: MonitorEvent): boolean {
  return rules === null || rules.some(({ events }) => events === undefined || events.includes(event));
}

/** Builds a message of a kind about a fictitious monitor, as it would be stored with its delivery at `nowMs`. */
export function sampleMessage(kind: SampleKind, facts: SampleFacts): StoredMessage {
  return SAMPLES[kind](facts);
}

type Sample = (facts: SampleFacts) => StoredMessage;

const SINCE_SECONDS = 95;
const LOCATIONS = ['frankfurt', 'hanoi', 'virginia'] as const;
const REASON = 'HTTP 503 instead of 2xx (seen from 2 of 3 locations)';

const SAMPLES = {
  down,
  up,
  degraded: (facts) => ({
    ...down(facts),
    event: 'monitor.degraded',
    state: 'degraded',
    reason: 'The response took 2310 ms, expected less than 2000 ms (seen from 2 of 3 locations)',
  }),
  unknown: (facts) => {
    const { detail, ...message } = down(facts);
    return {
      ...message,
      event: 'monitor.unknown',
      state: 'unknown',
      reason: 'Only 1 of 3 locations have reported in time: frankfurt is offline, hanoi is not reporting',
      detail: {
        ...detail,
        sources_down: [],
        sources_silent: ['frankfurt', 'hanoi'],
        incident_id: null,
        cause: 'too_few_sources',
      },
    };
  },
  reminder: (facts) => ({ ...down(facts), reminder: { number: 1, of: 10, every_seconds: 1800 } }),
  behind: (facts) => {
    const { detail, ...message } = down(facts);
    return { ...message, detail: { ...detail, behind: { monitors: 3, names: ['Blog', 'Cart', 'Search'] } } };
  },
  group: ({ channel: { type }, ...facts }) => group(facts, type),
  summary: ({ nowMs, publicUrl, name }) => fill(openSummary({ openedAtMs: nowMs, publicUrl }), name, 14),
  unstable: (facts) => flapping(down(facts), false),
  stable: (facts) => flapping(up(facts), true),
  expiry: ({ nowMs, publicUrl, name }) =>
    buildAdvisoryMessage({
      monitor: monitorOf(name),
      subject: 'domain',
      name: 'shop.example',
      expiresAt: toUnixSeconds(nowMs) + 14 * DAY_SECONDS,
      nowMs,
      publicUrl,
    }),
  agent_offline: (facts) => agent(facts, 'offline'),
  agent_online: (facts) => agent(facts, 'online'),
  channel_failing: ({ nowMs, publicUrl }) =>
    buildChannelMessage({
      channel: { id: 'nch_sample', name: 'Pager', type: 'webhook' },
      failures: 100,
      failingSinceMs: nowMs - 7_200_000,
      lastError: 'The endpoint responded with 500',
      nowMs,
      publicUrl,
    }),
  channel_disconnected: ({ nowMs, publicUrl }) =>
    buildLossMessage({
      channel: { id: 'nch_sample', name: 'Team', type: 'slack' },
      loss: 'lost',
      lastError: 'Slack no longer accepts messages for this channel: the webhook was removed or disabled',
      nowMs,
      publicUrl,
    }),
  report,
  drill: (facts) => drill(facts, 'down'),
  drill_end: (facts) => drill(facts, 'up'),
  test: ({ channel, nowMs, publicUrl }) =>
    channel.type === 'webhook'
      ? buildTestMessage({ nowMs, publicUrl })
      : buildChannelTest({ channel, nowMs, publicUrl }),
} as const satisfies Record<SampleKind, Sample>;

function monitorOf(name: string): MonitorMessage['monitor'] {
  return { id: 'mon_sample', name, type: 'http', target: 'https://shop.example/' };
}

function down({ name, nowMs, publicUrl }: Named): MonitorMessage {
  const atSeconds = toUnixSeconds(nowMs) - SINCE_SECONDS;
  return {
    version: '1',
    event: 'monitor.down',
    event_at: atSeconds,
    monitor: monitorOf(name),
    state: 'down',
    reason: REASON,
    detail: {
      sources_down: LOCATIONS.slice(0, 2),
      incident_id: 'inc_sample',
      cause: 'status_503',
      previous_state: 'up',
      sequence: 4,
      sources_total: LOCATIONS.length,
      quorum: 2,
      detected_at: atSeconds + 2,
      latency_ms: 231,
    },
    url: `${publicUrl}/monitors/mon_sample`,
  };
}

function up(facts: Named): MonitorMessage {
  const { detail, event_at: startedAt, ...message } = down(facts);
  return {
    ...message,
    event: 'monitor.up',
    event_at: startedAt + SINCE_SECONDS,
    state: 'up',
    reason: 'Working again',
    detail: {
      ...detail,
      sources_down: [],
      previous_state: 'down',
      sequence: 5,
      detected_at: startedAt + SINCE_SECONDS,
      duration_seconds: SINCE_SECONDS,
    },
  };
}

function group(facts: Named, type: ChannelType): SummaryMessage {
  const { nowMs, publicUrl, name } = facts;
  const summary = fill(openSummary({ openedAtMs: nowMs, publicUrl, reason: REASON }), name, 3);
  if (type !== 'webhook') return summary;
  const change = down(facts);
  return {
    ...summary,
    changes: namesOf(name, 3).map((each, index) => ({
      monitor: { id: `mon_sample_${index + 1}`, name: each },
      state: 'down',
      sequence: change.detail.sequence,
      event_at: change.event_at,
    })),
  };
}

function fill(summary: SummaryMessage, name: string, monitors: number): SummaryMessage {
  return fillSummary(
    summary,
    namesOf(name, monitors).map((each) => ({ name: each, state: 'down' })),
  );
}

function namesOf(name: string, monitors: number): string[] {
  return Array.from({ length: monitors }, (_, index) => `${name} ${index + 1}`);
}

function flapping(message: MonitorMessage, isStable: boolean): MonitorMessage {
  const since = message.event_at - 900;
  return {
    ...message,
    detail: { ...message.detail, flapping: { since, changes: 7, longest_seconds: 40, is_stable: isStable } },
  };
}

function agent({ nowMs, publicUrl, name }: SampleFacts, state: 'offline' | 'online'): StoredMessage {
  return buildAgentMessage({
    agent: { id: 'agt_sample', name: `${name} office`, region: null },
    state,
    atMs: nowMs,
    lastSeenAt: toUnixSeconds(nowMs) - 90,
    publicUrl,
  });
}

function drill({ nowMs, publicUrl, name }: SampleFacts, state: 'down' | 'up'): MonitorMessage {
  const startedAtMs = nowMs - 31_000;
  const monitor = {
    ...monitorOf(name),
    no: 1,
    quorum: 2,
    sources: LOCATIONS.map((location, agentNo) => ({ agentNo, name: location })),
  };
  const answers = (['down', 'up'] as const).flatMap((verdict, at) =>
    [0, 1].map((agentNo) => ({ agentNo, verdict, atMs: startedAtMs + at * 30_000 + agentNo + 1 })),
  );
  const { change } = decideDrill(monitor, {
    startedAtMs,
    answers: answers.slice(0, state === 'down' ? 2 : 4),
    nowMs,
  });
  if (change === null) throw new Error('The sample of a drill has no change');
  const facts = { id: 'drl_sample', incidentId: 'inc_sample', startedAtMs, endsAtMs: startedAtMs + 30_000 };
  return buildDrillMessage({ drill: facts, monitor, change, monitorState: 'up', publicUrl });
}

function report(facts: SampleFacts): StoredMessage {
  const { nowMs, publicUrl, timezone } = facts;
  const monitors = sampleReport(facts);
  const { timezone: _utc, ...window } = periodBefore('week', toUnixSeconds(nowMs), timezone ?? 'UTC');
  return buildReportMessage({
    id: timezone === null ? 'rep_sample' : null,
    window: timezone === null ? window : { ...window, timezone },
    summary: {
      monitors: monitors.length,
      incidents: 3,
      uptime_percent: 99.892,
      down_seconds: 1953,
      sla_met: 2,
      sla_missed: 1,
      worst_monitors: monitors,
    },
    publicUrl,
  });
}

/** Returns the monitors of a fictitious report. */
export function sampleReport({ name }: Pick<SampleFacts, 'name'>): ReportMonitor[] {
  return [
    { uptime_percent: 99.702, down_seconds: 1800, incidents: 2 },
    { uptime_percent: 99.974, down_seconds: 153, incidents: 1 },
    { uptime_percent: 100, down_seconds: 0, incidents: 0 },
  ].map((figures, index) => ({
    id: `mon_sample_${index + 1}`,
    name: `${name} ${index + 1}`,
    type: 'http',
    ...figures,
    sla_target: 99.9,
    sla_met: figures.uptime_percent >= 99.9,
    error_budget_seconds: 605,
    degraded_seconds: 0,
    unknown_seconds: 0,
    paused_seconds: 0,
    longest_incident_seconds: figures.down_seconds,
    mttr_seconds: figures.incidents === 0 ? null : Math.round(figures.down_seconds / figures.incidents),
    checks: 20_160,
    response_ms: { p50: 120, p95: 210, p99: 340 },
  }));
}
