import { Component, type ComponentType, type VNode } from 'preact';
import { formatDay } from './time.tsx';
import { showTooltip } from './tooltip.tsx';

/**
 * The days of a strip, the oldest first, each with its uptime in percent; null where nothing is known of it. `firstDay`
 * is the first one's beginning, Unix seconds.
 */
export type UptimeDays = { firstDay: number; uptime: readonly (number | null)[] };

const CLASSES = ['none', 'up', 'some', 'much'] as const;
type DayClass = (typeof CLASSES)[number];
const COLOURS: Record<DayClass, string> = {
  none: 'fill-nothing',
  up: 'fill-up-soft',
  some: 'fill-degraded-fill',
  much: 'fill-down-fill',
};

/** Below this share of a day, in percent, it counts as bad and not as spoilt: more than a quarter of an hour. */
const MUCH_BELOW = 99;

/**
 * One unit a day, of which a fifth is the gap; a bad day is higher than a good one, so that it is seen without colours
 * as well.
 */
const TOPS: Record<DayClass, number> = { none: 7, up: 3, some: 1.5, much: 0 };
const HEIGHT = 16;

/** Ninety days in as many strokes. `days` null = on its way: its place is kept. */
export const UptimeStrip = memo(function UptimeStrip({
  days,
  class: className = 'h-4 w-full',
}: {
  days: UptimeDays | null;
  class?: string;
}) {
  if (days === null) return <span class={`block ${className}`} />;
  const count = days.uptime.length;
  return (
    <svg
      viewBox={`0 0 ${count} ${HEIGHT}`}
      preserveAspectRatio="none"
      class={`block ${className}`}
      role="img"
      aria-label={describeDays(days)}
      onPointerMove={(event) => showDay(days, event)}
      onPointerLeave={() => showTooltip(null)}
    >
      {CLASSES.map((name) => {
        const points = outlineDays(days.uptime, name);
        return points === '' ? null : <polygon key={name} class={COLOURS[name]} points={points} />;
      })}
    </svg>
  );
});

/** The day that is pointed at. */
function showDay(
  { firstDay, uptime }: UptimeDays,
  { currentTarget, clientX, pointerType }: { currentTarget: SVGElement; clientX: number; pointerType: string },
): void {
  if (pointerType === 'touch') return;
  const { left, width, top } = currentTarget.getBoundingClientRect();
  const day = Math.min(uptime.length - 1, Math.max(0, Math.floor(((clientX - left) / width) * uptime.length)));
  const percent = uptime[day] ?? null;
  showTooltip({
    x: left + ((day + 0.5) * width) / uptime.length,
    y: top,
    text: `${formatDay(firstDay + day * 86_400)}: ${percent === null ? 'nothing known' : `${percent} % up`}`,
  });
}

/** The strip in a sentence. */
function describeDays({ uptime }: UptimeDays): string {
  const known = uptime.filter((percent) => percent !== null);
  const bad = known.filter((percent) => percent < 100).length;
  if (known.length === 0) return 'No uptime known yet';
  return bad === 0
    ? `No downtime in ${known.length} ${known.length === 1 ? 'day' : 'days'}`
    : `Downtime on ${bad} of ${known.length} days`;
}

/**
 * All days of a class as one outline: along the middle from day to day over their upper halves, and back below their
 * lower ones. A path would be the obvious thing, but its `d` is a style to browsers: a screen of them takes a tenth of
 * a second to work out.
 */
function outlineDays(uptime: readonly (number | null)[], name: DayClass): string {
  const [top, middle, bottom] = [TOPS[name], HEIGHT / 2, HEIGHT - TOPS[name]];
  const days = uptime.flatMap((percent, day) => (classOf(percent) === name ? [day] : []));
  const over = days.map((day) => `${day} ${middle} ${day} ${top} ${day}.8 ${top} ${day}.8 ${middle}`);
  const under = days
    .toReversed()
    .map((day) => `${day}.8 ${middle} ${day}.8 ${bottom} ${day} ${bottom} ${day} ${middle}`);
  return [...over, ...under].join(' ');
}

function classOf(percent: number | null): DayClass {
  if (percent === null) return 'none';
  if (percent >= 100) return 'up';
  return percent >= MUCH_BELOW ? 'some' : 'much';
}

/** Draws a part anew only where one of its properties is another than before. */
export function memo<Props extends object>(part: (props: Props) => VNode | null): ComponentType<Props> {
  return class Memo extends Component<Props> {
    override shouldComponentUpdate(next: Readonly<Props>): boolean {
      const before = Object.entries(this.props);
      return (
        before.length !== Object.keys(next).length ||
        before.some(([name, value]) => next[name as keyof Props] !== value)
      );
    }

    override render(props: Props) {
      return part(props);
    }
  };
}
