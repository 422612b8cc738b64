import type { Schemas } from '../client/api.ts';

/** One line of a plot, with a value for each of the plot's moments or null. `color` is a variable of the theme. */
export type Line = {
  name: string;
  values: readonly (number | null)[];
  color: string;
  width: number;
  dash?: readonly number[];
  /** Whether the area below the line is filled; lines that are painted later cover it. */
  isFilled?: boolean;
  /** The displayed values, if `values` are heights in a stack. */
  labels?: readonly (number | null)[];
};

/**
 * Stacks lines, the first at the bottom, and returns them in painting order, the highest first. A missing value counts
 * as zero, unless all are missing.
 */
export function stackLines(lines: readonly Line[]): Line[] {
  const heights: (number | null)[] = [];
  const stacked = lines.map((line) => {
    line.values.forEach((value, index) => {
      heights[index] = value === null ? (heights[index] ?? null) : (heights[index] ?? 0) + value;
    });
    return { ...line, values: [...heights], labels: line.values, isFilled: true };
  });
  const isKnown = heights.map((height) => height !== null);
  return stacked
    .map((line) => ({ ...line, values: line.values.map((value, index) => (isKnown[index] ? (value ?? 0) : null)) }))
    .toReversed();
}

/** A span of a plot in Unix seconds. */
export type Span = { from: number; to: number };

/**
 * Turns short gaps into undefined, which the plot bridges, and keeps long ones as null, which break the line.
 * `bridgedSeconds` is the longest short gap: a monitor at five minutes has no gap of four.
 */
export function bridgeHoles(
  moments: readonly number[],
  values: readonly (number | null)[],
  bridgedSeconds: number,
): (number | null | undefined)[] {
  const bridged: (number | null | undefined)[] = [...values];
  let last = -1;
  values.forEach((value, index) => {
    if (value === null) return;
    if (last >= 0 && (moments[index] ?? 0) - (moments[last] ?? 0) <= bridgedSeconds)
      bridged.fill(undefined, last + 1, index);
    last = index;
  });
  return bridged;
}

/** Returns the indexes of values without neighbors, which only a dot can show. */
export function listLoners(bridged: readonly (number | null | undefined)[]): number[] {
  const known = bridged.flatMap((value, index) => (value === undefined ? [] : [{ value, index }]));
  return known.flatMap(({ value, index }, position) =>
    value !== null && (known[position - 1]?.value ?? null) === null && (known[position + 1]?.value ?? null) === null
      ? [index]
      : [],
  );
}

/**
 * Returns the index nearest to `index` at which a line has a value, at most `withinSeconds` away. If values are stored
 * less often than moments are drawn, most moments have none. Returns `index` itself if there is no such value.
 */
export function nearestKnown(
  moments: readonly number[],
  lines: readonly Line[],
  { index, withinSeconds }: { index: number; withinSeconds: number },
): number {
  const at = moments[index];
  if (at === undefined) return index;
  let nearest = index;
  let shortest = Number.POSITIVE_INFINITY;
  moments.forEach((moment, position) => {
    const distance = Math.abs(moment - at);
    if (distance > withinSeconds || distance >= shortest) return;
    if (!lines.some(({ values }) => typeof values[position] === 'number')) return;
    nearest = position;
    shortest = distance;
  });
  return nearest;
}

/** Scales a span by `factor` around `center`, to at least `shortest` seconds and not beyond `latest`. */
export function scaleSpan(
  { from, to }: Span,
  { center, factor, shortest, latest }: { center: number; factor: number; shortest: number; latest: number },
): Span {
  const length = Math.max(shortest, (to - from) * factor);
  const share = to === from ? 0.5 : (center - from) / (to - from);
  const end = Math.min(latest, Math.round(center - share * length) + Math.round(length));
  return { from: end - Math.round(length), to: end };
}

/** Half the width of a character of a tick's label, in pixels. */
const HALF_CHARACTER = 3;

/** Removes labels that the right edge would cut off; `rooms` are the pixels from each tick to there. */
export function fitLabels(labels: readonly string[], rooms: readonly number[]): string[] {
  return labels.map((label, index) => (label.length * HALF_CHARACTER > (rooms[index] ?? 0) ? '' : label));
}

/** States of the band. */
export type BandState = 'up' | 'none' | 'degraded' | 'down';
/** A span of the band; later parts cover earlier ones. */
export type BandPart = Span & { state: BandState; note?: string };

type Incident = Schemas['Incident'];
type Step = Pick<Schemas['StatsPoint'], 'at' | 'uptime_percent'>;

type BandInput = {
  monitor: Pick<Schemas['Monitor'], 'status' | 'state_since' | 'created_at'>;
  steps: readonly Step[];
  /** The service's own outages. */
  gaps: readonly Span[];
  maintenance: readonly (Span & { name: string })[];
  incidents: readonly Incident[];
  span: Span;
  /** Start of the listed incidents; before that the uptime of each step is used instead. */
  knownFrom: number;
};

/** Returns the parts of the band: known and unknown steps of the series, and over them the incidents to the second. */
export function bandParts({ monitor, steps, gaps, maintenance, incidents, span, knownFrom }: BandInput): BandPart[] {
  const { status, state_since: since, created_at: createdAt } = monitor;
  const spans = steps.flatMap(({ at, uptime_percent: uptime }, index) => {
    const [from, to] = [Math.max(at, createdAt), Math.min(span.to, steps[index + 1]?.at ?? span.to)];
    return to > from ? [{ from, to, uptime }] : [];
  });
  const parts: BandPart[] = [];
  for (const { from, to, uptime } of spans) {
    // If a step was never up, the time before an incident in it is unknown.
    const state = uptime === null || uptime === 0 ? 'none' : 'up';
    const last = parts.at(-1);
    if (last?.state === state) last.to = to;
    else parts.push({ state, from, to });
  }
  const old = spans.flatMap(({ from, to, uptime }): BandPart[] =>
    uptime !== null && uptime < 100 && to <= knownFrom
      ? [{ state: 'down', from, to: from + Math.round((to - from) * (1 - uptime / 100)) }]
      : [],
  );
  const exact = incidents
    .map(({ state, reason, started_at: from, resolved_at: to }): BandPart => ({
      state,
      from,
      to: to ?? span.to,
      note: reason,
    }))
    .filter(({ from, to }) => to >= span.from && from <= span.to)
    // Down is painted over degraded.
    .toSorted((a, b) => Number(a.state === 'down') - Number(b.state === 'down'));
  const still = gaps.map(({ from, to }): BandPart => ({ state: 'none', from, to, note: 'monitoring gap' }));
  const windows = maintenance.map(({ name, from, to }): BandPart => ({
    state: 'none',
    from,
    to: Math.min(to, span.to),
    note: `maintenance: ${name}`,
  }));
  const isUndecided = (status === 'paused' || status === 'pending') && since < span.to;
  const undecided: BandPart[] = isUndecided ? [{ state: 'none', from: since, to: span.to, note: status }] : [];
  return [...parts, ...windows, ...still, ...undecided, ...old, ...exact];
}
