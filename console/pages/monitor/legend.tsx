import { capitalize } from '../../client/failure.ts';
import type { Schemas } from '../../client/shapes.ts';
import { Select, Choices } from '../../parts/choice-fields.tsx';
import type { Line } from '../../plots/series.ts';
import { formatMs, labelStep } from '../../plots/time-labels.ts';
import { hasTimings, TIMINGS } from '../../plots/timing-bar.tsx';
import { setQuery } from '../../shell/router.ts';
import { BEFORE, nameOf, STEP_SECONDS, wholeOf, type View } from './lines.ts';

type LegendProps = {
  answer: Schemas['MonitorStats'];
  /** The statistics of the period before; null unless they are compared. */
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
