import { useSignal } from '@preact/signals';
import type { ComponentChildren, SelectHTMLAttributes } from 'preact';
import { useId, useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import { currentTimeZone, listTimeZones, readTimeZone } from '../../core/time-zones.ts';
import { BROWSER_ZONE } from '../../core/time.ts';
import { useSuccessor } from './button.tsx';
import { Field, inputClass, type FieldProps } from './field.tsx';
import { Icon } from './icon.tsx';

type Option = { value: string; label: string };

type SelectFieldProps = FieldProps & { options: readonly Option[]; busy?: boolean } & Omit<
    SelectHTMLAttributes,
    'value' | 'label' | 'class' | 'role'
  >;

/** A drop-down list with its label. While `busy` it keeps its choice and the focus, which `disabled` would lose. */
export function SelectField({
  label,
  value,
  onValue,
  hint,
  error,
  hideLabel,
  class: extra,
  options,
  busy = false,
  ...rest
}: SelectFieldProps) {
  const box = useRef<HTMLSelectElement>(null);
  useSuccessor(box);
  return (
    <Field {...{ label, hint, error, hideLabel, class: extra }}>
      {(input) => (
        <Arrowed>
          <select
            {...rest}
            {...input}
            ref={box}
            aria-disabled={busy || undefined}
            value={value}
            onChange={({ currentTarget }) => {
              if (busy) currentTarget.value = value;
              else onValue(currentTarget.value);
            }}
            class={`${inputClass(input)} h-9 aria-disabled:opacity-60 ${LIST}`}
          >
            <Options options={options} />
          </select>
        </Arrowed>
      )}
    </Field>
  );
}

/** A drop-down list in a row of controls; only screen readers announce its label. */
export function Select({
  label,
  value,
  onValue,
  options,
  class: extra = 'max-w-44',
}: {
  label: string;
  value: string;
  onValue: (value: string) => void;
  options: readonly Option[];
  class?: string;
}) {
  return (
    <Arrowed class={`shrink-0 ${extra}`}>
      <select
        aria-label={label}
        value={value}
        onChange={(event) => onValue(event.currentTarget.value)}
        class={`h-9 max-w-full rounded-md border border-line-strong/60 bg-surface pl-2.5 text-[0.8125rem] ${LIST}`}
      >
        <Options options={options} />
      </select>
    </Arrowed>
  );
}

const LIST = 'appearance-none text-ellipsis pr-8';

function Options({ options }: { options: readonly Option[] }) {
  return (
    <>
      {options.map((option) => (
        <option key={option.value} value={option.value}>
          {option.label}
        </option>
      ))}
    </>
  );
}

function Arrowed({ class: extra = '', children }: { class?: string; children: ComponentChildren }) {
  return (
    <span class={`relative block ${extra}`}>
      {children}
      <Icon name="down" class="pointer-events-none absolute right-2.5 top-2.5 size-4 text-soft" />
    </span>
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

type ChoicesProps<T extends string> = {
  label: string;
  choices: readonly { value: T; label: string }[];
  value: T;
  onValue: (value: T) => void;
};

/** A row of buttons of which one is selected. */
export function Choices<T extends string>({ label, choices, value, onValue }: ChoicesProps<T>) {
  return (
    <div
      role="group"
      aria-label={label}
      class="inline-flex max-w-full flex-wrap gap-0.5 rounded-lg border border-line bg-sunken p-0.5"
    >
      {choices.map((choice) => (
        <button
          key={choice.value}
          type="button"
          aria-pressed={choice.value === value}
          onClick={() => onValue(choice.value)}
          class={
            'clipped h-7 max-w-full rounded-md px-2.5 text-[0.8125rem] font-medium ' +
            `${choice.value === value ? 'bg-raised text-ink shadow-sm' : 'text-soft hover:text-ink'}`
          }
        >
          {choice.label}
        </button>
      ))}
    </div>
  );
}

/** Links to the sections of a page. */
export function Tabs({
  label,
  tabs,
  current,
}: {
  label: string;
  tabs: readonly { href: string; label: string }[];
  current: string;
}) {
  return (
    <nav aria-label={label} class="-mx-4 mb-5 overflow-x-auto px-4 md:mx-0 md:px-0">
      <div class="flex w-max min-w-full gap-1 border-b border-line">
        {tabs.map((tab) => (
          <a
            key={tab.href}
            href={tab.href}
            aria-current={tab.href === current ? 'page' : undefined}
            class={
              '-mb-px whitespace-nowrap border-b-2 px-3 py-2 text-sm ' +
              (tab.href === current
                ? 'border-accent font-medium text-ink'
                : 'border-transparent text-soft hover:text-ink')
            }
          >
            {tab.label}
          </a>
        ))}
      </div>
    </nav>
  );
}

/** Returns a zone as the field shows it: the browser's with its name. */
function readable(zone: string): string {
  if (zone !== BROWSER_ZONE) return zone.replaceAll('_', ' ');
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
  return `Browser (${readable(currentTimeZone(timeZone))})`;
}

/** Returns the zone that a text of the field means; null if there is none. */
function zoneOf(text: string): string | null {
  const typed = text.trim();
  if (/^browser\b/i.test(typed)) return BROWSER_ZONE;
  return readTimeZone(typed.replaceAll(' ', '_'));
}

const UNKNOWN_ZONE = 'Choose a time zone from the list, such as Europe/Berlin';

/** A searchable list of zones: UTC, and all that this browser knows by name. */
export function ZoneField({
  value,
  onValue,
  hint,
  error,
  hasBrowser = false,
}: {
  value: string;
  onValue: (zone: string) => void;
  hint?: ComponentChildren;
  error?: string | null | undefined;
  /** Whether it also offers the present browser's zone. */
  hasBrowser?: boolean;
}) {
  const list = useId();
  const box = useRef<HTMLInputElement>(null);
  const isUnknown = useSignal(false);
  const judge = (input: HTMLInputElement, isWrong: boolean) => {
    isUnknown.value = isWrong;
    // A form is not sent while one of its fields has a custom error.
    input.setCustomValidity(isWrong ? UNKNOWN_ZONE : '');
  };
  // The zone may change from outside, to the saved one.
  useLayoutEffect(() => {
    const input = box.current;
    if (input === null || document.activeElement === input) return;
    input.value = readable(value);
    judge(input, false);
  }, [value]);
  // Some four hundred options, the same each time.
  const options = useMemo(
    () =>
      [...(hasBrowser ? [BROWSER_ZONE] : []), 'UTC', ...listTimeZones()].map((zone) => (
        <option key={zone} value={readable(zone)} />
      )),
    [hasBrowser],
  );
  const choose = (input: HTMLInputElement) => {
    const found = zoneOf(input.value);
    const zone = found === BROWSER_ZONE && !hasBrowser ? null : found;
    judge(input, zone === null);
    if (zone === null) return;
    input.value = readable(zone);
    if (zone !== value) onValue(zone);
  };
  return (
    <Field label="Time zone" hint={hint} error={isUnknown.value ? UNKNOWN_ZONE : error}>
      {(input) => (
        <>
          <input
            {...input}
            ref={box}
            list={list}
            defaultValue={readable(value)}
            placeholder="Type to search"
            autocomplete="off"
            spellcheck={false}
            // The list shows only zones that match the text: with the present zone, nothing else.
            onFocus={({ currentTarget }) => {
              if (!isUnknown.value) currentTarget.value = '';
            }}
            onBlur={({ currentTarget }) => {
              if (currentTarget.value !== '') return;
              currentTarget.value = readable(value);
              judge(currentTarget, false);
            }}
            onChange={({ currentTarget }) => currentTarget.value !== '' && choose(currentTarget)}
            class={`${inputClass(input)} h-9`}
          />
          <datalist id={list}>{options}</datalist>
        </>
      )}
    </Field>
  );
}
