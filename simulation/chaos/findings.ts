/** Kinds of findings; each has to occur 0 times. */
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
  'rules broken',
  'holds broken',
  'histories broken',
  'incidents inconsistent',
  'schedules missing',
  'results lost',
  'processes ended',
  'answers faulty',
  'writes lost',
] as const;

export type Finding = (typeof FINDINGS)[number];

/** Findings that a machine too slow for its own clients also causes: probe timeouts, late checks, expired locks. */
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

/** One finding, in words. */
export type Found = { finding: Finding; text: string };
