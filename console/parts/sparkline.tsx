import { memo } from './memo.ts';

const WIDTH = 96;
const HEIGHT = 24;
const MARGIN = 2;

/**
 * A course of numbers without axes, from 0 to its highest; null where there is a hole. Fewer than two draw nothing, and
 * its place is kept.
 */
export const Sparkline = memo(function Sparkline({
  values,
  label,
  class: className = 'h-6 w-24',
}: {
  values: readonly (number | null)[] | null;
  label: string;
  class?: string;
}) {
  const known = values?.filter((value) => value !== null) ?? [];
  if (values === null || known.length < 2) return <span class={`block ${className}`} />;
  return (
    <svg
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      class={`block ${className}`}
      role="img"
      aria-label={label}
    >
      {drawLines(values, Math.max(...known)).map((points) => (
        <polyline
          key={points}
          class="fill-none stroke-soft"
          stroke-width="1.4"
          vector-effect="non-scaling-stroke"
          stroke-linejoin="round"
          stroke-linecap="round"
          points={points}
        />
      ))}
    </svg>
  );
});

/** A line from hole to hole; of a single number a dot. */
function drawLines(values: readonly (number | null)[], highest: number): string[] {
  const stepX = (WIDTH - 2 * MARGIN) / Math.max(1, values.length - 1);
  const lines: string[][] = [[]];
  values.forEach((value, index) => {
    if (value === null) lines.push([]);
    else
      lines
        .at(-1)
        ?.push(
          `${(MARGIN + index * stepX).toFixed(1)} ` +
            `${(HEIGHT - MARGIN - (value / Math.max(highest, 1)) * (HEIGHT - 2 * MARGIN)).toFixed(1)}`,
        );
  });
  return lines.flatMap((points) =>
    points.length === 0 ? [] : [(points.length === 1 ? [...points, ...points] : points).join(' ')],
  );
}
