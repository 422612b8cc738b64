import type { AgentMessage } from '../../agents/message.ts';
import type { AdvisoryMessage } from '../../checks/domain/advisory.ts';
import type { SummaryMessage } from '../../incidents/storm.ts';
import { formatPercent } from '../../statistics/reports/content.ts';
import type { ReportMessage } from '../../statistics/reports/message.ts';
import { REPORT_TITLES } from '../../statistics/reports/page.ts';
import { formatPeriod } from '../../statistics/reports/periods.ts';
import { formatDuration, toUnixSeconds } from '../../time.ts';
import type { ChannelLoss, ChannelLossMessage, ChannelMessage, ChannelTestMessage } from '../channel-message.ts';
import type { MonitorMessage, StoredMessage } from '../envelope.ts';
import type { EventState } from '../event.ts';
import type { Flapping } from '../flapping.ts';
import type { Behind } from '../parents.ts';
import { CHAT_CAPS, type ChatFact, type ChatMessage, type ChatTone, shorten } from './message.ts';

/** Longer lists are cut and counted: the message must be readable at a glance. */
const MAX_NAMED = 5;

const STATES = {
  down: { tone: 'bad', word: 'Down' },
  degraded: { tone: 'warning', word: 'Degraded' },
  up: { tone: 'good', word: 'Recovered' },
  unknown: { tone: 'unclear', word: 'Unknown' },
} as const satisfies Record<EventState, { tone: ChatTone; word: string }>;

const AGENT_STATES = {
  offline: { tone: 'bad', word: 'Agent offline' },
  online: { tone: 'good', word: 'Agent online' },
} as const satisfies Record<AgentMessage['state'], { tone: ChatTone; word: string }>;

const LOSSES = {
  lost: 'Channel disconnected',
  stopped: 'Channel disabled',
  removed: 'Channel disconnected',
  unsubscribed: 'Channel disabled',
} as const satisfies Record<ChannelLoss, string>;

/** Context of an attempt beyond its message: whether it is a redelivery, and whether the monitor has changed since. */
type AlertContext = { isSentAgain: boolean; isOvertaken: boolean };

/** End of durations (Unix seconds): the time of sending, or for an outdated message that of the event. */
type Until = { seconds: number; isPast: boolean };

const FIRST_SENT: AlertContext = { isSentAgain: false, isOvertaken: false };

/**
 * Builds the chat message of a stored event at the time of the attempt (D-55): status and name, reason, failing
 * locations, start, duration and link. An outdated message begins with that fact, has no status mark, and shows the
 * status at its time.
 */
export function buildAlert(message: StoredMessage, nowMs: number, context = FIRST_SENT): ChatMessage {
  const { isSentAgain, isOvertaken } = context;
  if (!isSentAgain && !isOvertaken) return buildMessage(message, { seconds: toUnixSeconds(nowMs), isPast: false });
  const seconds = knownAt(message);
  const alert = buildMessage(message, { seconds, isPast: true });
  const word = isSentAgain ? 'Redelivered' : 'Delayed';
  return {
    ...alert,
    tone: 'neutral',
    title: `${word}: ${alert.title}`,
    facts: [
      ...fact(word, `status as of ${formatMoment(seconds)}${isOvertaken ? '; changed since' : ''}`),
      ...alert.facts,
    ],
  };
}

/** Returns the time at which the event was detected (Unix seconds), which messages report. */
function knownAt(message: StoredMessage): number {
  return 'detail' in message && 'detected_at' in message.detail ? message.detail.detected_at : message.event_at;
}

function buildMessage(message: StoredMessage, until: Until): ChatMessage {
  switch (message.event) {
    case 'monitor.down':
    case 'monitor.degraded':
    case 'monitor.up':
    case 'monitor.unknown':
      return message.drill === undefined ? buildMonitorAlert(message, until) : buildDrillAlert(message, message.drill);
    case 'advisory.domain_expiry':
      return buildAdvisory(message);
    case 'agent.offline':
    case 'agent.online':
      return buildAgentAlert(message, until);
    case 'channel.failing':
      return buildChannelAlert(message, until);
    case 'channel.disconnected':
      return buildLossAlert(message);
    case 'summary':
      return buildSummary(message);
    case 'report':
      return buildReportText(message);
    case 'test':
      return buildTest(message);
    default:
      return message satisfies never;
  }
}

