/** Holds that last as long as the maintenance or the mute of a monitor. */
export const MONITOR_HOLDS = ['maintenance', 'mute'] as const;

/** Holds that last until a moment: one of a channel's rules, of the next reminder, or of an incident's snooze. */
export const TIMED_HOLDS = ['delay', 'reminder', 'snooze', 'quiet_hours'] as const;

/** A reason for which a delivery waits, as it is stored in `held_deliveries.reason`. */
export type HoldReason = (typeof MONITOR_HOLDS)[number] | (typeof TIMED_HOLDS)[number] | 'parent' | 'flapping';

/** Reasons after which a delivery may have to wait once more, for maintenance or a mute that began meanwhile. */
export const MAY_WAIT_AGAIN: readonly HoldReason[] = [...MONITOR_HOLDS, ...TIMED_HOLDS];

/**
 * Why a delivery waits, and until when (Unix milliseconds). It is superseded where its monitor recovers before.
 * `occurrenceNo` is that of maintenance, null of other reasons; `heldBy` is what the reason needs to know, such as the
 * id of a monitor.
 */
export type Hold = { reason: HoldReason; untilMs: number; occurrenceNo: number | null; heldBy: string | null };
