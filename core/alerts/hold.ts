/** Holds that last as long as the maintenance or the mute of a monitor. */
export const MONITOR_HOLDS = ['maintenance', 'mute'] as const;

/** Holds until a moment, which a channel's rules, the next reminder, or an incident's snooze set. */
export const TIMED_HOLDS = ['delay', 'reminder', 'snooze', 'quiet_hours'] as const;

/** Reason for holding a delivery, as stored in `held_deliveries.reason`. */
export type HoldReason = (typeof MONITOR_HOLDS)[number] | (typeof TIMED_HOLDS)[number] | 'parent' | 'flapping';

/** Reasons after which a delivery may be held again, for maintenance or a mute that began meanwhile. */
export const MAY_WAIT_AGAIN: readonly HoldReason[] = [...MONITOR_HOLDS, ...TIMED_HOLDS];

/**
 * Why a delivery is held, and until when (Unix milliseconds). It is superseded if its monitor recovers before.
 * `occurrenceNo` is the occurrence of maintenance, null for other reasons; `heldBy` is data that the reason needs, such
 * as the id of a monitor.
 */
export type Hold = { reason: HoldReason; untilMs: number; occurrenceNo: number | null; heldBy: string | null };