function buildMonitorAlert(
  { state, monitor, reason, detail, event_at: eventAt, url, reminder }: MonitorMessage,
  until: Until,
): ChatMessage {
  const { tone, word } = STATES[state];
  const { flapping } = detail;
  const isRepeated = reminder !== undefined || detail.behind?.update === true;
  const facts = [
    ...fact('Unstable', flapping === undefined ? null : formatFlapping(flapping)),
    ...fact('Failing from', formatLocations(detail.sources_down, detail.sources_total)),
    ...fact('No data from', formatList(detail.sources_silent ?? [])),
    ...fact(
      'Depends on',
      formatList((detail.dependencies ?? []).map((one) => `${shorten(one.name, CHAT_CAPS.shortName)} (${one.state})`)),
    ),
    ...(detail.behind === undefined ? [] : factOfBehind(detail.behind)),
    ...fact('Maintenance', detail.maintenance === undefined ? null : formatMaintenance(detail.maintenance)),
    ...fact(
      'Muted',
      detail.muted_until === undefined
        ? null
        : `until ${formatMoment(detail.muted_until)}, sent now that the mute has ended`,
    ),
    ...fact('Reminder', reminder === undefined ? null : `${reminder.number} of ${reminder.of}`),
    ...(state === 'up' ? [] : fact('Since', formatSince(eventAt, until))),
    ...(state === 'up' ? fact('At', formatMoment(eventAt)) : []),
    ...(detail.duration_seconds === undefined ? [] : fact('Duration', formatDuration(detail.duration_seconds))),
  ];
  if (flapping?.is_stable === false)
    return {
      tone: 'warning',
      title: `Unstable: ${shorten(monitor.name, CHAT_CAPS.name)}`,
      text: `${word} at present. Its next message comes when it has been up for 15 minutes, or not up for 5.`,
      facts,
      link: { label: 'View monitor', url },
    };
  return {
    tone,
    title: `${isRepeated ? `Still ${word.toLowerCase()}` : word}: ${shorten(monitor.name, CHAT_CAPS.name)}`,
    text: shorten(reason, CHAT_CAPS.text),
    facts,
    link: { label: 'View monitor', url },
  };
}

function formatFlapping({ since, changes, longest_seconds: longest }: Flapping): string {
  return `${changes} changes since ${formatMoment(since)}, longest ${formatDuration(longest)}`;
}

/** A drill has no outage, so its message has no status mark and no facts of one. */
function buildDrillAlert(
  { event, state, monitor, reason, detail, url }: MonitorMessage,
  { ends_at: endsAt }: NonNullable<MonitorMessage['drill']>,
): ChatMessage {
  const isEnd = event === 'monitor.up';
  return {
    tone: 'neutral',
    title: `Drill: ${isEnd ? 'Ended' : STATES[state].word}: ${shorten(monitor.name, CHAT_CAPS.name)}`,
    text: reason,
    facts: isEnd
      ? fact('Duration', formatDuration(detail.duration_seconds ?? 0))
      : [
          ...fact('Answers from', formatLocations(detail.sources_down, detail.sources_total)),
          ...fact('Ends at', formatMoment(endsAt)),
        ],
    link: { label: 'View monitor', url },
  };
}

/** Lists monitors behind one that is down: names are cut but not the count, which is in the label. */
function factOfBehind({ monitors, names }: Behind): ChatFact[] {
  return fact(`And ${monitors} behind it`, formatList(names, monitors));
}

function formatMaintenance({ name, ends_at: endsAt }: { name: string; ends_at: number }): string {
  return `${shorten(name, CHAT_CAPS.shortName)}, until ${formatMoment(endsAt)}`;
}

function buildAdvisory({ monitor, reason, url }: AdvisoryMessage): ChatMessage {
  return {
    tone: 'warning',
    title: `Expires soon: ${shorten(monitor.name, CHAT_CAPS.name)}`,
    text: shorten(reason, CHAT_CAPS.text),
    facts: [],
    link: { label: 'View monitor', url },
  };
}

function buildAgentAlert(
  { agent, state, reason, detail, event_at: eventAt, url }: AgentMessage,
  until: Until,
): ChatMessage {
  const { tone, word } = AGENT_STATES[state];
  const facts = [
    ...fact('Region', agent.region),
    ...fact('Last check-in', formatMoment(detail.last_seen_at)),
    ...(state === 'offline' ? fact('Since', formatSince(eventAt, until)) : fact('At', formatMoment(eventAt))),
  ];
  return {
    tone,
    title: `${word}: ${shorten(agent.name, CHAT_CAPS.name)}`,
    text: shorten(reason, CHAT_CAPS.text),
    facts,
    link: { label: 'View agent', url },
  };
}

function buildChannelAlert({ channel, reason, detail, url }: ChannelMessage, until: Until): ChatMessage {
  const facts = [...fact('Since', formatSince(detail.failing_since, until)), ...fact('Last error', detail.last_error)];
  return {
    tone: 'warning',
    title: `Channel failing: ${shorten(channel.name, CHAT_CAPS.name)}`,
    text: shorten(reason, CHAT_CAPS.text),
    facts,
    link: { label: 'View channel', url },
  };
}

