import { setQuery } from '../../shell/router.ts';
import { TYPES, type ChannelType } from './types.tsx';

/** The order in which types are offered; the first is what most have at hand. */
export const TYPE_ORDER: readonly ChannelType[] = ['webhook', 'telegram', 'slack'];

/** Chooses of which type a channel is; it stands in the address. */
export function TypeChoice({ type }: { type: ChannelType }) {
  return (
    <fieldset class="mb-5 grid gap-2 sm:grid-cols-3">
      <legend class="sr-only">Type</legend>
      {TYPE_ORDER.map((each) => (
        <label
          key={each}
          class={
            'flex gap-2.5 rounded-xl border p-3 hover:bg-hover focus-within:outline-2 focus-within:outline-focus ' +
            `${each === type ? 'border-accent bg-accent-tint' : 'border-line bg-surface'}`
          }
        >
          <input
            type="radio"
            name="type"
            checked={each === type}
            onChange={() => setQuery({ type: each })}
            class="mt-0.5 size-[1.125rem] shrink-0 accent-accent"
          />
          <span class="text-sm font-medium">
            {TYPES[each].label}
            <span class="block text-[0.8125rem] font-normal text-soft">{TYPES[each].text}</span>
          </span>
        </label>
      ))}
    </fieldset>
  );
}
