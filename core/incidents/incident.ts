import type { MonitorState } from './state.ts';

/** Effect of a transition on the monitor's open incident (D-45). */
type IncidentStep =
  | { step: 'none' }
  | { step: 'open'; state: 'down' | 'degraded' }
  | { step: 'worsen' }
  | { step: 'resolve'; resolution: 'recovered' | 'paused' };

/**
 * Returns the effect of a transition to `to`, given the worst state of the open incident (null = none is open). One
 * incident spans the whole time that a monitor is not up: degraded then down worsens it, down then degraded leaves it,
 * unknown neither opens nor ends one.
 */
export function stepIncident(open: 'down' | 'degraded' | null, to: MonitorState): IncidentStep {
  switch (to) {
    case 'down':
    case 'degraded':
      if (open === null) return { step: 'open', state: to };
      return open === 'degraded' && to === 'down' ? { step: 'worsen' } : { step: 'none' };
    case 'up':
      return open === null ? { step: 'none' } : { step: 'resolve', resolution: 'recovered' };
    case 'paused':
      return open === null ? { step: 'none' } : { step: 'resolve', resolution: 'paused' };
    case 'unknown':
    case 'pending':
      return { step: 'none' };
    default:
      return to satisfies never;
  }
}

/**
 * Reports whether a failure at `atMs` continues an incident that recovered at `resolvedAtMs`, both Unix milliseconds.
 */
export function reopens(
  { resolvedAtMs, resolution }: { resolvedAtMs: number | null; resolution: string | null },
  { atMs, reopenSeconds }: { atMs: number; reopenSeconds: number },
): boolean {
  return resolution === 'recovered' && resolvedAtMs !== null && atMs - resolvedAtMs <= reopenSeconds * 1000;
}

/** Maximum length of a note, in characters (code points). */
export const MAX_NOTE = 4000;

/** Texts of nothing but format characters and blanks. */
const INVISIBLE = /^[\p{Cf}\p{Z}\s]*$/u;

/**
 * Makes a note fit to store and show. Line breaks stay, every other control character becomes a blank, lone surrogates
 * become the replacement character. Empty if nothing visible remains.
 */
export function cleanNote(text: string): string {
  const clean = text
    .toWellFormed()
    .replaceAll(/\r\n?|\u2028|\u2029/g, '\n')
    .replaceAll(/[^\P{Cc}\n]/gu, ' ')
    .trim();
  return INVISIBLE.test(clean) ? '' : clean;
}
