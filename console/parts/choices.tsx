type ChoicesProps<T extends string> = {
  label: string;
  choices: readonly { value: T; label: string }[];
  value: T;
  onValue: (value: T) => void;
};

/** A few things of which one is shown, as buttons in a row. */
export function Choices<T extends string>({ label, choices, value, onValue }: ChoicesProps<T>) {
  return (
    <div
      role="group"
      aria-label={label}
      class="inline-flex max-w-full gap-0.5 overflow-x-auto rounded-lg border border-line bg-sunken p-0.5"
    >
      {choices.map((choice) => (
        <button
          key={choice.value}
          type="button"
          aria-pressed={choice.value === value}
          onClick={() => onValue(choice.value)}
          class={
            'h-7 whitespace-nowrap rounded-md px-2.5 text-[0.8125rem] font-medium ' +
            `${choice.value === value ? 'bg-raised text-ink shadow-sm' : 'text-soft hover:text-ink'}`
          }
        >
          {choice.label}
        </button>
      ))}
    </div>
  );
}
