import type { Verdict } from '../../core/checks/verdict.ts';

/**
 * How a location sees the target for a while: checks have the `verdict`, except a random share that times out. `hangs`:
 * a down target never responds instead of refusing. `silent`: the location makes no checks at all.
 */
export type Behaviour = { verdict: Verdict; strayShare: number; hangs: boolean; silent: boolean };

/** A behaviour that lasts from `startMs` to before `endMs`. */
export type Period = Behaviour & { startMs: number; endMs: number };

/** Everything that a location sees during a whole history: periods without gaps. */
export type Script = readonly Period[];

/** Returns the behavior of a healthy location with a healthy target, except for a share of lost checks. */
export function sound(strayShare: number): Behaviour {
  return { verdict: 'up', strayShare, hangs: false, silent: false };
}

/** Lays periods, in any order, over a base behavior; of two that overlap the later one in the list counts. */
export function layOver(base: Behaviour, periods: readonly Period[], span: { startMs: number; endMs: number }): Script {
  const waiting = periods
    .map((period, rank) => ({ period, rank }))
    .filter(({ period: { startMs, endMs } }) => startMs < span.endMs && endMs > span.startMs)
    .toSorted((a, b) => b.period.startMs - a.period.startMs);
  const inside = waiting
    .flatMap(({ period: { startMs, endMs } }) => [startMs, endMs])
    .filter((edge) => edge > span.startMs && edge < span.endMs);
  const edges = [...new Set([span.startMs, ...inside, span.endMs])].toSorted((a, b) => a - b);
  let current: typeof waiting = [];
  return edges.slice(0, -1).map((startMs, index) => {
    current = current.filter(({ period }) => period.endMs > startMs);
    while (waiting.length > 0 && (waiting.at(-1)?.period.startMs ?? 0) <= startMs) current.push(...waiting.splice(-1));
    const visible = current.toSorted((a, b) => b.rank - a.rank)[0]?.period ?? base;
    return { ...visible, startMs, endMs: edges[index + 1] ?? span.endMs };
  });
}
