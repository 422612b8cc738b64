import { lossySpans, type Span } from './blindness.ts';
import { CLOCK_RESOLUTION_MS, type Facts } from './facts.ts';
import type { Found } from './findings.ts';
import type { Result } from './record.ts';

/**
 * Maximum lateness of a check, beside two intervals. A check starts within a second or before the next one (D-89). Its
 * tick may have waited behind others, as after a freeze of Redis: then it starts before the one after that. A slow
 * machine adds its delay.
 */
const LATE_MS = 1000;

/** Longest time between two measurements of a tick whose job was read again, in milliseconds. */
const REPEATED_MS = 1000;

/** Number of intervals before and after a lost result whose results are listed with it. */
const LISTED_INTERVALS = 3;

/**
 * Compares stored results with the requests that targets received. A request without a result was lost, which may only
 * happen in the hands of a killed check process or in an emptied Redis. In the quiet time after all faults each source
 * checks in every interval.
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
    // A silent target occupies a check until its timeout, just below the interval: the result exists only then, and can
    // be lost until then.
    const measuredIn = (met: string) => (failure === 'hang' && met === 'down' ? intervalSeconds * 1000 : 0);
    const toBeThere = requests
      .filter(
        ({ atMs, met }) => !lossy.some(({ fromMs, toMs }) => isIn({ fromMs: fromMs - measuredIn(met), toMs }, atMs)),
      )
      .map(({ atMs }) => atMs);
    figures.requests += requests.length;
    figures['of them with results that may be lost'] += requests.length - toBeThere.length;
    const sources = facts.record.sources.filter((source) => source.monitorId === monitorId);
    // A tick that is measured twice has one result, and every source has a result in the interval before.
    const isRepeat = (atMs: number) =>
      requests.filter((other) => other.atMs <= atMs && other.atMs > atMs - REPEATED_MS).length > 1 &&
      sources.every(({ agentNo }) =>
        results.some(
          (result) =>
            result.agentNo === agentNo &&
            isIn({ fromMs: atMs - intervalSeconds * 1000 + 1, toMs: atMs + CLOCK_RESOLUTION_MS }, result.dueAtMs),
        ),
      );
    const missing = withoutResult(toBeThere, results, 2 * intervalSeconds * 1000 + LATE_MS + facts.machineSlowMs);
    for (const atMs of missing.filter((missed) => !isRepeat(missed))) {
      const listAround = (moments: readonly number[]) =>
        moments
          .filter((moment) => Math.abs(moment - atMs) <= LISTED_INTERVALS * intervalSeconds * 1000)
          .map((moment) => ((moment - facts.beganAtMs) / 1000).toFixed(1))
          .join(', ');
      found.push({
        finding: 'results lost',
        text:
          `target ${index} was asked at ${((atMs - facts.beganAtMs) / 1000).toFixed(1)} s; of the requests at ` +
          `${listAround(requests.map((request) => request.atMs))} there are results due at ` +
          listAround(results.map((result) => result.dueAtMs)),
      });
    }
    for (const { agentNo } of sources) {
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
 * Returns the requests without a result: each takes the earliest possible result, which leaves the most for later ones.
 */
function withoutResult(requests: readonly number[], results: readonly Result[], lateMs: number): number[] {
  const due = results.map(({ dueAtMs }) => dueAtMs);
  let next = 0;
  return requests.filter((atMs) => {
    while ((due[next] ?? atMs) < atMs - lateMs) next += 1;
    if (next >= due.length || (due[next] ?? 0) > atMs + CLOCK_RESOLUTION_MS) return true;
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
