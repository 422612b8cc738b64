import { memo } from './memo.ts';

const WIDTH = 96;
const HEIGHT = 24;
const MARGIN = 2;

/** A course of numbers without axes, from 0 to its highest; null where there is a hole. Fewer than two draw nothing, and its place is kept. */
export const Sparkline = memo(function Sparkline({ values, label, class: className = 'h-6 w-24' }: { values: readonly (number | null)[] | null; label: string; class?: string }) {
  const known = values?.filter((value) => value !== null) ?? [];
  if (values === null || known.length < 2) return <span class={`block ${className}`} />;
  const line = drawLine(values, Math.max(...known));
  return (
    <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" class={`block ${className}`} role="img" aria-label={label}>
      <path class="fill-none stroke-soft" stroke-width="1.4" vector-effect="non-scaling-stroke" stroke-linejoin="round" stroke-linecap="round" d={line} />
    </svg>
  );
});

function drawLine(values: readonly (number | null)[], highest: number): string {
  const stepX = (WIDTH - 2 * MARGIN) / Math.max(1, values.length - 1);
  let isDrawing = false;
  return values
    .map((value, index) => {
      const command = isDrawing ? 'L' : 'M';
      isDrawing = value !== null;
      if (value === null) return '';
      const x = (MARGIN + index * stepX).toFixed(1);
      const y = (HEIGHT - MARGIN - (value / Math.max(highest, 1)) * (HEIGHT - 2 * MARGIN)).toFixed(1);
      // A point between two holes is a dot.
      return values[index + 1] === null && command === 'M' ? `M${x} ${y}h.1` : `${command}${x} ${y}`;
    })
    .join('');
}
