/** Where the days of a plot stand, in the units of its view box, which are pixels about. */
export type DayFrame = { width: number; left: number; right: number; step: number };

const WIDE = { width: 880, left: 52, right: 846 } as const;
const NARROW = { width: 310, left: 44, right: 286 } as const;

/** The same for the bars and the lines below them, so that a day is one column. */
export function frameOf(days: number, isWide: boolean): DayFrame {
  const frame = isWide ? WIDE : NARROW;
  return { ...frame, step: (frame.right - frame.left) / Math.max(1, days) };
}

/** Every day of a week, the first of each week of a month. */
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
