import { VERDICT_CODES } from '../../core/checks/verdict.ts';
import { TIMING_NAMES } from '../../core/incidents/failure-evidence.ts';
import { LATENCY_GROWTH } from '../../core/statistics/latency-histogram.ts';

/**
 * Which of the raw checks are meant: from and to are SQL of Unix milliseconds (to excluded), `only` narrows a table,
 * which has the given alias.
 */
export type RawSelection = { from: string; to: string; only?: (alias: string) => string };

/**
 * A latency as a result can hold it, in milliseconds; a run of a job may take longer. Of two arguments one of which is
 * null `least` gives the other.
 */
const MAX_LATENCY_MS = 2_147_483_647;

/**
 * SQL of everything that was observed of monitors in a stretch of time, as rows (monitor_no, agent_no, at, verdict,
 * latency_ms, phases): the results, and the pings that report an end. A ping that changed something, and a deadline
 * that passed, are among the results already, by the same time.
 */
export function rawChecks({ from, to, only }: RawSelection): string {
  const { up, down } = VERDICT_CODES;
  const narrow = (alias: string): string => (only === undefined ? '' : `AND ${only(alias)}`);
  return `SELECT r.monitor_no, r.agent_no, r.due_at AS at, r.verdict, r.latency_ms,
      string_to_array(r.detail ->> 'phases', ' ', '-')::integer[] AS phases
          FROM check_results r WHERE r.due_at >= ${from} AND r.due_at < ${to} ${narrow('r')}
          UNION ALL
          SELECT p.monitor_no, p.agent_no, p.at, p.verdict, p.latency_ms, NULL FROM (
            SELECT p.monitor_no, (SELECT no FROM agents WHERE kind = 'service') AS agent_no, p.at,
                   (CASE WHEN p.kind = 'success' OR p.exit_status = 0 THEN ${up} ELSE ${down} END)::smallint AS verdict,
                   CASE WHEN p.duration_ms IS NOT NULL THEN least(p.duration_ms,
                     ${MAX_LATENCY_MS})::integer END AS latency_ms
            FROM heartbeat_pings p WHERE p.at >= ${from} AND p.at < ${to} AND p.kind <> 'start'
          ) p
          WHERE NOT EXISTS (SELECT 1 FROM check_results r
                            WHERE r.monitor_no = p.monitor_no AND r.agent_no = p.agent_no AND r.due_at = p.at
                              AND r.due_at >= ${from} AND r.due_at < ${to})
            ${narrow('p')}`;
}

/**
 * SQL of the condition that a check says how fast its target is: it was up or degraded. What failed was cut off, or
 * answered something else.
 */
export function isTimed(alias: string): string {
  return `${alias}.verdict IN (${VERDICT_CODES.up}, ${VERDICT_CODES.degraded})`;
}

/** SQL of `bucketOf` (core/statistics/latency-histogram.ts). */
export function bucketSql(latency: string): string {
  return (
    `CASE WHEN ${latency} <= 1 THEN 0 ELSE ceil(ln(${latency}::float8) / ln(${LATENCY_GROWTH}::float8)) ` +
    'END::smallint'
  );
}

/**
 * SQL of what roll-ups keep of the timings of one check: for each timing, in the order of `TIMING_NAMES`, two elements,
 * its milliseconds and whether it happened. Null where its timings were not kept.
 */
export function timingsOfCheck(alias: string): string {
  const elements = TIMING_NAMES.map(
    (_, index) => `coalesce(${alias}.phases[${index + 1}], 0), (${alias}.phases[${index + 1}] IS NOT NULL)::integer`,
  );
  return `CASE WHEN ${isTimed(alias)} AND ${alias}.phases IS NOT NULL THEN ARRAY[${elements.join(', ')}] END`;
}

/**
 * A sum of milliseconds takes a second element, behind all others, for what is beyond so much: an `integer` holds less
 * than a day of an abusive source can add up to.
 */
const WIDE = 2 ** 31;

/**
 * SQL of the milliseconds of a timing, by its index, summed up over rows that have elements as `phases`. Only elements
 * of roll-ups can be wide ones.
 */
function sumOfMs(index: number, from: 'checks' | 'rollups'): string {
  const low = `sum(phases[${2 * index + 1}])`;
  return from === 'checks'
    ? low
    : `(${low} + ${WIDE} * coalesce(sum(phases[${2 * TIMING_NAMES.length + index + 1}]), 0))`;
}

/**
 * SQL of the elements summed up over rows that have them as `phases`, as `bigint`, two for each timing; null where no
 * row has any.
 */
export function summedTimings(): string {
  const elements = TIMING_NAMES.flatMap((_, index) => [sumOfMs(index, 'rollups'), `sum(phases[${2 * index + 2}])`]);
  return `CASE WHEN count(phases) > 0 THEN ARRAY[${elements.join(', ')}]::bigint[] END`;
}

/**
 * SQL of the same as a roll-up stores it: as `integer`, a third element for each timing behind the others where a sum
 * needs it.
 */
export function storedTimings(from: 'checks' | 'rollups'): string {
  const sums = TIMING_NAMES.map((_, index) => sumOfMs(index, from));
  const elements = sums.flatMap((sum, index) => [`${sum} % ${WIDE}`, `sum(phases[${2 * index + 2}])`]);
  const beyond = sums.map((sum) => `${sum} / ${WIDE}`);
  return `CASE WHEN count(phases) > 0 THEN ARRAY[${elements.join(', ')}]::integer[]
            || CASE WHEN greatest(${sums.join(', ')}) >= ${WIDE} THEN ARRAY[${beyond.join(', ')}]::integer[]
              ELSE '{}' END END`;
}
