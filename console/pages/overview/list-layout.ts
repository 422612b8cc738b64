import { signal, useSignal } from '@preact/signals';
import type { RefObject } from 'preact';
import { useLayoutEffect } from 'preact/hooks';

/** What a row has room for; `style.css` lays it out. */
export type ListLayout = 'narrow' | 'medium' | 'wide' | 'widest';

/** Two lines a row, or one. */
export type Density = 'comfortable' | 'dense';

/** From this width on in pixels, the widest first. */
const LAYOUTS: readonly [from: number, layout: ListLayout][] = [
  [1400, 'widest'],
  [860, 'wide'],
  [600, 'medium'],
];

/** The height of a row in pixels; a narrow list has its strips below the names at any density. */
export function rowHeightOf(layout: ListLayout, chosen: Density): number {
  if (layout === 'narrow') return 74;
  return chosen === 'dense' ? 34 : 54;
}

/** The layout for the width of an element; follows changes. */
export function useListLayout(box: RefObject<HTMLElement | null>): ListLayout {
  const layout = useSignal(layoutFor(window.innerWidth));
  useLayoutEffect(() => {
    const { current } = box;
    if (current === null) return undefined;
    const measure = () => (layout.value = layoutFor(current.clientWidth));
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(current);
    return () => observer.disconnect();
  }, []);
  return layout.value;
}

function layoutFor(width: number): ListLayout {
  return LAYOUTS.find(([from]) => width >= from)?.[1] ?? 'narrow';
}

/** The key in local storage: it is of the screen rather than of the person. */
const KEY = 'density';

/** The density in force. */
export const density = signal<Density>(storedDensity());

/** Applies a density, and stores it for this browser. */
export function chooseDensity(chosen: Density): void {
  density.value = chosen;
  try {
    localStorage.setItem(KEY, chosen);
  } catch {
    // Without storage the choice lasts until the page is left.
  }
}

function storedDensity(): Density {
  try {
    return localStorage.getItem(KEY) === 'dense' ? 'dense' : 'comfortable';
  } catch {
    return 'comfortable';
  }
}
