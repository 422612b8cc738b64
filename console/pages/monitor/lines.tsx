import { capitalize, serviceSeconds } from '../../client/answer.ts';
import { api, type Schemas } from '../../client/api.ts';
import { IconButton } from '../../parts/button.tsx';
import { Choices, Select } from '../../parts/choice-fields.tsx';
import { useLoad } from '../../parts/load.tsx';
import { formatLatency, formatMs, labelStep } from '../../parts/time.tsx';
import type { Line, Span } from '../../plots/series.ts';
import { TIMINGS, TimingBar, hasTimings, lineColor, sumTimings, timingColor } from '../../plots/timing-bar.tsx';
import { setQuery } from '../../shell/router.ts';

type Stats = Schemas['MonitorStats'];

/**
 * Content of the plot: percentiles or mean timings, of all locations or of `sourceId`; or the median of each location.
 */
export type View = { name: 'percentiles' | 'phases' | 'locations'; sourceId: string | null };

/** Reads the view from an address. */
export function readView(query: Readonly<Record<string, string>>): View {
  const { view = '', source } = query;
  return { name: view === 'locations' || view === 'phases' ? view : 'percentiles', sourceId: source ?? null };
}

/** Length of a step by resolution, in seconds. */
export const STEP_SECONDS = { minute: 60, five_minutes: 300, hour: 3600, day: 86_400 } as const satisfies Record<
  Stats['resolution'],
  number
>;

/** Returns the time at which each step is plotted: its middle, since its value is that of the whole step. */
export function momentsOf({ series, from, to, resolution }: Stats): number[] {
  const half = STEP_SECONDS[resolution] / 2;
  return series.map(({ at }) => (Math.max(from, at) + Math.min(to, at + 2 * half)) / 2);
}

/** Returns the lines of a view, in painting order. */
export function linesOf({ series, sources }: Stats, { name, sourceId }: View): Line[] {
  if (name === 'locations') {
    return sources.map((source, index) => ({
      name: nameOf(source),
      values: series.map((step) => step.sources?.find(({ id }) => id === source.id)?.response_ms.p50 ?? null),
      color: lineColor(index),
      width: 1.6,
    }));
  }
  const ofSource = series.map((step) => (sourceId === null ? step : step.sources?.find(({ id }) => id === sourceId)));
  if (name === 'phases') {
    const lines = TIMINGS.map((timing) => ({
      name: timing.label,
      values: ofSource.map((step) => step?.phases?.[timing.name] ?? null),
      color: timingColor(timing.name),
      width: 1,
    }));
    return lines.filter(({ values }) => values.some((value) => value !== null));
  }
  const steps = ofSource.map((step) => step?.response_ms);
  return [
    { name: 'p95', values: steps.map((ms) => ms?.p95 ?? null), color: 'plot-2', width: 1.2 },
    { name: 'p50', values: steps.map((ms) => ms?.p50 ?? null), color: 'plot-1', width: 2 },
    { name: 'p99', values: steps.map((ms) => ms?.p99 ?? null), color: 'plot-3', width: 1, dash: [3, 3] },
  ];
}

/** Returns the previous period's median at the moments of the present one; `before` ends where `present` begins. */
export function lineBefore({ series, from, to }: Stats, before: Stats): Line {
  const step = STEP_SECONDS[before.resolution];
  const byStep = new Map(before.series.map((point) => [point.at, point.response_ms.p50]));
  return {
    name: BEFORE,
    values: series.map(({ at }) => byStep.get(Math.floor((Math.max(from, at) - (to - from)) / step) * step) ?? null),
    color: 'plot-6',
    width: 1.4,
    dash: [5, 4],
  };
}

/** Name of the previous period's line. */
const BEFORE = 'p50, previous period';

