import { buildAlert } from '../../../core/alerts/chat/alert.ts';
import type { ChatMessage } from '../../../core/alerts/chat/message.ts';
import type { EventMessage } from '../../../core/alerts/envelope.ts';

/**
 * An event as receivers of their own format understand it. `firing` opens an alert or adds to it, `resolved` closes it;
 * both name it by the same `dedupKey`.
 */
export type PresetAlert = {
  status: 'firing' | 'resolved';
  dedupKey: string;
  severity: 'critical' | 'warning' | 'info';
  /** What is meant: the name of a monitor or agent, and where it is. */
  subject: { name: string; target: string; tags: Readonly<Record<string, string>> };
  /** When the state began, Unix seconds. */
  startedAt: number;
  text: ChatMessage;
  message: EventMessage;
};

/** One request to a receiver: a POST of JSON. */
export type PresetRequest = { url: URL; body: object };

/** Makes the requests of an event, in order; `url` is the channel's. The same alerts always make the same requests. */
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
 * The alerts that an event changes, its own first. A monitor that was unknown had an alert without an incident; what
 * begins an incident resolves that one as well, and so does what follows where that never arrived (`resolvesUnknown`).
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

/** The name of an alert from its first event to its last: of an incident, else of a monitor or an agent. */
export function dedupKeyOf(message: EventMessage): string {
  if (message.monitor === null) return keyOf(message.url, message.agent.id);
  if (message.event === 'advisory.domain_expiry')
    return keyOf(message.url, `${message.monitor.id}/expiry/${message.detail.expires_at}`);
  return keyOf(message.url, message.detail.incident_id ?? message.monitor.id);
}

/** An installation is known by the host of its address. */
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

/** A recovery names the moment of its end; what ended began before by the length of the incident. */
function startOf(message: EventMessage): number {
  return message.event === 'monitor.up' ? message.event_at - (message.detail.duration_seconds ?? 0) : message.event_at;
}

/** The facts of an alert, one on each line. */
export function listFacts({ facts }: ChatMessage): string {
  return facts.map(({ label, value }) => `${label}: ${value}`).join('\n');
}

/** The whole alert as plain text without its title. */
export function plainText(text: ChatMessage): string {
  return [text.text, listFacts(text), text.link?.url].filter((part) => part !== undefined && part).join('\n');
}
