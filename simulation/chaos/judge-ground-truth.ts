import { blindSpans, faultsOnTheWay, gapsBetween, type Span } from './blindness.ts';
import { CLOCK_RESOLUTION_MS, type Facts } from './facts.ts';
import type { Found } from './findings.ts';
import type { Transition } from './record.ts';
import { conditionAt, type Condition, type MonitorScript } from './script.ts';

/** Delay of batching and evaluation on a busy machine, in milliseconds. */
const LAG_MS = 6000;

/** Duration of a probe of a silent target: its timeout, just below the interval. */
const SILENT_MS = 5000;

/** Age at which a source's result is stale (D-41), in milliseconds; only then may a monitor be unknown. */
const FRESH_MS = 60_000;

/** Delay of a result that was in flight when the monitor became unknown, in milliseconds. */
const UNDER_WAY_MS = 15_000;

/**
 * Compares states with the script. A target that did not change while the service could see it, for as long as its
 * thresholds need, must have the right state at the end of that time. An outage that ended during blindness may be
 * missed, but not one that lasts. Every state must rest on a check that saw it, blind or not: no fault of ours makes a
 * healthy target down.
 */
export function judgeGroundTruth(facts: Facts): { found: Found[]; figures: Record<string, number> } {
  const byMonitor = Map.groupBy(facts.record.transitions, ({ monitorId }) => monitorId);
  const found: Found[] = [];
  const figures = { 'outages in sight': 0, 'outages over before we saw': 0 };
  for (const script of facts.scripts) {
    const monitorId = facts.monitorIds[script.index] ?? '';
    const transitions = byMonitor.get(monitorId) ?? [];
    const observedTimes = gapsBetween(blindTo(script, facts), { fromMs: facts.beganAtMs, toMs: facts.judgedAtMs });
    for (const stretch of stretchesOf(script, facts)) {
      const visible = observedTimes
        .flatMap((span) => overlap(span, stretch))
        .filter((span) => span.toMs - span.fromMs >= neededMs(script));
      if (stretch.condition !== 'up')
        figures[visible.length > 0 ? 'outages in sight' : 'outages over before we saw'] += 1;
      for (const { toMs } of visible) {
        const state = stateAt(transitions, toMs - CLOCK_RESOLUTION_MS);
        if (state !== stretch.condition)
          found.push({
            finding: stretch.condition === 'up' ? 'recoveries missed' : 'outages missed',
            text:
              `${nameOf(script)} was ${state} at ${clock(facts, toMs)}, its target ${stretch.condition} since ` +
              `${clock(facts, stretch.fromMs)}`,
          });
      }
    }
    const end = {
      is: stateAt(transitions, facts.judgedAtMs),
      should: conditionAt(script, facts.judgedAtMs - facts.beganAtMs),
    };
    if (end.is !== end.should)
      found.push({ finding: 'wrong at the end', text: `${nameOf(script)} is ${end.is} instead of ${end.should}` });
    found.push(
      ...transitions.flatMap((transition, index) =>
        judgeTransition(facts, script, { transition, before: transitions[index - 1] }),
      ),
    );
  }
  return { found, figures };
}

function judgeTransition(
  facts: Facts,
  script: MonitorScript,
  { transition, before }: { transition: Transition; before: Transition | undefined },
): Found[] {
  const { to, voters, detectedAtMs, sequence } = transition;
  const text = `${nameOf(script)} ${to} at ${clock(facts, detectedAtMs)} (sequence ${sequence})`;
  const isFounded = (vote: Condition) =>
    voters
      .filter((voter) => voter.vote === vote)
      .every(({ decidedByMs }) => isStreakFounded(facts, script, { decidedByMs, vote }));
  const votes = (vote: Condition) => voters.some((voter) => voter.vote === vote);
  if (to === 'down' && !(votes('down') && isFounded('down'))) return [{ finding: 'false downs', text }];
  if (to === 'degraded' && !((votes('degraded') || votes('down')) && isFounded('degraded')))
    return [{ finding: 'false degradations', text }];
  if (before !== undefined && !wasAsGood(facts, script, { transition, before }))
    return [{ finding: 'false recoveries', text }];
  return to === 'unknown' && !wasSilent(facts, transition) ? [{ finding: 'unknown without blindness', text }] : [];
}

/**
 * Reports whether the last result of a vote was made while the target was that bad. A single bad response of a healthy
 * target completes no streak, unless the service was blind within it, and missed what happened in between (D-250).
 */
