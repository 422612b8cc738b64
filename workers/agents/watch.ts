import { buildAgentMessage, type AgentState } from '../../core/agents/message.ts';
import { decideSilence, type SilenceDecision } from '../../core/agents/silence.ts';
import {
  listWatchedAgents,
  pollAgents,
  updateHeldUntil,
  updateToOffline,
  updateToOnline,
  type ChangedAgent,
} from '../../models/agents/watch.ts';
import { insertDeliveries, type NewDelivery } from '../../models/alerts/deliveries.ts';
import { listWebhookChannels } from '../../models/alerts/routes.ts';
import { inTransaction, runOn, type Run } from '../../models/sql.ts';
import { firstAttempt } from '../../queues/enqueue-committed.ts';
import type { DueAttempt } from '../../queues/job-queues.ts';
import type { Runtime } from '../runtime.ts';
import type { WorkerMetrics } from '../system/metrics.ts';

type AgentWatchDependencies = Pick<Runtime, 'database' | 'now' | 'newId' | 'publicUrl' | 'log'> & {
  metrics: Pick<WorkerMetrics, 'agentsChanged'>;
  /** Announces deliveries; the round does not wait for it. */
  announce: (deliveries: readonly DueAttempt[]) => void;
};

/** Result of a round; `hasOwn`: there are customers' agents, whose silence is reported. */
type AgentRound = { offline: number; online: number; held: number; hasOwn: boolean };

/** Maximum agents changed in one transaction. */
const CHUNK = 500;

/**
 * Polls once for agents that fell silent or are back (D-56) and notifies their owners. It uses only PostgreSQL, so it
 * works while the queues are away. A simultaneous round of another process is harmless: the round that changes an
 * agent's row reports it.
 */
export async function watchAgents(dependencies: AgentWatchDependencies): Promise<AgentRound> {
  const { database } = dependencies;
  const poll = await pollAgents(database, dependencies.now());
  if (poll === null || !poll.isDue) return { offline: 0, online: 0, held: 0, hasOwn: poll?.hasOwn ?? false };
  const run = runOn(database.pool);
  const decision = decideSilence(await listWatchedAgents(run, poll.availability.atMs), poll.availability);
  const online = await inChunks(decision.online, (nos) =>
    change(dependencies, 'online', (within) => updateToOnline(within, nos)),
  );
  const offline = await inChunks(decision.offline, (silent) =>
    change(dependencies, 'offline', (within) => updateToOffline(within, silent)),
  );
  const held = await hold(dependencies, decision.held);
  return { offline, online, held, hasOwn: poll.hasOwn };
}

async function inChunks<Item>(items: readonly Item[], work: (chunk: Item[]) => Promise<number>): Promise<number> {
  let done = 0;
  for (let start = 0; start < items.length; start += CHUNK) done += await work(items.slice(start, start + CHUNK));
  return done;
}

/**
 * Updates agents and writes the deliveries of their events in one transaction; their jobs are added after the commit.
 */
async function change(
  dependencies: AgentWatchDependencies,
  to: AgentState,
  update: (run: Run) => Promise<ChangedAgent[]>,
): Promise<number> {
  const { changed, deliveries } = await inTransaction(dependencies.database, async (run) => {
    const updated = await update(run);
    const made = await makeDeliveries(
      run,
      updated.map((agent) => ({ ...agent, to })),
      dependencies,
    );
    await insertDeliveries(run, made);
    return { changed: updated, deliveries: made };
  });
  for (const { id, tenantId, lastSeenAt } of changed)
    dependencies.log.info({ agent_id: id, tenant_id: tenantId, last_seen_at: lastSeenAt }, `agent.${to}`);
  if (changed.length > 0) dependencies.metrics.agentsChanged(to, changed.length);
  if (deliveries.length > 0) dependencies.announce(deliveries.map(firstAttempt));
  return changed.length;
}

/** Creates a delivery for each webhook of the agents' owners; shared agents have no owner. */
async function makeDeliveries(
  run: Run,
  changed: readonly (ChangedAgent & { to: AgentState })[],
  { now, newId, publicUrl }: AgentWatchDependencies,
): Promise<NewDelivery[]> {
  const owned = changed.flatMap((agent) => (agent.tenantId === null ? [] : [{ ...agent, tenantId: agent.tenantId }]));
  const channels = Map.groupBy(
    await listWebhookChannels(run, [...new Set(owned.map(({ tenantId }) => tenantId))]),
    (channel) => channel.tenantId,
  );
  return owned.flatMap(({ id, tenantId, name, region, lastSeenAt, atMs, to }) => {
    const message = buildAgentMessage({ agent: { id, name, region }, state: to, atMs, lastSeenAt, publicUrl });
    return (channels.get(tenantId) ?? []).map(({ channelId }) => ({
      id: newId('dlv'),
      tenantId,
      channelId,
      monitorId: id,
      message,
      createdAtMs: now(),
    }));
  });
}

async function hold({ database, log }: AgentWatchDependencies, held: SilenceDecision['held']): Promise<number> {
  if (held.length === 0) return 0;
  const count = await inChunks(held, (chunk) => updateHeldUntil(runOn(database.pool), chunk));
  if (count > 0) log.warn({ agents: count }, 'agents.silence_held');
  return count;
}
