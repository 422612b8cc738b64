import { Button } from '../../parts/button.tsx';
import { Choices } from '../../parts/choices.tsx';
import { useShortcut } from '../../shell/keys.tsx';
import { setQuery } from '../../shell/router.ts';
import { DEFAULT_RANGE, RANGES, type RangeName, type Shown } from './ranges.ts';

const NAMES = Object.keys(RANGES) as RangeName[];
const CHOICES = NAMES.map((value) => ({ value, label: RANGES[value].label }));

/** Chooses the stretch that the page shows; it stands in the address. */
export function RangeControl({ shown }: { shown: Shown }) {
  useShortcut('[', 'A shorter range', () => step(shown, -1));
  useShortcut(']', 'A longer range', () => step(shown, 1));
  return (
    <div class="flex max-w-full flex-wrap items-center gap-2">
      <Choices<RangeName | ''>
        label="Range"
        choices={CHOICES}
        value={shown.zoom === null ? shown.range : ''}
        onValue={(name) => name !== '' && choose(name)}
      />
      {shown.zoom !== null && (
        <Button size="small" tone="quiet" icon="back" onClick={() => choose(shown.range)}>
          <span class="max-md:sr-only">Back to</span> {RANGES[shown.range].label}
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
