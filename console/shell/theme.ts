import { signal } from '@preact/signals';
import { request } from '../client/api.ts';

/** The user's chosen theme. */
export type Theme = 'system' | 'light' | 'dark';

/** Key in local storage, which early.js reads before anything is painted. */
const KEY = 'theme';

/** The present theme. */
export const theme = signal<Theme>(storedTheme());

/** Applies a theme in this browser. */
export function applyTheme(chosen: Theme): void {
  theme.value = chosen;
  const { dataset } = document.documentElement;
  if (chosen === 'system') delete dataset['theme'];
  else dataset['theme'] = chosen;
  try {
    if (chosen === 'system') localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, chosen);
  } catch {
    // Without storage the choice lasts until the page is left.
  }
}

/** Applies a theme, and stores it for the user on all devices. */
export async function chooseTheme(chosen: Theme): Promise<void> {
  applyTheme(chosen);
  await request('PATCH', '/user', { body: { theme: chosen } });
}

/** Resolves a color variable of the theme (`up-fill`, `line`, `soft`, ...) to `rgb(...)`, for a canvas. */
export function colorOf(name: string): string {
  const probe = document.createElement('span');
  probe.style.color = `var(--${name})`;
  document.body.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}

function storedTheme(): Theme {
  const { theme: stored } = document.documentElement.dataset;
  return stored === 'light' || stored === 'dark' ? stored : 'system';
}
