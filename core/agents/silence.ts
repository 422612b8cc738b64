/** Time without a check-in after which an agent is offline, in milliseconds (D-56). */
export const OFFLINE_AFTER_MS = 90_000;

/** Extra delay for silence of most agents at once, in milliseconds: the fault is likely the service's own (D-56). */
export const HOLD_MS = 60_000;

/** Agents that fell silent within this of each other did so together, in milliseconds (D-56). */
const TOGETHER_MS = 120_000;

/** Minimum number of agents that fell silent together: of one or two agents "most" means nothing. */
const FEWEST_TOGETHER = 3;

/** Tolerance of sums of fractions of an account: three thirds are one. */
const ROUNDING = 1e-6;

/**
 * Silence after which an agent counts as fallen silent beside one that is due to be reported, in milliseconds. When the
 * first of many is due, the last of them checked in up to one pause between check-ins later.
 */
const SUSPECT_AFTER_MS = 45_000;

/**
 * An agent that has checked in at least once. Times are Unix milliseconds, all of them by the clocks of the web
 * processes.
 */
export type WatchedAgent = {
  no: number;
  /** The agent's owner; null = shared. */
  tenantId: string | null;
  lastSeenAtMs: number;
  /** Since when it counts as offline; null = it is online. */
  offlineAtMs: number | null;
  /** Until when its silence was last held back; null = never. */
  heldUntilMs: number | null;
};

/**
 * When agents could last check in, and since when without a gap (Unix milliseconds). No agent can check in while the
 * API is unavailable.
 */
export type CheckInAvailability = { atMs: number; availableSinceMs: number };

/**
 * Changes after a poll: agents that go offline (and since when), those held back (and until when), and those back
 * online.
 */
export type SilenceDecision = {
  offline: { no: number; offlineAtMs: number }[];
  held: { no: number; heldUntilMs: number }[];
  online: number[];
};

/**
 * Decides which agents are offline (D-56): those that could have checked in for 90 s and did not. The count restarts
 * after time in which none could, because the API was unavailable. If more than half of all agents that were online,
 * and at least three, fell silent within the same two minutes, those that are due are held back for 60 s more, once per
 * silence. For that each other account counts as one agent, so that no account delays another one's reports (D-666). An
 * agent is back with any check-in after the one from which its silence counts.
 */
export function decideSilence(agents: readonly WatchedAgent[], availability: CheckInAvailability): SilenceDecision {
  const presences = agents.map((agent) => presenceOf(agent, availability));
  const due = presences.filter(
    ({ isOnline, silentSinceMs }) => isOnline && availability.atMs - silentSinceMs >= OFFLINE_AFTER_MS,
  );
  const together = due.length === 0 ? new Set<number>() : findTogether(presences, { due, nowMs: availability.atMs });
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

/** An offline agent's silence began where its 90 s were counted from: the API may have been unavailable since. */
function presenceOf(agent: WatchedAgent, availability: CheckInAvailability): Presence {
  const silentSinceMs = agent.offlineAtMs === null ? null : agent.offlineAtMs - OFFLINE_AFTER_MS;
  if (silentSinceMs !== null && agent.lastSeenAtMs <= silentSinceMs) return { agent, isOnline: false, silentSinceMs };
  return { agent, isOnline: true, silentSinceMs: Math.max(agent.lastSeenAtMs, availability.availableSinceMs) };
}

/** An agent that fell silent, and its account if that has others; `part` is its weight for other accounts. */
type Fallen = Presence & { account: string | null; part: number };

/** Agents that fell silent, in order, and for each the index after the last one within two minutes of it. */
type Stretches = { fallen: readonly Fallen[]; ends: Int32Array };

/** Finds the agents that fell silent together with most others, as their own accounts see it. */
function findTogether(
  agents: readonly Presence[],
  { due, nowMs }: { due: readonly Presence[]; nowMs: number },
): Set<number> {
  const sizes = new Map<string | null, number>();
  for (const { agent } of agents) sizes.set(agent.tenantId, (sizes.get(agent.tenantId) ?? 0) + 1);
  // Shared agents, and one that is alone in its account, count whole for every account.
  const accountOf = ({ agent }: Presence) => ((sizes.get(agent.tenantId) ?? 1) > 1 ? agent.tenantId : null);
  const partOf = (account: string | null) => (account === null ? 1 : 1 / (sizes.get(account) ?? 1));
  const fallen = agents
    .filter(({ silentSinceMs }) => nowMs - silentSinceMs >= SUSPECT_AFTER_MS)
    .map((presence) => ({ ...presence, account: accountOf(presence), part: partOf(accountOf(presence)) }))
    .toSorted((a, b) => a.silentSinceMs - b.silentSinceMs);
  const stretches = { fallen, ends: findEnds(fallen) };
  const positions = Map.groupBy(fallen.keys(), (position) => fallen[position]?.account ?? null);
  const wereOnline = agents.reduce((sum, presence) => sum + partOf(accountOf(presence)), 0);
  const weights = Float64Array.from(fallen, ({ part }) => part);
  const together = new Set<number>();
  for (const account of new Set(due.map(accountOf))) {
    const own = positions.get(account) ?? [];
    for (const position of own) weights[position] = 1;
    const more = account === null ? 0 : (sizes.get(account) ?? 1) - 1;
    for (const no of findOwnTogether(stretches, { own, weights, wereOnline: wereOnline + more })) together.add(no);
    for (const position of own) weights[position] = partOf(account);
  }
  return together;
}

function findEnds(fallen: readonly Fallen[]): Int32Array {
  let end = 0;
  return Int32Array.from(fallen, ({ silentSinceMs }) => {
    while (end < fallen.length && (fallen[end]?.silentSinceMs ?? 0) - silentSinceMs <= TOGETHER_MS) end += 1;
    return end;
  });
}

/** An account's view: the indexes of its own agents, the weight of each of all, and how many were online. */
type View = { own: readonly number[]; weights: Float64Array; wereOnline: number };

/**
 * Finds an account's agents in any two minutes in which more than half of the agents online at their beginning fell
 * silent.
 */
function findOwnTogether({ fallen, ends }: Stretches, { own, weights, ...begun }: View): number[] {
  const together: number[] = [];
  let { wereOnline } = begun;
  let [count, end, held, next] = [0, 0, 0, 0];
  // This loop takes by far the longest if many accounts fall silent at once, so it allocates nothing.
  for (let start = 0; start < fallen.length && next < own.length; start += 1) {
    const weight = weights[start] ?? 0;
    for (; end < (ends[start] ?? 0); end += 1) count += weights[end] ?? 0;
    if (count > FEWEST_TOGETHER - ROUNDING && count * 2 > wereOnline + ROUNDING) held = end;
    const first = fallen[start];
    if (start === own[next]) {
      if (start < held && first !== undefined) together.push(first.agent.no);
      next += 1;
    }
    count -= weight;
    // An offline agent was no longer online when the stretches after its silence began.
    if (first?.isOnline === false) wereOnline -= weight;
  }
  return together;
}
