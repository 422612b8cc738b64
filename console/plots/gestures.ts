import type uPlot from 'uplot';
import type { Span } from './series.ts';

type Finger = { x: number; value: number };

/**
 * Two fingers move what lies under them; when they leave, `onZoom` receives the stretch that is left. Gives back how to
 * stop.
 */
export function followFingers(plot: uPlot, onZoom: (span: Span) => void): () => void {
  const { over } = plot;
  const fingers = new Map<number, Finger>();
  let isPinching = false;
  const at = (event: PointerEvent) => event.clientX - over.getBoundingClientRect().left;
  const down = (event: PointerEvent) => {
    if (event.pointerType !== 'touch') return;
    fingers.set(event.pointerId, { x: at(event), value: plot.posToVal(at(event), 'x') });
    isPinching = fingers.size === 2;
    // The first finger moved nothing; from here on both hold what is under them now.
    for (const finger of fingers.values()) finger.value = plot.posToVal(finger.x, 'x');
  };
  const move = (event: PointerEvent) => {
    const finger = fingers.get(event.pointerId);
    if (finger === undefined) return;
    finger.x = at(event);
    if (isPinching) pinch(plot, [...fingers.values()]);
    else plot.setCursor({ left: finger.x, top: 0 });
  };
  const up = (event: PointerEvent) => {
    if (!fingers.delete(event.pointerId) || !isPinching) return;
    isPinching = false;
    const { min, max } = plot.scales['x'] ?? {};
    if (min !== undefined && max !== undefined) onZoom({ from: Math.round(min), to: Math.round(max) });
  };
  over.addEventListener('pointerdown', down);
  window.addEventListener('pointermove', move);
  for (const name of ['pointerup', 'pointercancel'] as const) window.addEventListener(name, up);
  return () => {
    window.removeEventListener('pointermove', move);
    for (const name of ['pointerup', 'pointercancel'] as const) window.removeEventListener(name, up);
  };
}

/** The stretch in which each finger is over the moment that it took hold of. */
function pinch(plot: uPlot, [a, b]: readonly Finger[]): void {
  if (a === undefined || b === undefined || Math.abs(a.x - b.x) < 8 || a.value === b.value) return;
  const perPixel = (b.value - a.value) / (b.x - a.x);
  if (perPixel <= 0) return;
  const min = a.value - a.x * perPixel;
  plot.setScale('x', { min, max: min + plot.over.clientWidth * perPixel });
}
