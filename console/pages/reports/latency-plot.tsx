import type { Schemas } from '../../client/shapes.ts';

type Day = Schemas['ReportDay'];

const PLOT = { height: 118, top: 8, bottom: 96, labels: 112 } as const;
/** The least distance between the labels of two lines. */
const APART = 10;

const LINES = [
  { name: 'p50', stroke: 'stroke-accent', fill: 'fill-accent', dash: '' },
  { name: 'p95', stroke: 'stroke-degraded', fill: 'fill-degraded', dash: '4 2' },
  { name: 'p99', stroke: 'stroke-pending', fill: 'fill-pending', dash: '1.5 2' },
] as const;

/** The percentiles of each day as three lines, with gaps for days without any; nothing if no day has one. */
export function LatencyPlot({ days, isWide }: { days: readonly Day[]; isWide: boolean }) {
  const highest = Math.max(0, ...days.flatMap(({ response_ms: ms }) => LINES.map(({ name }) => ms[name] ?? 0)));
  if (highest === 0) return null;
  const { width, left, right, step } = frameOf(days.length, isWide);
  const top = roundUp(highest);
  const yOf = (ms: number) => PLOT.bottom - (ms / top) * (PLOT.bottom - PLOT.top);
  const ends = spreadNames(
    LINES.flatMap(({ name, fill }) => {
      const last = days.findLast(({ response_ms: ms }) => ms[name] !== null)?.response_ms[name] ?? null;
      return last === null ? [] : [{ name, fill, y: yOf(last) }];
    }),
  );
  return (
    <svg
      viewBox={`0 0 ${width} ${PLOT.height}`}
      class="mt-1 block h-auto w-full"
      role="img"
      aria-label={`Response time by day: percentiles up to ${formatMs(highest)}`}
    >
      {[0, top / 2, top].map((ms) => (
        <g key={ms}>
          <path class="stroke-line" d={`M${left} ${yOf(ms)}H${right}`} />
          <text class="fill-soft text-[10px]" x={left - 5} y={yOf(ms) + 3} text-anchor="end">
            {formatMs(ms)}
          </text>
        </g>
      ))}
      {LINES.map(({ name, stroke, fill, dash }) =>
        runsOf(
          days.map(({ response_ms: ms }, day) =>
            ms[name] === null ? null : { x: left + (day + 0.5) * step, y: yOf(ms[name]) },
          ),
        ).map((run) =>
          run.length === 1 && run[0] !== undefined ? (
            <circle key={`${name}${run[0].x}`} class={fill} cx={run[0].x} cy={run[0].y} r={2} />
          ) : (
            <polyline
              key={`${name}${run[0]?.x}`}
              class={stroke}
              fill="none"
              stroke-width={1.5}
              stroke-linejoin="round"
              stroke-dasharray={dash}
              points={run.map(({ x, y }) => `${x},${y}`).join(' ')}
            />
          ),
        ),
      )}
      {ends.map(({ name, fill, y }) => (
        <text key={name} class={`text-[10px] ${fill}`} x={right + 5} y={y + 3}>
          {name}
        </text>
      ))}
      {dateLabels(days, { isWide, y: PLOT.labels })}
    </svg>
  );
}

type Point = { x: number; y: number };

function runsOf(points: readonly (Point | null)[]): Point[][] {
  const runs: Point[][] = [[]];
  for (const point of points) {
    if (point === null) runs.push([]);
    else runs.at(-1)?.push(point);
  }
  return runs.filter((run) => run.length > 0);
}

function spreadNames<Name extends { y: number }>(names: readonly Name[]): Name[] {
  let lowest: number = PLOT.bottom;
  return names
    .toSorted((a, b) => b.y - a.y)
    .map((name) => {
      const y = Math.min(name.y, lowest);
      lowest = y - APART;
      return { ...name, y };
    });
}

/** Rounds up to 1, 2 or 5 times a power of ten. */
function roundUp(ms: number): number {
  const power = 10 ** Math.floor(Math.log10(ms));
  return ([1, 2, 5].find((factor) => factor * power >= ms) ?? 10) * power;
}

function formatMs(ms: number): string {
  return ms >= 1000 ? `${Math.round(ms / 10) / 100} s` : `${Math.round(ms * 10) / 10} ms`;
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
  const every = days.length <= 7 ? 1 : 7;
  return days.map(({ date }, day) =>
    day % every === 0 ? (
      <text key={date} class="fill-soft text-[10px]" x={left + (day + 0.5) * step} y={y} text-anchor="middle">
        {date.slice(5)}
      </text>
    ) : null,
  );
}
