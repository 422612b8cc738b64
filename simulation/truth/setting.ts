import { defaultTimeoutMs } from '../../core/monitors/defaults.ts';

/** When the locations of a monitor check: all at once, each at its own moment, or in turn over the interval. */
export const SLOT_CHOICES = ['together', 'apart', 'in turn'] as const;
export type SlotChoice = (typeof SLOT_CHOICES)[number];

/** The choices of a monitor's owner, and the slots of its locations. */
export type Setting = {
  intervalSeconds: number;
  downAfterFailures: number;
  upAfterSuccesses: number;
  sources: number;
  quorum: number;
  slotChoice: SlotChoice;
};

/** Numbers of locations and the quorum; three of five is a majority, as is two of three. */
const LOCATIONS = [
  { sources: 1, quorum: 1 },
  { sources: 3, quorum: 1 },
  { sources: 3, quorum: 2 },
  { sources: 5, quorum: 1 },
  { sources: 5, quorum: 2 },
  { sources: 5, quorum: 3 },
] as const;

export const INTERVALS = [30, 60, 300] as const;

/** All 54 measured settings, by interval, then locations, then failures. */
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

/** Default of a monitor with three locations (D-10). */
export const DEFAULT_SETTING: Setting = {
  intervalSeconds: 60,
  downAfterFailures: 2,
  upAfterSuccesses: 1,
  sources: 3,
  quorum: 2,
  slotChoice: 'together',
};

/** Returns the duration of an unanswered check in milliseconds: the default timeout. */
export function timeoutMs(setting: Setting): number {
  return defaultTimeoutMs(setting.intervalSeconds);
}
