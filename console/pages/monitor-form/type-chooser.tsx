import type { MonitorType } from '../../forms/monitor-draft.ts';
import { TYPE_ORDER, TYPES } from '../../forms/words.ts';

/** What can be watched, each with what it is for; arrows go from one to the next. */
export function TypeChooser({ type, onType }: { type: MonitorType; onType: (type: MonitorType) => void }) {
  return (
    <fieldset class="min-w-0">
      <legend class="mb-2 text-sm font-medium">What is to be watched?</legend>
      <div class="grid grid-cols-2 gap-2 md:grid-cols-4">
        {TYPE_ORDER.map((each) => (
          <label
            key={each}
            class={
              'relative block cursor-pointer rounded-lg border px-3 py-2.5 hover:bg-hover focus-within:outline-2 ' +
              'focus-within:outline-offset-2 focus-within:outline-focus ' +
              `${type === each ? 'border-accent bg-accent-tint' : 'border-line bg-surface'}`
            }
          >
            <input
              type="radio"
              name="type"
              value={each}
              checked={type === each}
              onChange={() => onType(each)}
              aria-describedby="type-use"
              class="absolute inset-0 cursor-pointer opacity-0"
            />
            <span class={`block text-sm font-medium ${type === each ? 'text-accent' : ''}`}>{TYPES[each].label}</span>
            <span class="mt-0.5 hidden text-xs text-soft md:block" aria-hidden="true">
              {TYPES[each].use}
            </span>
          </label>
        ))}
      </div>
      <p id="type-use" class="mt-2 text-[0.8125rem] text-soft md:sr-only">
        {TYPES[type].use}
      </p>
    </fieldset>
  );
}
