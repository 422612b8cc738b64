import { signal } from '@preact/signals';

const shown = signal<{ x: number; y: number; text: string } | null>(null);

/** Shows a tooltip above a point of the window; null hides it. Its text has to be available without a pointer, too. */
export function showTooltip(tooltip: { x: number; y: number; text: string } | null): void {
  shown.value = tooltip;
}

/** The shown tooltip; the layout renders it once. */
export function Tooltip() {
  if (shown.value === null) return null;
  const { x, y, text } = shown.value;
  // Keep it within the window.
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
