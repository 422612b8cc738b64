import { lossySpans, type Span } from './blindness.ts';
import type { Facts } from './facts.ts';
import type { Found } from './findings.ts';
import type { Result } from './record.ts';

/**
 * A check that is late by up to a second runs at once, and else before the next one (D-89); where the machine itself
 * was slow, by as much later.
 */
const LATE_MS = 1000;

/** Clocks tell whole milliseconds. */
const CLOCK_MS = 50;

/**
 * Holds stored results against what the targets were asked. A request whose result is nowhere was lost; that may befall
 * what a killed check process or an emptied Redis had in hand, and nothing else. And after everything is over each
 * source checks in each interval again.
 */
export function judgeResults(facts: Facts): { found: Found[]; figures: Record<string, number> } {
  const lossy = lossySpans(facts.suffered);
  const byMonitor = Map.groupBy(facts.record.results, ({ monitorId }) => monitorId);
  const requestsByTarget = Map.groupBy(facts.requests, ({ index }) => index);
  const found: Found[] = [];
  const figures = { requests: 0, 'of them with results that may be lost': 0, results: facts.record.results.length };
  for (const { index, intervalSeconds, failure } of facts.scripts) {
    const monitorId = facts.monitorIds[index] ?? '';
    const results = byMonitor.get(monitorId) ?? [];
    const requests = (requestsByTarget.get(index) ?? []).filter(
      ({ atMs }) => atMs >= facts.beganAtMs && atMs < facts.quiet.toMs,
    );
    // Who says nothing is waited for until the timeout, just below the interval: only then there is a result, which is
    // in hand as long as others.
    const measuredIn = (met: string) => (failure === 'hang' && met === 'down' ? intervalSeconds * 1000 : 0);
    const toBeThere = requests
      .filter(
        ({ atMs, met }) => !lossy.some(({ fromMs, toMs }) => isIn({ fromMs: fromMs - measuredIn(met), toMs }, atMs)),
      )
      .map(({ atMs }) => atMs);
    figures.requests += requests.length;
    figures['of them with results that may be lost'] += requests.length - toBeThere.length;
    for (const atMs of withoutResult(toBeThere, results, intervalSeconds * 1000 + LATE_MS + facts.machineSlowMs)) {
      found.push({
        finding: 'results lost',
        text: `target ${index} was asked at ${((atMs - facts.beganAtMs) / 1000).toFixed(1)} s`,
      });
    }
    for (const { agentNo } of facts.record.sources.filter((source) => source.monitorId === monitorId)) {
      const due = results
        .filter((result) => result.agentNo === agentNo && isIn(facts.quiet, result.dueAtMs))
        .map(({ dueAtMs }) => dueAtMs);
      const gapMs = longestGap([facts.quiet.fromMs, ...due, facts.quiet.toMs]);
      if (gapMs > intervalSeconds * 1000)
        found.push({
          finding: 'schedules missing',
          text:
            `target ${index} was not checked by agent ${agentNo} for ${(gapMs / 1000).toFixed(1)} s, its interval ` +
            `is ${intervalSeconds} s`,
        });
    }
  }
  return { found, figures };
}

/**
 * The requests that no result is left for: each takes the earliest that it can be of, which leaves later ones the most.
 */
function withoutResult(requests: readonly number[], results: readonly Result[], lateMs: number): number[] {
  const due = results.map(({ dueAtMs }) => dueAtMs);
  let next = 0;
  return requests.filter((atMs) => {
    while ((due[next] ?? atMs) < atMs - lateMs) next += 1;
    if (next >= due.length || (due[next] ?? 0) > atMs + CLOCK_MS) return true;
    next += 1;
    return false;
  });
}

function longestGap(moments: readonly number[]): number {
  return Math.max(...moments.slice(1).map((moment, index) => moment - (moments[index] ?? moment)));
}

function isIn({ fromMs, toMs }: Span, atMs: number): boolean {
  return atMs >= fromMs && atMs < toMs;
}
