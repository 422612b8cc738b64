import { Component, createElement, type ComponentType, type VNode } from 'preact';
import { DAY_SECONDS } from '../../core/time.ts';
import type { Schemas } from '../client/api.ts';
import { PATHS } from '../paths.ts';
import { navigate } from '../shell/router.ts';
import { count } from './figures.ts';
import { formatDay } from './time.tsx';
import { showTooltip } from './tooltip.tsx';

type WorstState = Schemas['UptimeDay']['worst_state'];

/**
 * The days of a strip, the oldest first. Each has its uptime in percent (null = unknown) and its worst state (null =
 * before the monitor's creation). `firstDay` is the start of the first one, Unix seconds.
 */
export type UptimeDays = {
  firstDay: number;
  uptime: readonly (number | null)[];
  worst: readonly WorstState[];
};

type DayClass = 'absent' | 'none' | 'up' | 'degraded' | 'down';

/** Class of a day by its worst state; all days that are unknown or do not count share one class. */
const CLASS_OF: Record<NonNullable<WorstState>, DayClass> = {
  down: 'down',
  degraded: 'degraded',
  up: 'up',
  unknown: 'none',
  pending: 'none',
  paused: 'none',
  maintenance: 'none',
};

const HEIGHT = 16;

/** Bars of a day of each class, by top and bottom. */
type Bars = readonly (readonly [top: number, bottom: number])[];

/**
 * Bad days are taller, and days that do not count are hatched, so that they stand out without colors. The hatching
 * consists of level lines, which keep their shape however wide a day is.
 */
const STYLES: Record<DayClass, { color: string; bars: Bars }> = {
  absent: { color: 'fill-nothing', bars: [[7, 9]] },
  none: {
    color: 'fill-unknown',
    bars: [
      [3, 4.5],
      [7.25, 8.75],
      [11.5, 13],
    ],
  },
  up: { color: 'fill-up-soft', bars: [[3, 13]] },
  degraded: { color: 'fill-degraded-fill', bars: [[1.5, 14.5]] },
  down: { color: 'fill-down-fill', bars: [[0, HEIGHT]] },
};
const CLASSES = Object.keys(STYLES) as DayClass[];

/** The last days as bars; `days` is null while they load. */
export const UptimeStrip = memo(function UptimeStrip({
  days,
  incidentsOf,
  class: className = 'h-4 w-full',
}: {
  days: UptimeDays | null;
  /** The monitor whose incidents a click on a bad day opens. */
  incidentsOf?: string;
  class?: string;
}) {
  if (days === null) return <span class={`block ${className}`} />;
  return (
    <svg
      viewBox={`0 0 ${days.uptime.length} ${HEIGHT}`}
      preserveAspectRatio="none"
      class={`block ${className}`}
      role="img"
      aria-label={describeDays(days)}
      onPointerMove={(event) => showDay(days, event, incidentsOf !== undefined)}
      onPointerLeave={() => showTooltip(null)}
      onClick={(event) => incidentsOf !== undefined && clickDay(days, event, incidentsOf)}
    >
      {CLASSES.flatMap((name) => {
        const ofClass = days.worst.flatMap((state, day) => (classOf(state) === name ? [day] : []));
        const { color, bars } = STYLES[name];
        return ofClass.length === 0
          ? []
          : bars.map((bar) => (
              <polygon key={`${name}${bar[0]}`} data-days={name} class={color} points={outlineDays(ofClass, bar)} />
            ));
      })}
    </svg>
  );
});

/** Returns the classes of days that a strip shows. */
export function classesOf(worst: readonly WorstState[]): ReadonlySet<DayClass> {
  return new Set(worst.map(classOf));
}

/** Shows the incidents of a monitor on a day, `2026-11-23`. */
export function openDay(monitorId: string, date: string): void {
  navigate(`${PATHS.incidents}?monitor_id=${encodeURIComponent(monitorId)}&day=${date}`);
}

type AtPointer = { currentTarget: SVGElement; clientX: number };

/** Returns the index of the day at the pointer. */
function dayAt({ uptime }: UptimeDays, { currentTarget, clientX }: AtPointer): number {
  const { left, width } = currentTarget.getBoundingClientRect();
  return Math.min(uptime.length - 1, Math.max(0, Math.floor(((clientX - left) / width) * uptime.length)));
}

/** Shows a tooltip for the day at the pointer. */
function showDay(days: UptimeDays, event: AtPointer & { pointerType: string }, leadsOn: boolean): void {
  if (event.pointerType === 'touch') return;
  const { firstDay, uptime, worst } = days;
  const day = dayAt(days, event);
  const { left, width, top } = event.currentTarget.getBoundingClientRect();
  showTooltip({
    anchor: event.currentTarget,
    x: left + ((day + 0.5) * width) / uptime.length,
    y: top,
    text:
      `${formatDay(firstDay + day * DAY_SECONDS)}: ${describeDay(uptime[day] ?? null, worst[day] ?? null)}` +
      (leadsOn && isBad(worst[day]) ? '. Click for incidents' : ''),
  });
}

/** Opens the incidents of the bad day at the pointer. Any other click is left to the surrounding link. */
function clickDay(days: UptimeDays, event: AtPointer & MouseEvent, monitorId: string): void {
  // A finger is wider than a week of a strip.
  const isTouch = event instanceof PointerEvent && event.pointerType === 'touch';
  if (isTouch || event.ctrlKey || event.metaKey || event.shiftKey) return;
  const day = dayAt(days, event);
  if (!isBad(days.worst[day])) return;
  event.preventDefault();
  openDay(monitorId, new Date((days.firstDay + day * DAY_SECONDS) * 1000).toISOString().slice(0, 10));
}

function isBad(worst: WorstState | undefined): boolean {
  return worst === 'down' || worst === 'degraded';
}

function describeDay(percent: number | null, worst: WorstState): string {
  if (percent === null) return worst === 'paused' || worst === 'maintenance' ? worst : 'no data';
  const degraded = worst === 'degraded' ? ', degraded for some of the day' : '';
  return `${percent}% up${degraded}`;
}

/** Describes the strip in a sentence. */
function describeDays({ uptime, worst }: UptimeDays): string {
  const known = uptime.filter((percent) => percent !== null).length;
  if (known === 0) return 'No uptime data yet';
  const down = worst.filter((state) => state === 'down').length;
  const degraded = worst.filter((state) => state === 'degraded').length;
  const downtime = down === 0 ? `No downtime in ${count(known, 'day')}` : `Downtime on ${down} of ${known} days`;
  return degraded === 0 ? downtime : `${downtime}, degraded on ${degraded}`;
}

/**
 * Outlines the same bar of several days as one polygon; a day is one unit wide, a fifth of it gap. A path would be
 * natural, but browsers treat its `d` as a style, which takes a tenth of a second for a screen of strips.
 */
function outlineDays(days: readonly number[], [top, bottom]: Bars[number]): string {
  const middle = (top + bottom) / 2;
  const over = days.map((day) => `${day} ${middle} ${day} ${top} ${day}.8 ${top} ${day}.8 ${middle}`);
  const under = days
    .toReversed()
    .map((day) => `${day}.8 ${middle} ${day}.8 ${bottom} ${day} ${bottom} ${day} ${middle}`);
  return [...over, ...under].join(' ');
}

function classOf(state: WorstState): DayClass {
  return state === null ? 'absent' : CLASS_OF[state];
}

/** Makes a component render again only if one of its properties, or a signal that it reads, has changed. */
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
      return createElement(part, props);
    }
  };
}
