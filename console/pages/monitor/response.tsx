import { useSignal } from '@preact/signals';
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { Schemas } from '../../client/api.ts';
import { IconButton } from '../../parts/button.tsx';
import { FailedLoad, Placeholder, type Load } from '../../parts/load.tsx';
import { Card, Section, useWide } from '../../parts/page.tsx';
import { StripLegend } from '../../parts/status.tsx';
import { TimesIn, clock, formatAgo, formatDuration, formatMs, formatShort, labelStep } from '../../parts/time.tsx';
import { PLOT_MARGINS } from '../../plots/plot-options.ts';
import { bandParts, nearestKnown, scaleSpan, stackLines, type Line, type Span } from '../../plots/series.ts';
import { StatusBand, TimePlot, describeBand } from '../../plots/time-plot.tsx';
import { setQuery } from '../../shell/router.ts';
import {
  KEPT_EVERY,
  Legend,
  STEP_SECONDS,
  TimingBreakdown,
  lineBefore,
  linesOf,
  momentsOf,
  type View,
} from './lines.tsx';
import { RangeControl, choose } from './range-control.tsx';
import { RANGES, SHORTEST_SECONDS, fitZoom, spanOf, wordsOf, type Shown } from './ranges.ts';
import { MAX_INCIDENTS, type ShownStats } from './use-monitor.ts';

type ResponseProps = {
  monitor: Schemas['Monitor'];
  stats: Load<ShownStats | null>;
  /** Statistics of the previous period; null unless they are compared. */
  before: Load<Schemas['MonitorStats'] | null>;
  incidents: readonly Schemas['Incident'][];
  shown: Shown;
  view: View;
  /** Start of the picked step; null if none is picked. */
  picked: number | null;
};

const HEIGHTS = { wide: 260, narrow: 200 } as const;
/** Lines that are hidden at first: one slow check in hundreds would flatten all others. */
const HIDDEN: ReadonlySet<string> = new Set(['p99']);

const TITLES: Partial<Record<Schemas['MonitorType'], string>> = {
  heartbeat: 'Run time',
  icmp: 'Round-trip time',
  domain: 'Status',
  vendor: 'Status',
};

/** The status band and the response times of the range. */
export function Response(props: ResponseProps) {
  const { monitor, stats, before, shown } = props;
  const { held: answer, hold } = useHeld(stats.value.value);
  return (
    <Section title={TITLES[monitor.type] ?? 'Response time'} actions={<RangeControl shown={shown} />}>
      <Card class="p-3 md:p-5">
        {answer !== null ? (
          <>
            <Plots {...props} answer={answer} before={before.value.value} isBusy={stats.isBusy.value} onPress={hold} />
            {before.error.value !== null && (
              <FailedLoad
                error={before.error.value}
                of="the period to compare with"
                onRetry={() => void before.reload()}
              />
            )}
          </>
        ) : stats.error.value !== null ? (
          <FailedLoad error={stats.error.value} onRetry={() => void stats.reload()} />
        ) : (
          <Placeholder class="h-[25rem]" />
        )}
      </Card>
    </Section>
  );
}

type PlotsProps = Omit<ResponseProps, 'stats' | 'before'> & {
  answer: ShownStats;
  before: Schemas['MonitorStats'] | null;
  isBusy: boolean;
  onPress: () => void;
};

