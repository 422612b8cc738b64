/**
 * One line of a plot; its values stand beside the plot's moments, null where there is none. `colour` is a variable of
 * the theme.
 */
export type Line = {
  name: string;
  values: readonly (number | null)[];
  colour: string;
  width: number;
  dash?: readonly number[];
  /** Whether there is colour from the line down to zero; what is painted later covers it. */
  isFilled?: boolean;
  /** What each moment is reported as, where a line stands on others and `values` is how high. */
  labels?: readonly (number | null)[];
};

/**
 * Lines one upon the other, the first at the bottom, in the order in which they are painted: the highest first. At a
 * moment at which none has a value there is nothing; at others what is missing is no height.
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

/** A stretch of a plot in Unix seconds. */
export type Span = { from: number; to: number };

/**
 * Values as the plot takes them: a hole that is no longer than `bridgedSeconds` is not there at all (undefined), for a
 * monitor that is checked every five minutes has no gap of four; a longer one (null) breaks the line.
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

/** The positions of values that no line leads to or from: only a dot shows them. */
export function listLoners(bridged: readonly (number | null | undefined)[]): number[] {
  const known = bridged.flatMap((value, index) => (value === undefined ? [] : [{ value, index }]));
  return known.flatMap(({ value, index }, position) =>
    value !== null && (known[position - 1]?.value ?? null) === null && (known[position + 1]?.value ?? null) === null
      ? [index]
      : [],
  );
}

/**
 * A stretch around `centre` that is `factor` times as long, at least `shortest` seconds, and does not reach beyond
 * `latest`.
 */
export function scaleSpan(
  { from, to }: Span,
  { centre, factor, shortest, latest }: { centre: number; factor: number; shortest: number; latest: number },
): Span {
  const length = Math.max(shortest, (to - from) * factor);
  const share = to === from ? 0.5 : (centre - from) / (to - from);
  const end = Math.min(latest, Math.round(centre - share * length) + Math.round(length));
  return { from: end - Math.round(length), to: end };
}
