// oxlint-disable-next-line import/no-unassigned-import -- styles have no name.
import './colors.css';
// oxlint-disable-next-line import/no-unassigned-import -- styles have no name.
import './plot.css';
import { signal } from '@preact/signals';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import type { Schemas } from '../client/api.ts';
import { count } from '../parts/figures.ts';
import { usePrinting } from '../parts/page.tsx';
import { formatDateTime, formatDuration } from '../parts/time.tsx';
import { theme } from '../shell/theme.ts';
import { plotOptions, type Painted } from './plot-options.ts';
import { bridgeHoles, listLoners, type BandPart, type BandState, type Line, type Span } from './series.ts';

type TimePlotProps = {
  /** Name of the plot for screen readers. */
  label: string;
  /** Times of the values, Unix seconds, ascending. */
  moments: readonly number[];
  lines: readonly Line[];
  filled?: readonly [upper: number, lower: number] | null;
  span: Span;
  /** Longest gap that a line bridges. */
  bridgedSeconds: number;
  height: number;
  /** Describes the values at an index. */
  describe: (index: number) => string;
  /** Index at the pointer. */
  hovered: number | null;
  onHover: (index: number | null) => void;
  onPick: (index: number) => void;
  onZoom: (span: Span) => void;
  /** Zooms by key: `in` and `out` around the pointer, `reset` to the full range. */
  onKeyZoom: (way: 'in' | 'out' | 'reset') => void;
  /** Called when a button or finger goes down; the data should not change until it is up. */
  onPress: () => void;
} & Painted;

