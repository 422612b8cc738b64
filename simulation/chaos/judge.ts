import type { Facts } from './facts.ts';
import { FINDINGS, OF_TIME, type Finding, type Found } from './findings.ts';
import { judgeAlerts } from './judge-alerts.ts';
import { judgeChannels } from './judge-channels.ts';
import { judgeGroundTruth } from './judge-ground-truth.ts';
import { judgeHistory } from './judge-history.ts';
import { judgeResults } from './judge-results.ts';

/**
 * Findings of a run with their numbers, and how much was compared. `isClean`: there are none. `isConclusive`: false if
 * all findings depend on time and the machine was too slow to decide.
 */
export type Sheet = {
  isClean: boolean;
  isConclusive: boolean;
  counts: Record<Finding, number>;
  found: Found[];
  figures: Record<string, number>;
};

/** Compares a run with the ground truth. */
export function judgeRun(facts: Facts): Sheet {
  const groundTruth = judgeGroundTruth(facts);
  const channels = judgeChannels(facts);
  const results = judgeResults(facts);
  const toFound = (finding: Finding, texts: readonly string[]): Found[] => texts.map((text) => ({ finding, text }));
  const found = [
    ...groundTruth.found,
    ...judgeAlerts(facts),
    ...channels.found,
    ...judgeHistory(facts),
    ...results.found,
    ...toFound('processes ended', facts.ended),
    ...toFound('answers faulty', facts.faultyAnswers),
    ...toFound('writes lost', facts.lostMonitors),
  ];
  const counts = Object.fromEntries(
    FINDINGS.map((finding) => [finding, found.filter((each) => each.finding === finding).length]),
  ) as Record<Finding, number>;
  const isConclusive = facts.machineSlowMs === 0 || found.some(({ finding }) => !OF_TIME.has(finding));
  const figures = {
    transitions: facts.record.transitions.length,
    events: facts.received.length,
    ...channels.figures,
    ...groundTruth.figures,
    ...results.figures,
    'ms of a slow machine': facts.machineSlowMs,
  };
  return { isClean: found.length === 0, isConclusive: found.length === 0 || isConclusive, counts, found, figures };
}
