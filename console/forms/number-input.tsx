type Props = { id?: string; 'aria-describedby'?: string; 'aria-invalid'?: boolean; 'aria-label'?: string; value: string; placeholder?: string; onValue: (value: string) => void };

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
      class={`h-9 w-full min-w-0 rounded-md border bg-surface px-3 text-ink placeholder:text-soft/80 focus-visible:outline-2 focus-visible:-outline-offset-1 focus-visible:outline-focus ${rest['aria-invalid'] === true ? 'border-down' : 'border-line-strong'}`}
    />
  );
}
