import { buildChannelMessage, buildChannelTest, buildLossMessage } from '../../core/alerts/channel-message.ts';
import { buildAlert } from '../../core/alerts/chat/alert.ts';
import type { ChatMessage } from '../../core/alerts/chat/message.ts';
import { buildDrillMessage, decideDrill } from '../../core/alerts/drill.ts';
import type { MonitorMessage, StoredMessage } from '../../core/alerts/envelope.ts';
import { buildAdvisoryMessage } from '../../core/checks/domain/advisory.ts';
import { fillSummary, openSummary } from '../../core/incidents/storm.ts';
import { buildReportMessage } from '../../core/statistics/reports/message.ts';

/** Kinds of messages that chats receive; agent events go to webhooks only. */
type Kind = Exclude<StoredMessage['event'], `agent.${string}`>;

const publicUrl = 'https://spotcheck.example';
const AT = Date.parse('2026-03-14T09:26:53Z') / 1000;
const AT_MS = AT * 1000;
const SHOP = {
  id: 'mon_01m7ywba6kbn995by1sp8c6z6x',
  name: 'Shop & café <production>',
  type: 'http',
  target: 'https://shop.example/',
} as const;

const TEAM = { id: 'nch_01m7z0r6y2g8k4n1t5v9x3c7dm', name: 'Team', type: 'slack' } as const;

const DOWN: MonitorMessage = {
  version: '1',
  event: 'monitor.down',
  event_at: AT,
  monitor: SHOP,
  state: 'down',
  reason: 'HTTP 503 instead of 2xx (seen from 2 of 3 locations). Possible cause: GitHub is degraded',
  detail: {
    sources_down: ['frankfurt', 'hanoi'],
    sources_silent: ['virginia'],
    incident_id: 'inc_01m7ywcvdyye78pn64g4asvetg',
    cause: 'status_503',
    previous_state: 'up',
    sequence: 4,
    sources_total: 3,
    quorum: 2,
    detected_at: AT + 2,
    dependencies: [{ id: 'mon_01m7yw9q4e2t6c0r8k5w3z1xvb', name: 'GitHub', state: 'degraded' }],
  },
  url: `${publicUrl}/monitors/${SHOP.id}`,
};

const SHORT_REASON = 'HTTP 503 instead of 2xx (seen from 2 of 3 locations)';

const { dependencies: _dependencies, sources_silent: _silent, ...SAMPLES } = DOWN.detail;

const BEHIND: MonitorMessage = {
  ...DOWN,
  reason: SHORT_REASON,
  detail: { ...SAMPLES, behind: { monitors: 37, names: ['Blog', 'Cart', 'Mail', 'Search', 'Shop', 'Status', 'Wiki'] } },
};

