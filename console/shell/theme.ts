import { signal } from '@preact/signals';
import { request } from '../client/request.ts';

/** As the system has it, or as chosen. */
export type Theme = 'system' | 'light' | 'dark';

/** The name under which early.js looks for it before anything is painted. */
const KEY = 'theme';

/** The theme in force. */
export const theme = signal<Theme>(storedTheme());

/** Takes a theme, here and for the next visit of this browser. */
export function applyTheme(chosen: Theme): void {
  theme.value = chosen;
  const { dataset } = document.documentElement;
  if (chosen === 'system') delete dataset['theme'];
  else dataset['theme'] = chosen;
  try {
    if (chosen === 'system') localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, chosen);
  } catch {
    // Without storage it holds until the page is left.
  }
}

/** Takes a theme and keeps it for the person, on all devices. */
export async function chooseTheme(chosen: Theme): Promise<void> {
  applyTheme(chosen);
  await request('PATCH', '/user', { body: { theme: chosen } });
}

/** A colour of the theme in force as `rgb(...)`, for what is painted on a canvas: `up-fill`, `line`, `soft`, ... */
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
