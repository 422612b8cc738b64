import { percentile } from '../../bench/figures.ts';
import { HOUR_MS } from '../../core/time.ts';
import type { Stretch } from './beginning.ts';
import type { Fault } from './scenario.ts';
import type { Notified } from './simulation.ts';

/**
 * The score of one kind of fault: how many happened, how many were noticed, and how many downs were reported. Also the
 * delay from each start to its first down in milliseconds; null if there was none.
 */
export type KindScore = {
  count: number;
  found: number;
  alerts: number;
  delaysMs: { p50: number; p95: number; max: number } | null;
};

/** The score of a scenario under a setting. `falseDowns`: downs that no event can explain. */
export type Score = {
  hours: number;
  falseDowns: number;
  unknownMs: number;
  kinds: Readonly<Record<string, KindScore>>;
};

type KindTally = { count: number; found: number; alerts: number; delaysMs: number[] };

/** Collects histories with the changes that were reported. */
export type Scorer = {
  add: (history: Stretch & { faults: readonly Fault[] }, notified: readonly Notified[]) => void;
  score: () => Score;
};

/**
 * Creates a scorer. A down belongs to the fault that overlaps the time from its start (`at`) to its decision; one that
 * overlaps none is false.
 */
export function createScorer(): Scorer {
  const total = { hours: 0, falseDowns: 0, unknownMs: 0 };
  const kinds = new Map<string, KindTally>();
  return {
    add({ startMs, endMs, faults }, notified) {
      total.hours += (endMs - startMs) / HOUR_MS;
      total.unknownMs += unknownMs(notified, endMs);
      const downs = notified.filter(({ to }) => to === 'down');
      total.falseDowns += downs.length;
      let next = 0;
      for (const fault of faults) {
        const tally = tallyOf(kinds, fault.kind);
        tally.count += 1;
        while (next < downs.length && (downs[next]?.detectedAtMs ?? 0) < fault.startMs) next += 1;
        const wasDown = notified.findLast(({ detectedAtMs }) => detectedAtMs < fault.startMs)?.to === 'down';
        let alerts = 0;
        for (let down = downs[next]; down !== undefined && down.atMs < fault.endMs; down = downs[(next += 1)]) {
          if (alerts === 0) tally.delaysMs.push(down.detectedAtMs - fault.startMs);
          alerts += 1;
        }
        tally.alerts += alerts;
        tally.found += alerts > 0 || wasDown ? 1 : 0;
        total.falseDowns -= alerts;
      }
    },
    score: () => ({ ...total, kinds: Object.fromEntries([...kinds].map(([kind, tally]) => [kind, summarise(tally)])) }),
  };
}

function tallyOf(kinds: Map<string, KindTally>, kind: string): KindTally {
  const tally = kinds.get(kind) ?? { count: 0, found: 0, alerts: 0, delaysMs: [] };
  kinds.set(kind, tally);
  return tally;
}

function summarise({ count, found, alerts, delaysMs }: KindTally): KindScore {
  if (delaysMs.length === 0) return { count, found, alerts, delaysMs: null };
  return {
    count,
    found,
    alerts,
    delaysMs: { p50: percentile(delaysMs, 0.5), p95: percentile(delaysMs, 0.95), max: percentile(delaysMs, 1) },
  };
}

function unknownMs(notified: readonly Notified[], endMs: number): number {
  return notified.reduce(
    (sum, { to, detectedAtMs }, index) =>
      sum + (to === 'unknown' ? (notified[index + 1]?.detectedAtMs ?? endMs) - detectedAtMs : 0),
    0,
  );
}
