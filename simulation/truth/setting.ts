import { defaultTimeoutMs } from '../../core/monitors/defaults.ts';

/**
 * When the locations of a monitor check: all at once, as locations do that have the same monitors; each at a moment of
 * its own; or in turn, evenly over the interval.
 */
export const SLOT_CHOICES = ['together', 'apart', 'in turn'] as const;
export type SlotChoice = (typeof SLOT_CHOICES)[number];

/** What the owner of a monitor can choose, and which slots its locations take. */
export type Setting = {
  intervalSeconds: number;
  downAfterFailures: number;
  upAfterSuccesses: number;
  sources: number;
  quorum: number;
  slotChoice: SlotChoice;
};

/**
 * How many locations watch, and how many of them must agree; the third of five is a majority, as the second of three
 * is.
 */
const LOCATIONS = [
  { sources: 1, quorum: 1 },
  { sources: 3, quorum: 1 },
  { sources: 3, quorum: 2 },
  { sources: 5, quorum: 1 },
  { sources: 5, quorum: 2 },
  { sources: 5, quorum: 3 },
] as const;

export const INTERVALS = [30, 60, 300] as const;

/** Every setting that is measured: 54 of them, by interval, then locations, then failures. */
export const SETTINGS: readonly Setting[] = INTERVALS.flatMap((intervalSeconds) =>
  LOCATIONS.flatMap((locations) =>
    [1, 2, 3].map((downAfterFailures) => ({
      intervalSeconds,
      downAfterFailures,
      upAfterSuccesses: 1,
      slotChoice: 'together' as const,
      ...locations,
    })),
  ),
);

/** What a monitor with three locations gets where its owner says nothing (D-10). */
export const DEFAULT_SETTING: Setting = {
  intervalSeconds: 60,
  downAfterFailures: 2,
  upAfterSuccesses: 1,
  sources: 3,
  quorum: 2,
  slotChoice: 'together',
};

/** How long an unanswered check takes, in milliseconds: the default timeout. */
export function timeoutMs(setting: Setting): number {
  return defaultTimeoutMs(setting.intervalSeconds);
}