/** Returns the figures of the whole window, by the names of the lines. */
function wholeOf({ totals, sources }: Stats, { name, sourceId }: View): Readonly<Record<string, number | null>> {
  if (name === 'locations')
    return Object.fromEntries(sources.map((source) => [nameOf(source), source.response_ms.p50]));
  if (name === 'phases') {
    const timings = (sourceId === null ? totals : sources.find(({ id }) => id === sourceId))?.phases;
    return Object.fromEntries(TIMINGS.map((timing) => [timing.label, timings?.[timing.name] ?? null]));
  }
  const { p50, p95, p99 } = (sourceId === null ? totals : sources.find(({ id }) => id === sourceId))?.response_ms ?? {
    p50: null,
    p95: null,
    p99: null,
  };
  return { p50, p95, p99 };
}

/** Returns the name of a location; deleted agents have none. */
export function nameOf({ name }: { name: string | null }): string {
  return name ?? 'deleted agent';
}

type LegendProps = {
  answer: Schemas['MonitorStats'];
  /** Statistics of the previous period; null unless they are compared. */
  before: Schemas['MonitorStats'] | null;
  view: View;
  all: readonly Line[];
  hovered: number | null;
  hidden: ReadonlySet<string>;
  onHidden: (names: ReadonlySet<string>) => void;
  words: string;
};

const PLOTTED = [
  { value: '', label: 'Percentiles' },
  { value: 'phases', label: 'Timings' },
] as const;

const MEANINGS: Readonly<Record<string, string>> = {
  ...Object.fromEntries(TIMINGS.map(({ label, is }) => [label, `Average: ${is}`])),
  p50: '50% of checks were faster',
  p95: '95% of checks were faster',
  p99: '99% of checks were faster',
  [BEFORE]: 'Median of the period before, as long as this one',
};

/** The legend of the plot: each line with its value at the pointer or in the window. A click hides or shows a line. */
export function Legend({ answer, before, view, all, hovered, hidden, onHidden, words }: LegendProps) {
  const step = hovered === null ? undefined : answer.series[hovered];
  const whole: Readonly<Record<string, number | null>> = {
    ...wholeOf(answer, view),
    [BEFORE]: before?.totals.response_ms.p50 ?? null,
  };
  const toggle = (name: string) =>
    onHidden(hidden.has(name) ? new Set([...hidden].filter((other) => other !== name)) : new Set([...hidden, name]));
  // Listed in ascending order, painted in descending order.
  const shown = view.name === 'percentiles' ? all.toSorted((a, b) => a.name.localeCompare(b.name)) : all;
  return (
    <div class="min-w-0 flex-1">
      <div class="flex flex-wrap items-center gap-x-3 gap-y-1">
        {(hasTimings(answer.totals.phases) || view.name === 'phases') && (
          <Choices
            label="Metric"
            choices={PLOTTED}
            value={view.name === 'phases' ? 'phases' : ''}
            onValue={(chosen) => setQuery({ view: chosen })}
          />
        )}
        {answer.sources.length > 1 && <Choice answer={answer} view={view} />}
        <span class="text-xs text-soft">
          {step === undefined ? capitalize(words) : labelStep(step.at, STEP_SECONDS[answer.resolution])}
        </span>
      </div>
      <div class="-mx-1 mt-0.5 flex flex-wrap md:gap-x-2">
        {shown.map((line) => {
          const value = hovered === null ? (whole[line.name] ?? null) : (line.values[hovered] ?? null);
          const isOn = !hidden.has(line.name);
          return (
            <button
              key={line.name}
              type="button"
              aria-pressed={isOn}
              title={`${MEANINGS[line.name] ?? 'Median from this location'}. Click to ${isOn ? 'hide' : 'show'}`}
              onClick={() => toggle(line.name)}
              class="flex h-7 items-center gap-1.5 rounded px-1 text-[0.8125rem] hover:bg-hover"
            >
              <span
                class={isOn ? 'h-0.5 w-2.5 rounded' : 'size-2.5 rounded-full border border-line-strong'}
                style={isOn ? { background: `var(--${line.color})` } : {}}
                aria-hidden="true"
              />
              <span class="text-soft">{line.name}</span>
              <span class={`min-w-12 text-left md:min-w-14 ${isOn ? 'font-medium' : 'text-soft'}`}>
                {isOn ? (value === null ? '–' : formatMs(value)) : 'Show'}
              </span>
            </button>
          );
        })}
      </div>
    </div>
  );
}

