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
      <div class="flex gap-1 border-b border-line">
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
