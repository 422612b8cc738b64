import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useId, useMemo, useRef } from 'preact/hooks';
import { Button, IconButton } from '../../parts/button.tsx';
import { CheckField, SelectField } from '../../parts/choice-fields.tsx';
import { Field, TextArea, TextField, inputClass } from '../../parts/field.tsx';
import { Icon } from '../../parts/icon.tsx';
import type { SecretText } from './draft.ts';
import { UNITS, formatWhole, unitOf } from './judge-spec.ts';

/**
 * A section that is closed unless `isOpen` was true at first; `note` summarizes its settings. `isLazy`: its content is
 * rendered when it is first opened.
 */
export function Collapsible({
  title,
  note,
  isOpen = false,
  isLazy = false,
  children,
}: {
  title: string;
  note: string;
  isOpen?: boolean;
  isLazy?: boolean;
  children: ComponentChildren;
}) {
  const isOpenAtFirst = useMemo(() => isOpen, []);
  const isMade = useSignal(isOpen || !isLazy);
  return (
    <details
      open={isOpenAtFirst}
      onToggle={({ currentTarget }) => currentTarget.open && (isMade.value = true)}
      class="group border-t border-line last:border-b"
    >
      <summary class="flex list-none items-center gap-2 rounded py-3 text-sm [&::-webkit-details-marker]:hidden">
        <Icon name="chevron" class="size-4 text-soft transition-transform group-open:rotate-90" />
        <span class="font-medium">{title}</span>
        <span class="clipped ml-auto min-w-0 pl-3 text-[0.8125rem] text-soft">{note}</span>
      </summary>
      <div class="flex flex-col gap-5 pb-6 pl-0 md:pl-6">{isMade.value && children}</div>
    </details>
  );
}

type NumberFieldProps = {
  label: string;
  value: string;
  onValue: (value: string) => void;
  standard: number | string | null;
  unit?: string;
  hint?: string;
  error?: string | undefined;
};

