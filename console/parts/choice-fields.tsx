import type { ComponentChildren, SelectHTMLAttributes } from 'preact';
import { useId } from 'preact/hooks';
import { Field, inputClass, type FieldProps } from './field.tsx';
import { Icon } from './icon.tsx';

/** A drop-down list. */
export function SelectField({
  label,
  value,
  onValue,
  hint,
  error,
  hideLabel,
  class: extra,
  options,
  ...rest
}: FieldProps & { options: readonly { value: string; label: string }[] } & Omit<
    SelectHTMLAttributes,
    'value' | 'label' | 'class' | 'role'
  >) {
  return (
    <Field
      {...{ label, hint, error }}
      {...(hideLabel !== undefined && { hideLabel })}
      {...(extra !== undefined && { class: extra })}
    >
      {(input) => (
        <span class="relative block">
          <select
            {...rest}
            {...input}
            value={value}
            onChange={(event) => onValue(event.currentTarget.value)}
            class={`${inputClass(input)} h-9 appearance-none pr-8`}
          >
            {options.map((option) => (
              <option key={option.value} value={option.value}>
                {option.label}
              </option>
            ))}
          </select>
          <Icon name="down" class="pointer-events-none absolute right-2.5 top-2.5 size-4 text-soft" />
        </span>
      )}
    </Field>
  );
}

/** A checkbox with its label and hint. */
export function CheckField({
  label,
  checked,
  onChecked,
  hint,
  error,
  disabled = false,
}: {
  label: string;
  checked: boolean;
  onChecked: (checked: boolean) => void;
  hint?: ComponentChildren;
  error?: string | null;
  disabled?: boolean;
}) {
  const id = useId();
  return (
    <div class="flex gap-2.5">
      <input
        id={id}
        type="checkbox"
        checked={checked}
        disabled={disabled}
        aria-describedby={`${id}-note`}
        aria-invalid={Boolean(error)}
        onChange={(event) => onChecked(event.currentTarget.checked)}
        class="mt-0.5 size-[1.125rem] shrink-0 accent-accent"
      />
      <div>
        <label for={id} class="text-sm font-medium">
          {label}
        </label>
        <div id={`${id}-note`} class={`text-[0.8125rem] leading-5 ${error ? 'text-down' : 'text-soft'} empty:hidden`}>
          {error ?? hint}
        </div>
      </div>
    </div>
  );
}
