/** A stretch of time in which pings were lost, Unix milliseconds. */
export type LostStretch = { fromMs: number; toMs: number };

/** What this process knows of the pings that came to it and are not stored. */
export type UnstoredPings = {
  /** Follows a ping that has come just now until it is stored, or is not. */
  follow: <Outcome>(storing: Promise<Outcome>) => Promise<Outcome>;
  /** When the oldest ping came that is not stored yet; null = all are. */
  oldestAtMs: () => number | null;
  /**
   * Takes the stretch of those that could not be stored, or have waited too long; null = there were none since it was
   * last taken.
   */
  takeLost: () => LostStretch | null;
  /** Puts back a stretch that could not be recorded. */
  recordLost: (lost: LostStretch) => void;
};

/**
 * A ping that has waited this long counts as lost, in milliseconds: other processes, which know nothing of it, go on
 * meanwhile.
 */
const COUNTS_AS_LOST_MS = 1000;

/** Makes the record of a process's pings that are not stored; `now` is in Unix milliseconds. */
export function createUnstoredPings(now: () => number): UnstoredPings {
  // A set keeps the order in which they came.
  const waiting = new Set<{ atMs: number }>();
  let lost: LostStretch | null = null;

  const oldestAtMs = () => waiting.values().next().value?.atMs ?? null;
  const recordLost = ({ fromMs, toMs }: LostStretch) => {
    lost = { fromMs: Math.min(fromMs, lost?.fromMs ?? fromMs), toMs: Math.max(toMs, lost?.toMs ?? toMs) };
  };

  return {
    oldestAtMs,
    recordLost,
    async follow(storing) {
      const ping = { atMs: now() };
      waiting.add(ping);
      try {
        return await storing;
      } catch (error) {
        recordLost({ fromMs: ping.atMs, toMs: now() });
        throw error;
      } finally {
        waiting.delete(ping);
      }
    },
    takeLost() {
      const [fromMs, toMs] = [oldestAtMs(), now()];
      if (fromMs !== null && toMs - fromMs > COUNTS_AS_LOST_MS) recordLost({ fromMs, toMs });
      const taken = lost;
      lost = null;
      return taken;
    },
  };
}