/** Lines over time. They can be explored by mouse, touch and arrow keys, and zoomed by dragging, pinching, + and -. */
export function TimePlot(props: TimePlotProps) {
  const {
    label,
    moments,
    lines,
    filled = null,
    span,
    bridgedSeconds,
    height,
    describe,
    hovered,
    shades,
    picked,
    onHover,
    onPick,
    onKeyZoom,
    onPress,
  } = props;
  const host = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const latest = useRef(props);
  latest.current = props;
  const scheme = useScheme();
  const shape = lines.map(({ name, color }) => `${name} ${color}`).join();
  useLayoutEffect(() => {
    const { current: box } = host;
    if (box === null) return undefined;
    const { lines: drawn, moments: xs, span: shown, bridgedSeconds: bridged, hovered: pointed } = latest.current;
    const values = drawn.map((line) => bridgeHoles(xs, line.values, bridged));
    const options = plotOptions({
      size: { width: box.clientWidth, height },
      span: shown,
      lines: drawn,
      loners: values.map(listLoners),
      filled,
      painted: () => latest.current,
      onHover: (index) => latest.current.onHover(index),
      onZoom: (zoomed) => latest.current.onZoom(zoomed),
    });
    const made = new uPlot(options, [[...xs], ...values], box);
    plot.current = made;
    // Keeps the pointer in place when values change.
    if (pointed !== null && xs[pointed] !== undefined)
      made.setCursor({ left: made.valToPos(xs[pointed], 'x'), top: 0 });
    const stop = followFingers(made, (zoomed) => latest.current.onZoom(zoomed));
    const watch = new ResizeObserver(() => made.setSize({ width: box.clientWidth, height }));
    watch.observe(box);
    return () => {
      watch.disconnect();
      stop();
      made.destroy();
      plot.current = null;
    };
    // Changed values need a new plot, because its dots are part of its options.
  }, [shape, scheme, height, moments, lines, span.from, span.to, bridgedSeconds]);
  useEffect(() => plot.current?.redraw(false), [shades, picked]);
  const point = (index: number | null) => {
    const { current: made } = plot;
    const at = index === null ? undefined : moments[index];
    if (made === null) return;
    made.setCursor(at === undefined ? { left: -10, top: -10 } : { left: made.valToPos(at, 'x'), top: 0 });
  };
  const press = (event: KeyboardEvent) => {
    const last = moments.length - 1;
    const at = Math.min(last, hovered ?? last);
    const moves: Record<string, () => void> = {
      ArrowLeft: () => point(Math.max(0, at - 1)),
      ArrowRight: () => point(Math.min(last, at + 1)),
      PageUp: () => point(Math.max(0, at - 10)),
      PageDown: () => point(Math.min(last, at + 10)),
      Home: () => point(0),
      End: () => point(last),
      Enter: () => onPick(at),
      '+': () => onKeyZoom('in'),
      '=': () => onKeyZoom('in'),
      '-': () => onKeyZoom('out'),
      Escape: () => onKeyZoom('reset'),
    };
    const move = moves[event.key];
    if (move === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    move();
  };
  return (
    <div
      ref={host}
      class="time-plot rounded-md"
      style={{ height: `${height}px` }}
      tabIndex={0}
      role="slider"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={Math.max(0, moments.length - 1)}
      aria-valuenow={hovered ?? Math.max(0, moments.length - 1)}
      aria-valuetext={describe(hovered ?? moments.length - 1)}
      onPointerDown={onPress}
      onKeyDown={press}
      onBlur={() => onHover(null)}
      onClick={() => {
        const index = plot.current?.cursor.idx;
        if (index !== null && index !== undefined) onPick(index);
      }}
    />
  );
}

type Finger = { x: number; value: number };

/**
 * Zooms and pans with two fingers; `onZoom` receives the new span when they leave. Returns a function that stops it.
 */
function followFingers(plot: uPlot, onZoom: (span: Span) => void): () => void {
  const { over } = plot;
  const fingers = new Map<number, Finger>();
  let isPinching = false;
  const at = (event: PointerEvent) => event.clientX - over.getBoundingClientRect().left;
  const down = (event: PointerEvent) => {
    if (event.pointerType !== 'touch') return;
    fingers.set(event.pointerId, { x: at(event), value: plot.posToVal(at(event), 'x') });
    isPinching = fingers.size === 2;
    // The first finger moved nothing: both fingers start at their present moments.
    for (const finger of fingers.values()) finger.value = plot.posToVal(finger.x, 'x');
  };
  const move = (event: PointerEvent) => {
    const finger = fingers.get(event.pointerId);
    if (finger === undefined) return;
    finger.x = at(event);
    if (isPinching) pinch(plot, [...fingers.values()]);
    else plot.setCursor({ left: finger.x, top: 0 });
  };
  const up = (event: PointerEvent) => {
    if (!fingers.delete(event.pointerId) || !isPinching) return;
    isPinching = false;
    const { min, max } = plot.scales['x'] ?? {};
    if (min !== undefined && max !== undefined) onZoom({ from: Math.round(min), to: Math.round(max) });
  };
  over.addEventListener('pointerdown', down);
  window.addEventListener('pointermove', move);
  for (const name of ['pointerup', 'pointercancel'] as const) window.addEventListener(name, up);
  return () => {
    window.removeEventListener('pointermove', move);
    for (const name of ['pointerup', 'pointercancel'] as const) window.removeEventListener(name, up);
  };
}

/** Scales the plot so that each finger stays over the moment that it touched. */
function pinch(plot: uPlot, [a, b]: readonly Finger[]): void {
  if (a === undefined || b === undefined || Math.abs(a.x - b.x) < 8 || a.value === b.value) return;
  const perPixel = (b.value - a.value) / (b.x - a.x);
  if (perPixel <= 0) return;
  const min = a.value - a.x * perPixel;
  plot.setScale('x', { min, max: min + plot.over.clientWidth * perPixel });
}

const darkQuery = window.matchMedia('(prefers-color-scheme: dark)');
const isSystemDark = signal(darkQuery.matches);
darkQuery.addEventListener('change', () => {
  isSystemDark.value = darkQuery.matches;
});

/** Returns the present color scheme; a canvas has to be repainted when it changes. */
function useScheme(): 'light' | 'dark' {
  const { value: chosen } = theme;
  if (usePrinting()) return 'light';
  if (chosen !== 'system') return chosen;
  return isSystemDark.value ? 'dark' : 'light';
}

const STYLES: Record<BandState, string> = {
  up: 'bg-up-fill inset-y-[3px]',
  none: 'hatched inset-y-[3px] min-w-px',
  degraded: 'bg-degraded-fill inset-y-[1.5px] min-w-[3px]',
  down: 'bg-down-fill inset-y-0 min-w-[3px]',
};
const WORDS: Record<BandState, string> = { up: 'Up', none: 'No data', degraded: 'Degraded', down: 'Down' };

/**
 * The status of a monitor over time. Bad spans are taller, so that they stand out without colors, and never narrower
 * than a line.
 */
export function StatusBand({ parts, span, label }: { parts: readonly BandPart[]; span: Span; label: string }) {
  const length = span.to - span.from;
  return (
    <div
      class="relative h-5 w-full overflow-hidden rounded-sm [print-color-adjust:exact]"
      role="img"
      aria-label={label}
    >
      {parts.map((part) => {
        const from = Math.max(span.from, part.from);
        const to = Math.min(span.to, part.to);
        if (to <= from && part.from < span.from) return null;
        const extent = {
          left: `min(calc(100% - 3px), ${((from - span.from) / length) * 100}%)`,
          width: `${(Math.max(0, to - from) / length) * 100}%`,
        };
        return (
          <span
            key={`${part.state}${part.from}`}
            class={`absolute ${STYLES[part.state]}`}
            style={extent}
            title={titleOf(part)}
          />
        );
      })}
    </div>
  );
}

function titleOf({ state, from, to, note }: BandPart): string {
  return (
    `${WORDS[state]} for ${formatDuration(to - from)}, from ` +
    `${formatDateTime(from)}${note === undefined ? '' : `: ${note}`}`
  );
}

type Incident = Schemas['Incident'];

/** Describes the band in a sentence. */
export function describeBand(incidents: readonly Incident[], { from, to }: Span, words: string): string {
  const within = incidents.filter(({ started_at: start, resolved_at: end }) => (end ?? to) >= from && start <= to);
  if (within.length === 0) return `Status in ${words}: no incidents`;
  const seconds = within.reduce(
    (sum, { started_at: start, resolved_at: end }) =>
      sum + Math.max(0, Math.min(end ?? to, to) - Math.max(start, from)),
    0,
  );
  return `Status in ${words}: ${count(within.length, 'incident')}, ${formatDuration(seconds)} in total`;
}