const MESSAGES: Readonly<Record<Kind, StoredMessage>> = {
  'monitor.down': DOWN,
  'monitor.degraded': {
    ...DOWN,
    event: 'monitor.degraded',
    state: 'degraded',
    reason: 'The response took 2310 ms, expected less than 2000 ms (seen from 2 of 3 locations)',
    detail: SAMPLES,
  },
  'monitor.up': {
    ...DOWN,
    event: 'monitor.up',
    state: 'up',
    reason: 'Working again',
    detail: { ...SAMPLES, sources_down: [], previous_state: 'down', duration_seconds: 200 },
  },
  'monitor.unknown': {
    ...DOWN,
    event: 'monitor.unknown',
    state: 'unknown',
    reason: 'Only 1 of 3 locations have reported in time: frankfurt is offline, hanoi is not reporting',
    detail: { ...SAMPLES, sources_down: [], sources_silent: ['frankfurt', 'hanoi'] },
  },
  'advisory.domain_expiry': buildAdvisoryMessage({
    monitor: SHOP,
    subject: 'domain',
    name: 'shop.example',
    expiresAt: AT + 14 * 86_400,
    nowMs: AT_MS,
    publicUrl,
  }),
  'channel.failing': buildChannelMessage({
    channel: { id: 'nch_01m7z0p3v9d5h1k7q2s8x4c6bn', name: 'Pager', type: 'webhook' },
    failures: 100,
    failingSinceMs: AT_MS - 7_200_000,
    lastError: 'The endpoint responded with 500',
    nowMs: AT_MS,
    publicUrl,
  }),
  'channel.disconnected': buildLossMessage({
    channel: TEAM,
    loss: 'lost',
    lastError: 'Slack no longer accepts messages for this channel: the webhook was removed or disabled',
    nowMs: AT_MS,
    publicUrl,
  }),
  summary: fillSummary(openSummary({ openedAtMs: AT_MS, publicUrl }), [
    ...Array.from({ length: 14 }, (_, index) => ({ name: `shop-${index + 1}`, state: 'down' as const })),
    ...Array.from({ length: 3 }, (_, index) => ({ name: `blog-${index + 1}`, state: 'up' as const })),
  ]),
  report: buildReportMessage({
    id: 'rep_01m7z4j8s2c6f0g4h9k3n7q1tw',
    window: { period: 'week', startSeconds: Date.UTC(2026, 2, 2) / 1000, endSeconds: Date.UTC(2026, 2, 9) / 1000 },
    summary: {
      monitors: 17,
      incidents: 6,
      uptime_percent: 99.981,
      down_seconds: 1953,
      sla_met: 11,
      sla_missed: 1,
      worst_monitors: [
        { id: SHOP.id, name: SHOP.name, uptime_percent: 99.702, down_seconds: 1800, incidents: 3 },
        { id: 'mon_01m7yx2h5v8b1d4g7j0m3q6s9w', name: 'Blog', uptime_percent: 99.974, down_seconds: 153, incidents: 2 },
        { id: 'mon_01m7yx6k1n4q7t0w3z6c9f2h5j', name: 'Search', uptime_percent: 100, down_seconds: 0, incidents: 1 },
      ],
    },
    publicUrl,
  }),
  test: buildChannelTest({ channel: { ...TEAM, name: 'On call' }, nowMs: AT_MS, publicUrl }),
};

/** Returns the message of a drill of this monitor in which two of three locations fail, and then recover. */
function drillMessage(state: 'down' | 'up'): MonitorMessage {
  const monitor = {
    ...SHOP,
    no: 1,
    quorum: 2,
    sources: ['frankfurt', 'hanoi', 'virginia'].map((name, agentNo) => ({ agentNo, name })),
  };
  const answers = (['down', 'up'] as const).flatMap((verdict, at) =>
    [0, 1].map((agentNo) => ({ agentNo, verdict, atMs: AT_MS + at * 30_000 + agentNo + 1 })),
  );
  const said = answers.slice(0, state === 'down' ? 2 : 4);
  const { change } = decideDrill(monitor, { startedAtMs: AT_MS, answers: said, nowMs: AT_MS + 30_100 });
  if (change === null) throw new Error('The drill has no change');
  const drill = {
    id: 'drl_01m7ywcve0mqhem9q1wp28x8qv',
    incidentId: DOWN.detail.incident_id ?? '',
    startedAtMs: AT_MS + 1,
    endsAtMs: AT_MS + 30_000,
  };
  return buildDrillMessage({ drill, monitor, change, monitorState: 'up', publicUrl });
}

/** One message of every kind as chats receive it, 95 seconds after its event. */
export const CHAT_EXAMPLES: Readonly<Record<string, ChatMessage>> = {
  ...Object.fromEntries(Object.entries(MESSAGES).map(([kind, message]) => [kind, buildAlert(message, AT_MS + 95_000)])),
  'monitor.down, with others behind it': buildAlert(BEHIND, AT_MS + 95_000),
  'monitor.down, sent again': buildAlert(DOWN, AT_MS + 540_000, { isSentAgain: true, isOvertaken: true }),
  'monitor.down, sent late': buildAlert(DOWN, AT_MS + 540_000, { isSentAgain: false, isOvertaken: true }),
  'monitor.down, of a drill': buildAlert(drillMessage('down'), AT_MS + 2000),
  'monitor.up, of a drill': buildAlert(drillMessage('up'), AT_MS + 32_000),
  'channel.disconnected, by /stop': buildAlert(
    buildLossMessage({
      channel: { ...TEAM, name: 'Phone', type: 'telegram' },
      loss: 'stopped',
      lastError: 'A member sent /stop in the chat',
      nowMs: AT_MS,
      publicUrl,
    }),
    AT_MS + 95_000,
  ),
};
