/** Agents that a monitor gets when its owner names none (D-12). */
export const DEFAULT_SOURCES = 3;

/**
 * A shared agent is alive while one of its check processes was seen within this, in seconds: they are seen every 15 s,
 * and a deploy takes a while.
 */
const ALIVE_SECONDS = 300;

/**
 * The ids of those shared agents that are alive at `nowMs` (Unix milliseconds), or where none is, of those seen last:
 * as when everything was stopped and only the API is back. `lastSeenAt` is in Unix seconds.
 */
export function listAliveAgents(shared: readonly { id: string; lastSeenAt: number | null }[], nowMs: number): string[] {
  const newestAt = Math.max(...shared.map(({ lastSeenAt }) => lastSeenAt ?? 0));
  const sinceAt = Math.min(newestAt, Math.floor(nowMs / 1000)) - ALIVE_SECONDS;
  return shared.filter(({ lastSeenAt }) => (lastSeenAt ?? 0) >= sinceAt).map(({ id }) => id);
}

/**
 * Up to three of the shared agents' ids, or as many as are wanted, sorted: chosen by the monitor's own id (highest
 * random weight), so that the choice is stable and monitors spread evenly. With fewer agents, all of them.
 */
export function chooseDefaultSources(
  monitorId: string,
  sharedAgentIds: readonly string[],
  wanted = DEFAULT_SOURCES,
): string[] {
  return sharedAgentIds
    .map((agentId) => ({ agentId, weight: fnv1a(`${monitorId}/${agentId}`) }))
    .toSorted((a, b) => b.weight - a.weight || a.agentId.localeCompare(b.agentId))
    .slice(0, wanted)
    .map(({ agentId }) => agentId)
    .toSorted();
}

/** 32-bit FNV-1a with a final mix: spread, not secrecy. */
function fnv1a(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  return (hash ^ (hash >>> 13)) >>> 0;
}
