import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useId, useMemo } from 'preact/hooks';
import { currentTimeZone, listTimeZones, readTimeZone } from '../../core/time-zones.ts';
import { BROWSER_ZONE } from '../../core/time.ts';
import { Field, inputClass } from './field.tsx';

/** How a zone is written in the field: the browser's with its name. */
function readable(zone: string): string {
  if (zone !== BROWSER_ZONE) return zone.replaceAll('_', ' ');
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
  return `Browser (${readable(currentTimeZone(timeZone))})`;
}

/** The zone that a text of the field stands for; null if it is none. */
function zoneOf(text: string): string | null {
  const typed = text.trim();
  if (/^browser\b/i.test(typed)) return BROWSER_ZONE;
  return readTimeZone(typed.replaceAll(' ', '_'));
}

/** A searchable list of the zones: UTC, and all that this browser knows by name. */
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
  /** Offers the zone of whichever browser is used as well. */
  hasBrowser?: boolean;
}) {
  const list = useId();
  const isUnknown = useSignal(false);
  // Some four hundred, and the same each time.
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
    isUnknown.value = zone === null;
    if (zone === null) return;
    input.value = readable(zone);
    if (zone !== value) onValue(zone);
  };
  return (
    <Field
      label="Time zone"
      hint={hint}
      error={isUnknown.value ? 'Choose a time zone from the list, such as Europe/Berlin' : error}
    >
      {(input) => (
        <>
          <input
            {...input}
            list={list}
            defaultValue={readable(value)}
            placeholder="Type to search"
            autocomplete="off"
            spellcheck={false}
            // The list shows what matches the text: with the present one, nothing else.
            onFocus={({ currentTarget }) => (currentTarget.value = '')}
            onBlur={({ currentTarget }) => {
              if (currentTarget.value === '') currentTarget.value = readable(value);
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
