import type { AgentMessage } from '../agents/message.ts';
import type { AdvisoryMessage } from '../checks/domain/advisory.ts';
import type { FailingDependency } from '../checks/vendor/dependencies.ts';
import { sourcesAgainst, sourcesSilent, type Change, type DecisionRecord } from '../incidents/change.ts';
import type { MonitorState } from '../incidents/state.ts';
import type { GroupedChange, SummaryMessage } from '../incidents/storm.ts';
import type { AlertMaintenance } from '../maintenance/window.ts';
import type { MonitorType } from '../monitors/monitor.ts';
import type { ReportMessage } from '../statistics/reports/message.ts';
import { toUnixSeconds } from '../time.ts';
import type { ChannelLossMessage, ChannelMessage, ChannelTestMessage } from './channel-message.ts';
import { stateOfEvent, type EventState, type MonitorEvent } from './event.ts';
import type { Flapping } from './flapping.ts';
import type { Behind } from './parents.ts';

/**
 * What a receiver learns beyond the headline (D-51). `duration_seconds` only when an incident ends, `latency_ms` only
 * where it was measured, `sources_silent` only where some source has no fresh vote (D-41), `dependencies` only where
 * some are not well (D-46).
 */
export type MonitorDetail = {
  sources_down: string[];
  incident_id: string | null;
  cause: string | null;
  previous_state: MonitorState;
  sequence: number;
  sources_total: number;
  quorum: number;
  detected_at: number;
  duration_seconds?: number;
  latency_ms?: number;
  sources_silent?: string[];
  dependencies?: FailingDependency[];
  /** The monitor was in maintenance when it changed; `ends_at` is in Unix seconds. */
  in_maintenance?: true;
  maintenance?: { window_id: string; name: string; ends_at: number };
  /** Monitors that depend on this one and whose alerts came in its message (D-530). */
  behind?: Behind;
  /** The alert waited for the end of a mute of the monitor, in Unix seconds. */
  muted_until?: number;
  /** Of chats and emails that summarize flapping: the monitor is unstable, or was. */
  flapping?: Flapping;
};

/**
 * An event as it is stored with its delivery: the envelope without what each attempt makes anew. Times are Unix
 * seconds.
 */
export type MonitorMessage = {
  version: '1';
  event: MonitorEvent;
  event_at: number;
  monitor: { id: string; name: string; type: MonitorType; target: string };
  state: EventState;
  reason: string;
  detail: MonitorDetail;
  url: string;
  test?: true;
  /** Told again, the first time as number 1; the first alert was none. */
  reminder?: { number: number; of: number; every_seconds: number };
  /** Nothing has happened: it is a drill, which ends by itself, at `ends_at` (Unix seconds). */
  drill?: { id: string; ends_at: number };
};

/** What a webhook that groups its events is sent of several monitors in one request. */
export type GroupMessage = {
  version: '1';
  event: 'summary';
  event_at: number;
  monitor: null;
  state: EventState;
  reason: string;
  detail: { sources_down: []; incident_id: null; first_reason: string; changes: readonly GroupedChange[] };
  url: string;
};

/** Any event of the service's description that is about one thing, as it is stored with its delivery. */
export type EventMessage = MonitorMessage | AdvisoryMessage | AgentMessage;

/** Messages that only chats get: the service's description knows no such event, so that no webhook gets one. */
export type ChatOnlyMessage = ChannelMessage | ChannelLossMessage | ChannelTestMessage | SummaryMessage | ReportMessage;

/** Any message as it is stored with its delivery. */
export type StoredMessage = EventMessage | ChatOnlyMessage;

const CHAT_ONLY = [
  'channel.failing',
  'channel.disconnected',
  'summary',
  'report',
  'test',
] as const satisfies readonly ChatOnlyMessage['event'][];

/** Whether a stored message is for chats only. */
export function isChatOnly(message: StoredMessage): message is ChatOnlyMessage {
  return CHAT_ONLY.some((event) => event === message.event);
}

/** The body of one webhook POST (D-51). */
export type Envelope<Message = EventMessage> = Message & { delivery_id: string; sent_at: number };

export type MonitorEventFacts = {
  event: MonitorEvent;
  monitor: MonitorMessage['monitor'];
  change: Change;
  /** Of the transition, per monitor and growing: receivers drop what is older. */
  sequence: number;
  /** The incident that the change opened, touched or ended; null = none. */
  incident: { id: string; startedAtMs: number } | null;
  /** What may explain it: vendors that the monitor depends on and that are not well themselves (D-46). */
  culprits: readonly FailingDependency[];
  /** The maintenance in which it happened; null outside. */
  maintenance?: AlertMaintenance | null;
  /** Base of links, without a slash at its end. */
  publicUrl: string;
};