/** A /stop is intended, so it shows no error. */
function buildLossAlert({ channel, state, reason, detail, event_at: eventAt, url }: ChannelLossMessage): ChatMessage {
  const facts = [
    ...fact('At', formatMoment(eventAt)),
    ...(state === 'lost' ? fact('Last error', detail.last_error) : []),
  ];
  return {
    tone: 'warning',
    title: `${LOSSES[state]}: ${shorten(channel.name, CHAT_CAPS.name)}`,
    text: shorten(reason, CHAT_CAPS.text),
    facts,
    link: { label: 'View channel', url },
  };
}

function buildTest({ channel, reason, url }: ChannelTestMessage): ChatMessage {
  return {
    tone: 'neutral',
    title: `Test: ${shorten(channel.name, CHAT_CAPS.name)}`,
    text: reason,
    facts: [],
    link: { label: 'Open Spotcheck', url },
  };
}

/** Names are cut but not counts, which are in the labels. The moment is that of the earliest change in the message. */
function buildSummary({ monitors, states, maintenance, reason, event_at: eventAt, url }: SummaryMessage): ChatMessage {
  const [worst] = states;
  const facts = states.map(({ state, monitors: count, names }) => {
    const named = names.map((name) => shorten(name, CHAT_CAPS.shortName)).join(', ');
    const value = names.length === 0 ? 'names not listed' : `${named}${count > names.length ? ' and others' : ''}`;
    return { label: `${STATES[state].word} (${count})`, value: shorten(value, CHAT_CAPS.fact) };
  });
  return {
    tone: worst === undefined ? 'neutral' : STATES[worst.state].tone,
    title:
      `${monitors} ${monitors === 1 ? 'monitor' : 'monitors'}: ` +
      `${states.map(({ state, monitors: count }) => `${count} ${STATES[state].word.toLowerCase()}`).join(', ')}`,
    text:
      reason === undefined
        ? maintenance === undefined
          ? 'Many monitors changed at once. This message groups their alerts.'
          : 'These alerts waited for the end of maintenance.'
        : shorten(reason, CHAT_CAPS.text),
    facts: [
      ...facts,
      ...fact('Maintenance', formatList(maintenance ?? [])),
      ...fact('First change', formatMoment(eventAt)),
    ],
    link: { label: 'View monitors', url },
  };
}

/** A missed target needs action, anything else does not. */
function buildReportText({
  report,
  monitors,
  uptime_percent: uptime,
  incidents,
  sla_met: met,
  sla_missed: missed,
  worst_monitors: worst,
  url,
}: ReportMessage): ChatMessage {
  const period = formatPeriod({
    period: report.period,
    startSeconds: report.period_start,
    endSeconds: report.period_end,
    ...(report.timezone !== undefined && { timezone: report.timezone }),
  });
  const named = worst.map(
    (monitor) => `${shorten(monitor.name, CHAT_CAPS.shortName)} (${formatPercent(monitor.uptime_percent, 'no data')})`,
  );
  const facts = [
    ...(met + missed === 0 ? [] : fact('SLOs', `${met} of ${met + missed} met`)),
    ...fact('Worst', named.join(', ')),
    ...fact('Time zone', report.timezone ?? null),
  ];
  const text =
    `${uptime === null ? 'No data' : `${formatPercent(uptime, '')} uptime`} over ` +
    `${formatCount(monitors, 'monitor')}, ${incidents === 0 ? 'no incidents' : formatCount(incidents, 'incident')}`;
  return {
    tone: missed > 0 ? 'warning' : 'neutral',
    title: `${REPORT_TITLES[report.period]}: ${period}`,
    text,
    facts,
    link: { label: report.id === null ? 'View reports' : 'View report', url },
  };
}

function formatCount(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`;
}

function fact(label: string, value: string | null): ChatFact[] {
  return value === null || value === '' ? [] : [{ label, value: shorten(value, CHAT_CAPS.fact) }];
}

/** `frankfurt, hanoi (2 of 3)`; a single location is its own count. */
function formatLocations(locations: readonly string[], total: number): string | null {
  const list = formatList(locations);
  return list === null || total <= 1 ? list : `${list} (${locations.length} of ${total})`;
}

/** Lists the first names, and counts the rest of `total`. */
function formatList(names: readonly string[], total = names.length): string | null {
  if (names.length === 0) return null;
  const named = names.slice(0, MAX_NAMED).map((name) => shorten(name, CHAT_CAPS.shortName));
  const rest = total - named.length;
  return `${named.join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`;
}

function formatSince(atSeconds: number, { seconds, isPast }: Until): string {
  return `${formatMoment(atSeconds)}, for ${formatDuration(seconds - atSeconds)}${isPast ? ' by then' : ''}`;
}

/** Formats a moment (Unix seconds) as `2026-03-14 09:26:53 UTC`: members of one chat live in several time zones. */
function formatMoment(unixSeconds: number): string {
  return `${new Date(unixSeconds * 1000).toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}
