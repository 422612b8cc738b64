import { buildAlert } from '../../../core/alerts/chat/alert.ts';
import type { ChatMessage } from '../../../core/alerts/chat/message.ts';
import type { EventMessage } from '../../../core/alerts/envelope.ts';

/**
 * An event as receivers with their own format understand it. `firing` opens an alert or adds to it, `resolved` closes
 * it; both use the same `dedupKey`.
 */
type PresetAlert = {
  status: 'firing' | 'resolved';
  dedupKey: string;
  severity: 'critical' | 'warning' | 'info';
  /** The subject of the alert: the name of a monitor or agent, and its location. */
  subject: { name: string; target: string; tags: Readonly<Record<string, string>> };
  /** When the state began, in Unix seconds. */
  startedAt: number;
  text: ChatMessage;
  message: EventMessage;
};

/** One request to a receiver: a POST of JSON. */
type PresetRequest = { url: URL; body: object };

/**
 * Builds the requests of an event, in order; `url` is the channel's. The same alerts always produce the same requests.
 */
export type PresetRequests = (
  alerts: readonly [PresetAlert, ...PresetAlert[]],
  facts: { url: URL; nowMs: number },
) => PresetRequest[];

const SEVERITIES = {
  'monitor.down': 'critical',
  'monitor.degraded': 'warning',
  'monitor.unknown': 'warning',
  'monitor.up': 'info',
  'agent.offline': 'warning',
  'agent.online': 'info',
  'advisory.domain_expiry': 'warning',
} as const satisfies Record<EventMessage['event'], PresetAlert['severity']>;

/**
 * Returns the alerts that an event changes, its own first. A monitor that was unknown had an alert without an incident;
 * an event that begins an incident also resolves that alert, and so does a later one if the first never arrived
 * (`resolvesUnknown`).
 */
export function presetAlertsOf(
  message: EventMessage,
  { nowMs, resolvesUnknown = false }: { nowMs: number; resolvesUnknown?: boolean },
): [PresetAlert, ...PresetAlert[]] {
  const { event } = message;
  const own: PresetAlert = {
    status: event === 'monitor.up' || event === 'agent.online' ? 'resolved' : 'firing',
    dedupKey: dedupKeyOf(message),
    severity: SEVERITIES[event],
    subject: subjectOf(message),
    startedAt: startOf(message),
    text: buildAlert(message, nowMs),
    message,
  };
  if (message.monitor === null || message.event === 'advisory.domain_expiry' || message.detail.incident_id === null)
    return [own];
  const beganUnknown = own.status === 'firing' && message.detail.previous_state === 'unknown';
  if (!beganUnknown && !resolvesUnknown) return [own];
  return [own, { ...own, status: 'resolved', dedupKey: keyOf(message.url, message.monitor.id) }];
}

/** Returns the key of an alert from its first event to its last: of an incident, or else of a monitor or an agent. */
export function dedupKeyOf(message: EventMessage): string {
  if (message.monitor === null) return keyOf(message.url, message.agent.id);
  if (message.event === 'advisory.domain_expiry')
    return keyOf(message.url, `${message.monitor.id}/expiry/${message.detail.expires_at}`);
  return keyOf(message.url, message.detail.incident_id ?? message.monitor.id);
}

/** Builds a key; the host of its address identifies the installation. */
function keyOf(url: string, id: string): string {
  return `spotcheck/${new URL(url).host}/${id}`;
}

function subjectOf(message: EventMessage): PresetAlert['subject'] {
  if (message.monitor === null) {
    const { id, name, region } = message.agent;
    return { name, target: region ?? '', tags: { agent_id: id } };
  }
  const { id, name, type, target } = message.monitor;
  return { name, target, tags: { monitor_id: id, type } };
}

/** Returns when the state began. A recovery has the time of its end, so the length of the incident is subtracted. */
function startOf(message: EventMessage): number {
  return message.event === 'monitor.up' ? message.event_at - (message.detail.duration_seconds ?? 0) : message.event_at;
}

/** Returns the facts of an alert, one per line. */
export function listFacts({ facts }: ChatMessage): string {
  return facts.map(({ label, value }) => `${label}: ${value}`).join('\n');
}

/** Returns the whole alert as plain text without its title. */
export function plainText(text: ChatMessage): string {
  return [text.text, listFacts(text), text.link?.url].filter((part) => part !== undefined && part).join('\n');
}
