import { Field } from '../parts/field.tsx';
import { NumberInput } from './number-input.tsx';

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
