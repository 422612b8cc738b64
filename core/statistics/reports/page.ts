import type { CountedState } from '../sla.ts';
import type { ReportDay, ReportGap } from './content.ts';
import type { ReportPeriod } from './periods.ts';

// Texts and drawings shared by a report's page in the console and its print page.

export const REPORT_TITLES = {
  week: 'Weekly report',
  month: 'Monthly report',
} as const satisfies Record<ReportPeriod, string>;

/** Texts on the service's own gaps, and their effect on a report. */
export const GAPS = {
  title: 'Monitoring gaps',
  none: 'No monitoring gaps.',
  lead:
    'Times when the monitoring service itself was interrupted. They count as unknown and do not affect uptime. ' +
    'Overload affects only the monitors that were not checked in time.',
  names: {
    clock: 'Clock',
    checks: 'Checks',
    evaluation: 'Evaluation',
    overload: 'Overload',
  } satisfies Record<ReportGap['kind'], string>,
} as const;

/** Signs and labels of days by their worst state; the signs are for readers who cannot tell the colors apart. */
export const DAYS = {
  up: { sign: '', meaning: 'up' },
  degraded: { sign: '~', meaning: 'degraded' },
  down: { sign: '×', meaning: 'down' },
  unknown: { sign: '?', meaning: 'unknown' },
  pending: { sign: '…', meaning: 'pending' },
  paused: { sign: '‖', meaning: 'paused' },
  maintenance: { sign: 'M', meaning: 'maintenance' },
  absent: { sign: '', meaning: 'not created yet' },
} as const satisfies Record<CountedState | 'absent', { sign: string; meaning: string }>;

/** States of days that do not count. */
const UNCOUNTED: ReadonlySet<keyof typeof DAYS> = new Set(['unknown', 'pending', 'paused', 'maintenance']);

/** Bar of a day by its state, in the plot's units. */
export type DayBar = { state: keyof typeof DAYS; x: number; width: number; height: number };

/** Distance between the lines of a hatched bar, in the plot's units. */
const HATCH_STEP = 4;

/**
 * Returns the horizontal lines that hatch a day's bar, as the data of a path; empty for a state that counts. Unlike
 * patterns and backgrounds, lines always print.
 */
export function hatchBar({ state, x, width, height }: DayBar): string {
  if (!UNCOUNTED.has(state)) return '';
  const lines = Math.floor((height - 1) / HATCH_STEP);
  return Array.from({ length: lines }, (_, line) => `M${x} ${HATCH_STEP / 2 + line * HATCH_STEP}h${width}`).join('');
}

/** Percentiles that a report draws, each as a line. */
export const PERCENTILES = ['p50', 'p95', 'p99'] as const satisfies readonly (keyof ReportDay['response_ms'])[];

/** Minimum distance of the names of lines that end close together, in the plot's units. */
const APART = 10;

/** Reports whether a plot shows the date below a day: each day of a week, the first of each week of a month. */
export function isDated(day: number, days: number): boolean {
  return day % (days <= 7 ? 1 : 7) === 0;
}

/** Splits the line of a percentile into pieces: a day without measurements, null, interrupts it. */
export function piecesOf<Point>(points: readonly (Point | null)[]): Point[][] {
  const pieces: Point[][] = [[]];
  for (const point of points) {
    if (point === null) pieces.push([]);
    else pieces.at(-1)?.push(point);
  }
  return pieces.filter((piece) => piece.length > 0);
}

/** Places the names of lines beside the last day of each percentile, without overlaps. */
export function layOutNames(
  days: readonly Pick<ReportDay, 'response_ms'>[],
  { yOf, bottom }: { yOf: (ms: number) => number; bottom: number },
): { name: (typeof PERCENTILES)[number]; y: number }[] {
  const ends = PERCENTILES.flatMap((name) => {
    const last = days.findLast(({ response_ms: ms }) => ms[name] !== null)?.response_ms[name] ?? null;
    return last === null ? [] : [{ name, y: yOf(last) }];
  });
  let lowest = bottom;
  return ends
    .toSorted((a, b) => b.y - a.y)
    .map(({ name, y: wanted }) => {
      const y = Math.min(wanted, lowest);
      lowest = y - APART;
      return { name, y };
    });
}

/** Returns the slowest of all percentiles, in milliseconds, and the top of the scale above it; null without any. */
export function scaleOf(days: readonly Pick<ReportDay, 'response_ms'>[]): { highestMs: number; topMs: number } | null {
  const highestMs = Math.max(0, ...days.flatMap(({ response_ms: ms }) => PERCENTILES.map((name) => ms[name] ?? 0)));
  return highestMs > 0 ? { highestMs, topMs: roundUp(highestMs) } : null;
}

/** Rounds up to 1, 2 or 5 times a power of ten. */
function roundUp(ms: number): number {
  const power = 10 ** Math.floor(Math.log10(ms));
  return ([1, 2, 5].find((factor) => factor * power >= ms) ?? 10) * power;
}