/**
 * The message of a monitor's change of state (D-51). `event_at` is when it became true, `detail.detected_at` when it
 * was decided.
 */
export function buildMonitorMessage(facts: MonitorEventFacts): MonitorMessage {
  const { event, monitor, change, publicUrl } = facts;
  return {
    version: '1',
    event,
    event_at: toUnixSeconds(change.atMs),
    monitor: { id: monitor.id, name: monitor.name, type: monitor.type, target: monitor.target },
    state: stateOfEvent(event),
    reason: change.reason ?? `Reported ${change.to}`,
    detail: buildDetail(facts),
    url: `${publicUrl}/monitors/${monitor.id}`,
  };
}

/**
 * The message that proves a new webhook before it is saved (D-52): a `monitor.up` of no real monitor, marked `test`.
 */
export function buildTestMessage(facts: { nowMs: number; publicUrl: string }): MonitorMessage {
  const now = toUnixSeconds(facts.nowMs);
  return {
    version: '1',
    event: 'monitor.up',
    event_at: now,
    monitor: { id: 'mon_test', name: 'Test delivery', type: 'http', target: 'https://example.com/' },
    state: 'up',
    reason: 'This is a test. Your endpoint is ready for alerts when it responds with 2xx',
    // Sequence 0 comes before every transition's, so that no receiver drops a real event because of a test.
    detail: {
      sources_down: [],
      incident_id: null,
      cause: null,
      previous_state: 'pending',
      sequence: 0,
      sources_total: 1,
      quorum: 1,
      detected_at: now,
    },
    url: `${facts.publicUrl}/monitors`,
    test: true,
  };
}

/** Adds the fields that differ by attempt to a stored message. The common fields come first, however it was stored. */
export function completeEnvelope<Message extends EventMessage | GroupMessage>(
  message: Message,
  attempt: { deliveryId: string; sentAtMs: number },
): Envelope<Message> {
  const { version, event, event_at } = message;
  const first = { version, event, delivery_id: attempt.deliveryId, event_at, sent_at: toUnixSeconds(attempt.sentAtMs) };
  return { ...first, ...message };
}

/** A summary as a webhook is sent it: the worst state stands for all, each change is listed. */
export function buildGroupMessage({ version, event, event_at: at, url, ...summary }: SummaryMessage): GroupMessage {
  const { monitors, states, changes = [], reason = '' } = summary;
  const counts = states.map(({ state, monitors: count }) => `${count} ${state}`).join(', ');
  return {
    version,
    event,
    event_at: at,
    monitor: null,
    state: states[0]?.state ?? 'unknown',
    reason: `${monitors} ${monitors === 1 ? 'monitor' : 'monitors'}: ${counts}`,
    detail: { sources_down: [], incident_id: null, first_reason: reason, changes },
    url,
  };
}

/** What webhooks are sent of a stored message; null of one that is for chats only. */
export function webhookMessageOf(message: StoredMessage): EventMessage | GroupMessage | null {
  if (message.event === 'summary') return buildGroupMessage(message);
  return isChatOnly(message) ? null : message;
}

function buildDetail(facts: MonitorEventFacts): MonitorDetail {
  const { change, sequence, incident, culprits, maintenance = null } = facts;
  const latencyMs = latencyBehind(change.to, change.evidence);
  const silent = sourcesSilent(change.evidence);
  return {
    sources_down: sourcesAgainst(change.evidence),
    incident_id: incident?.id ?? null,
    cause: change.cause,
    previous_state: change.from,
    sequence,
    sources_total: change.evidence.tally.sources,
    quorum: change.evidence.quorum,
    detected_at: toUnixSeconds(change.detectedAtMs),
    ...(change.to === 'up' &&
      incident !== null && { duration_seconds: toUnixSeconds(change.atMs) - toUnixSeconds(incident.startedAtMs) }),
    ...(latencyMs !== null && { latency_ms: latencyMs }),
    ...(silent.length > 0 && { sources_silent: silent }),
    ...(culprits.length > 0 && { dependencies: culprits.map(({ id, name, state }) => ({ id, name, state })) }),
    ...(maintenance !== null && {
      in_maintenance: true,
      maintenance: {
        window_id: maintenance.windowId,
        name: maintenance.windowName,
        ends_at: toUnixSeconds(maintenance.endsAtMs),
      },
    }),
  };
}

/**
 * The latency of the newest result that the change rests on; null where none was measured, as in a time-out or silence.
 */
function latencyBehind(state: MonitorState, evidence: DecisionRecord): number | null {
  const newest = evidence.sources
    .filter((source) => source.fresh && source.vote === state)
    .flatMap((source) => source.decidedBy.slice(-1))
    .toSorted((a, b) => b.atMs - a.atMs)[0];
  return newest?.latencyMs ?? null;
}