function isStreakFounded(
  facts: Facts,
  script: MonitorScript,
  { decidedByMs, vote }: { decidedByMs: readonly number[]; vote: Condition },
): boolean {
  const last = decidedByMs.at(-1) ?? 0;
  const before = decidedByMs.slice(0, -1);
  if (wasBadAt(facts, script, { dueAtMs: last, vote })) return true;
  const isBlip = facts.requests.some(
    ({ index, atMs, met }) =>
      index === script.index &&
      met !== 'up' &&
      atMs >= last - CLOCK_RESOLUTION_MS &&
      atMs <= last + script.intervalSeconds * 1000,
  );
  const wasBlind = blindTo(script, facts).some(
    (span) => overlap(span, { fromMs: before.at(-1) ?? last, toMs: last }).length > 0,
  );
  return (
    isBlip && wasBlind && before.length > 0 && before.every((dueAtMs) => wasBadAt(facts, script, { dueAtMs, vote }))
  );
}

/** Returns the times at which the service could not see a monitor, over all its locations. */
function blindTo({ regions }: MonitorScript, { suffered }: Facts): Span[] {
  return blindSpans(faultsOnTheWay(suffered, regions));
}

/**
 * Reports whether a result was made while the target was that bad. The check was due then or up to an interval before,
 * since a late check runs before the next (D-89).
 */
function wasBadAt(
  { beganAtMs, judgedAtMs }: Facts,
  script: MonitorScript,
  { dueAtMs, vote }: { dueAtMs: number; vote: Condition },
): boolean {
  const madeWithin = { fromMs: dueAtMs - CLOCK_RESOLUTION_MS, toMs: dueAtMs + script.intervalSeconds * 1000 };
  return stretchesOf(script, { beganAtMs, judgedAtMs }).some(
    (stretch) => isAsBad(stretch.condition, vote) && overlap(stretch, madeWithin).length > 0,
  );
}

/** Reports whether the target of an improved monitor had been that good at any time since it was judged worse. */
function wasAsGood(
  { beganAtMs, judgedAtMs }: Facts,
  script: MonitorScript,
  { transition, before }: { transition: Transition; before: Transition },
): boolean {
  const { from, to, detectedAtMs } = transition;
  if (!((from === 'down' && (to === 'degraded' || to === 'up')) || (from === 'degraded' && to === 'up'))) return true;
  const since = { fromMs: before.atMs, toMs: detectedAtMs + CLOCK_RESOLUTION_MS };
  return stretchesOf(script, { beganAtMs, judgedAtMs }).some(
    (stretch) => (stretch.condition === 'up' || stretch.condition === to) && overlap(stretch, since).length > 0,
  );
}

function isAsBad(condition: Condition, vote: Condition): boolean {
  return condition === vote || (vote === 'degraded' && condition === 'down');
}

/** Reports whether a source of the monitor had no result of the last minute when the transition was decided. */
function wasSilent({ record }: Facts, { monitorId, detectedAtMs }: Transition): boolean {
  return record.sources
    .filter((source) => source.monitorId === monitorId)
    .some(
      ({ agentNo }) =>
        !record.results.some(
          (result) =>
            result.monitorId === monitorId &&
            result.agentNo === agentNo &&
            result.dueAtMs > detectedAtMs - FRESH_MS &&
            result.dueAtMs <= detectedAtMs - UNDER_WAY_MS,
        ),
    );
}

/**
 * Returns the time that the thresholds need: their number of results, one more for the slot in the interval, and the
 * delay to a state.
 */
function neededMs({ intervalSeconds, downAfterFailures, failure }: MonitorScript): number {
  return (downAfterFailures + 1) * intervalSeconds * 1000 + (failure === 'hang' ? SILENT_MS : 0) + LAG_MS;
}

function stretchesOf(
  { steps }: MonitorScript,
  { beganAtMs, judgedAtMs }: Pick<Facts, 'beganAtMs' | 'judgedAtMs'>,
): (Span & { condition: Condition })[] {
  return steps.map(({ fromMs, condition }, index) => ({
    condition,
    fromMs: beganAtMs + fromMs,
    toMs: Math.min(judgedAtMs, beganAtMs + (steps[index + 1]?.fromMs ?? Number.POSITIVE_INFINITY)),
  }));
}

function overlap(a: Span, b: Span): Span[] {
  const span = { fromMs: Math.max(a.fromMs, b.fromMs), toMs: Math.min(a.toMs, b.toMs) };
  return span.fromMs < span.toMs ? [span] : [];
}

function stateAt(transitions: readonly Transition[], atMs: number): string {
  return transitions.findLast(({ detectedAtMs }) => detectedAtMs <= atMs)?.to ?? 'pending';
}

function nameOf({ index }: MonitorScript): string {
  return `target ${index}`;
}

function clock({ beganAtMs }: Facts, atMs: number): string {
  return `${((atMs - beganAtMs) / 1000).toFixed(1)} s`;
}
