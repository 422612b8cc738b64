import { useSignal } from '@preact/signals';
import { Field, inputClass, SelectField } from '../parts/field.tsx';

type Props = {
  label: string;
  value: string;
  onValue: (value: string) => void;
  standard: number | string | null;
  unit?: string;
  hint?: string;
  error?: string | undefined;
};

/** A number with its unit; `standard` is what empty stands for, null where that is nothing. */
export function NumberField({ label, value, onValue, standard, unit, hint, error }: Props) {
  return (
    <Field label={unit === undefined ? label : `${label} (${unit})`} hint={hint} error={error}>
      {(input) => (
        <NumberInput
          {...input}
          value={value}
          onValue={onValue}
          placeholder={standard === null ? 'none' : String(standard)}
        />
      )}
    </Field>
  );
}

type NumberInputProps = {
  id?: string;
  'aria-describedby'?: string;
  'aria-invalid'?: boolean;
  'aria-label'?: string;
  value: string;
  placeholder?: string;
  onValue: (value: string) => void;
};

/** A number as text: what is no number stays to be seen, and the service says what it wants instead. */
function NumberInput({ value, onValue, ...rest }: NumberInputProps) {
  return (
    <input
      {...rest}
      type="text"
      inputMode="decimal"
      autocomplete="off"
      value={value}
      onInput={(event) => onValue(event.currentTarget.value)}
      class={`${inputClass(rest)} h-9`}
    />
  );
}

const UNITS = [
  { value: '86400', label: 'days' },
  { value: '3600', label: 'hours' },
  { value: '60', label: 'minutes' },
  { value: '1', label: 'seconds' },
] as const;

type DurationFieldProps = {
  label: string;
  seconds: string;
  onSeconds: (seconds: string) => void;
  standard: number | null;
  hint?: string;
  error?: string | undefined;
};

/**
 * A time of which the draft keeps seconds, in the unit that suits it. `standard`: what empty stands for, in seconds;
 * null = nothing.
 */
export function DurationField({ label, seconds, onSeconds, standard, hint, error }: DurationFieldProps) {
  const unit = useSignal(unitOf(seconds === '' ? (standard ?? 60) : Number(seconds)));
  const factor = Number(unit.value);
  const amount = seconds === '' || Number.isNaN(Number(seconds)) ? seconds : String(round(Number(seconds) / factor));
  const toSeconds = (text: string, times: number) =>
    text.trim() === '' || Number.isNaN(Number(text)) ? text : String(round(Number(text) * times));
  return (
    <Field {...{ label, hint, error }}>
      {(input) => (
        <div class="flex gap-2">
          <NumberInput
            {...input}
            value={amount}
            placeholder={standard === null ? 'none' : String(round(standard / factor))}
            onValue={(text) => onSeconds(toSeconds(text, factor))}
          />
          <SelectField
            label={`Unit of ${label.toLowerCase()}`}
            hideLabel
            value={unit.value}
            options={UNITS}
            class="w-32 shrink-0"
            onValue={(value) => {
              unit.value = value;
              onSeconds(toSeconds(amount, Number(value)));
            }}
          />
        </div>
      )}
    </Field>
  );
}

/** The largest unit of which it is a whole number. */
function unitOf(seconds: number): string {
  return UNITS.find(({ value }) => seconds % Number(value) === 0)?.value ?? '1';
}

function round(number: number): number {
  return Math.round(number * 1000) / 1000;
}
