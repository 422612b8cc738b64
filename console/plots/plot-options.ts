import uPlot from 'uplot';
import { formatTick, labelTicks, tickSteps, timeZone } from '../parts/time.tsx';
import { colorOf } from '../shell/theme.ts';
import { fitLabels, type Line, type Span } from './series.ts';

/** A span that is shaded behind the lines, such as an outage. */
type Shade = Span & { tone: 'down' | 'degraded' };

/** Properties that can change without a new plot. */
export type Painted = { shades: readonly Shade[]; picked: Span | null };

type OptionsInput = {
  size: { width: number; height: number };
  span: Span;
  lines: readonly Line[];
  /** Isolated points of each line, by index. */
  loners: readonly (readonly number[])[];
  /** Indexes of two adjacent `lines` with a filled area between them; the first is the upper one. */
  filled: readonly [upper: number, lower: number] | null;
  painted: () => Painted;
  onHover: (index: number | null) => void;
  onZoom: (span: Span) => void;
};

/** Margins of the plot in pixels, for elements that align with it. */
export const PLOT_MARGINS = { left: 52, right: 10 } as const;

/** Shortest drag in pixels; a shorter one is a click. */
const DRAG_MIN = 6;

/** Returns the options of a plot of milliseconds over time, in the colors of the theme. */
export function plotOptions({
  size,
  span,
  lines,
  loners,
  filled,
  painted,
  onHover,
  onZoom,
}: OptionsInput): uPlot.Options {
  const axis = {
    stroke: colorOf('soft'),
    font: `11px ${getComputedStyle(document.body).fontFamily}`,
    ticks: { show: false },
  };
  return {
    ...size,
    // Ticks are at the whole hours and midnights of the chosen zone.
    tzDate: (at) => uPlot.tzDate(new Date(at * 1000), timeZone.value),
    padding: [8, PLOT_MARGINS.right, 0, 0],
    legend: { show: false },
    cursor: {
      y: false,
      drag: { x: true, y: false, setScale: false, dist: DRAG_MIN },
      points: { size: 7 },
      // A double click does not reset the zoom: there are buttons and a key for that.
      bind: { dblclick: () => null },
    },
    scales: {
      x: { time: true, auto: false, min: span.from, max: span.to },
      y: { range: (_plot, _min, max) => [0, max === null || max <= 0 ? 100 : max * 1.08] },
    },
    axes: [
      { ...axis, size: 26, gap: 4, space: 64, grid: { show: false }, values: labelsWithin },
      {
        ...axis,
        size: PLOT_MARGINS.left,
        gap: 6,
        space: 42,
        grid: { stroke: colorOf('line'), width: 1 },
        incrs: (plot) => tickSteps(plot.scales['y']?.max ?? 0),
        values: (_plot, ticks) => ticks.map(formatTick),
      },
    ],
    series: [
      {},
      ...lines.map(({ name, color, width, dash, isFilled = false }, index) => ({
        label: name,
        stroke: colorOf(color),
        width,
        ...(dash !== undefined && { dash: [...dash] }),
        ...(isFilled && { fill: colorOf(color) }),
        points: { show: true, size: 5, fill: colorOf(color), filter: () => [...(loners[index] ?? [])] },
      })),
    ],
    ...(filled !== null && {
      bands: [{ series: [filled[0] + 1, filled[1] + 1] as [number, number], fill: colorOf('plot-band') }],
    }),
    hooks: {
      drawClear: [(plot) => paintBehind(plot, painted())],
      setCursor: [(plot) => onHover(plot.cursor.idx ?? null)],
      setSelect: [
        (plot) => {
          const { left, width } = plot.select;
          if (width < DRAG_MIN) return;
          const zoomed = {
            from: Math.round(plot.posToVal(left, 'x')),
            to: Math.round(plot.posToVal(left + width, 'x')),
          };
          plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
          onZoom(zoomed);
        },
      ],
    },
  };
}

/** Removes labels that would be cut off at the edge. */
function labelsWithin(plot: uPlot, ticks: readonly number[]): string[] {
  const end = plot.width - PLOT_MARGINS.left;
  return fitLabels(
    labelTicks(ticks),
    ticks.map((at) => end - plot.valToPos(at, 'x')),
  );
}

function paintBehind(plot: uPlot, { shades, picked }: Painted): void {
  const { ctx, bbox } = plot;
  const paint = ({ from, to }: Span, color: string) => {
    const left = Math.max(bbox.left, plot.valToPos(from, 'x', true));
    const right = Math.min(bbox.left + bbox.width, plot.valToPos(to, 'x', true));
    if (right < bbox.left || left > bbox.left + bbox.width) return;
    ctx.fillStyle = color;
    // Even a short span must be visible.
    ctx.fillRect(left, bbox.top, Math.max(2 * uPlot.pxRatio, right - left), bbox.height);
  };
  ctx.save();
  if (picked !== null) paint(picked, colorOf('accent-tint'));
  for (const shade of shades) paint(shade, colorOf(`plot-${shade.tone}`));
  ctx.restore();
}