/** Chooses percentiles of all locations or of one, or a line for each location. */
function Choice({ answer, view }: Pick<LegendProps, 'answer' | 'view'>) {
  const value = view.name === 'locations' ? 'each' : (view.sourceId ?? 'all');
  return (
    <Select
      label="Locations"
      value={value}
      options={[
        { value: 'all', label: 'All locations' },
        ...(view.name === 'phases' ? [] : [{ value: 'each', label: 'By location (p50)' }]),
        ...answer.sources.flatMap((source) =>
          source.id === null ? [] : [{ value: source.id, label: `From ${nameOf(source)}` }],
        ),
      ]}
      onValue={(chosen) =>
        setQuery({
          view: chosen === 'each' ? 'locations' : view.name === 'phases' ? 'phases' : '',
          source: ['each', 'all'].includes(chosen) ? '' : chosen,
        })
      }
    />
  );
}

type TimingBreakdownProps = {
  monitor: Schemas['Monitor'];
  answer: Schemas['MonitorStats'];
  words: string;
  picked: Span | null;
};

/** Interval at which successful checks store their timings, in seconds. */
export const KEPT_EVERY = 600;

/** The mean duration of each step of a request, in the window and at the picked moment. */
export function TimingBreakdown({ monitor, answer, words, picked }: TimingBreakdownProps) {
  const { phases } = answer.totals;
  const requested = picked === null ? null : aroundOf(picked);
  const then = useLoad<Schemas['MonitorStats'] | null>(
    // A step that has just begun cannot be requested yet.
    async (signal) =>
      requested === null || requested.from >= serviceSeconds() - 1
        ? null
        : await api.get('/monitors/{id}/stats', { path: { id: monitor.id }, query: requested, signal }),
    [monitor.id, requested?.from, requested?.to],
  );
  const { value: moment } = then.value;
  const momentTimings =
    requested !== null && moment !== null && moment.from === requested.from ? moment.totals.phases : null;
  const isWider = requested !== null && picked !== null && requested.to - requested.from > picked.to - picked.from;
  if (!hasTimings(phases) && picked === null) return null;
  const fullMs = Math.max(
    hasTimings(phases) ? sumTimings(phases) : 0,
    hasTimings(momentTimings) ? sumTimings(momentTimings) : 0,
  );
  return (
    <div class="mt-3 grid gap-3 border-t border-line pt-3">
      {picked !== null && (
        <div>
          <div class="mb-1 flex items-start justify-between gap-2">
            <h3 class="text-[0.8125rem] font-medium">
              {labelStep(picked.from, STEP_SECONDS[answer.resolution])}{' '}
              <span class="font-normal text-soft">
                {hasTimings(momentTimings)
                  ? `average${isWider ? ' of these 10 minutes' : ''}: ${formatLatency(sumTimings(momentTimings))}`
                  : then.isBusy.value
                    ? ''
                    : 'no timings stored'}
              </span>
            </h3>
            <IconButton
              icon="close"
              label="Clear selection"
              onClick={() => setQuery({ at: '' })}
              class="-my-1.5 size-8"
            />
          </div>
          {hasTimings(momentTimings) && (
            <TimingBar timings={momentTimings} fullMs={fullMs} label="Timings of the picked moment" />
          )}
        </div>
      )}
      {hasTimings(phases) && (
        <div>
          <h3 class="mb-1 text-[0.8125rem] font-medium">
            Average breakdown{' '}
            <span class="font-normal text-soft">
              {words}: {formatLatency(sumTimings(phases))}
            </span>
          </h3>
          <TimingBar timings={phases} fullMs={fullMs} label="Timings" />
        </div>
      )}
    </div>
  );
}

/** Returns the picked moment, widened to ten minutes if it is shorter. */
function aroundOf({ from, to }: Span): Span {
  if (to - from >= KEPT_EVERY) return { from, to };
  const start = Math.floor(from / KEPT_EVERY) * KEPT_EVERY;
  return { from: start, to: start + KEPT_EVERY };
}
