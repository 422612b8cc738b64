import { TIMING_NAMES } from '../../core/incidents/failure-evidence.ts';

/**
 * SQL of what roll-ups keep of the timings of a row of `observed_results`. For each timing, in the order of
 * `TIMING_NAMES`, there are two elements: its milliseconds and whether it happened. Null where its timings were not
 * kept.
 */
export function timingsOfCheck(): string {
  const elements = TIMING_NAMES.map(
    (_, index) => `coalesce(phases[${index + 1}], 0), (phases[${index + 1}] IS NOT NULL)::integer`,
  );
  return `CASE WHEN is_timed(verdict) AND phases IS NOT NULL THEN ARRAY[${elements.join(', ')}] END`;
}

/**
 * A sum of milliseconds takes a second element, behind all others, for what is beyond this. An `integer` holds less
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
