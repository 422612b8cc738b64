import { useSignal } from '@preact/signals';
import type { ComponentChildren, InputHTMLAttributes, TextareaHTMLAttributes } from 'preact';
import { useEffect, useId, useLayoutEffect, useRef } from 'preact/hooks';
import { Icon } from './icon.tsx';

const INPUT =
  'w-full min-w-0 rounded-md border bg-surface px-3 text-sm text-ink placeholder:text-soft/80 ' +
  'disabled:opacity-60 focus-visible:outline-2 focus-visible:-outline-offset-1 focus-visible:outline-focus';

/** The properties that all fields share. */
export type FieldProps = {
  label: string;
  value: string;
  onValue: (value: string) => void;
  /** Help for filling it in. */
  hint?: ComponentChildren;
  /** The error as a sentence; null or undefined if there is none. */
  error?: string | null | undefined;
  /** Hides the label, but not from screen readers. */
  hideLabel?: boolean;
  class?: string;
};

type Frame = Pick<FieldProps, 'label' | 'hint' | 'error' | 'hideLabel' | 'class'> & {
  children: (input: { id: string; 'aria-describedby': string; 'aria-invalid': boolean }) => ComponentChildren;
};

/** A label, an input, and below it the error or the hint, for inputs without a component of their own. */
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

/** A line of text; further properties go to the input. */
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
}: FieldProps & InputRest) {
  // Preact types each type of input separately, but not a union of them.
  return (
    <Field {...{ label, hint, error, hideLabel, class: extra }}>
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

/** A multi-line text; `mono` is for code. */
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
}: FieldProps & { mono?: boolean } & Omit<TextareaHTMLAttributes, 'value' | 'label' | 'class' | 'role'>) {
  return (
    <Field {...{ label, hint, error, hideLabel, class: extra }}>
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

/** Returns the classes of an input, for inputs without a component of their own. */
export function inputClass({ 'aria-invalid': isWrong = false }: { 'aria-invalid'?: boolean }): string {
  return `${INPUT} ${isWrong ? 'border-down' : 'border-line-strong'}`;
}

type FormProps = {
  id?: string;
  class: string;
  onSubmit: () => unknown;
  children: ComponentChildren;
};

/**
 * A form that is submitted by script; after a refusal the first field with an error gets the focus. The browser's
 * validation is off: it would show one problem at a time, in its own words. A field whose text is no valid value calls
 * `setCustomValidity`, which blocks the form.
 */
export function Form({ onSubmit, children, ...rest }: FormProps) {
  const box = useRef<HTMLFormElement>(null);
  const isSubmitted = useRef(false);
  useLayoutEffect(() => {
    const wrong = box.current?.querySelector<HTMLElement>('[aria-invalid="true"], [data-problem]') ?? null;
    if (wrong === null || !isSubmitted.current) return;
    isSubmitted.current = false;
    wrong.focus();
  });
  return (
    <form
      {...rest}
      ref={box}
      noValidate
      onKeyDown={(event) => {
        // A held key submits once (D-837).
        if (event.repeat && event.key === 'Enter' && event.target instanceof HTMLInputElement) event.preventDefault();
      }}
      onSubmit={(event) => {
        event.preventDefault();
        const invalid = [...event.currentTarget.elements].find(
          (field) => field instanceof HTMLInputElement && field.validity.customError,
        );
        if (invalid instanceof HTMLInputElement) {
          invalid.closest('details')?.setAttribute('open', '');
          return invalid.focus();
        }
        isSubmitted.current = true;
        void onSubmit();
      }}
    >
      {children}
    </form>
  );
}

/** The error of a form as a whole, shown above its buttons; nothing if `text` is null. */
export function FormError({ text }: { text: string | null }) {
  return text === null ? null : (
    <p role="alert" class="flex gap-2 rounded-md bg-down-tint px-3 py-2 text-sm text-down">
      <Icon name="warning" class="mt-0.5 size-4" />
      <span>{text}</span>
    </p>
  );
}

type DateFieldProps = Omit<FieldProps, 'hideLabel'> & {
  type: 'date' | 'datetime-local';
  /** Reports whether a typed text is a date; others stay in the field and are not reported. */
  isDate: (typed: string) => boolean;
};

/** A field for a date, or for one with a time to the second, which may be empty. */
export function DateField({ value, onValue, type, isDate, ...frame }: DateFieldProps) {
  // While a year is typed, the input contains its first digits only: they are no date, and must not be replaced.
  const typed = useSignal(value);
  useEffect(() => {
    typed.value = value;
  }, [value]);
  const take = (text: string) => {
    typed.value = text;
    if (text === '' || isDate(text)) onValue(text);
  };
  return (
    <Field {...frame}>
      {(input) => (
        <input
          {...input}
          type={type}
          step={type === 'date' ? undefined : '1'}
          value={typed.value}
          onChange={({ currentTarget }) => take(currentTarget.value)}
          class={`${inputClass(input)} h-9`}
        />
      )}
    </Field>
  );
}
