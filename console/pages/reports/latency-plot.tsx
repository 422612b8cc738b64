import { isDated, PERCENTILES, piecesOf, layOutNames, scaleOf } from '../../../core/statistics/reports/page.ts';
import type { Schemas } from '../../client/shapes.ts';
import { formatLatency, formatMoment } from '../../parts/time.tsx';

type Day = Schemas['ReportDay'];

const PLOT = { height: 118, top: 8, bottom: 96, labels: 112 } as const;

const LINES = {
  p50: { stroke: 'stroke-accent', fill: 'fill-accent', dash: '' },
  p95: { stroke: 'stroke-ink', fill: 'fill-ink', dash: '4 2' },
  p99: { stroke: 'stroke-soft', fill: 'fill-soft', dash: '1.5 2' },
} as const satisfies Record<(typeof PERCENTILES)[number], object>;

/** The percentiles of each day as three lines, with gaps for days without any; nothing if no day has one. */
export function LatencyPlot({ days, isWide }: { days: readonly Day[]; isWide: boolean }) {
  const scale = scaleOf(days);
  if (scale === null) return null;
  const { width, left, right, step } = frameOf(days.length, isWide);
  const { highestMs, topMs } = scale;
  const yOf = (ms: number) => PLOT.bottom - (ms / topMs) * (PLOT.bottom - PLOT.top);
  const ends = layOutNames(days, { yOf, bottom: PLOT.bottom });
  return (
    <svg
      viewBox={`0 0 ${width} ${PLOT.height}`}
      class="mt-1 block h-auto w-full"
      role="img"
      aria-label={`Response time by day: percentiles up to ${formatLatency(highestMs)}`}
    >
      {[0, topMs / 2, topMs].map((ms) => (
        <g key={ms}>
          <path class="stroke-line" d={`M${left} ${yOf(ms)}H${right}`} />
          <text class="fill-soft text-[10px]" x={left - 5} y={yOf(ms) + 3} text-anchor="end">
            {formatLatency(ms)}
          </text>
        </g>
      ))}
      {PERCENTILES.map((name) =>
        piecesOf(
          days.map(({ response_ms: ms }, day) =>
            ms[name] === null ? null : { x: left + (day + 0.5) * step, y: yOf(ms[name]) },
          ),
        ).map((piece) =>
          piece.length === 1 && piece[0] !== undefined ? (
            <circle key={`${name}${piece[0].x}`} class={LINES[name].fill} cx={piece[0].x} cy={piece[0].y} r={2} />
          ) : (
            <polyline
              key={`${name}${piece[0]?.x}`}
              class={LINES[name].stroke}
              fill="none"
              stroke-width={1.5}
              stroke-linejoin="round"
              stroke-dasharray={LINES[name].dash}
              points={piece.map(({ x, y }) => `${x},${y}`).join(' ')}
            />
          ),
        ),
      )}
      {ends.map(({ name, y }) => (
        <text key={name} class={`text-[10px] ${LINES[name].fill}`} x={right + 5} y={y + 3}>
          {name}
        </text>
      ))}
      {dateLabels(days, { isWide, y: PLOT.labels })}
    </svg>
  );
}

/** The layout of a plot's days, in units of its view box (about a pixel each). */
type DayFrame = { width: number; left: number; right: number; step: number };

const WIDE = { width: 880, left: 52, right: 846 } as const;
const NARROW = { width: 310, left: 44, right: 286 } as const;

/** The layout that the bars and the lines below them share, so that a day is one column. */
export function frameOf(days: number, isWide: boolean): DayFrame {
  const frame = isWide ? WIDE : NARROW;
  return { ...frame, step: (frame.right - frame.left) / Math.max(1, days) };
}

/** Labels for every day of a week, or for the first day of each week of a month. */
export function dateLabels(days: readonly { date: string }[], { isWide, y }: { isWide: boolean; y: number }) {
  const { left, step } = frameOf(days.length, isWide);
  return days.map(({ date }, day) =>
    isDated(day, days.length) ? (
      <text key={date} class="fill-soft text-[10px]" x={left + (day + 0.5) * step} y={y} text-anchor="middle">
        {formatMoment('monthDay', Date.parse(date) / 1000, 'UTC')}
      </text>
    ) : null,
  );
}
