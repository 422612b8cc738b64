import { Component, type ComponentType, type VNode } from 'preact';
import { DAY_SECONDS } from '../../core/time.ts';
import { formatDay } from './time.tsx';
import { showTooltip } from './tooltip.tsx';

/**
 * The uptime of each day in percent, the oldest first; null if it is unknown. `firstDay` is the start of the first one,
 * Unix seconds.
 */
export type UptimeDays = { firstDay: number; uptime: readonly (number | null)[] };

const CLASSES = ['none', 'up', 'some', 'much'] as const;
type DayClass = (typeof CLASSES)[number];
const COLORS: Record<DayClass, string> = {
  none: 'fill-nothing',
  up: 'fill-up-soft',
  some: 'fill-degraded-fill',
  much: 'fill-down-fill',
};

/** The uptime in percent below which a day counts as bad: more than a quarter of an hour down. */
const MUCH_BELOW = 99;

/**
 * The top of each class of day; a day is one unit wide, a fifth of it gap. Bad days are taller, so that they stand out
 * without colors.
 */
const TOPS: Record<DayClass, number> = { none: 7, up: 3, some: 1.5, much: 0 };
const HEIGHT = 16;

/** The uptime of ninety days as bars; `days` is null while they load. */
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
        return points === '' ? null : <polygon key={name} class={COLORS[name]} points={points} />;
      })}
    </svg>
  );
});

/** Shows a tooltip for the day at the pointer. */
function showDay(
  { firstDay, uptime }: UptimeDays,
  { currentTarget, clientX, pointerType }: { currentTarget: SVGElement; clientX: number; pointerType: string },
): void {
  if (pointerType === 'touch') return;
  const { left, width, top } = currentTarget.getBoundingClientRect();
  const day = Math.min(uptime.length - 1, Math.max(0, Math.floor(((clientX - left) / width) * uptime.length)));
  const percent = uptime[day] ?? null;
  showTooltip({
    anchor: currentTarget,
    x: left + ((day + 0.5) * width) / uptime.length,
    y: top,
    text: `${formatDay(firstDay + day * DAY_SECONDS)}: ${percent === null ? 'nothing known' : `${percent} % up`}`,
  });
}

/** Describes the strip in a sentence. */
function describeDays({ uptime }: UptimeDays): string {
  const known = uptime.filter((percent) => percent !== null);
  const bad = known.filter((percent) => percent < 100).length;
  if (known.length === 0) return 'No uptime known yet';
  return bad === 0
    ? `No downtime in ${known.length} ${known.length === 1 ? 'day' : 'days'}`
    : `Downtime on ${bad} of ${known.length} days`;
}

/**
 * Outlines all days of a class as one polygon. A path would be natural, but browsers treat its `d` as a style, which
 * takes a tenth of a second for a screen of strips.
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

/** Renders a component again only if one of its properties has changed. */
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
