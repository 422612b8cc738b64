import type { Schemas } from '../../client/shapes.ts';
import type { Line } from '../../plots/series.ts';
import { lineColor, TIMINGS, timingColor } from '../../plots/timing-bar.tsx';

type Stats = Schemas['MonitorStats'];

/**
 * What the plot shows: percentiles or mean timings, of all locations or of `sourceId`; or the median of each location.
 */
export type View = { name: 'percentiles' | 'phases' | 'locations'; sourceId: string | null };

/** Reads the view from an address. */
export function readView(query: Readonly<Record<string, string>>): View {
  const { view = '', source } = query;
  return { name: view === 'locations' || view === 'phases' ? view : 'percentiles', sourceId: source ?? null };
}

/** The length of a step by resolution, in seconds. */
export const STEP_SECONDS = { minute: 60, five_minutes: 300, hour: 3600, day: 86_400 } as const satisfies Record<
  Stats['resolution'],
  number
>;

/** The time at which each step is plotted: its middle, since its value is that of the whole step. */
export function momentsOf({ series, from, to, resolution }: Stats): number[] {
  const half = STEP_SECONDS[resolution] / 2;
  return series.map(({ at }) => (Math.max(from, at) + Math.min(to, at + 2 * half)) / 2);
}

/** The lines of a view, in painting order. */
export function linesOf({ series, sources }: Stats, { name, sourceId }: View): Line[] {
  if (name === 'locations') {
    return sources.map((source, index) => ({
      name: nameOf(source),
      values: series.map((step) => step.sources?.find(({ id }) => id === source.id)?.response_ms.p50 ?? null),
      color: lineColor(index),
      width: 1.6,
    }));
  }
  const ofSource = series.map((step) => (sourceId === null ? step : step.sources?.find(({ id }) => id === sourceId)));
  if (name === 'phases') {
    const lines = TIMINGS.map((timing) => ({
      name: timing.label,
      values: ofSource.map((step) => step?.phases?.[timing.name] ?? null),
      color: timingColor(timing.name),
      width: 1,
    }));
    return lines.filter(({ values }) => values.some((value) => value !== null));
  }
  const steps = ofSource.map((step) => step?.response_ms);
  return [
    { name: 'p95', values: steps.map((ms) => ms?.p95 ?? null), color: 'plot-2', width: 1.2 },
    { name: 'p50', values: steps.map((ms) => ms?.p50 ?? null), color: 'plot-1', width: 2 },
    { name: 'p99', values: steps.map((ms) => ms?.p99 ?? null), color: 'plot-3', width: 1, dash: [3, 3] },
  ];
}

/** The median of the period before at the moments of the present one; `before` ends where `present` begins. */
export function lineBefore({ series, from, to }: Stats, before: Stats): Line {
  const step = STEP_SECONDS[before.resolution];
  const byStep = new Map(before.series.map((point) => [point.at, point.response_ms.p50]));
  return {
    name: BEFORE,
    values: series.map(({ at }) => byStep.get(Math.floor((Math.max(from, at) - (to - from)) / step) * step) ?? null),
    color: 'plot-6',
    width: 1.4,
    dash: [5, 4],
  };
}

/** The name of the line of the period before. */
export const BEFORE = 'p50, previous period';

/** The figures of the whole window, by the names of the lines. */
export function wholeOf({ totals, sources }: Stats, { name, sourceId }: View): Readonly<Record<string, number | null>> {
  if (name === 'locations')
    return Object.fromEntries(sources.map((source) => [nameOf(source), source.response_ms.p50]));
  if (name === 'phases') {
    const timings = (sourceId === null ? totals : sources.find(({ id }) => id === sourceId))?.phases;
    return Object.fromEntries(TIMINGS.map((timing) => [timing.label, timings?.[timing.name] ?? null]));
  }
  const { p50, p95, p99 } = (sourceId === null ? totals : sources.find(({ id }) => id === sourceId))?.response_ms ?? {
    p50: null,
    p95: null,
    p99: null,
  };
  return { p50, p95, p99 };
}

/** The name of a location; agents that were deleted have none. */
export function nameOf({ name }: { name: string | null }): string {
  return name ?? 'deleted agent';
}
