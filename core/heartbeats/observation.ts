/**
 * What can be observed of a heartbeat: an end of its job (success, failure, exit status), the absence of a ping, a run
 * that takes too long.
 */
export type HeartbeatOutcome = 'success' | 'fail' | 'exit' | 'missed' | 'overrun';

/** The facts of one outcome (D-29). */
export type HeartbeatObservation = {
  type: 'heartbeat';
  outcome: HeartbeatOutcome;
  /** Unix milliseconds: when the ping came, or the deadline that passed without one. */
  startedAt: number;
  /** How long the run took that the ping ended, in milliseconds; null where no start was reported before it. */
  latencyMs: number | null;
  /** 0 to 255, for `exit` alone. */
  exitStatus: number | null;
  /** What the job wrote, first line; null where it wrote nothing. */
  firstLine: string | null;
};