function Plots(props: PlotsProps) {
  const { monitor, answer, before, incidents, shown, view, isBusy, onPress } = props;
  const hovered = useSignal<number | null>(null);
  const hidden = useSignal<ReadonlySet<string>>(HIDDEN);
  const isWide = useWide();
  const plotted = usePlotted({ ...props, hidden: hidden.value });
  const { span, step, moments, all, lines, isEmpty, shades, mark, parts } = plotted;
  const words = wordsOf(
    answer.shown,
    { now: answer.to, createdAt: monitor.created_at },
    { moment: formatShort, duration: formatDuration },
  );
  const isOf = JSON.stringify(answer.shown);
  // In another range the same index is another moment.
  useLayoutEffect(() => {
    hovered.value = null;
  }, [isOf]);
  const zoom = (to: Span) => {
    const fitted = fitZoom(to, clock.value);
    setQuery({ from: String(fitted.from), to: String(fitted.to), at: '' });
  };
  const zoomBy = (way: 'in' | 'out' | 'reset') => {
    if (way === 'reset') return choose(shown.range);
    const center = hovered.value === null ? (span.from + span.to) / 2 : (moments[hovered.value] ?? span.to);
    return zoom(
      scaleSpan(spanOf(shown, answer.to), {
        center,
        factor: way === 'in' ? 0.5 : 2,
        shortest: SHORTEST_SECONDS,
        latest: clock.value,
      }),
    );
  };
  const isTimed = !(isEmpty && ['domain', 'vendor'].includes(monitor.type));
  const bridged = Math.max(step, monitor.interval_seconds, view.name === 'phases' ? KEPT_EVERY : 0) * 2.5;
  const knownAt = (index: number) => nearestKnown(moments, all, { index, withinSeconds: bridged / 2 });
  const describe = (index: number) => {
    const known = knownAt(index);
    return `${labelStep(answer.series[known]?.at ?? span.to, step)}: ${describeValues(lines, known)}`;
  };
  return (
    <div class="relative" aria-busy={isBusy}>
      {isBusy && (
        <span class="late absolute inset-x-0 -top-2 h-0.5 overflow-hidden">
          <span class="sliding block h-full w-1/4 rounded bg-accent" />
        </span>
      )}
      <div style={isTimed ? { paddingLeft: `${PLOT_MARGINS.left}px`, paddingRight: `${PLOT_MARGINS.right}px` } : {}}>
        <StatusBand parts={parts} span={span} label={describeBand(incidents, span, words)} />
        <StripLegend present={new Set(parts.map(({ state }) => state))} />
      </div>
      {isTimed && (
        <>
          <div class="mb-1 mt-3 flex items-start justify-between gap-2">
            <Legend
              answer={answer}
              view={view}
              all={all}
              before={before}
              hovered={hovered.value === null ? null : knownAt(hovered.value)}
              hidden={hidden.value}
              onHidden={(names) => (hidden.value = names)}
              words={words}
            />
            <div class="hidden shrink-0 md:flex print:hidden">
              <IconButton icon="plus" label="Zoom in" onClick={() => zoomBy('in')} class="size-8" />
              <IconButton icon="minus" label="Zoom out" onClick={() => zoomBy('out')} class="size-8" />
            </div>
          </div>
          {isEmpty ? (
            <p class="grid h-20 place-items-center text-sm text-soft">
              {view.name !== 'phases'
                ? `No data in ${words}`
                : isBusy
                  ? ''
                  : `No timings in ${words}: successful checks store them every 10 minutes`}
            </p>
          ) : (
            <TimePlot
              label={'Response time: arrow keys move, Enter shows the checks, + and - zoom, Escape resets'}
              moments={moments}
              lines={lines}
              filled={view.name === 'percentiles' && lines.length >= 2 && lines[0]?.name === 'p95' ? [0, 1] : null}
              span={span}
              bridgedSeconds={bridged}
              height={isWide ? HEIGHTS.wide : HEIGHTS.narrow}
              describe={describe}
              hovered={hovered.value}
              onHover={(index) => (hovered.value = index)}
              onPick={(index) => setQuery({ at: String(answer.series[index]?.at ?? '') })}
              onZoom={zoom}
              onKeyZoom={zoomBy}
              onPress={onPress}
              shades={shades}
              picked={mark}
            />
          )}
          {!isEmpty && <p class="mt-1 text-xs text-soft md:hidden">Tap to see checks. Pinch to zoom.</p>}
          <p class="mt-1 text-xs text-soft">
            <TimesIn />
            {shown.zoom === null &&
              monitor.created_at > answer.to - RANGES[shown.range].seconds &&
              `. Created ${formatAgo(monitor.created_at, clock.value)}`}
            .
          </p>
          <TimingBreakdown monitor={monitor} answer={answer} words={words} picked={mark} />
        </>
      )}
    </div>
  );
}

/** Returns the lines, shades and band parts of an answer; each is made anew only when its inputs change. */
function usePlotted(props: PlotsProps & { hidden: ReadonlySet<string> }) {
  const { monitor, answer, before, incidents, view, picked, hidden } = props;
  const span = useMemo<Span>(() => ({ from: answer.from, to: answer.to }), [answer]);
  const step = STEP_SECONDS[answer.resolution];
  const moments = useMemo(() => momentsOf(answer), [answer]);
  const all = useMemo(() => {
    const present = linesOf(answer, view);
    const isComparable = before !== null && before.to === answer.from && view.name === 'percentiles';
    return isComparable ? [...present, lineBefore(answer, before)] : present;
  }, [answer, before, view.name, view.sourceId]);
  const lines = useMemo(() => {
    const visible = all.filter(({ name }) => !hidden.has(name));
    return view.name === 'phases' ? stackLines(visible) : visible;
  }, [all, hidden, view.name]);
  const isEmpty = useMemo(() => all.every(({ values }) => values.every((value) => value === null)), [all]);
  const shades = useMemo(
    () =>
      incidents
        .map(({ state, started_at: from, resolved_at: to }) => ({ tone: state, from, to: to ?? span.to }))
        .filter(({ from, to }) => to >= span.from && from <= span.to),
    [incidents, span],
  );
  const mark = useMemo<Span | null>(
    () => (picked === null ? null : { from: picked, to: picked + step }),
    [picked, step],
  );
  const parts = useMemo(
    () =>
      bandParts({
        monitor: { status: monitor.status, state_since: monitor.state_since, created_at: monitor.created_at },
        steps: answer.series,
        gaps: answer.service_gaps,
        maintenance: answer.maintenance,
        incidents,
        span,
        knownFrom: incidents.length < MAX_INCIDENTS ? 0 : (incidents.at(-1)?.started_at ?? 0),
      }),
    [answer, incidents, span, monitor.status, monitor.state_since, monitor.created_at],
  );
  return { span, step, moments, all, lines, isEmpty, shades, mark, parts };
}

function describeValues(lines: readonly Line[], index: number): string {
  const known = lines.flatMap(({ name, values, labels = values }) =>
    typeof labels[index] === 'number' ? [`${name} ${formatMs(labels[index])}`] : [],
  );
  return known.length === 0 ? 'no data' : known.join(', ');
}

/** Freezes a value from `hold` until the button or finger is up, because a redraw would cancel a drag. */
function useHeld<Value>(value: Value): { held: Value; hold: () => void } {
  const [isHeld, setIsHeld] = useState(false);
  const held = useRef(value);
  if (!isHeld) held.current = value;
  useLayoutEffect(() => {
    if (!isHeld) return undefined;
    // A drag ends with the mouse event, which comes right after the pointer event.
    const letGo = () => void setTimeout(() => setIsHeld(false));
    const ends = ['pointerup', 'pointercancel', 'blur'];
    for (const name of ends) window.addEventListener(name, letGo);
    return () => {
      for (const name of ends) window.removeEventListener(name, letGo);
    };
  }, [isHeld]);
  return { held: held.current, hold: () => setIsHeld(true) };
}
