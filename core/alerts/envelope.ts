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
 * Details of a monitor's event (D-51). `duration_seconds` only when an incident ends, `latency_ms` only if it was
 * measured, `sources_silent` only if some source has no fresh vote (D-41), `dependencies` only if some are failing
 * (D-46).
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
  /** Monitors that depend on this one and whose alerts are part of its message (D-530). */
  behind?: Behind;
  /** The alert waited for this end of a mute of the monitor, in Unix seconds. */
  muted_until?: number;
  /** For chats and emails that summarize flapping: the monitor is unstable, or was. */
  flapping?: Flapping;
};

/**
 * An event as stored with its delivery: the envelope without the fields that differ by attempt. Times are Unix seconds.
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
  /** A reminder, counted from 1; the first alert is none. */
  reminder?: { number: number; of: number; every_seconds: number };
  /** No real outage: a drill, which ends automatically at `ends_at` (Unix seconds). */
  drill?: { id: string; ends_at: number };
};

/** Events of several monitors in one request to a webhook that groups them. */
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

/** Any event of the service's description that concerns one object, as stored with its delivery. */
export type EventMessage = MonitorMessage | AdvisoryMessage | AgentMessage;

/** Messages for chats only: the service's description has no such event, so webhooks do not get them. */
type ChatOnlyMessage = ChannelMessage | ChannelLossMessage | ChannelTestMessage | SummaryMessage | ReportMessage;

/** Any message as stored with its delivery. */
export type StoredMessage = EventMessage | ChatOnlyMessage;

const CHAT_ONLY = [
  'channel.failing',
  'channel.disconnected',
  'summary',
  'report',
  'test',
] as const satisfies readonly ChatOnlyMessage['event'][];

/** Reports whether a stored message is for chats only. */
export function isChatOnly(message: StoredMessage): message is ChatOnlyMessage {
  return CHAT_ONLY.some((event) => event === message.event);
}

/** Body of one webhook POST (D-51). */
export type Envelope<Message = EventMessage> = Message & { delivery_id: string; sent_at: number };

export type MonitorEventFacts = {
  event: MonitorEvent;
  monitor: MonitorMessage['monitor'];
  change: Change;
  /** Number of the transition, growing per monitor: receivers drop older ones. */
  sequence: number;
  /** The incident that the change opened, changed or ended; null = none. */
  incident: { id: string; startedAtMs: number } | null;
  /** Possible explanations: failing vendors on which the monitor depends (D-46). */
  culprits: readonly FailingDependency[];
  /** The maintenance in which it happened; null if outside. */
  maintenance?: AlertMaintenance | null;
  /** Base of links, without a trailing slash. */
  publicUrl: string;
};

/**
 * Builds the message of a monitor's change of state (D-51). `event_at` is when it became true, `detail.detected_at`
 * when it was decided.
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
 * Builds the message that proves a new webhook before it is saved (D-52): a `monitor.up` of no real monitor, marked
 * `test`.
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
    // Sequence 0 precedes every transition's, so that no receiver drops a real event because of a test.
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

/**
 * Adds the fields that differ by attempt to a stored message. The common fields come first, regardless of their stored
 * order.
 */
export function completeEnvelope<Message extends EventMessage | GroupMessage>(
  message: Message,
  attempt: { deliveryId: string; sentAtMs: number },
): Envelope<Message> {
  const { version, event, event_at } = message;
  const first = { version, event, delivery_id: attempt.deliveryId, event_at, sent_at: toUnixSeconds(attempt.sentAtMs) };
  return { ...first, ...message };
}

/** Builds the webhook form of a summary: its state is the worst one, each change is listed. */
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

/** Returns the webhook form of a stored message; null if it is for chats only. */
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

/** Returns the latency of the newest deciding result; null if none was measured, as after a timeout or silence. */
function latencyBehind(state: MonitorState, evidence: DecisionRecord): number | null {
  const newest = evidence.sources
    .filter((source) => source.fresh && source.vote === state)
    .flatMap((source) => source.decidedBy.slice(-1))
    .toSorted((a, b) => b.atMs - a.atMs)[0];
  return newest?.latencyMs ?? null;
}
