import { useSignal, type Signal } from '@preact/signals';
import { Button } from '../../parts/button.tsx';
import { Choices } from '../../parts/choice-fields.tsx';
import { FormDialog } from '../../parts/dialog.tsx';
import { Field, inputClass } from '../../parts/field.tsx';
import { clock, timeZone, TimesIn } from '../../parts/time.tsx';
import { fromWallTime, toWallTime } from '../../parts/wall-time.ts';
import type { Span } from '../../plots/series.ts';
import { useShortcut } from '../../shell/keys.tsx';
import { setQuery } from '../../shell/router.ts';
import { DEFAULT_RANGE, findRangeProblem, RANGES, spanOf, type RangeName, type Shown } from './ranges.ts';

const NAMES = Object.keys(RANGES) as RangeName[];
const CHOICES = NAMES.map((value) => ({ value, label: RANGES[value].label }));

/** Chooses the time range, which is part of the address. */
export function RangeControl({ shown }: { shown: Shown }) {
  useShortcut('[', 'Shorter range', () => stepRange(shown, -1));
  useShortcut(']', 'Longer range', () => stepRange(shown, 1));
  return (
    <div class="flex max-w-full flex-wrap items-center gap-2">
      <Choices<RangeName | ''>
        label="Range"
        choices={CHOICES}
        value={shown.zoom === null ? shown.range : ''}
        onValue={(name) => name !== '' && choose(name)}
      />
      <CustomRange span={spanOf(shown, clock.value)} />
      <Button
        size="small"
        aria-pressed={shown.isCompared}
        class="aria-pressed:border-accent aria-pressed:text-accent"
        onClick={() => setQuery({ compare: shown.isCompared ? '' : '1' })}
      >
        Compare
      </Button>
      {shown.zoom !== null && (
        <Button size="small" tone="quiet" icon="back" onClick={() => choose(shown.range)}>
          <span class="max-md:sr-only">Back to</span> {RANGES[shown.range].label}
        </Button>
      )}
    </div>
  );
}

/** Goes to a range, and clears the zoom and the picked moment of the previous one. */
export function choose(name: RangeName): void {
  setQuery({ range: name === DEFAULT_RANGE ? '' : name, from: '', to: '', at: '' });
}

function stepRange(shown: Shown, by: number): void {
  const next = NAMES[NAMES.indexOf(shown.range) + by];
  if (next !== undefined) choose(next);
}

/** A button that opens a form for a range of the user's own, in the user's zone. */
function CustomRange({ span }: { span: Span }) {
  const isOpen = useSignal(false);
  return (
    <>
      <Button size="small" onClick={() => (isOpen.value = true)}>
        Custom
      </Button>
      {isOpen.value && <RangeDialog span={span} onClose={() => (isOpen.value = false)} />}
    </>
  );
}

function RangeDialog({ span, onClose }: { span: Span; onClose: () => void }) {
  const zone = timeZone.value;
  const from = useSignal(toWallTime(span.from, zone));
  const to = useSignal(toWallTime(span.to, zone));
  const problem = useSignal<string | null>(null);
  const apply = () => {
    const start = fromWallTime(from.value, zone);
    const end = fromWallTime(to.value, zone);
    problem.value = findRangeProblem(start, end, clock.value);
    if (problem.value !== null) return;
    setQuery({ from: String(start), to: String(Math.min(end ?? 0, clock.value)), at: '' });
    onClose();
  };
  return (
    <FormDialog
      title="Custom range"
      action="Apply"
      isBusy={false}
      error={problem.value}
      onSubmit={apply}
      onClose={onClose}
    >
      <p class="text-sm text-soft">
        <TimesIn />
      </p>
      <WallTimeField label="From" value={from} autofocus />
      <WallTimeField label="To" value={to} />
    </FormDialog>
  );
}

type WallTimeProps = { label: string; value: Signal<string>; autofocus?: boolean };

function WallTimeField({ label, value, autofocus = false }: WallTimeProps) {
  return (
    <Field label={label}>
      {(input) => (
        <input
          {...input}
          autofocus={autofocus}
          type="datetime-local"
          step="1"
          value={value.value}
          onInput={({ currentTarget }) => (value.value = currentTarget.value)}
          class={`${inputClass(input)} h-9`}
        />
      )}
    </Field>
  );
}
