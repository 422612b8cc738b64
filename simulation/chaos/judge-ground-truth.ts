import { blindSpans, faultsOnTheWay, gapsBetween, type Span } from './blindness.ts';
import type { Facts } from './facts.ts';
import type { Found } from './findings.ts';
import type { Transition } from './record.ts';
import { conditionAt, type Condition, type MonitorScript } from './script.ts';

/** Batching, evaluation and a busy machine, in milliseconds. */
const LAG_MS = 6000;

/** A probe of a target that says nothing ends with its timeout, just below the interval. */
const SILENT_MS = 5000;

/** Clocks tell whole milliseconds. */
const CLOCK_MS = 50;

/**
 * A source without a result for so long is not fresh any more (D-41), in milliseconds: only then may anything be
 * unknown.
 */
const FRESH_MS = 60_000;

/** A result that was on its way while the monitor was called unknown is stored a little later, in milliseconds. */
const UNDER_WAY_MS = 15_000;

/**
 * Holds states against the script. Wherever a target stayed the same while we could see, for as long as its thresholds
 * ask, its monitor must say so at the end of that time, whatever was before: that an outage was over before we could
 * see again may be missed, that it lasted may not. And whatever was said must have had a reason at the moment of the
 * check that it rests on, blind or not: nothing that happens to us makes a healthy target down.
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
        const state = stateAt(transitions, toMs);
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
 * Whether the last result that a vote rests on was made while the target was as bad as that. A single bad answer of a
 * good one makes no streak full but where we were blind within it: what was bad before, and what happened in between,
 * we did not see (D-250).
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
      index === script.index && met !== 'up' && atMs >= last - CLOCK_MS && atMs <= last + script.intervalSeconds * 1000,
  );
  const wasBlind = blindTo(script, facts).some(
    (span) => overlap(span, { fromMs: before.at(-1) ?? last, toMs: last }).length > 0,
  );
  return (
    isBlip && wasBlind && before.length > 0 && before.every((dueAtMs) => wasBadAt(facts, script, { dueAtMs, vote }))
  );
}

/** When we could not see a monitor, from the locations that watch it. */
function blindTo({ regions }: MonitorScript, { suffered }: Facts): Span[] {
  return blindSpans(faultsOnTheWay(suffered, regions));
}

/**
 * Whether a result was made while the target was as bad as a vote says: it was due then, or at the most an interval
 * before, for a late check runs before the next (D-89).
 */
function wasBadAt(
  { beganAtMs, judgedAtMs }: Facts,
  script: MonitorScript,
  { dueAtMs, vote }: { dueAtMs: number; vote: Condition },
): boolean {
  const madeWithin = { fromMs: dueAtMs - CLOCK_MS, toMs: dueAtMs + script.intervalSeconds * 1000 };
  return stretchesOf(script, { beganAtMs, judgedAtMs }).some(
    (stretch) => isAsBad(stretch.condition, vote) && overlap(stretch, madeWithin).length > 0,
  );
}

/**
 * Of what got better without having been unknown: whether its target was at any moment as good since it was called
 * worse.
 */
function wasAsGood(
  { beganAtMs, judgedAtMs }: Facts,
  script: MonitorScript,
  { transition, before }: { transition: Transition; before: Transition },
): boolean {
  const { from, to, detectedAtMs } = transition;
  if (!((from === 'down' && (to === 'degraded' || to === 'up')) || (from === 'degraded' && to === 'up'))) return true;
  const since = { fromMs: before.atMs, toMs: detectedAtMs };
  return stretchesOf(script, { beganAtMs, judgedAtMs }).some(
    (stretch) => (stretch.condition === 'up' || stretch.condition === to) && overlap(stretch, since).length > 0,
  );
}

function isAsBad(condition: Condition, vote: Condition): boolean {
  return condition === vote || (vote === 'degraded' && condition === 'down');
}

/** Whether some source of the monitor had no result of the last minute when it was decided. */
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
 * As many results as the threshold asks, one more for where in the interval the stretch began, and the way from a
 * result to a state.
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
