import type { MonitorType } from '../monitor.ts';

/** What an agent can measure, as it names it at its check-in. `cert` is the certificate of an http exchange. */
export const AGENT_CAPABILITIES = ['http', 'cert', 'tcp', 'icmp', 'udp'] as const;
export type AgentCapability = (typeof AGENT_CAPABILITIES)[number];

/** Why a source cannot run a monitor: the agent lacks the capability, showed no key to seal the secrets to, or another key than at first. */
export type Inability = 'capability' | 'no_key' | 'other_key';

export type AbleAgent = {
  kind: 'tenant' | 'first_party' | 'service';
  /** Null = it has not checked in yet. */
  capabilities: readonly string[] | null;
  publicKey: string | null;
};

/** Why an agent cannot run a monitor; null where it can, or where it has not said yet what it can. Shared agents run everything that agents check. */
export function findInability(agent: AbleAgent, monitor: { type: MonitorType; hasSecrets: boolean }): Exclude<Inability, 'other_key'> | null {
  if (agent.kind !== 'tenant' || agent.capabilities === null) return null;
  if (!agent.capabilities.includes(monitor.type)) return 'capability';
  return monitor.hasSecrets && agent.publicKey === null ? 'no_key' : null;
}
