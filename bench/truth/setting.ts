import { defaultTimeoutMs } from '../../core/monitor-defaults.ts';

/**
 * When the places of a monitor check: all at once, as places do that have the same monitors; each at a moment of its
 * own; or in turn, evenly over the interval.
 */
export const SLOT_CHOICES = ['together', 'apart', 'in turn'] as const;
export type SlotChoice = (typeof SLOT_CHOICES)[number];

/** What the owner of a monitor can choose, and which slots its places take. */
export type Setting = {
  intervalSeconds: number;
  downAfterFailures: number;
  upAfterSuccesses: number;
  sources: number;
  quorum: number;
  slotChoice: SlotChoice;
};

/**
 * How many places watch, and how many of them must agree; the third of five is a majority, as the second of three is.
 */
const PLACES = [
  { sources: 1, quorum: 1 },
  { sources: 3, quorum: 1 },
  { sources: 3, quorum: 2 },
  { sources: 5, quorum: 1 },
  { sources: 5, quorum: 2 },
  { sources: 5, quorum: 3 },
] as const;

export const INTERVALS = [30, 60, 300] as const;

/** Every setting that is measured: 54 of them, by interval, then places, then failures. */
export const SETTINGS: readonly Setting[] = INTERVALS.flatMap((intervalSeconds) =>
  PLACES.flatMap((places) =>
    [1, 2, 3].map((downAfterFailures) => ({
      intervalSeconds,
      downAfterFailures,
      upAfterSuccesses: 1,
      slotChoice: 'together' as const,
      ...places,
    })),
  ),
);

/** What a monitor with three places gets where its owner says nothing (D-10). */
export const DEFAULT_SETTING: Setting = {
  intervalSeconds: 60,
  downAfterFailures: 2,
  upAfterSuccesses: 1,
  sources: 3,
  quorum: 2,
  slotChoice: 'together',
};

/** How long a check takes that nobody answers, in milliseconds: the default timeout. */
export function timeoutMs(setting: Setting): number {
  return defaultTimeoutMs(setting.intervalSeconds);
}
