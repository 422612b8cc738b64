import { cleanText } from '../foreign-text.ts';
import { toUnixSeconds } from '../time.ts';
import { OFFLINE_AFTER_MS } from './silence.ts';

/** State of an agent's check-ins, as reported to customers. */
export type AgentState = 'offline' | 'online';

/**
 * An agent's event as stored with its delivery (D-51). Times are Unix seconds; like an advisory it belongs to no
 * incident.
 */
export type AgentMessage = {
  version: '1';
  event: `agent.${AgentState}`;
  event_at: number;
  monitor: null;
  agent: { id: string; name: string; region: string | null };
  state: AgentState;
  reason: string;
  detail: { sources_down: string[]; incident_id: null; last_seen_at: number };
  url: string;
};

export type AgentFacts = {
  agent: AgentMessage['agent'];
  state: AgentState;
  /** When it became true, in Unix milliseconds. */
  atMs: number;
  /** Newest check-in, in Unix seconds. */
  lastSeenAt: number;
  /** Base of links, without a trailing slash. */
  publicUrl: string;
};

/** Longer names are cut: the reason is one sentence. */
const MAX_NAME = 60;

/**
 * Builds the message of an agent that fell silent or is back (D-51, D-56). `event_at` is when its 90 s were over, or
 * when it checked in again.
 */
export function buildAgentMessage({ agent, state, atMs, lastSeenAt, publicUrl }: AgentFacts): AgentMessage {
  return {
    version: '1',
    event: `agent.${state}`,
    event_at: toUnixSeconds(atMs),
    monitor: null,
    agent: { id: agent.id, name: agent.name, region: agent.region },
    state,
    reason: `The agent ${cleanText(agent.name, MAX_NAME)} ${REASONS[state]}`,
    detail: { sources_down: [], incident_id: null, last_seen_at: lastSeenAt },
    url: `${publicUrl}/agents/${agent.id}`,
  };
}

const REASONS = {
  offline: `has not checked in for ${OFFLINE_AFTER_MS / 1000} s; its monitors use the remaining locations`,
  online: 'is checking in again, and its results count',
} as const satisfies Record<AgentState, string>;
