/** An agent is offline after this long without a check-in, in milliseconds (D-56). */
export const OFFLINE_AFTER_MS = 90_000;

/**
 * How much longer silence is held back that fell over most agents at once, in milliseconds: it is likely ours (D-56).
 */
export const HOLD_MS = 60_000;

/** Agents that fell silent within this of each other did so together, in milliseconds (D-56). */
const TOGETHER_MS = 120_000;

/** As many must have fallen silent together at the least: of one or two agents "most" says nothing. */
const FEWEST_TOGETHER = 3;

/**
 * An agent that has not checked in for this long counts as fallen silent beside one that is due to be reported, in
 * milliseconds. When the first of many gets there, the last of them checked in up to one pause between check-ins later.
 */
const SUSPECT_AFTER_MS = 45_000;

/**
 * An agent that has checked in at some time. Times are Unix milliseconds, all of them by the clocks of the web
 * processes.
 */
export type WatchedAgent = {
  no: number;
  lastSeenAtMs: number;
  /** Since when it counts as offline; null = it is online. */
  offlineAtMs: number | null;
  /** Until when its silence was held back at the last such occasion; null = there was none. */
  heldUntilMs: number | null;
};

/**
 * When agents could last check in, and since when without a gap (Unix milliseconds). No agent can check in
 * while the API is unavailable.
 */
export type CheckInAvailability = { atMs: number; availableSinceMs: number };

/**
 * What a poll of all agents changes: who goes offline (and since when), whose silence is held back (and until when),
 * who is back.
 */
export type SilenceDecision = {
  offline: { no: number; offlineAtMs: number }[];
  held: { no: number; heldUntilMs: number }[];
  online: number[];
};

/**
 * Decides which agents are offline (D-56): those that could have checked in for 90 s and did not. Time in which none
 * could, because we were away, starts the count anew. Where more than half of all agents that were online, and three at
 * the least, fell silent within the same two minutes, those that are due are held back for 60 s more, once per silence.
 * An agent is back with any check-in after the one that its silence counts from.
 */
export function decideSilence(agents: readonly WatchedAgent[], availability: CheckInAvailability): SilenceDecision {
  const presences = agents.map((agent) => presenceOf(agent, availability));
  const due = presences.filter(
    ({ isOnline, silentSinceMs }) => isOnline && availability.atMs - silentSinceMs >= OFFLINE_AFTER_MS,
  );
  const together = due.length === 0 ? new Set<number>() : findTogether(presences, availability.atMs);
  const decision: SilenceDecision = { offline: [], held: [], online: [] };
  for (const { agent, isOnline } of presences) {
    if (isOnline && agent.offlineAtMs !== null) decision.online.push(agent.no);
  }
  for (const { agent, silentSinceMs } of due) {
    const heldUntilMs = silentSinceMs + OFFLINE_AFTER_MS + HOLD_MS;
    if (availability.atMs >= heldUntilMs || (agent.heldUntilMs !== heldUntilMs && !together.has(agent.no))) {
      decision.offline.push({ no: agent.no, offlineAtMs: silentSinceMs + OFFLINE_AFTER_MS });
    } else if (agent.heldUntilMs !== heldUntilMs) {
      decision.held.push({ no: agent.no, heldUntilMs });
    }
  }
  return decision;
}

type Presence = { agent: WatchedAgent; isOnline: boolean; silentSinceMs: number };

/**
 * Of an agent that is offline its silence began where its 90 s were counted from: the API may have been unavailable
 * since.
 */
function presenceOf(agent: WatchedAgent, availability: CheckInAvailability): Presence {
  const silentSinceMs = agent.offlineAtMs === null ? null : agent.offlineAtMs - OFFLINE_AFTER_MS;
  if (silentSinceMs !== null && agent.lastSeenAtMs <= silentSinceMs) return { agent, isOnline: false, silentSinceMs };
  return { agent, isOnline: true, silentSinceMs: Math.max(agent.lastSeenAtMs, availability.availableSinceMs) };
}

/**
 * The agents that lie in any stretch of two minutes in which more than half of those fell silent that were online when
 * it began.
 */
function findTogether(agents: readonly Presence[], nowMs: number): Set<number> {
  const fallen = agents
    .filter(({ silentSinceMs }) => nowMs - silentSinceMs >= SUSPECT_AFTER_MS)
    .toSorted((a, b) => a.silentSinceMs - b.silentSinceMs);
  const together = new Set<number>();
  let wereOnline = agents.length;
  let end = 0;
  let added = 0;
  for (const [start, { isOnline, silentSinceMs }] of fallen.entries()) {
    while (end < fallen.length && (fallen[end]?.silentSinceMs ?? 0) - silentSinceMs <= TOGETHER_MS) end += 1;
    const count = end - start;
    if (count >= FEWEST_TOGETHER && count * 2 > wereOnline) {
      for (const { agent } of fallen.slice(Math.max(start, added), end)) together.add(agent.no);
      added = end;
    }
    // Who is offline was not online any more when the stretches began that start after its silence.
    if (!isOnline) wereOnline -= 1;
  }
  return together;
}
