/** Agents that a monitor gets when its owner names none (D-12). */
const DEFAULT_SOURCES = 3;

/**
 * Up to three of the shared agents' ids, sorted: chosen by the monitor's own id (highest random weight), so that the choice is stable
 * and monitors spread evenly. With fewer agents, all of them.
 */
export function chooseDefaultSources(monitorId: string, sharedAgentIds: readonly string[]): string[] {
  return sharedAgentIds
    .map((agentId) => ({ agentId, weight: fnv1a(`${monitorId}/${agentId}`) }))
    .toSorted((a, b) => b.weight - a.weight || a.agentId.localeCompare(b.agentId))
    .slice(0, DEFAULT_SOURCES)
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
