import type { ComponentChildren, InputHTMLAttributes, SelectHTMLAttributes, TextareaHTMLAttributes } from 'preact';
import { useId } from 'preact/hooks';
import { Icon } from './icon.tsx';

const INPUT =
  'w-full min-w-0 rounded-md border bg-surface px-3 text-sm text-ink placeholder:text-soft/80 ' +
  'disabled:opacity-60 focus-visible:outline-2 focus-visible:-outline-offset-1 focus-visible:outline-focus';

type Common = {
  label: string;
  value: string;
  onValue: (value: string) => void;
  /** What to write, and what comes of it. */
  hint?: ComponentChildren;
  /** What is wrong with it, a whole sentence; null or undefined where nothing is. */
  error?: string | null | undefined;
  /** For those who find it by itself: the label is heard, not seen. */
  hideLabel?: boolean;
  class?: string;
};

type Frame = Pick<Common, 'label' | 'hint' | 'error' | 'hideLabel' | 'class'> & {
  children: (input: { id: string; 'aria-describedby': string; 'aria-invalid': boolean }) => ComponentChildren;
};

/**
 * A label, whatever is filled in, and below it what is wrong or what to write; for kinds of input that have no part of
 * their own.
 */
export function Field({ label, hint, error, hideLabel = false, class: extra = '', children }: Frame) {
  const id = useId();
  const isWrong = error !== null && error !== undefined && error !== '';
  return (
    <div class={`flex flex-col gap-1 ${extra}`}>
      <label for={id} class={hideLabel ? 'sr-only' : 'text-sm font-medium'}>
        {label}
      </label>
      {children({ id, 'aria-describedby': `${id}-note`, 'aria-invalid': isWrong })}
      <div id={`${id}-note`} class={`text-[0.8125rem] leading-5 ${isWrong ? 'text-down' : 'text-soft'} empty:hidden`}>
        {isWrong ? (
          <span role="alert" class="flex gap-1.5">
            <Icon name="warning" class="mt-0.5 size-4" />
            <span>{error}</span>
          </span>
        ) : (
          hint
        )}
      </div>
    </div>
  );
}

type InputRest = Pick<
  InputHTMLAttributes,
  | 'autocapitalize'
  | 'autocomplete'
  | 'autofocus'
  | 'disabled'
  | 'inputMode'
  | 'max'
  | 'maxLength'
  | 'min'
  | 'minLength'
  | 'name'
  | 'onBlur'
  | 'pattern'
  | 'placeholder'
  | 'readOnly'
  | 'required'
  | 'spellcheck'
  | 'step'
> & { type?: 'text' | 'password' | 'number' | 'url' | 'email' };

/** A line of text; what is not named here is as inputs have it. */
export function TextField({
  label,
  value,
  onValue,
  hint,
  error,
  hideLabel,
  class: extra,
  type = 'text',
  ...rest
}: Common & InputRest) {
  // Preact's types have a shape for each type of input, and none for what is one of several.
  return (
    <Field
      {...{ label, hint, error }}
      {...(hideLabel !== undefined && { hideLabel })}
      {...(extra !== undefined && { class: extra })}
    >
      {(input) => (
        <input
          {...rest}
          {...input}
          type={type as 'text'}
          value={value}
          onInput={(event) => onValue(event.currentTarget.value)}
          class={`${inputClass(input)} h-9`}
        />
      )}
    </Field>
  );
}

/** Several lines of text; `mono` for what machines read. */
export function TextArea({
  label,
  value,
  onValue,
  hint,
  error,
  hideLabel,
  class: extra,
  mono = false,
  ...rest
}: Common & { mono?: boolean } & Omit<TextareaHTMLAttributes, 'value' | 'label' | 'class' | 'role'>) {
  return (
    <Field
      {...{ label, hint, error }}
      {...(hideLabel !== undefined && { hideLabel })}
      {...(extra !== undefined && { class: extra })}
    >
      {(input) => (
        <textarea
          rows={4}
          {...rest}
          {...input}
          value={value}
          onInput={(event) => onValue(event.currentTarget.value)}
          class={`${inputClass(input)} min-h-20 py-2 ${mono ? 'font-mono' : ''}`}
        />
      )}
    </Field>
  );
}

/** One of a few. */
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
}: Common & { options: readonly { value: string; label: string }[] } & Omit<
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

/** Yes or no, with what yes means. */
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

/** What is wrong with the whole, above the buttons of a form. */
export function FormError({ text }: { text: string | null }) {
  return text === null ? null : (
    <p role="alert" class="flex gap-2 rounded-md bg-down-tint px-3 py-2 text-sm text-down">
      <Icon name="warning" class="mt-0.5 size-4" />
      <span>{text}</span>
    </p>
  );
}

/** How what is filled in looks, for kinds of input that have no part of their own. */
export function inputClass({ 'aria-invalid': isWrong = false }: { 'aria-invalid'?: boolean }): string {
  return `${INPUT} ${isWrong ? 'border-down' : 'border-line-strong'}`;
}
