import type { MonitorType } from '../monitors/monitor.ts';

/** What an agent can measure, as it names it at its check-in. `cert` is the certificate of an http exchange. */
export const AGENT_CAPABILITIES = ['http', 'cert', 'tcp', 'icmp', 'udp'] as const;
export type AgentCapability = (typeof AGENT_CAPABILITIES)[number];

/**
 * Why a source cannot run a monitor. The agent lacks the capability, showed no key to seal the secrets to, or another
 * key than at first.
 */
export type Inability = 'capability' | 'no_key' | 'other_key';

/** Why no secrets are sealed to an agent. */
export type Withholding = Exclude<Inability, 'capability'>;

/** A customer's agent as it last checked in; shared agents run everything that agents check. */
export type AbleAgent = {
  /** Null = it has not checked in yet. */
  capabilities: readonly string[] | null;
  secretsWithheld: Withholding | null;
};

/** Why an agent cannot run a monitor; null where it can, or where it has not said yet what it can. */
export function findInability(agent: AbleAgent, monitor: { type: MonitorType; hasSecrets: boolean }): Inability | null {
  if (agent.capabilities === null) return null;
  if (!agent.capabilities.includes(monitor.type)) return 'capability';
  return monitor.hasSecrets ? agent.secretsWithheld : null;
}

/**
 * Finds why an agent gets no secrets, by the key that it shows and the one that was pinned. Null = no key was shown;
 * none is pinned yet, and then the shown one is. Null where it gets them.
 */
export function findWithholding(shownKey: string | null, pinnedKey: string | null): Withholding | null {
  if (shownKey === null) return 'no_key';
  return pinnedKey === null || pinnedKey === shownKey ? null : 'other_key';
}
