import { inputClass } from '../parts/field.tsx';

type Props = {
  id?: string;
  'aria-describedby'?: string;
  'aria-invalid'?: boolean;
  'aria-label'?: string;
  value: string;
  placeholder?: string;
  onValue: (value: string) => void;
};

/** A number as text: what is no number stays to be seen, and the service says what it wants instead. */
export function NumberInput({ value, onValue, ...rest }: Props) {
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
