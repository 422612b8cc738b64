import { signal } from '@preact/signals';
import { theme } from '../shell/theme.ts';
// oxlint-disable-next-line import/no-unassigned-import -- styles have no name.
import './colours.css';

const query = window.matchMedia('(prefers-color-scheme: dark)');
const isSystemDark = signal(query.matches);
query.addEventListener('change', () => {
  isSystemDark.value = query.matches;
});

/** Which colours are in force: what is painted with others has to be painted anew. */
export function useScheme(): 'light' | 'dark' {
  const { value: chosen } = theme;
  if (chosen !== 'system') return chosen;
  return isSystemDark.value ? 'dark' : 'light';
}

/** This many lines have a color of their own; the next ones begin with the first color again. */
const COLOURS = 6;

/** The name of the colour of the nth line, from 0 on. */
export function lineColour(index: number): string {
  return `plot-${(index % COLOURS) + 1}`;
}
