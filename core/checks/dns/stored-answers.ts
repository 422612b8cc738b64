import { cleanText } from '../../foreign-text.ts';
import type { Observation } from '../observation.ts';

/**
 * The answers of a dns check as its result stores them. By type of record these are the records, or why there are none
 * (`nxdomain`, or how the question failed).
 */
export type StoredAnswers = Readonly<Record<string, readonly string[] | string>>;

/** Bounds of what is stored: records of a type, and characters of each. */
const MOST_RECORDS = 20;
const MAX_RECORD = 255;

/** What a dns check was answered; undefined for every other observation, and where nothing was queried. */
export function toStoredAnswers(observation: Observation | null): StoredAnswers | undefined {
  if (observation?.type !== 'dns' || observation.outcome !== 'queried') return undefined;
  const stored = Object.entries(observation.answers).map(([type, answer]) => {
    if (answer.outcome === 'records')
      return [type, answer.records.slice(0, MOST_RECORDS).map((record) => cleanText(record, MAX_RECORD))] as const;
    return [type, answer.outcome === 'nxdomain' ? 'nxdomain' : answer.failure] as const;
  });
  return Object.fromEntries(stored);
}
