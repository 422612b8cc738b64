import { signal } from '@preact/signals';

/** From here on there is room beside things: Tailwind's `md`. */
const query = window.matchMedia('(width >= 48rem)');
const isWide = signal(query.matches);
query.addEventListener('change', () => {
  isWide.value = query.matches;
});

/** Whether this is wider than a phone; follows where it changes. */
export function useWide(): boolean {
  return isWide.value;
}
