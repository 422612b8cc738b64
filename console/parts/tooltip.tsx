import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { route } from '../shell/router.ts';

/** A shown tooltip; `anchor` is the element under the pointer that it explains. */
type Shown = { x: number; y: number; text: string; anchor: Element };

const shown = signal<Shown | null>(null);

/** Shows a tooltip above a point of the window; null hides it. Its text must also be available without a pointer. */
export function showTooltip(tooltip: Shown | null): void {
  shown.value = tooltip;
}

/** The shown tooltip; the layout renders it once. */
export function Tooltip() {
  useHiding();
  if (shown.value === null) return null;
  const { x, y, text } = shown.value;
  // Keeps the tooltip within the window.
  const left = Math.min(Math.max(x, 80), window.innerWidth - 80);
  return (
    <div
      aria-hidden="true"
      class="
        pointer-events-none fixed z-40 -translate-x-1/2 -translate-y-full whitespace-nowrap rounded-md bg-ink px-2 py-1
        text-xs text-paper shadow-lg
      "
      style={{ left: `${left}px`, top: `${y - 6}px` }}
    >
      {text}
    </div>
  );
}

/** Hides the tooltip once its anchor is left: a removed anchor gets no `pointerleave`. */
function useHiding(): void {
  const { path } = route.value;
  useEffect(() => () => showTooltip(null), [path]);
  useEffect(() => {
    const onMove = ({ target }: Event) => {
      const anchor = shown.peek()?.anchor;
      if (anchor !== undefined && !(target instanceof Node && anchor.contains(target))) showTooltip(null);
    };
    const hide = () => showTooltip(null);
    document.addEventListener('pointermove', onMove, { passive: true });
    document.addEventListener('keydown', hide);
    return () => {
      document.removeEventListener('pointermove', onMove);
      document.removeEventListener('keydown', hide);
    };
  }, []);
}
