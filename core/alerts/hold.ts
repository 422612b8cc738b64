/** What a delivery can wait for the end of: each is a value of `held_deliveries.reason`. */
export type HoldReason =
  | 'maintenance'
  | 'mute'
  | 'snooze'
  | 'quiet_hours'
  | 'delay'
  | 'parent'
  | 'reminder'
  | 'flapping';

/**
 * Why a delivery waits, and until when (Unix milliseconds). It is superseded where its monitor recovers before.
 * `occurrenceNo` is that of maintenance, null of other reasons; `heldBy` is what the reason needs to know, such as the
 * id of a monitor.
 */
export type Hold = { reason: HoldReason; untilMs: number; occurrenceNo: number | null; heldBy: string | null };
