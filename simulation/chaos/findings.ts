/** What may be wrong with a run; each must be found 0 times. */
export const FINDINGS = [
  'outages missed',
  'recoveries missed',
  'false downs',
  'false degradations',
  'false recoveries',
  'unknown without blindness',
  'wrong at the end',
  'events lost',
  'events invented',
  'events under two ids',
  'deliveries unfinished',
  'histories broken',
  'incidents inconsistent',
  'schedules missing',
  'results lost',
  'processes ended',
  'answers faulty',
  'writes lost',
] as const;

export type Finding = (typeof FINDINGS)[number];

/**
 * What a machine that is too slow for its own clients brings about as well: probes that time out, checks that come
 * late, locks that run out.
 */
export const OF_TIME: ReadonlySet<Finding> = new Set([
  'outages missed',
  'recoveries missed',
  'false downs',
  'false degradations',
  'false recoveries',
  'unknown without blindness',
  'wrong at the end',
  'deliveries unfinished',
  'schedules missing',
  'results lost',
]);

/** One thing that was wrong, in words. */
export type Found = { finding: Finding; text: string };
