import type { Schemas } from '../../client/api.ts';
import { Badge } from '../../parts/badge.tsx';
import { clock } from '../../parts/time.tsx';

export type Agent = Schemas['Agent'];

/** An agent that did not check in for so long, in seconds, counts as offline (docs/agents.md). */
const OFFLINE_AFTER_SECONDS = 90;

/** Whether an agent is there. */
export function AgentState({ agent: { last_seen_at: lastSeenAt } }: { agent: Agent }) {
  if (lastSeenAt === null) return <Badge tone="warning">Never seen</Badge>;
  return clock.value - lastSeenAt < OFFLINE_AFTER_SECONDS ? (
    <Badge tone="good">Online</Badge>
  ) : (
    <Badge tone="bad">Offline</Badge>
  );
}

/** What an agent says that it can check; null while it has said nothing. */
export function capabilitiesOf({ capabilities }: Agent): readonly string[] | null {
  return Array.isArray(capabilities) ? capabilities.filter((each) => typeof each === 'string') : null;
}