/** A number with its unit; `standard` is the default of an empty field, null if there is none. */
export function NumberField({ label, value, onValue, standard, unit, hint, error }: NumberFieldProps) {
  return (
    <Field
      label={unit === undefined ? label : `${label} (${unit})`}
      hint={hintWith(standard === null ? null : String(standard), hint)}
      error={error}
    >
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

/** Returns a field's hint after its default, which a placeholder alone would leave to be guessed. */
function hintWith(standard: string | null, hint = ''): string {
  return standard === null ? hint : `Default: ${standard}. ${hint}`.trim();
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

/** A number as text: invalid input stays visible, and the error explains the expected format. */
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

type DurationFieldProps = {
  label: string;
  seconds: string;
  onSeconds: (seconds: string) => void;
  standard: number | null;
  hint?: string;
  error?: string | undefined;
};

/**
 * A duration in the unit that fits best; the draft stores seconds. `standard` is the default in seconds, null if there
 * is none.
 */
export function DurationField({ label, seconds, onSeconds, standard, hint, error }: DurationFieldProps) {
  const unit = useSignal<string>(unitOf(seconds === '' ? (standard ?? 60) : Number(seconds)).value);
  const factor = Number(unit.value);
  const amount = seconds === '' || Number.isNaN(Number(seconds)) ? seconds : String(round(Number(seconds) / factor));
  const toSeconds = (text: string, times: number) =>
    text.trim() === '' || Number.isNaN(Number(text)) ? text : String(round(Number(text) * times));
  // While a user types `1.5`, the field must keep `1.`, although its value is already 1.
  const typed = useSignal(amount);
  const shown = toSeconds(typed.value, factor) === seconds ? typed.value : amount;
  return (
    <Field label={label} hint={hintWith(standard === null ? null : formatWhole(standard), hint)} error={error}>
      {(input) => (
        <div class="flex gap-2">
          <NumberInput
            {...input}
            value={shown}
            placeholder={standard === null ? 'none' : String(round(standard / factor))}
            onValue={(text) => {
              typed.value = text;
              onSeconds(toSeconds(text, factor));
            }}
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

function round(number: number): number {
  return Math.round(number * 1000) / 1000;
}

type TextListProps = {
  label: string;
  item: string;
  values: readonly string[];
  onValues: (values: readonly string[]) => void;
  placeholder: string;
  hint?: string;
  error?: string | undefined;
  /** Error of one text, by its index. */
  problem?: (index: number) => string | undefined;
};

/** A list of texts, one per line; `item` is the label of one. */
export function TextList({ label, item, values, onValues, placeholder, hint, error, problem }: TextListProps) {
  const list = useRef<HTMLUListElement>(null);
  const id = useId();
  const add = () => {
    onValues([...values, '']);
    focusLastRow(list.current);
  };
  return (
    <fieldset aria-describedby={id} class="min-w-0">
      <legend class="text-sm font-medium">{label}</legend>
      <div id={id} class="text-[0.8125rem] leading-5 text-soft empty:hidden">
        {hint}
      </div>
      <FieldProblem text={error} />
      <ul ref={list} class="mt-1.5 flex flex-col gap-1.5 empty:hidden">
        {values.map((value, index) => (
          <li key={index} class="flex items-start gap-1">
            <TextField
              label={`${item} ${index + 1}`}
              hideLabel
              value={value}
              placeholder={placeholder}
              autocapitalize="off"
              spellcheck={false}
              class="min-w-0 flex-1"
              error={problem?.(index)}
              onValue={(text) => onValues(values.map((each, at) => (at === index ? text : each)))}
            />
            <IconButton
              icon="close"
              label={`Remove ${item.toLowerCase()} ${index + 1}`}
              onClick={() => onValues(values.filter((_, at) => at !== index))}
            />
          </li>
        ))}
      </ul>
      <Button size="small" icon="plus" class="mt-2" onClick={add}>
        Add {item.toLowerCase()}
      </Button>
    </fieldset>
  );
}

/** Moves the focus to the element that replaces a pressed button, within the closest `data-secret`. */
export function focusInstead(button: HTMLElement): void {
  const container = button.closest('[data-secret]');
  requestAnimationFrame(() =>
    [...(container?.querySelectorAll<HTMLElement>('input:not([type="checkbox"]), textarea, button[data-first]') ?? [])]
      .at(-1)
      ?.focus(),
  );
}

/** Moves the focus to the row that is about to be added to a list. */
export function focusLastRow(list: HTMLElement | null): void {
  // The row exists only after the next render.
  requestAnimationFrame(() => list?.querySelector<HTMLElement>(':scope > li:last-child :is(input, select)')?.focus());
}

/** The error of a group of inputs; it takes the focus after a failed save. */
export function FieldProblem({ text }: { text: string | undefined }) {
  return text === undefined ? null : (
    <p role="alert" tabIndex={-1} data-problem class="mt-1 flex gap-1.5 rounded text-[0.8125rem] leading-5 text-down">
      <Icon name="warning" class="mt-0.5 size-4" />
      <span>{text}</span>
    </p>
  );
}

type Props = {
  label: string;
  value: SecretText;
  onValue: (value: SecretText) => void;
  isStored: boolean;
  secretHint: string;
  hint: string;
  placeholder: string;
  error?: string | undefined;
};

/**
 * A text that may be secret; `isStored`: the service stores a secret one. It is kept until it is replaced or removed by
 * a button.
 */
export function SecretTextField({
  label,
  value: { kind, text },
  onValue,
  isStored,
  secretHint,
  hint,
  placeholder,
  error,
}: Props) {
  if (kind === 'kept') {
    return (
      <div data-secret>
        <p class="text-sm font-medium">{label}</p>
        <StoredSecret
          what={label.toLowerCase()}
          onReplace={() => onValue({ kind: 'secret', text: '' })}
          onRemove={() => onValue({ kind: 'none', text: '' })}
          error={error}
        />
      </div>
    );
  }
  return (
    <div class="flex flex-col gap-2" data-secret>
      <TextArea
        label={label}
        mono
        rows={3}
        value={text}
        placeholder={placeholder}
        hint={hint}
        error={error}
        autocapitalize="off"
        spellcheck={false}
        onValue={(written) =>
          onValue({ kind: kind === 'secret' ? 'secret' : written === '' ? 'none' : 'plain', text: written })
        }
      />
      <CheckField
        label="Secret (write-only)"
        hint={secretHint}
        checked={kind === 'secret'}
        onChecked={(isSecret) => onValue({ kind: isSecret ? 'secret' : text === '' ? 'none' : 'plain', text })}
      />
      {isStored && <KeepStored what={label.toLowerCase()} onKeep={() => onValue({ kind: 'kept', text: '' })} />}
    </div>
  );
}

/** A stored secret, which cannot be shown, with buttons to replace or remove it. */
export function StoredSecret({
  what,
  onReplace,
  onRemove,
  error,
}: {
  what: string;
  onReplace: () => void;
  onRemove?: () => void;
  error?: string | undefined;
}) {
  return (
    <div
      class="
      mt-1 flex flex-wrap items-center gap-x-3 gap-y-2 rounded-md border border-line bg-sunken px-3 py-2 text-sm
    "
    >
      <span class="min-w-0 flex-1 basis-40 text-soft">{error ?? 'Stored secret. It can be replaced, not shown.'}</span>
      <Button
        size="small"
        data-first
        aria-label={`Replace ${what}`}
        onClick={(event) => {
          focusInstead(event.currentTarget);
          onReplace();
        }}
      >
        Replace
      </Button>
      {onRemove !== undefined && (
        <Button size="small" tone="quiet" onClick={onRemove} aria-label={`Remove ${what}`}>
          Remove
        </Button>
      )}
    </div>
  );
}

/** A button that cancels the replacement or removal of a stored secret. */
export function KeepStored({ what, onKeep }: { what: string; onKeep: () => void }) {
  return (
    <Button
      size="small"
      tone="quiet"
      class="-ml-2.5 self-start justify-self-start md:col-start-2"
      aria-label={`Keep the stored ${what}`}
      onClick={(event) => {
        focusInstead(event.currentTarget);
        onKeep();
      }}
    >
      Keep stored
    </Button>
  );
}
