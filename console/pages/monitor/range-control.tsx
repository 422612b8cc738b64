import { Button } from '../../parts/button.tsx';
import { useShortcut } from '../../shell/keys.tsx';
import { setQuery } from '../../shell/router.ts';
import { DEFAULT_RANGE, RANGES, type RangeName, type Shown } from './ranges.ts';

const NAMES = Object.keys(RANGES) as RangeName[];

/** Chooses the stretch that the page shows; it stands in the address. */
export function RangeControl({ shown }: { shown: Shown }) {
  useShortcut('[', 'A shorter range', () => step(shown, -1));
  useShortcut(']', 'A longer range', () => step(shown, 1));
  return (
    <div class="flex flex-wrap items-center gap-2">
      <div role="group" aria-label="Range" class="flex rounded-lg border border-line bg-sunken p-0.5">
        {NAMES.map((name) => {
          const isOn = shown.zoom === null && shown.range === name;
          return (
            <button
              key={name}
              type="button"
              aria-pressed={isOn}
              aria-label={RANGES[name].words}
              onClick={() => choose(name)}
              class={`h-7 rounded-md px-2 text-[0.8125rem] whitespace-nowrap md:px-2.5 ${isOn ? 'bg-surface font-medium text-ink shadow-sm' : 'text-soft hover:text-ink'}`}
            >
              {RANGES[name].label}
            </button>
          );
        })}
      </div>
      {shown.zoom !== null && (
        <Button size="small" tone="quiet" icon="back" onClick={() => choose(shown.range)}>
          {RANGES[shown.range].label}
        </Button>
      )}
    </div>
  );
}

/** Goes to a range; what was zoomed to or picked in another one is left. */
export function choose(name: RangeName): void {
  setQuery({ range: name === DEFAULT_RANGE ? '' : name, from: '', to: '', at: '' });
}

function step(shown: Shown, by: number): void {
  const next = NAMES[NAMES.indexOf(shown.range) + by];
  if (next !== undefined) choose(next);
}
