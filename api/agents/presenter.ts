import type { Agent } from '../../models/agents/agents.ts';
import type { components } from '../schema.generated.ts';

/** An agent as it is shown. The service itself, which probes domains and the like, is none that customers meet. */
export function presentAgent(agent: Agent): components['schemas']['Agent'] {
  return {
    id: agent.id,
    tenant_id: agent.tenantId,
    kind: agent.kind === 'tenant' ? 'tenant' : 'first_party',
    name: agent.name,
    region: agent.region,
    capabilities: agent.capabilities,
    version: agent.version,
    arch: agent.arch,
    last_seen_at: agent.lastSeenAt,
    created_at: agent.createdAt,
  };
}
